"""Reading variables, in either context."""

import numpy as np
import tensorflow as tf

from tests.conformance.fragments import replica_id
from tests.conformance.program import attempt
from tests.conformance.program import program

Aggregation = tf.VariableAggregation
Synchronization = tf.VariableSynchronization


def _own(dist, strategy, aggregation):
  """A variable that holds i + 1 on replica i."""
  with strategy.scope():
    v = tf.Variable(
      0.0, synchronization=Synchronization.ON_READ, aggregation=aggregation
    )
  strategy.run(lambda: v.assign(replica_id(dist) + 1.0))
  return v


@program()
def mirrored_inside(strategy, wrap):
  """Ways to read a mirrored variable in replica context."""
  with strategy.scope():
    v = tf.Variable([1.0, 2.0])

  @wrap
  def step():
    def replica_fn():
      return [
        v.read_value(),
        v.value(),
        tf.identity(v),
        tf.convert_to_tensor(v),
        v + 0.0,
      ]

    return strategy.run(replica_fn)

  return step()


@program()
def mirrored_outside(strategy, wrap):
  """Ways to read a mirrored variable in cross-replica context."""
  with strategy.scope():
    v = tf.Variable([1.0, 2.0])

  @wrap
  def step():
    return [
      v.read_value(),
      v.value(),
      tf.identity(v),
      tf.convert_to_tensor(v),
      v + 0.0,
    ]

  with strategy.scope():
    inside_scope = step()
  return inside_scope, step()


@program()
def numpy(strategy):
  """`numpy()` and `np.array` give the value."""
  with strategy.scope():
    v = tf.Variable([[1.0, 2.0]])
  return v.numpy(), np.array(v)


@program()
def python_conversions(strategy):
  """`int`, `float` and `bool` of a variable."""
  with strategy.scope():
    v = tf.Variable(3)
  return {
    "int": attempt(int, v),
    "float": attempt(float, v),
    "bool": attempt(bool, v),
  }


@program()
def iteration(strategy):
  """A variable can be unstacked and iterated over."""
  with strategy.scope():
    v = tf.Variable([1.0, 2.0])
  return tf.unstack(v), attempt(list, v), attempt(len, v)


@program()
def own_inside(dist, strategy, wrap):
  """In replica context an ON_READ variable has this replica's value."""
  v = _own(dist, strategy, Aggregation.SUM)

  @wrap
  def step():
    return strategy.run(lambda: (v.read_value(), v + 1.0, tf.identity(v)))

  return step()


@program()
def own_sum_outside(dist, strategy, wrap):
  """ON_READ, SUM: outside `run` it is the sum."""
  v = _own(dist, strategy, Aggregation.SUM)
  step = wrap(lambda: (v.read_value(), tf.convert_to_tensor(v), v * 2.0))
  return step(), v.numpy()


@program()
def own_mean_outside(dist, strategy, wrap):
  """ON_READ, MEAN: outside `run` it is the mean."""
  v = _own(dist, strategy, Aggregation.MEAN)
  step = wrap(lambda: (v.read_value(), tf.convert_to_tensor(v), v * 2.0))
  return step(), v.numpy()


@program()
def own_first_outside(dist, strategy, wrap):
  """ON_READ, ONLY_FIRST_REPLICA: outside `run` it is replica 0's value."""
  v = _own(dist, strategy, Aggregation.ONLY_FIRST_REPLICA)
  step = wrap(lambda: (v.read_value(), tf.convert_to_tensor(v), v * 2.0))
  return step(), v.numpy()


@program()
def own_none_outside(dist, strategy, wrap):
  """ON_READ, NONE: outside `run` there is no one value to read."""
  v = _own(dist, strategy, Aggregation.NONE)

  @wrap
  def step():
    return v.read_value()

  return attempt(step, mentions=["aggregation"]), attempt(
    lambda: tf.convert_to_tensor(v), mentions=["aggregation"]
  )


@program()
def own_in_scope(dist, strategy):
  """In scope an ON_READ variable is read aggregated as well."""
  v = _own(dist, strategy, Aggregation.SUM)
  with strategy.scope():
    return v.read_value(), v + 0.0


