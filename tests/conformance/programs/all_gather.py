"""`ReplicaContext.all_gather` and `Strategy.gather`."""

import tensorflow as tf

from tests.conformance.fragments import replica_id
from tests.conformance.fragments import spread
from tests.conformance.program import attempt
from tests.conformance.program import EVERY
from tests.conformance.program import program


def _gathered(dist, strategy, wrap, make, axis):
  """What `run` gives for all-gathering `make(replica id)`."""

  @wrap
  def step():
    def replica_fn():
      value = make(replica_id(dist))
      return dist.get_replica_context().all_gather(value, axis=axis)

    return strategy.run(replica_fn)

  return step()


@program(strategies=EVERY)
def first_axis(dist, strategy, wrap):
  """The replicas' values are concatenated in their order, on every replica."""
  return _gathered(dist, strategy, wrap, lambda i: tf.fill([1, 2], i), axis=0)


@program()
def second_axis(dist, strategy, wrap):
  """Any axis may be gathered along."""
  return _gathered(dist, strategy, wrap, lambda i: tf.fill([2, 1], i), axis=1)


@program()
def negative_axis(dist, strategy):
  """A negative axis counts from the end."""
  return attempt(
    lambda: _gathered(
      dist, strategy, lambda f: f, lambda i: tf.fill([2, 1], i), axis=-1
    )
  )


@program()
def uneven(dist, strategy, wrap):
  """The replicas' values may have different lengths along the axis."""

  def make(i):
    return tf.fill([tf.cast(i, tf.int32) + 1, 2], i)

  return _gathered(dist, strategy, wrap, make, axis=0)


@program()
def uneven_second_axis(dist, strategy, wrap):
  """Different lengths along a later axis."""

  def make(i):
    return tf.fill([2, tf.cast(i, tf.int32) + 1], i)

  return _gathered(dist, strategy, wrap, make, axis=1)


@program()
def nests(dist, strategy, wrap):
  """A nest is gathered part by part."""

  def make(i):
    return {"a": [tf.fill([1], i)], "b": (tf.fill([2, 1], -i),)}

  return _gathered(dist, strategy, wrap, make, axis=0)


@program()
def integers(dist, strategy, wrap):
  """Integers are gathered as such."""

  def make(i):
    return tf.cast([i], tf.int32), tf.cast([i], tf.int64)

  return _gathered(dist, strategy, wrap, make, axis=0)


@program()
def booleans(dist, strategy):
  """Booleans."""

  def make(i):
    return tf.stack([i > 0.0])

  return attempt(lambda: _gathered(dist, strategy, lambda f: f, make, axis=0))


@program()
def strings(dist, strategy):
  """Strings."""

  def make(i):
    return tf.strings.as_string([i])

  return attempt(lambda: _gathered(dist, strategy, lambda f: f, make, axis=0))


@program()
def scalars(dist, strategy):
  """Scalars have no axis to gather along."""
  return attempt(
    lambda: _gathered(dist, strategy, lambda f: f, lambda i: i, axis=0),
    mentions=["axis"],
  )


@program()
def gradient(dist, strategy, wrap):
  """The gradient of a gathered value goes back to the replica it is from."""

  @wrap
  def step():
    def replica_fn():
      x = tf.fill([1], replica_id(dist) + 1.0)
      with tf.GradientTape() as tape:
        tape.watch(x)
        everything = dist.get_replica_context().all_gather(x, axis=0)
        loss = tf.reduce_sum(everything * everything)
      return tape.gradient(loss, x)

    return strategy.run(replica_fn)

  return step()


@program(strategies=EVERY)
def of_a_strategy(strategy, wrap):
  """`Strategy.gather` gives one tensor of everybody's values."""
  values = spread(strategy, lambda i: tf.constant([[1.0 + i, 2.0]]))

  @wrap
  def step(x):
    return strategy.gather(x, axis=0), strategy.gather(x, axis=1)

  return step(values)


@program()
def of_a_strategy_uneven(strategy, wrap):
  """`Strategy.gather` of different lengths."""
  values = spread(strategy, lambda i: tf.range(i + 1))

  @wrap
  def step(x):
    return strategy.gather(x, axis=0)

  return step(values)


@program()
def of_a_strategy_what_is_not_distributed(strategy):
  """`Strategy.gather` of a plain tensor."""
  return attempt(lambda: strategy.gather(tf.constant([1.0, 2.0]), axis=0))


@program()
def of_a_strategy_nests(strategy):
  """`Strategy.gather` of a nest."""
  values = spread(strategy, lambda i: tf.constant([1.0 + i]))
  return attempt(lambda: strategy.gather({"a": values, "b": [values]}, axis=0))


@program()
def of_a_strategy_scalars(strategy):
  """`Strategy.gather` of scalars is an error that says so."""
  values = spread(strategy, lambda i: tf.constant(1.0 + i))
  return attempt(lambda: strategy.gather(values, axis=0), mentions=["axis"])


@program()
def of_a_strategy_in_replica_context(strategy):
  """`Strategy.gather` is for cross-replica context."""
  return attempt(
    lambda: strategy.run(lambda: strategy.gather(tf.ones([1]), axis=0)),
    mentions=["all_gather", "replica context"],
  )
