"""Making strategies, rightly and wrongly."""

import tensorflow as tf

from tests.conformance.fragments import spread
from tests.conformance.program import attempt
from tests.conformance.program import NO_STRATEGY
from tests.conformance.program import program


@program(strategies=NO_STRATEGY)
def a_device_that_there_is_not(dist):
  """A device that there is not."""
  return {
    "mirrored": attempt(
      lambda: dist.MirroredStrategy(["/gpu:0", "/gpu:1"]).num_replicas_in_sync
    ),
    "one": attempt(
      lambda: dist.OneDeviceStrategy("/gpu:0").num_replicas_in_sync
    ),
  }


@program(strategies=NO_STRATEGY)
def a_number_too_high(dist):
  """A device number that there is not."""
  return {
    "mirrored": attempt(
      lambda: dist.MirroredStrategy(["/cpu:0", "/cpu:99"]).num_replicas_in_sync
    ),
    "one": attempt(
      lambda: dist.OneDeviceStrategy("/cpu:99").num_replicas_in_sync
    ),
  }


@program(strategies=NO_STRATEGY)
def used_on_a_device_that_there_is_not(dist):
  """A step on a device that there is not fails, at the latest."""

  def use():
    strategy = dist.MirroredStrategy(["/cpu:0", "/cpu:99"])
    return strategy.run(lambda: tf.constant(1.0) + 1.0)

  return attempt(use, mentions=["CPU:99"])


@program(strategies=NO_STRATEGY)
def the_same_device_twice(dist):
  """A device may be named once only."""
  return [
    attempt(dist.MirroredStrategy, ["/cpu:0", "/cpu:0"], mentions=["CPU:0"]),
    attempt(
      dist.MirroredStrategy, ["/cpu:1", "/device:CPU:1"], mentions=["CPU:1"]
    ),
  ]


@program(strategies=NO_STRATEGY)
def no_devices(dist):
  """An empty list of devices means all of them."""
  return attempt(lambda: dist.MirroredStrategy([]).extended.worker_devices)


@program(strategies=NO_STRATEGY)
def a_device_without_a_list(dist):
  """One device in place of a list of devices."""
  return attempt(dist.MirroredStrategy, "/cpu:0", mentions=["devices"])


@program(strategies=NO_STRATEGY)
def not_a_device_name(dist):
  """A name that is no device's."""
  return attempt(dist.MirroredStrategy, ["quantum:0"])


@program(strategies=NO_STRATEGY)
def a_tuple_of_devices(dist):
  """Devices may be a tuple, and in any order."""
  strategy = dist.MirroredStrategy(("/cpu:2", "/cpu:0"))
  values = spread(strategy, lambda i: tf.constant(1.0 + i))
  doubled = strategy.run(lambda x: 2.0 * x, args=(values,))
  return strategy.extended.worker_devices, doubled


@program(strategies=NO_STRATEGY)
def on_another_device(dist):
  """`OneDeviceStrategy` puts variables and operations on its device."""
  strategy = dist.OneDeviceStrategy("/cpu:2")
  with strategy.scope():
    v = tf.Variable(1.0)
    x = tf.constant(1.0)
  return (
    v,
    x,
    strategy.run(lambda: v + 1.0),
  )


@program(strategies=NO_STRATEGY)
def no_device(dist):
  """`OneDeviceStrategy` must be given its device."""
  return attempt(dist.OneDeviceStrategy, mentions=["device"])


@program(strategies=NO_STRATEGY, requires=["ReductionToOneDevice"])
def wrong_cross_device_ops(dist):
  """What reduces must be a `CrossDeviceOps`."""

  def make():
    strategy = dist.MirroredStrategy(["/cpu:0", "/cpu:1"], "ring")
    values = spread(strategy, lambda i: tf.constant(1.0 + i))
    return strategy.reduce("SUM", values, axis=None)

  return attempt(make, mentions=["cross_device_ops"])


@program(strategies=NO_STRATEGY)
def two_in_turn(dist):
  """Two strategies can be used one after the other."""
  first = dist.MirroredStrategy(["/cpu:0", "/cpu:1"])
  second = dist.MirroredStrategy(["/cpu:2", "/cpu:3"])
  totals = []
  for strategy in (first, second, first):
    with strategy.scope():
      v = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)
    strategy.run(lambda v=v: v.assign_add(tf.constant(2.0)))
    totals.append(v)
  return totals


@program(strategies=NO_STRATEGY)
def several_at_once(dist):
  """Each of several strategies goes its own way in one `tf.function`."""
  first = dist.MirroredStrategy(["/cpu:0", "/cpu:1"])
  second = dist.OneDeviceStrategy("/cpu:2")

  @tf.function
  def step():
    return first.run(lambda: tf.constant(1.0)), second.run(
      lambda: tf.constant(2.0)
    )

  return step()


@program(strategies=NO_STRATEGY)
def inside_another_scope(dist):
  """A strategy may be made inside another one's scope."""
  with dist.OneDeviceStrategy("/cpu:0").scope():
    return attempt(
      lambda: dist.MirroredStrategy(["/cpu:0", "/cpu:1"]).num_replicas_in_sync
    )


@program(strategies=NO_STRATEGY)
def inside_a_function(dist):
  """A strategy may be made while a `tf.function` is traced."""

  @tf.function
  def make():
    strategy = dist.MirroredStrategy(["/cpu:0", "/cpu:1"])
    return strategy.run(lambda: tf.constant(1.0))

  return attempt(make)


@program()
def copied(strategy):
  """A strategy copies to itself, and cannot be pickled."""
  import copy
  import pickle

  return (
    attempt(lambda: copy.copy(strategy) is strategy),
    attempt(lambda: copy.deepcopy(strategy) is strategy),
    attempt(lambda: bool(pickle.dumps(strategy))),
  )
