"""`Strategy.reduce`."""

import tensorflow as tf

from tests.conformance.fragments import spread
from tests.conformance.program import attempt
from tests.conformance.program import EVERY
from tests.conformance.program import program
from tests.conformance.program import SEVERAL


def _rows(strategy):
  """`[i + 1, 2]` numbers on replica i."""
  return spread(strategy, lambda i: tf.fill([i + 1, 2], 1.0 + i))


@program(strategies=EVERY)
def by_sum(dist, strategy, wrap):
  """SUM with no axis adds the replicas' values."""
  values = spread(strategy, lambda i: tf.constant([1.0 + i, 2.0]))

  @wrap
  def step(x):
    return strategy.reduce(dist.ReduceOp.SUM, x, axis=None)

  return step(values)


@program(strategies=EVERY)
def by_mean(dist, strategy, wrap):
  """MEAN with no axis divides the sum by the number of replicas."""
  values = spread(strategy, lambda i: tf.constant([3.0 * i, 2.0]))

  @wrap
  def step(x):
    return strategy.reduce(dist.ReduceOp.MEAN, x, axis=None)

  return step(values)


@program()
def by_name(strategy, wrap):
  """The operation may be given by its name, in capitals or not."""
  values = spread(strategy, lambda i: tf.constant(1.0 + i))

  @wrap
  def step(x):
    names = ("SUM", "sum", "MEAN", "mean")
    return [strategy.reduce(name, x, axis=None) for name in names]

  return step(values)


@program()
def by_an_unknown_name(strategy):
  """Another name is an error."""
  return attempt(
    lambda: strategy.reduce("median", tf.constant(1.0), axis=None),
    mentions=["median", "sum", "mean"],
  )


@program()
def without_an_axis(strategy):
  """The axis must be given, if only as None."""
  return attempt(
    lambda: strategy.reduce("SUM", tf.constant(1.0)), mentions=["axis"]
  )


@program()
def sum_along_first_axis(strategy, wrap):
  """SUM along axis 0 adds rows, however many each replica has."""
  values = _rows(strategy)

  @wrap
  def step(x):
    return strategy.reduce("SUM", x, axis=0)

  return step(values)


@program(tolerance=1e-6)
def mean_along_first_axis(strategy, wrap):
  """MEAN along axis 0 divides by the number of rows of all replicas."""
  values = _rows(strategy)

  @wrap
  def step(x):
    return strategy.reduce("MEAN", x, axis=0)

  return step(values)


@program(tolerance=1e-6)
def along_second_axis(strategy, wrap):
  """Along axis 1, what is left is reduced over the replicas."""
  values = spread(strategy, lambda i: tf.constant([[1.0 + i, 2.0, 6.0]] * 2))

  @wrap
  def step(x):
    return strategy.reduce("SUM", x, axis=1), strategy.reduce("MEAN", x, axis=1)

  return step(values)


@program(tolerance=1e-6)
def along_negative_axis(strategy):
  """A negative axis counts from the end."""
  values = spread(strategy, lambda i: tf.constant([[1.0 + i, 2.0, 6.0]] * 2))
  return (
    attempt(lambda: strategy.reduce("SUM", values, axis=-1)),
    attempt(lambda: strategy.reduce("MEAN", values, axis=-1)),
  )


@program(tolerance=1e-6)
def along_several_axes(strategy):
  """Several axes at once."""
  values = spread(strategy, lambda i: tf.fill([i + 1, 2], 1.0 + i))
  return (
    attempt(lambda: strategy.reduce("SUM", values, axis=(0, 1))),
    attempt(lambda: strategy.reduce("MEAN", values, axis=(0, 1))),
  )


@program()
def along_an_axis_it_has_not(strategy):
  """An axis that the value does not have is an error."""
  values = spread(strategy, lambda i: tf.constant([1.0 + i]))
  return attempt(
    lambda: strategy.reduce("SUM", values, axis=3), mentions=["axis", "3"]
  )


@program()
def mean_along_an_axis_it_has_not(strategy):
  """The same with MEAN, of scalars."""
  values = spread(strategy, lambda i: tf.constant(1.0 + i))
  return attempt(
    lambda: strategy.reduce("MEAN", values, axis=0), mentions=["axis"]
  )


@program(modes=["function"])
def shapes_unknown_beforehand(strategy, wrap):
  """Rows are counted when the step runs if their number is not known."""
  values = _rows(strategy)

  @wrap
  def step(x):
    bigger = strategy.run(lambda a: tf.boolean_mask(a, a[:, 0] > 1.0), (x,))
    return strategy.reduce("MEAN", bigger, axis=0)

  result = step(values)
  return tf.where(tf.math.is_nan(result), -1.0, result)


@program(strategies=EVERY)
def plain_tensor(strategy):
  """A plain tensor stands for the same value on every replica."""
  return [
    attempt(lambda op=op: strategy.reduce(op, tf.constant(3.0), axis=None))
    for op in ("SUM", "MEAN")
  ]


@program(strategies=EVERY)
def plain_tensor_along_an_axis(strategy):
  """A plain tensor, reduced along an axis."""
  x = tf.constant([1.0, 2.0, 6.0])
  return [
    attempt(lambda op=op: strategy.reduce(op, x, axis=0))
    for op in ("SUM", "MEAN")
  ]


