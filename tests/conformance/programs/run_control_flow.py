"""`strategy.run` inside loops and branches, and loops inside it."""

import tensorflow as tf

from tests.conformance.fragments import replica_id
from tests.conformance.fragments import spread
from tests.conformance.program import attempt
from tests.conformance.program import EVERY
from tests.conformance.program import FUNCTION
from tests.conformance.program import program
from tests.conformance.program import SEVERAL


def _counter(strategy):
  with strategy.scope():
    return tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)


@program()
def python_loop(dist, strategy, wrap):
  """`run` several times from a Python loop."""
  v = _counter(strategy)

  @wrap
  def steps():
    for _ in range(3):
      strategy.run(lambda: v.assign_add(replica_id(dist) + 1.0))

  steps()
  return v


@program(modes=[FUNCTION])
def range_loop(dist, strategy, wrap):
  """`run` in a `tf.range` loop of a `tf.function`."""
  v = _counter(strategy)

  @wrap
  def steps(count):
    for _ in tf.range(count):
      strategy.run(lambda: v.assign_add(replica_id(dist) + 1.0))

  steps(tf.constant(3))
  return v


@program(modes=[FUNCTION], strategies=SEVERAL)
def loop_carries_a_value(strategy, wrap):
  """A value per replica is carried from one turn of a loop to the next."""
  values = spread(strategy, lambda i: tf.constant(1.0 + i))

  @wrap
  def steps(x, count):
    for _ in tf.range(count):
      x = strategy.run(lambda a: a * 2.0, args=(x,))
    return x

  return steps(values, tf.constant(3))


@program(modes=[FUNCTION])
def while_loop(dist, strategy, wrap):
  """`run` in a loop that ends when a reduced value says so."""
  v = _counter(strategy)

  @wrap
  def steps():
    total = tf.constant(0.0)
    while total < 20.0:
      values = strategy.run(lambda: v.assign_add(replica_id(dist) + 1.0))
      total = strategy.reduce("SUM", values, axis=None)
    return total

  return steps(), v


@program(modes=[FUNCTION])
def branch(strategy, wrap):
  """`run` in the branches of a condition."""
  v = _counter(strategy)

  @wrap
  def step(grow):
    if grow:
      strategy.run(lambda: v.assign_add(tf.constant(1.0)))
    else:
      strategy.run(lambda: v.assign_sub(tf.constant(5.0)))

  step(tf.constant(True))
  grown = v.numpy()
  step(tf.constant(False))
  return grown, v


@program(strategies=EVERY)
def loop_inside(dist, strategy, wrap):
  """A loop inside `fn`, of another length on each replica."""

  def replica_fn():
    count = dist.get_replica_context().replica_id_in_sync_group + 2
    return tf.while_loop(
      lambda i, _: i < count, lambda i, x: (i + 1, x * 2.0), (0, 1.0)
    )

  @wrap
  def step():
    return strategy.run(replica_fn)

  return step()


@program(modes=[FUNCTION], strategies=EVERY)
def autograph_inside(dist, strategy, wrap):
  """`fn` is converted by AutoGraph when the caller is."""

  def replica_fn():
    i = dist.get_replica_context().replica_id_in_sync_group
    x = 1.0
    if i > 0:
      x = 2.0
    while x < 5.0:
      x = x * 3.0
    return x

  @wrap
  def step():
    return strategy.run(replica_fn)

  return step()


@program(modes=[FUNCTION])
def all_reduce_in_a_branch(dist, strategy, wrap):
  """A reduction inside a branch that all replicas take."""

  @wrap
  def step(x, double):
    def replica_fn():
      mine = replica_id(dist) + x
      if double:
        mine = mine * 2.0
      return dist.get_replica_context().all_reduce("SUM", mine)

    return strategy.run(replica_fn)

  return step(tf.constant(1.0), tf.constant(True))


@program()
def run_after_run(strategy, wrap):
  """What one `run` returns is the next one's argument."""
  values = spread(strategy, lambda i: tf.constant([1.0 + i]))

  @wrap
  def step(x):
    first = strategy.run(lambda a: {"y": a * 2.0}, args=(x,))
    return strategy.run(lambda d: d["y"] + 1.0, args=(first,))

  return step(values)


@program()
def error_in_fn(strategy, wrap):
  """An error raised by `fn` reaches the caller as it was raised."""

  @wrap
  def step():
    def replica_fn():
      raise ValueError("on purpose")

    strategy.run(replica_fn)

  return attempt(step, mentions=["on purpose"])


@program(strategies=SEVERAL)
def error_on_one_replica(dist, strategy):
  """An error on one replica only reaches the caller, and `run` goes on."""

  def replica_fn():
    if dist.get_replica_context().replica_id_in_sync_group == 1:
      raise ValueError("on purpose")
    return tf.constant(1.0)

  failed = attempt(strategy.run, replica_fn, mentions=["on purpose"])
  return failed, strategy.run(lambda: tf.constant(2.0))


@program()
def error_in_an_operation(strategy, wrap):
  """An operation's error is TensorFlow's own."""

  @wrap
  def step(x):
    def replica_fn():
      tf.debugging.assert_less(x, 1.0, "too large")
      return x

    return strategy.run(replica_fn)

  return attempt(step, tf.constant(2.0), mentions=["too large"])


@program()
def in_replica_context(strategy):
  """`run` inside `run`."""
  return attempt(
    lambda: strategy.run(lambda: strategy.run(lambda: 1.0)),
    mentions=["replica context"],
  )


@program()
def of_another_strategy(dist, strategy):
  """`run` of another strategy inside a scope is an error."""
  other = dist.OneDeviceStrategy("/cpu:1")

  def run_other():
    with strategy.scope():
      return other.run(lambda: tf.constant(1.0))

  return attempt(run_other, mentions=["OneDeviceStrategy"])


@program()
def device_of_operations(strategy):
  """`fn` runs on its replica's device, whatever device the caller is on."""
  with tf.device("/cpu:3"):
    return strategy.run(lambda: tf.constant(1.0))


@program()
def device_inside(strategy):
  """`fn` may choose a device itself."""

  def replica_fn():
    with tf.device("/cpu:2"):
      return tf.constant(1.0)

  return strategy.run(replica_fn)
