"""Distributed datasets of one worker."""

import tensorflow as tf

from tests.conformance.program import attempt
from tests.conformance.program import EVERY
from tests.conformance.program import FUNCTION
from tests.conformance.program import program
from tests.conformance.program import SEVERAL


def _batches(rows=8, batch=4, drop_remainder=False):
  dataset = tf.data.Dataset.range(rows).map(lambda i: tf.cast(i, tf.float32))
  return dataset.batch(batch, drop_remainder=drop_remainder)


def _specs(spec):
  """What each replica gets."""
  return [str(part) for part in tf.nest.flatten(spec, expand_composites=True)]


def _local(strategy, dataset):
  """Each batch as the tuple of what the replicas get."""
  return [strategy.experimental_local_results(batch) for batch in dataset]


@program(strategies=EVERY)
def a_batch_per_replica(strategy):
  """A global batch is split over the replicas, in their order."""
  return list(strategy.experimental_distribute_dataset(_batches(8, 4)))


@program()
def a_smaller_last_batch(strategy):
  """What is left over is split as far as it goes."""
  dataset = strategy.experimental_distribute_dataset(_batches(10, 4))
  return _local(strategy, dataset)


@program()
def a_last_batch_of_one(strategy):
  """A last batch with fewer rows than replicas gives some replicas none."""
  dataset = strategy.experimental_distribute_dataset(_batches(9, 4))
  return _local(strategy, dataset)


@program()
def a_remainder_dropped(strategy):
  """`drop_remainder` leaves no smaller batch."""
  data = _batches(10, 4, drop_remainder=True)
  dataset = strategy.experimental_distribute_dataset(data)
  return _local(strategy, dataset), _specs(dataset.element_spec)


@program()
def a_batch_that_does_not_divide(strategy):
  """A batch size that is no multiple of the number of replicas."""
  dataset = strategy.experimental_distribute_dataset(_batches(10, 5))
  return _local(strategy, dataset)


@program(strategies=SEVERAL)
def a_batch_smaller_than_the_replicas(strategy):
  """A batch size smaller than the number of replicas."""
  return attempt(
    lambda: _local(
      strategy, strategy.experimental_distribute_dataset(_batches(4, 1))
    )
  )


@program()
def fewer_rows_than_replicas(strategy):
  """Fewer rows than replicas in all."""
  dataset = strategy.experimental_distribute_dataset(_batches(1, 4))
  return _local(strategy, dataset)


@program()
def an_empty_dataset(strategy):
  """No rows at all."""
  dataset = strategy.experimental_distribute_dataset(_batches(0, 4))
  return _local(strategy, dataset)


@program()
def not_batched(strategy):
  """A dataset that is not batched has nothing to split."""
  data = tf.data.Dataset.range(4)
  return attempt(
    lambda: _local(strategy, strategy.experimental_distribute_dataset(data)),
    mentions=["batch"],
  )


@program()
def nested_elements(strategy):
  """Dicts and tuples keep their form."""
  data = tf.data.Dataset.from_tensor_slices(
    {"x": tf.reshape(tf.range(8.0), [4, 2]), "y": (tf.range(4), tf.ones([4]))}
  ).batch(4)
  return list(strategy.experimental_distribute_dataset(data))


@program()
def strings_and_booleans(strategy):
  """Any type of tensor is split."""
  data = tf.data.Dataset.from_tensor_slices(
    (["a", "b", "c", "d"], [True, False, True, False])
  ).batch(4)
  return list(strategy.experimental_distribute_dataset(data))


@program()
def ragged_and_sparse(strategy):
  """Ragged and sparse batches are split by rows."""
  ragged = tf.data.Dataset.from_tensor_slices(
    tf.ragged.constant([[1], [2, 3], [], [4, 5, 6]])
  ).batch(4)
  sparse = tf.data.Dataset.from_tensor_slices(
    tf.sparse.from_dense([[1, 0], [0, 2], [3, 0], [0, 4]])
  ).batch(4)
  return (
    attempt(lambda: list(strategy.experimental_distribute_dataset(ragged))),
    attempt(lambda: list(strategy.experimental_distribute_dataset(sparse))),
  )


@program()
def iterated_twice(strategy):
  """Each iteration begins anew."""
  dataset = strategy.experimental_distribute_dataset(_batches(4, 4))
  return _local(strategy, dataset), _local(strategy, dataset)


@program()
def element_spec(strategy):
  """The element spec is per replica, with the batch split."""
  dataset = strategy.experimental_distribute_dataset(_batches(8, 4))
  return _specs(dataset.element_spec), _specs(iter(dataset).element_spec)


@program()
def element_spec_as_signature(strategy):
  """An element spec may be a `tf.function`'s signature."""
  dataset = strategy.experimental_distribute_dataset(_batches(10, 4))
  traces = []

  @tf.function(input_signature=[dataset.element_spec])
  def step(x):
    traces.append(None)
    totals = strategy.run(tf.reduce_sum, args=(x,))
    return strategy.reduce("SUM", totals, axis=None)

  return [step(batch) for batch in dataset], len(traces)