@program(strategies=EVERY)
def python_numbers(strategy):
  """A Python number, which is one on every replica."""
  return [
    attempt(lambda op=op, x=x: strategy.reduce(op, x, axis=None))
    for op in ("SUM", "MEAN")
    for x in (3.0, 2)
  ]


@program(strategies=EVERY)
def python_zero(strategy):
  """Zero, which has the same sum and mean however many replicas there are."""
  return [
    attempt(lambda op=op: strategy.reduce(op, 0.0, axis=None))
    for op in ("SUM", "MEAN")
  ]


@program()
def python_numbers_per_replica(strategy):
  """A Python number that differs between the replicas."""
  values = spread(strategy, lambda i: 1.5 * i)
  return attempt(lambda: strategy.reduce("SUM", values, axis=None))


@program()
def nests(strategy, wrap):
  """A nest is reduced part by part and keeps its form."""
  values = spread(strategy, lambda i: tf.constant([1.0 + i, 2.0]))

  @wrap
  def step(x):
    return strategy.reduce("SUM", {"a": x, "b": [x, (x,)]}, axis=None)

  return step(values)


@program()
def nests_along_an_axis(strategy):
  """A nest, reduced along an axis."""
  values = spread(strategy, lambda i: tf.constant([1.0 + i, 2.0]))
  return attempt(lambda: strategy.reduce("SUM", {"a": values}, axis=0))


@program()
def what_run_returns(dist, strategy, wrap):
  """`reduce` takes what `run` gives, nothing else being needed."""
  values = spread(strategy, lambda i: tf.constant([1.0 + i, 4.0]))

  @wrap
  def step(x):
    losses = strategy.run(lambda a: {"loss": tf.reduce_sum(a * a)}, args=(x,))
    return strategy.reduce("MEAN", losses, axis=None)

  return step(values)


@program()
def none(strategy):
  """None, which is what a `fn` with no result gives."""
  return attempt(
    lambda: strategy.reduce("SUM", strategy.run(lambda: None), axis=None)
  )


@program()
def integers(strategy, wrap):
  """Integers are summed as such."""
  values = spread(strategy, lambda i: tf.constant([1 + i, 2]))

  @wrap
  def step(x):
    return strategy.reduce("SUM", x, axis=None), strategy.reduce(
      "SUM", x, axis=0
    )

  return step(values)


@program()
def mean_of_integers(strategy):
  """The mean of integers, over the replicas and along an axis."""
  values = spread(strategy, lambda i: tf.constant([3 * i, 2]))
  return (
    attempt(lambda: strategy.reduce("MEAN", values, axis=None)),
    attempt(lambda: strategy.reduce("MEAN", values, axis=0)),
  )


@program()
def booleans(strategy):
  """Booleans cannot be summed."""
  values = spread(strategy, lambda i: tf.constant(i == 0))
  return attempt(lambda: strategy.reduce("SUM", values, axis=None))


@program()
def indexed_slices(strategy):
  """IndexedSlices reduce to IndexedSlices with everybody's rows."""

  def make(i):
    return tf.IndexedSlices(
      values=tf.fill([1, 2], 1.0 + i),
      indices=tf.constant([i], tf.int64),
      dense_shape=tf.constant([4, 2], tf.int64),
    )

  return strategy.reduce("SUM", spread(strategy, make), axis=None)


@program()
def mirrored_variables(strategy):
  """The mean of a mirrored variable."""
  with strategy.scope():
    v = tf.Variable(2.0)
  return strategy.reduce("MEAN", v, axis=None)


@program()
def sum_of_a_mirrored_variable(strategy):
  """The sum of a mirrored variable."""
  with strategy.scope():
    v = tf.Variable(2.0)
  return attempt(lambda: strategy.reduce("SUM", v, axis=None))


@program(strategies=SEVERAL)
def variables_of_each_replica(strategy):
  """A variable that each replica has its own value of is like a value."""
  with strategy.scope():
    v = tf.Variable(
      3.0,
      synchronization=tf.VariableSynchronization.ON_READ,
      aggregation=tf.VariableAggregation.SUM,
    )
  return [strategy.reduce(op, v, axis=None) for op in ("SUM", "MEAN")]


@program(strategies=SEVERAL, requires=["ReductionToOneDevice"])
def differing_shapes(dist, strategy):
  """Values of different shapes cannot be reduced without an axis."""
  strategy = dist.MirroredStrategy(
    strategy.extended.worker_devices, dist.ReductionToOneDevice()
  )
  return attempt(
    lambda: strategy.reduce("SUM", _rows(strategy), axis=None),
    mentions=["shape"],
  )


@program()
def in_replica_context(strategy):
  """`reduce` is for cross-replica context."""
  return attempt(
    lambda: strategy.run(
      lambda: strategy.reduce("SUM", tf.constant(1.0), axis=None)
    ),
    mentions=["all_reduce", "replica context"],
  )


@program()
def inside_scope(strategy):
  """`reduce` from inside the scope."""
  values = spread(strategy, lambda i: tf.constant(1.0 + i))
  with strategy.scope():
    return strategy.reduce("SUM", values, axis=None)


@program()
def of_another_strategy(dist, strategy):
  """`reduce` inside another strategy's scope is an error."""
  other = dist.OneDeviceStrategy("/cpu:1")

  def reduce_with_other():
    with strategy.scope():
      return other.reduce("SUM", tf.constant(1.0), axis=None)

  return attempt(reduce_with_other, mentions=["OneDeviceStrategy"])
