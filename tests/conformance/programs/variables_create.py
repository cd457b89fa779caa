"""How variables come to be, and what they say about themselves."""

import numpy as np
import tensorflow as tf

from tests.conformance.program import attempt
from tests.conformance.program import EVERY
from tests.conformance.program import program

Aggregation = tf.VariableAggregation
Synchronization = tf.VariableSynchronization


@program(strategies=EVERY)
def in_scope(strategy):
  """A variable made in scope is mirrored: one component on each device."""
  with strategy.scope():
    return tf.Variable([1.0, 2.0], name="weights")


@program()
def outside_scope(strategy):
  """A variable made outside any scope is an ordinary one."""
  v = tf.Variable([1.0, 2.0])
  return v, strategy.run(lambda: v + 1.0)


@program()
def is_a_variable(dist, strategy):
  """A distributed variable is a `tf.Variable`."""
  with strategy.scope():
    v = tf.Variable(1.0)
  return (
    isinstance(v, tf.Variable),
    isinstance(v, tf.Tensor),
    tf.is_tensor(v),
    isinstance(v, dist.DistributedValues),
  )


@program()
def attributes(strategy):
  """What a variable is asked for by name."""
  with strategy.scope():
    v = tf.Variable(np.ones([2, 3]), name="v", trainable=False, shape=[2, None])
  return {
    "name": v.name,
    "dtype": v.dtype,
    "shape": v.shape,
    "get_shape": v.get_shape(),
    "trainable": v.trainable,
    "device": v.device,
    "initialized": attempt(v.is_initialized),
    "constraint": v.constraint,
    "synchronization": v.synchronization,
    "aggregation": v.aggregation,
  }


@program()
def device_in_replica_context(strategy):
  """In replica context a variable is where this replica's component is."""
  with strategy.scope():
    v = tf.Variable(1.0)
  return strategy.run(lambda: (v.device, v.name, v.dtype, v.shape))


@program()
def every_synchronization(strategy):
  """Which synchronizations there are, and what AUTO comes to."""
  made = {}
  for synchronization in Synchronization:
    with strategy.scope():
      made[synchronization.name] = attempt(
        lambda s=synchronization: tf.Variable(
          1.0, synchronization=s, aggregation=Aggregation.SUM
        )
      )
  return made


@program()
def every_aggregation(strategy):
  """Which aggregations there are, for each synchronization."""
  with strategy.scope():
    return {
      f"{synchronization.name} {aggregation.name}": tf.Variable(
        1.0, synchronization=synchronization, aggregation=aggregation
      )
      for synchronization in (Synchronization.ON_WRITE, Synchronization.ON_READ)
      for aggregation in Aggregation
    }


@program()
def trainable_but_not_synchronized(strategy):
  """A variable of each replica's own is not trainable unless one says so."""
  with strategy.scope():
    return [
      attempt(
        lambda t=trainable: tf.Variable(
          1.0, synchronization=Synchronization.ON_READ, trainable=t
        )
      )
      for trainable in (None, True, False)
    ]


@program()
def unknown_aggregation(strategy):
  """An aggregation that there is not."""
  with strategy.scope():
    return attempt(
      lambda: tf.Variable(1.0, aggregation="median"), mentions=["aggregation"]
    )


@program()
def unknown_synchronization(strategy):
  """A synchronization that there is not."""
  with strategy.scope():
    return attempt(
      lambda: tf.Variable(1.0, synchronization="often"),
      mentions=["synchronization"],
    )


@program()
def initial_value_as_a_function(strategy):
  """An initial value may be a function; the components begin equal."""
  with strategy.scope():
    v = tf.Variable(lambda: tf.random.normal([3], seed=7))
  parts = strategy.experimental_local_results(v)
  return [np.array_equal(part, parts[0]) for part in parts]


@program()
def initial_value_of_another_variable(strategy):
  """An initial value may come from another variable."""
  with strategy.scope():
    v = tf.Variable(3.0)
    return tf.Variable(v * 2.0), tf.Variable(v)


@program()
def initializers_called(strategy):
  """A function that gives the initial value is called how often?"""
  calls = []

  def make():
    calls.append(None)
    return 1.0 * len(calls)

  with strategy.scope():
    v = tf.Variable(make)
  return v


@program()
def dtype_given(strategy):
  """The type may be given, and integers and strings may be variables."""
  with strategy.scope():
    return [
      tf.Variable(1, dtype=tf.float64),
      tf.Variable([1, 2]),
      tf.Variable("text"),
      tf.Variable(True),
    ]


@program()
def inside_run(strategy):
  """A variable made inside `run` is a distributed one as well."""
  made = []

  def replica_fn():
    if not made:
      made.append(tf.Variable(2.0, name="inner"))
    return made[0] * 3.0

  results = strategy.run(replica_fn), strategy.run(replica_fn)
  return results, made[0].numpy()


@program()
def kept_by_a_module_inside_run(strategy, wrap):
  """A module may make its variables at its first call, inside `run`."""

  class Lazy(tf.Module):
    def __init__(self):
      super().__init__()
      self.w = None

    def __call__(self, x):
      if self.w is None:
        self.w = tf.Variable([2.0], name="w")
      return self.w * x

  lazy = Lazy()

  @wrap
  def step(x):
    return strategy.run(lazy, args=(x,))

  return step(tf.constant([3.0])), step(tf.constant([4.0]))


@program()
def creator_scopes(strategy):
  """A variable creator inside the scope is asked, once or for each part."""

  def creator(next_creator, **kwargs):
    kwargs["name"] = "renamed"
    return next_creator(**kwargs)

  with strategy.scope(), tf.variable_creator_scope(creator):
    return tf.Variable(1.0, name="original")


@program()
def name_scopes(strategy):
  """A name scope is part of a variable's name."""
  with strategy.scope(), tf.name_scope("outer"):
    return tf.Variable(1.0, name="v").name, tf.Variable(1.0).name


@program()
def in_a_module(strategy):
  """`tf.Module` collects distributed variables."""

  class Layer(tf.Module):
    def __init__(self):
      super().__init__(name="layer")
      with self.name_scope:
        self.w = tf.Variable([[1.0]], name="w")
        self.count = tf.Variable(0, trainable=False, name="count")

  with strategy.scope():
    layer = Layer()
  return (
    [v.name for v in layer.variables],
    [v.name for v in layer.trainable_variables],
    len({id(v) for v in layer.variables}),
  )


@program()
def under_another_strategy(dist, strategy):
  """A variable of another strategy cannot be used in `run`."""
  other = dist.MirroredStrategy(["/cpu:2", "/cpu:3"])
  with other.scope():
    v = tf.Variable(1.0)
  return attempt(lambda: strategy.run(lambda: v.assign_add(tf.constant(1.0))))


@program()
def colocated(strategy):
  """`colocate_vars_with` puts a variable where another is."""
  with strategy.scope():
    v = tf.Variable(1.0)
    with strategy.extended.colocate_vars_with(v):
      return tf.Variable(2.0)


@program()
def copies(strategy):
  """A variable can be hashed by reference, and put in sets."""
  with strategy.scope():
    v = tf.Variable(1.0)
    w = tf.Variable(1.0)
  return (
    len({v.ref(), w.ref(), v.ref()}),
    v.ref().deref() is v,
    attempt(lambda: hash(v)),
  )


@program()
def text(strategy):
  """`str` and `repr` say something and do not fail."""
  with strategy.scope():
    v = tf.Variable(1.0, name="v")
  return bool(str(v)), bool(repr(v))