@program()
def operators(strategy, wrap):
  """Arithmetic, comparison, matrix product, negation, in replica context."""
  with strategy.scope():
    v = tf.Variable([[4.0, 9.0], [1.0, 2.0]])

  @wrap
  def step():
    def replica_fn():
      return {
        "right": [2.0 + v, 2.0 - v, 2.0 * v, 2.0 / v, 2.0**v],
        "left": [v + 2.0, v - 2.0, v * 2.0, v / 2.0, v**2.0, v // 2.0],
        "rest": [v % 2.0, -v, abs(v), v @ v, v < 2.0, v >= 2.0],
      }

    return strategy.run(replica_fn)

  return step()


@program()
def operators_outside(strategy):
  """The same operators in cross-replica context."""
  with strategy.scope():
    v = tf.Variable([[4.0, 9.0], [1.0, 2.0]])
    return [2.0 - v, v / 2.0, v**2.0, v % 3.0, -v, abs(v), v @ v, v < 2.0]


@program()
def of_two_variables(strategy, wrap):
  """Variables with variables."""
  with strategy.scope():
    v = tf.Variable([1.0, 2.0])
    w = tf.Variable([3.0, 5.0])

  @wrap
  def step():
    return strategy.run(lambda: (v + w, v * w, tf.stack([v, w]), v == w))

  return step(), v + w


@program()
def slices(strategy, wrap):
  """Indexing reads part of a variable."""
  with strategy.scope():
    v = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

  @wrap
  def step():
    return strategy.run(lambda: (v[0], v[:, 1:], v[..., -1], v[1, 2]))

  return step(), v[0], v[:, :2]


@program()
def gathers(strategy, wrap):
  """`tf.gather` and `tf.gather_nd` read rows."""
  with strategy.scope():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

  @wrap
  def step(rows):
    def replica_fn():
      return (
        tf.gather(v, rows),
        tf.gather_nd(v, [[0, 1], [2, 0]]),
      )

    return strategy.run(replica_fn)

  return step(tf.constant([2, 0]))


@program()
def methods_that_gather(strategy):
  """A variable's own `sparse_read` and `gather_nd`."""
  with strategy.scope():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
  return (
    attempt(lambda: strategy.run(lambda: v.sparse_read([2, 0]))),
    attempt(lambda: strategy.run(lambda: v.gather_nd([[0, 1], [2, 0]]))),
  )


@program()
def embedding_lookup(strategy, wrap):
  """`tf.nn.embedding_lookup` reads rows of a variable."""
  with strategy.scope():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

  @wrap
  def step(rows):
    return strategy.run(lambda: tf.nn.embedding_lookup(v, rows))

  return attempt(step, tf.constant([2, 0]))


@program()
def as_arguments_of_operations(strategy, wrap):
  """Operations take a variable where they take a tensor."""
  with strategy.scope():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])

  @wrap
  def step():
    def replica_fn():
      return (
        tf.matmul(v, v),
        tf.reduce_sum(v),
        tf.concat([v, v], axis=0),
        tf.cast(v, tf.int32),
        tf.shape(v),
        tf.where(v > 2.0, v, 0.0),
      )

    return strategy.run(replica_fn)

  return step(), tf.reduce_sum(v)


@program()
def cast_when_converted(strategy):
  """A conversion to another type is an error, as for any variable."""
  with strategy.scope():
    v = tf.Variable(1.0)
  return attempt(lambda: tf.convert_to_tensor(v, tf.int32)), attempt(
    lambda: strategy.run(lambda: tf.convert_to_tensor(v, tf.int32))
  )


@program()
def in_a_function_of_the_caller(strategy):
  """A `tf.function` that never calls `run` reads and writes variables."""
  with strategy.scope():
    v = tf.Variable(1.0)

  @tf.function
  def double():
    v.assign(2.0 * v)
    return v.read_value()

  return double(), double(), v


@program()
def as_an_argument_of_a_function(strategy):
  """A variable may be an argument of a `tf.function`."""
  with strategy.scope():
    v = tf.Variable(3.0)

  @tf.function
  def double(w):
    return w * 2.0

  return double(v), strategy.run(lambda: double(v))


@program()
def condition(strategy, wrap):
  """A variable as a condition, in a branch of a replica."""
  with strategy.scope():
    v = tf.Variable(3.0)

  @wrap
  def step():
    return strategy.run(
      lambda: tf.cond(v > 2.0, lambda: v + 1.0, lambda: v - 1.0)
    )

  return step()
