"""Assigning to variables, in either context."""

import tensorflow as tf

from tests.conformance.fragments import discard
from tests.conformance.fragments import replica_id
from tests.conformance.fragments import spread
from tests.conformance.program import attempt
from tests.conformance.program import program
from tests.conformance.program import SEVERAL

Aggregation = tf.VariableAggregation
Synchronization = tf.VariableSynchronization
_METHODS = ("assign", "assign_add", "assign_sub")


def _make(strategy, synchronization, aggregation, value=10.0):
  with strategy.scope():
    return tf.Variable(
      value, synchronization=synchronization, aggregation=aggregation
    )


def _by_replicas(dist, strategy, wrap, synchronization, aggregation):
  """What each method does from inside `run`."""

  def outcome_of(method):
    v = _make(strategy, synchronization, aggregation)

    @wrap
    def step():
      def replica_fn():
        getattr(v, method)(replica_id(dist) + 1.0)

      strategy.run(replica_fn)

    return attempt(step, mentions=["aggregation"]), v

  return {method: outcome_of(method) for method in _METHODS}


def _by_strategy(strategy, wrap, synchronization, aggregation):
  """What each method does outside `run`."""

  def outcome_of(method):
    v = _make(strategy, synchronization, aggregation)

    @wrap
    def step():
      with strategy.scope():
        getattr(v, method)(4.0)

    return attempt(step), v

  return {method: outcome_of(method) for method in _METHODS}


@program()
def mirrored_none_in_replica(dist, strategy, wrap):
  """ON_WRITE, NONE: replicas cannot assign what may differ."""
  sync = Synchronization.ON_WRITE
  return _by_replicas(dist, strategy, wrap, sync, Aggregation.NONE)


@program()
def mirrored_sum_in_replica(dist, strategy, wrap):
  """ON_WRITE, SUM: the sum of what the replicas assign."""
  sync = Synchronization.ON_WRITE
  return _by_replicas(dist, strategy, wrap, sync, Aggregation.SUM)


@program()
def mirrored_mean_in_replica(dist, strategy, wrap):
  """ON_WRITE, MEAN: the mean of what the replicas assign."""
  sync = Synchronization.ON_WRITE
  return _by_replicas(dist, strategy, wrap, sync, Aggregation.MEAN)


@program()
def mirrored_first_in_replica(dist, strategy, wrap):
  """ON_WRITE, ONLY_FIRST_REPLICA: what replica 0 assigns."""
  sync = Synchronization.ON_WRITE
  return _by_replicas(
    dist, strategy, wrap, sync, Aggregation.ONLY_FIRST_REPLICA
  )


@program()
def own_none_in_replica(dist, strategy, wrap):
  """ON_READ, NONE: each replica assigns to its own component."""
  sync = Synchronization.ON_READ
  return _by_replicas(dist, strategy, wrap, sync, Aggregation.NONE)


@program()
def own_sum_in_replica(dist, strategy, wrap):
  """ON_READ, SUM: each replica assigns to its own component."""
  sync = Synchronization.ON_READ
  return _by_replicas(dist, strategy, wrap, sync, Aggregation.SUM)


@program()
def own_mean_in_replica(dist, strategy, wrap):
  """ON_READ, MEAN: each replica assigns to its own component."""
  sync = Synchronization.ON_READ
  return _by_replicas(dist, strategy, wrap, sync, Aggregation.MEAN)


@program()
def own_first_in_replica(dist, strategy, wrap):
  """ON_READ, ONLY_FIRST_REPLICA: each replica assigns to its own."""
  sync = Synchronization.ON_READ
  return _by_replicas(
    dist, strategy, wrap, sync, Aggregation.ONLY_FIRST_REPLICA
  )


@program()
def mirrored_none_outside(strategy, wrap):
  """ON_WRITE, NONE: all components get what is assigned outside `run`."""
  return _by_strategy(
    strategy, wrap, Synchronization.ON_WRITE, Aggregation.NONE
  )


@program()
def mirrored_sum_outside(strategy, wrap):
  """ON_WRITE, SUM: outside `run` nothing is summed."""
  return _by_strategy(strategy, wrap, Synchronization.ON_WRITE, Aggregation.SUM)


@program()
def own_none_outside(strategy, wrap):
  """ON_READ, NONE: all components get what is assigned outside `run`."""
  return _by_strategy(strategy, wrap, Synchronization.ON_READ, Aggregation.NONE)


@program()
def own_sum_outside(strategy, wrap):
  """ON_READ, SUM: what is assigned outside `run` is shared out."""
  return _by_strategy(strategy, wrap, Synchronization.ON_READ, Aggregation.SUM)


@program()
def own_mean_outside(strategy, wrap):
  """ON_READ, MEAN: all components get what is assigned outside `run`."""
  return _by_strategy(strategy, wrap, Synchronization.ON_READ, Aggregation.MEAN)


@program()
def own_first_outside(strategy, wrap):
  """ON_READ, ONLY_FIRST_REPLICA: assigned outside `run`."""
  return _by_strategy(
    strategy, wrap, Synchronization.ON_READ, Aggregation.ONLY_FIRST_REPLICA
  )


