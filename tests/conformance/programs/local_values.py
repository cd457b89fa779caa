"""Values per replica, made and taken apart outside `run`."""

import tensorflow as tf

from tests.conformance.fragments import spread
from tests.conformance.program import attempt
from tests.conformance.program import EVERY
from tests.conformance.program import program
from tests.conformance.program import SEVERAL


@program(strategies=EVERY)
def made_from_a_function(strategy, wrap):
  """`experimental_distribute_values_from_function` asks once a replica."""

  @wrap
  def make():
    return spread(strategy, lambda i: tf.constant([i, 10 * i]))

  return make()


@program(strategies=EVERY)
def what_the_function_is_told(dist, strategy):
  """The function is told which replica it is, of how many."""

  def tell(context):
    return (
      context.replica_id_in_sync_group,
      context.num_replicas_in_sync,
    )

  return [
    strategy.experimental_distribute_values_from_function(
      lambda context, part=part: tell(context)[part]
    )
    for part in range(2)
  ]


@program(requires=["experimental.ValueContext"])
def value_context(dist):
  """`ValueContext` by itself."""
  context = dist.experimental.ValueContext(1, 2)
  default = dist.experimental.ValueContext()
  return (
    context.replica_id_in_sync_group,
    context.num_replicas_in_sync,
    default.replica_id_in_sync_group,
    default.num_replicas_in_sync,
  )


@program()
def made_on_which_device(strategy):
  """Values made from a function stay on the device they were made on."""

  def make(i):
    with tf.device("/cpu:3"):
      return tf.constant(1.0 * i)

  return spread(strategy, make), spread(strategy, lambda i: tf.constant(i))


@program()
def nests_per_replica(strategy):
  """What is made may be a nest."""
  values = spread(strategy, lambda i: {"a": tf.constant(i), "b": [float(i)]})
  return values, strategy.run(lambda v: (v["a"], v["b"]), args=(values,))


@program()
def made_in_replica_context(strategy):
  """Values are made in cross-replica context only."""
  return attempt(
    lambda: strategy.run(lambda: spread(strategy, lambda i: i)),
    mentions=["replica context"],
  )


@program()
def is_distributed(dist, strategy):
  """What differs per replica is a `DistributedValues`."""
  values = spread(strategy, lambda i: tf.constant(i))
  result = strategy.run(lambda: tf.constant(1.0))
  with strategy.scope():
    variable = tf.Variable(1.0)
  return [
    isinstance(value, dist.DistributedValues)
    for value in (values, result, variable, tf.constant(1.0))
  ]


@program(strategies=EVERY)
def local_results(strategy):
  """`experimental_local_results` gives a tuple with each replica's value."""
  values = spread(strategy, lambda i: tf.constant(1.0 + i))
  return strategy.experimental_local_results(values)


@program(strategies=EVERY)
def local_results_of_plain_values(strategy):
  """What is not distributed is the only element of the tuple."""
  plain = (tf.constant(1.0), 2, "text", None)
  return [strategy.experimental_local_results(value) for value in plain]


@program()
def local_results_of_nests(strategy):
  """A nest is taken apart part by part."""
  values = spread(strategy, lambda i: tf.constant(1.0 + i))
  return (
    attempt(lambda: strategy.experimental_local_results({"a": values})),
    attempt(lambda: strategy.experimental_local_results([values, values])),
    attempt(lambda: strategy.experimental_local_results((values, 1.0))),
  )


@program()
def local_results_of_variables(strategy):
  """A variable's components, each on its device."""
  with strategy.scope():
    v = tf.Variable(1.0, name="v")
  return [
    (part.name, part.device, part.numpy(), part.trainable)
    for part in strategy.experimental_local_results(v)
  ]


@program()
def local_results_in_a_function(strategy, wrap):
  """`experimental_local_results` inside a `tf.function`."""
  values = spread(strategy, lambda i: tf.constant(1.0 + i))

  @wrap
  def step(x):
    doubled = strategy.run(lambda a: 2.0 * a, args=(x,))
    return strategy.experimental_local_results(doubled)

  return step(values)


@program(strategies=SEVERAL)
def used_as_a_tensor(strategy):
  """A value per replica is not a tensor."""
  values = spread(strategy, lambda i: tf.constant(1.0 + i))
  return attempt(lambda: tf.convert_to_tensor(values)), attempt(
    lambda: values + 1.0
  )


@program(strategies=SEVERAL)
def into_and_out_of_a_function(strategy):
  """A value per replica goes through a `tf.function` unharmed."""
  values = spread(strategy, lambda i: tf.constant([1.0 + i]))

  @tf.function
  def through(x):
    return x

  return through(values), through({"a": [values]})


@program()
def function_traced_once(strategy):
  """Values of the same shapes do not retrace a `tf.function`."""
  traces = []

  @tf.function
  def step(x):
    traces.append(None)
    return strategy.run(lambda a: a + 1.0, args=(x,))

  for offset in range(3):
    step(spread(strategy, lambda i, o=offset: tf.constant([1.0 * i + o])))
  return len(traces)


@program(strategies=SEVERAL)
def spec_of_a_value(strategy):
  """A value per replica has a type spec, which a signature may name."""
  values = spread(strategy, lambda i: tf.ones([2, 3]))
  spec = tf.type_spec_from_value(values)

  @tf.function(input_signature=[spec])
  def step(x):
    return strategy.run(lambda a: a + 1.0, args=(x,))

  return isinstance(spec, tf.TypeSpec), step(values)
