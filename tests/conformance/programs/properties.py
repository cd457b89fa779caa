"""What strategies, contexts and options say about themselves."""

import tensorflow as tf

from tests.conformance.program import attempt
from tests.conformance.program import EVERY
from tests.conformance.program import NO_STRATEGY
from tests.conformance.program import program


@program(strategies=EVERY)
def replicas_and_devices(strategy):
  """The number of replicas, the devices of workers and of parameters."""
  extended = strategy.extended
  return {
    "replicas": strategy.num_replicas_in_sync,
    "workers": attempt(lambda: extended.worker_devices),
    "parameters": attempt(lambda: extended.parameter_devices),
    "static shapes": attempt(
      lambda: extended.experimental_require_static_shapes
    ),
  }


@program(strategies=EVERY)
def cluster_resolver(strategy):
  """A strategy of one machine has no cluster resolver."""
  return strategy.cluster_resolver


@program()
def classes(dist, strategy):
  """A strategy is a `Strategy`, its `extended` a `StrategyExtended`."""
  return (
    type(strategy).__name__,
    isinstance(strategy, dist.Strategy),
    isinstance(strategy.extended, dist.StrategyExtended),
  )


@program(strategies=EVERY)
def replica_context_says(dist, strategy):
  """A replica context tells its strategy, id, replicas."""

  def replica_fn():
    context = dist.get_replica_context()
    return {
      "class": isinstance(context, dist.ReplicaContext),
      "strategy": context.strategy is strategy,
      "id": context.replica_id_in_sync_group,
      "replicas": context.num_replicas_in_sync,
    }

  return strategy.run(replica_fn)


@program(strategies=EVERY)
def devices_of_a_replica(dist, strategy):
  """A replica context tells its devices."""
  return strategy.run(lambda: dist.get_replica_context().devices)


@program(modes=["function"])
def replica_context_says_in_a_function(dist, strategy, wrap):
  """In a graph the replica's id is a tensor that knows its replica."""

  @wrap
  def step():
    def replica_fn():
      context = dist.get_replica_context()
      return {
        "id": context.replica_id_in_sync_group,
        "replicas": context.num_replicas_in_sync,
        "twice": 2 * context.replica_id_in_sync_group,
      }

    return strategy.run(replica_fn)

  return step()


@program(strategies=NO_STRATEGY)
def all_local_devices(dist):
  """`MirroredStrategy()` takes every device there is."""
  strategy = dist.MirroredStrategy()
  return strategy.num_replicas_in_sync, strategy.extended.worker_devices


@program(strategies=NO_STRATEGY)
def short_and_long_device_names(dist):
  """Devices may be named in short and in full; they are said in full."""
  names = ["cpu:0", "/CPU:1", "/device:cpu:2", "/device:CPU:3"]
  strategy = dist.MirroredStrategy(names)
  one = dist.OneDeviceStrategy("cpu:1")
  return strategy.extended.worker_devices, one.extended.worker_devices


@program(
  strategies=NO_STRATEGY,
  requires=["ReductionToOneDevice", "HierarchicalCopyAllReduce"],
)
def cross_device_ops(dist):
  """Each way to reduce that `MirroredStrategy` takes gives the same sum."""
  sums = {}
  for name in ("ReductionToOneDevice", "HierarchicalCopyAllReduce"):
    ways = getattr(dist, name)()
    strategy = dist.MirroredStrategy(["/cpu:0", "/cpu:1"], ways)
    values = strategy.experimental_distribute_values_from_function(
      lambda context: tf.constant([1.0 + context.replica_id_in_sync_group])
    )
    sums[name] = strategy.reduce("SUM", values, axis=None)
  return sums


@program(strategies=NO_STRATEGY)
def reduce_op(dist):
  """`ReduceOp` has SUM and MEAN, and comes from a variable's aggregation."""
  ops = dist.ReduceOp
  aggregations = tf.VariableAggregation
  return (
    [(op.name, op.value) for op in ops],
    ops("SUM") is ops.SUM,
    attempt(ops, "MEDIAN"),
    [
      attempt(ops.from_variable_aggregation, aggregation)
      for aggregation in (
        aggregations.SUM,
        aggregations.MEAN,
        aggregations.ONLY_FIRST_REPLICA,
        aggregations.NONE,
      )
    ],
  )


@program(strategies=NO_STRATEGY)
def options(dist):
  """Options have upstream's fields and defaults."""
  run = dist.RunOptions()
  data = dist.InputOptions()
  return {
    "dynamic batch": run.experimental_enable_dynamic_batch_size,
    "bucketizing": run.experimental_bucketizing_dynamic_shape,
    "compilation": run.experimental_xla_options,
    "fetch": data.experimental_fetch_to_device,
    "mode": data.experimental_replication_mode.name,
    "in place": data.experimental_place_dataset_on_device,
    "buffer": data.experimental_per_replica_buffer_size,
    "modes": [mode.name for mode in dist.InputReplicationMode],
  }


@program(
  strategies=NO_STRATEGY,
  requires=[
    "experimental.CommunicationOptions",
    "experimental.CommunicationImplementation",
  ],
)
def communication_options(dist):
  """`CommunicationOptions` checks what it is given."""
  make = dist.experimental.CommunicationOptions
  choices = dist.experimental.CommunicationImplementation
  options = make(bytes_per_pack=1024, timeout_seconds=5.0)
  return (
    [choice.name for choice in choices],
    options.bytes_per_pack,
    options.timeout_seconds,
    options.implementation.name,
    attempt(lambda: make(bytes_per_pack=-1), mentions=["bytes_per_pack"]),
  )


@program(strategies=NO_STRATEGY)
def input_context(dist):
  """`InputContext` divides a global batch and names its pipeline."""
  context = dist.InputContext(
    num_input_pipelines=2, input_pipeline_id=1, num_replicas_in_sync=4
  )
  return (
    context.num_input_pipelines,
    context.input_pipeline_id,
    context.num_replicas_in_sync,
    context.get_per_replica_batch_size(8),
    attempt(context.get_per_replica_batch_size, 6, mentions=["6", "4", "divi"]),
  )