@program()
def outside_any_scope(strategy):
  """Variables may be assigned outside `run` and outside the scope."""
  v = _make(strategy, Synchronization.ON_WRITE, Aggregation.MEAN)
  w = _make(strategy, Synchronization.ON_READ, Aggregation.SUM)
  v.assign(4.0)
  v.assign_add(1.0)
  w.assign(8.0)
  return v, w


@program()
def value_of_an_assignment(dist, strategy, wrap):
  """An assignment in replica context gives the new value."""
  v = _make(strategy, Synchronization.ON_WRITE, Aggregation.SUM)
  w = _make(strategy, Synchronization.ON_READ, Aggregation.SUM)

  @wrap
  def step():
    def replica_fn():
      one = tf.identity(v.assign_add(replica_id(dist) + 1.0))
      return one, tf.identity(w.assign_add(replica_id(dist)))

    return strategy.run(replica_fn)

  return step()


@program()
def value_of_an_assignment_outside(strategy):
  """An assignment in cross-replica context gives something to read."""
  v = _make(strategy, Synchronization.ON_WRITE, Aggregation.NONE)
  with strategy.scope():
    return tf.convert_to_tensor(v.assign(4.0)).numpy()


@program()
def returned_from_run(dist, strategy, wrap):
  """An assignment as the result of `fn`."""
  v = _make(strategy, Synchronization.ON_WRITE, Aggregation.MEAN)

  @wrap
  def step():
    return strategy.run(lambda: v.assign_add(replica_id(dist) + 1.0))

  result = step()
  parts = strategy.experimental_local_results(result)
  return [tf.convert_to_tensor(part).numpy() for part in parts], v


@program()
def as_an_argument_of_a_function(strategy):
  """A variable that is a `tf.function`'s argument can be assigned to."""
  v = _make(strategy, Synchronization.ON_WRITE, Aggregation.MEAN)

  @tf.function
  def double(w):
    w.assign(2.0 * w)

  double(v)
  return v


@program()
def by_a_function_that_a_replica_calls(dist, strategy):
  """A `tf.function` called by `fn` assigns what is to be aggregated."""
  v = _make(strategy, Synchronization.ON_WRITE, Aggregation.MEAN)

  @tf.function
  def add(x):
    v.assign_add(x)

  return attempt(strategy.run, lambda: add(replica_id(dist))), v


@program()
def a_python_number_by_replicas(strategy):
  """The same Python number assigned on every replica."""
  outcomes = {}
  for aggregation in Aggregation:
    v = _make(strategy, Synchronization.ON_WRITE, aggregation)
    outcome = attempt(discard, strategy.run, lambda v=v: v.assign(3.0))
    outcomes[aggregation.name] = outcome, v
  return outcomes


@program(strategies=SEVERAL)
def a_value_per_replica_outside(strategy):
  """A value per replica assigned in cross-replica context."""
  values = spread(strategy, lambda i: tf.constant(1.0 + i))
  v = _make(strategy, Synchronization.ON_WRITE, Aggregation.NONE)
  w = _make(strategy, Synchronization.ON_READ, Aggregation.NONE)
  with strategy.scope():
    first = attempt(discard, v.assign, values)
    return first, v, attempt(discard, w.assign, values), w


@program()
def a_wrong_shape(strategy):
  """A value of another shape is an error, in either context."""
  v = _make(strategy, Synchronization.ON_WRITE, Aggregation.MEAN)
  wrong = tf.constant([1.0, 2.0])
  return (
    attempt(lambda: v.assign(wrong), mentions=["shape"]),
    attempt(lambda: strategy.run(lambda: v.assign(wrong)), mentions=["shape"]),
  )


@program()
def integers(dist, strategy, wrap):
  """Integer variables sum integers."""
  v = _make(strategy, Synchronization.ON_WRITE, Aggregation.SUM, 10)

  @wrap
  def step():
    def replica_fn():
      v.assign_add(dist.get_replica_context().replica_id_in_sync_group + 1)

    strategy.run(replica_fn)

  step()
  return v


@program()
def without_reading(dist, strategy, wrap):
  """`read_value=False` assigns all the same."""
  v = _make(strategy, Synchronization.ON_WRITE, Aggregation.SUM)
  w = _make(strategy, Synchronization.ON_READ, Aggregation.SUM)

  @wrap
  def step():
    def replica_fn():
      v.assign_add(replica_id(dist) + 1.0, read_value=False)
      w.assign(replica_id(dist), read_value=False)

    strategy.run(replica_fn)

  step()
  return v, w


@program()
def several_in_order(dist, strategy, wrap):
  """Assignments and reads happen in the order they are written in."""
  v = _make(strategy, Synchronization.ON_WRITE, Aggregation.MEAN)

  @wrap
  def step():
    def replica_fn():
      before = v.read_value()
      v.assign(2.0 * v)
      between = v.read_value()
      v.assign_add(replica_id(dist))
      return before, between, v.read_value()

    return strategy.run(replica_fn)

  return step(), v


@program()
def in_place_operators(strategy):
  """`+=` rebinds the name to a tensor, or assigns, as upstream does."""
  v = _make(strategy, Synchronization.ON_WRITE, Aggregation.MEAN)

  def add():
    w = v
    w += 1.0
    return w

  return attempt(add), v


@program()
def constraints(strategy):
  """A constraint is kept, for optimizers to apply."""
  with strategy.scope():
    v = tf.Variable([-1.0, 2.0], constraint=tf.nn.relu)
  return v.constraint is tf.nn.relu, v