@program()
def into_run(strategy, wrap):
  """Batches go into `run` as they come."""

  @wrap
  def step(batch):
    means = strategy.run(lambda x: tf.reduce_sum(x * x), args=(batch,))
    return strategy.reduce("SUM", means, axis=None)

  dataset = strategy.experimental_distribute_dataset(_batches(10, 4))
  return [step(batch) for batch in dataset]


@program()
def mean_over_a_smaller_batch(strategy):
  """A mean along the batch counts the rows there are."""
  dataset = strategy.experimental_distribute_dataset(_batches(7, 4))
  return [strategy.reduce("MEAN", batch, axis=0) for batch in dataset]


@program(modes=[FUNCTION])
def loop_in_a_function(strategy, wrap):
  """A `tf.function` may loop over a distributed dataset."""
  dataset = strategy.experimental_distribute_dataset(_batches(10, 4))

  @wrap
  def total(dataset):
    result = 0.0
    for batch in dataset:
      sums = strategy.run(tf.reduce_sum, args=(batch,))
      result += strategy.reduce("SUM", sums, axis=None)
    return result

  return total(dataset)


@program()
def from_a_function(strategy):
  """`distribute_datasets_from_function` gives each replica its own batch."""
  seen = []

  def make(context):
    seen.append(
      (
        context.num_input_pipelines,
        context.input_pipeline_id,
        context.num_replicas_in_sync,
        context.get_per_replica_batch_size(4),
      )
    )
    return _batches(8, 2)

  dataset = strategy.distribute_datasets_from_function(make)
  return list(dataset), seen


@program()
def from_a_function_that_ends_early(strategy):
  """Per-replica batches that do not come out even."""
  dataset = strategy.distribute_datasets_from_function(
    lambda context: _batches(5, 2)
  )
  return _local(strategy, dataset)


@program()
def from_a_function_spec(strategy):
  """The element spec of a dataset from a function."""
  dataset = strategy.distribute_datasets_from_function(
    lambda context: _batches(8, 2, drop_remainder=True)
  )
  return _specs(dataset.element_spec)


@program()
def from_a_function_not_a_dataset(strategy):
  """A function that returns something else than a dataset."""
  return attempt(
    lambda: list(
      strategy.distribute_datasets_from_function(lambda context: [1, 2])
    ),
    mentions=["dataset"],
  )


@program()
def not_a_dataset(strategy):
  """Something else than a dataset."""
  return attempt(
    lambda: list(strategy.experimental_distribute_dataset([1, 2])),
    mentions=["dataset"],
  )


@program()
def device_of_a_batch(strategy):
  """A replica's part is on the replica's device."""
  dataset = strategy.experimental_distribute_dataset(_batches(4, 4))
  parts = strategy.experimental_local_results(next(iter(dataset)))
  return [part.device for part in parts]


@program()
def without_fetching(dist, strategy):
  """`experimental_fetch_to_device=False` leaves batches on the host."""
  options = dist.InputOptions(experimental_fetch_to_device=False)
  dataset = strategy.experimental_distribute_dataset(_batches(4, 4), options)
  parts = strategy.experimental_local_results(next(iter(dataset)))
  return [part.device for part in parts], parts


@program()
def replicated_per_replica(dist, strategy):
  """PER_REPLICA replication calls the function for each replica."""
  options = dist.InputOptions(
    experimental_place_dataset_on_device=False,
    experimental_fetch_to_device=False,
    experimental_replication_mode=dist.InputReplicationMode.PER_REPLICA,
  )
  return attempt(
    lambda: list(
      strategy.distribute_datasets_from_function(
        lambda context: _batches(4, 2), options
      )
    )
  )


@program()
def inside_run(strategy):
  """A dataset is distributed in cross-replica context."""
  return attempt(
    lambda: strategy.run(
      lambda: (
        strategy.experimental_distribute_dataset(_batches(4, 4))
        and tf.constant(1.0)
      )
    )
  )


@program()
def transformed_afterwards(strategy):
  """A distributed dataset is not a `tf.data.Dataset`."""
  dataset = strategy.experimental_distribute_dataset(_batches(4, 4))
  return isinstance(dataset, tf.data.Dataset), hasattr(dataset, "map")


@program()
def shuffled_and_prefetched(strategy):
  """Seeded shuffles, repeats and prefetches before the split."""
  data = tf.data.Dataset.range(6).shuffle(6, seed=1).repeat(2)
  dataset = strategy.experimental_distribute_dataset(data.batch(4).prefetch(2))
  return _local(strategy, dataset)


@program()
def batched_then_mapped(strategy):
  """A map after the batch is applied to the whole batch's parts."""
  data = _batches(8, 4).map(lambda x: (x, 10.0 * x))
  return list(strategy.experimental_distribute_dataset(data))


@program()
def class_of_a_dataset(dist, strategy):
  """What comes is a `DistributedDataset` and a `DistributedIterator`."""
  dataset = strategy.experimental_distribute_dataset(_batches(4, 4))
  return (
    isinstance(dataset, dist.DistributedDataset),
    isinstance(iter(dataset), dist.DistributedIterator),
  )
