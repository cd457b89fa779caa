"""Assigning to some rows of a variable."""

import tensorflow as tf

from tests.conformance.fragments import discard
from tests.conformance.fragments import replica_id
from tests.conformance.program import attempt
from tests.conformance.program import program

Aggregation = tf.VariableAggregation
Synchronization = tf.VariableSynchronization


def _make(strategy, synchronization, aggregation):
  with strategy.scope():
    return tf.Variable(
      tf.fill([4, 2], 8.0),
      synchronization=synchronization,
      aggregation=aggregation,
    )


def _slices(value, rows):
  return tf.IndexedSlices(
    values=tf.fill([len(rows), 2], value), indices=tf.constant(rows)
  )


def _by_replicas(dist, strategy, wrap, v, method):
  """Each replica's values into rows 0 and 2."""

  @wrap
  def step():
    def replica_fn():
      getattr(v, method)(_slices(replica_id(dist) + 2.0, [0, 2]))

    strategy.run(replica_fn)

  return attempt(step), v


@program()
def add_in_replica(dist, strategy, wrap):
  """`scatter_add` from replicas, for each aggregation of a mirrored one."""
  sync = Synchronization.ON_WRITE
  return {
    aggregation.name: _by_replicas(
      dist, strategy, wrap, _make(strategy, sync, aggregation), "scatter_add"
    )
    for aggregation in Aggregation
  }


@program()
def update_in_replica(dist, strategy, wrap):
  """`scatter_update` from replicas, for each aggregation."""
  sync = Synchronization.ON_WRITE
  return {
    aggregation.name: _by_replicas(
      dist, strategy, wrap, _make(strategy, sync, aggregation), "scatter_update"
    )
    for aggregation in Aggregation
  }


@program()
def others_in_replica(dist, strategy):
  """The other `scatter_*`, from replicas, MEAN."""
  methods = ("scatter_sub", "scatter_min", "scatter_max", "scatter_mul")
  outcomes = {}
  for method in (*methods, "scatter_div"):
    v = _make(strategy, Synchronization.ON_WRITE, Aggregation.MEAN)
    outcomes[method] = _by_replicas(dist, strategy, lambda f: f, v, method)
  return outcomes


@program()
def own_in_replica(dist, strategy):
  """Rows of a variable that each replica has its own value of."""
  outcomes = {}
  for method in ("scatter_add", "scatter_update", "scatter_sub"):
    v = _make(strategy, Synchronization.ON_READ, Aggregation.SUM)
    outcomes[method] = _by_replicas(dist, strategy, lambda f: f, v, method)
  return outcomes


@program()
def outside(strategy):
  """`scatter_*` in cross-replica context."""
  outcomes = {}
  for method in ("scatter_add", "scatter_update", "scatter_sub", "scatter_max"):
    v = _make(strategy, Synchronization.ON_WRITE, Aggregation.MEAN)
    with strategy.scope():
      call = getattr(v, method)
      outcomes[method] = attempt(discard, call, _slices(9.0, [1, 1])), v
  return outcomes


@program()
def own_outside(strategy):
  """`scatter_add` of an ON_READ variable in cross-replica context."""
  v = _make(strategy, Synchronization.ON_READ, Aggregation.SUM)
  with strategy.scope():
    return attempt(discard, v.scatter_add, _slices(9.0, [1])), v


@program()
def not_slices(strategy):
  """What is scattered must be IndexedSlices."""
  v = _make(strategy, Synchronization.ON_WRITE, Aggregation.MEAN)
  return attempt(
    lambda: strategy.run(lambda: v.scatter_add(tf.ones([4, 2]))),
    mentions=["IndexedSlices"],
  )


@program()
def slice_assignment(strategy):
  """A slice of a variable can be assigned to."""
  v = _make(strategy, Synchronization.ON_WRITE, Aggregation.MEAN)
  with strategy.scope():
    return attempt(lambda: discard(v[1].assign, [1.0, 2.0])), v
