"""`Strategy.extended`, which optimizers and layers are written with."""

import tensorflow as tf

from tests.conformance.fragments import kind
from tests.conformance.fragments import spread
from tests.conformance.program import attempt
from tests.conformance.program import program


@program()
def reduce_to_all_devices(dist, strategy):
  """`reduce_to` a variable's devices gives a value on each."""
  with strategy.scope():
    v = tf.Variable(1.0)
    values = spread(strategy, lambda i: tf.constant(1.0 + i))
    reduced = strategy.extended.reduce_to(dist.ReduceOp.SUM, values, v)
  return kind(reduced), strategy.experimental_local_results(reduced)


@program()
def reduce_to_one_device(strategy):
  """`reduce_to` one device gives a tensor there."""
  with strategy.scope():
    values = spread(strategy, lambda i: tf.constant(1.0 + i))
    return strategy.extended.reduce_to("MEAN", values, "/device:CPU:1")


@program()
def batch_reduce_to(strategy):
  """`batch_reduce_to` reduces several values at once."""
  with strategy.scope():
    v = tf.Variable(1.0)
    first = spread(strategy, lambda i: tf.constant(1.0 + i))
    second = spread(strategy, lambda i: tf.constant([2.0, 1.0 * i]))
    reduced = strategy.extended.batch_reduce_to(
      "SUM", [(first, v), (second, v)]
    )
  return [strategy.experimental_local_results(value) for value in reduced]


@program()
def update(strategy):
  """`update` calls a function for each component, on its device."""
  with strategy.scope():
    v = tf.Variable(1.0)
    strategy.extended.update(v, lambda w, x: w.assign_add(x), args=(2.0,))
  return v


@program()
def update_with_a_value_per_replica(strategy):
  """`update` gives each component its own part of the arguments."""
  with strategy.scope():
    v = tf.Variable(1.0)
    values = spread(strategy, lambda i: tf.constant(1.0 + i))
    strategy.extended.update(
      v, lambda w, x, y: w.assign(x * y), args=(values,), kwargs={"y": 10.0}
    )
  return v


@program()
def update_without_grouping(strategy):
  """`group=False` gives what the function gave for each component."""
  with strategy.scope():
    v = tf.Variable(1.0)
    result = strategy.extended.update(
      v, lambda w: w.assign_add(2.0) * 1.0, group=False
    )
  return strategy.experimental_local_results(result)


@program()
def device_of_an_update(strategy):
  """Operations of an update run where the component is."""
  with strategy.scope():
    v = tf.Variable(1.0)
    result = strategy.extended.update(
      v, lambda w: tf.constant(1.0) + w, group=False
    )
  return result


@program()
def context_of_an_update(dist, strategy):
  """An update is neither in replica nor in cross-replica context."""
  seen = []

  def update_fn(w):
    seen.append(dist.in_cross_replica_context())
    seen.append(dist.get_replica_context() is None)
    seen.append(isinstance(w, dist.DistributedValues))

  with strategy.scope():
    v = tf.Variable(1.0)
    strategy.extended.update(v, update_fn)
  return seen[:3]


@program()
def update_in_replica_context(strategy):
  """`update` from inside `run`."""
  with strategy.scope():
    v = tf.Variable(1.0)

  def replica_fn():
    strategy.extended.update(v, lambda w: w.assign(2.0))

  return attempt(strategy.run, replica_fn), v


@program()
def reduce_to_in_replica_context(strategy):
  """`reduce_to` is for cross-replica context."""
  with strategy.scope():
    v = tf.Variable(1.0)
  return attempt(
    lambda: strategy.run(
      lambda: strategy.extended.reduce_to("SUM", tf.constant(1.0), v)
    ),
    mentions=["replica context"],
  )


@program()
def reduce_to_by_an_unknown_operation(strategy):
  """Only SUM and MEAN are operations."""
  with strategy.scope():
    v = tf.Variable(1.0)
    return attempt(
      lambda: strategy.extended.reduce_to("median", tf.constant(1.0), v),
      mentions=["median"],
    )


@program()
def mean_of_a_plain_tensor(strategy):
  """The mean of what is the same everywhere, on the variable's devices."""
  with strategy.scope():
    v = tf.Variable(1.0)
    reduced = strategy.extended.reduce_to("MEAN", tf.constant(3.0), v)
  return [
    tf.convert_to_tensor(part).numpy()
    for part in strategy.experimental_local_results(reduced)
  ]


@program()
def call_for_each_replica(dist, strategy):
  """`call_for_each_replica` is `run` without its checks."""
  values = spread(strategy, lambda i: tf.constant(1.0 + i))
  with strategy.scope():
    return strategy.extended.call_for_each_replica(
      lambda x, y: x * y, args=(values,), kwargs={"y": 2.0}
    )


@program()
def value_container(strategy):
  """A component knows the variable it belongs to."""
  with strategy.scope():
    v = tf.Variable(1.0)
    part = strategy.experimental_local_results(v)[0]
    container = strategy.extended.value_container
    plain = tf.constant(1.0)
    return container(part) is v, container(v) is v, container(plain) is plain


@program()
def mirrored_value_in_run(strategy):
  """What `reduce_to` gives is each replica's own part inside `run`."""
  with strategy.scope():
    v = tf.Variable(1.0)
    values = spread(strategy, lambda i: tf.constant(1.0 + i))
    reduced = strategy.extended.reduce_to("SUM", values, v)
  return strategy.run(lambda x: x * 2.0, args=(reduced,))
