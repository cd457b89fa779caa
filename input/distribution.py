"""From a user's dataset to a distributed one."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from stratagem.cluster import devices as devices_lib
from stratagem.input import context as context_lib
from stratagem.input import dataset as dataset_lib
from stratagem.input import grouping
from stratagem.input import options as options_lib
from stratagem.input import splitting

_PER_REPLICA = options_lib.InputReplicationMode.PER_REPLICA


def distribute_dataset(
  dataset: tf.data.Dataset,
  replica_devices: Sequence[str],
  options: options_lib.InputOptions | None = None,
) -> dataset_lib.DistributedDataset:
  """Splits each batch of a dataset over the replicas of one worker.

  Args:
    dataset: batched by the global batch size. A last batch
      smaller than the number of replicas leaves some of them an empty one.
    replica_devices: the device of each replica.
    options: how to feed the replicas.

  Returns:
    The distributed dataset.

  Raises:
    TypeError: if `dataset` isn't a `tf.data.Dataset`, or its elements can't be
      split.
    ValueError: if `dataset` isn't batched, or by a static size that is
      smaller than the number of replicas.
    NotImplementedError: if `options` ask for one pipeline a replica.

  References:
    Mirrors `tf.distribute.Strategy.experimental_distribute_dataset` (2.21),
    but refuses what isn't a dataset by a TypeError, and a dataset that isn't
    batched by a ValueError.
  """
  options = options_lib.InputOptions.from_any(options)
  if not isinstance(dataset, tf.data.Dataset):
    raise TypeError(
      f"`dataset` must be a `tf.data.Dataset`; got {_described(dataset)}. "
      "Make one with `tf.data.Dataset.from_tensor_slices(...).batch(...)`."
    )
  if options.experimental_replication_mode is _PER_REPLICA:
    raise NotImplementedError(
      "`InputReplicationMode.PER_REPLICA` needs a dataset for each replica, "
      "which `experimental_distribute_dataset` can't make of one. Use "
      "`distribute_datasets_from_function`."
    )
  devices = tuple(map(devices_lib.canonical, replica_devices))
  with tf.device(_host(devices)):
    steps = splitting.split(dataset, len(devices))
    return _distributed(steps, dataset, devices, options)


def distribute_datasets_from_function(
  dataset_fn: Callable[[context_lib.InputContext], tf.data.Dataset],
  replica_devices: Sequence[str],
  options: options_lib.InputOptions | None = None,
) -> dataset_lib.DistributedDataset:
  """Feeds the replicas of one worker from datasets that a function makes.

  Args:
    dataset_fn: returns a dataset batched by the batch size of one replica.
      Successive elements go to successive replicas.
    replica_devices: the device of each replica.
    options: how to feed the replicas. With `PER_REPLICA`, `dataset_fn` is
      called for each replica, and each has its own dataset.

  Returns:
    The distributed dataset.

  Raises:
    TypeError: if `dataset_fn` can't be called, or returns no dataset.
    ValueError: if `options` contradict each other.

  References:
    Mirrors `tf.distribute.Strategy.distribute_datasets_from_function` (2.21).
    Where the elements don't come out even and their shapes are static, the
    last step is left out, while upstream leaves it out in Python and gives
    batches of another than the static shape in a `tf.function`'s `for`.
  """
  options = options_lib.InputOptions.from_any(options)
  _check_placement(options)
  if not callable(dataset_fn):
    raise TypeError(
      "`dataset_fn` must be a function that takes an `InputContext` and "
      f"returns a `tf.data.Dataset`; got {_described(dataset_fn)}."
    )
  devices = tuple(map(devices_lib.canonical, replica_devices))
  datasets = _datasets(dataset_fn, devices, options)
  with tf.device(_host(devices)):
    if options.experimental_replication_mode is _PER_REPLICA:
      steps = grouping.zipped(datasets)
    else:
      steps = grouping.group(datasets[0], len(devices))
    return _distributed(steps, datasets[0], devices, options)


def _datasets(
  dataset_fn: Callable[[context_lib.InputContext], tf.data.Dataset],
  devices: tuple[str, ...],
  options: options_lib.InputOptions,
) -> list[tf.data.Dataset]:
  """Calls `dataset_fn` for each input pipeline."""
  per_replica = options.experimental_replication_mode is _PER_REPLICA
  on_device = options.experimental_place_dataset_on_device
  places = devices if on_device else (_host(devices),) * len(devices)
  places = places if per_replica else places[:1]
  datasets = []
  for pipeline, place in enumerate(places):
    context = context_lib.InputContext(
      num_input_pipelines=len(places),
      input_pipeline_id=pipeline,
      num_replicas_in_sync=len(devices),
    )
    with tf.device(place):
      datasets.append(_called(dataset_fn, context))
  return datasets


def _called(
  dataset_fn: Callable[[context_lib.InputContext], tf.data.Dataset],
  context: context_lib.InputContext,
) -> tf.data.Dataset:
  dataset = dataset_fn(context)
  if not isinstance(dataset, tf.data.Dataset):
    raise TypeError(
      f"`dataset_fn` must return a `tf.data.Dataset`; `{dataset_fn!r}` "
      f"returned {_described(dataset)} for {context}."
    )
  return dataset


def _distributed(
  steps: tf.data.Dataset,
  source: tf.data.Dataset,
  devices: tuple[str, ...],
  options: options_lib.InputOptions,
) -> dataset_lib.DistributedDataset:
  if options.experimental_per_replica_buffer_size:
    steps = steps.prefetch(options.experimental_per_replica_buffer_size)
  host = _host(devices)
  fetch = options.experimental_fetch_to_device
  # Parts that are, or stay, on the host need no copy.
  targets = tuple(d if fetch and d != host else "" for d in devices)
  return dataset_lib.DistributedDataset(steps, source, host, targets)


def _host(devices: tuple[str, ...]) -> str:
  """The CPU beside the devices, where pipelines run."""
  spec = tf.DeviceSpec.from_string(devices[0])
  return spec.replace(device_type="CPU", device_index=0).to_string()


def _check_placement(options: options_lib.InputOptions) -> None:
  if not options.experimental_place_dataset_on_device:
    return
  if options.experimental_replication_mode is not _PER_REPLICA:
    raise ValueError(
      "`experimental_place_dataset_on_device` must go with "
      "`experimental_replication_mode=InputReplicationMode.PER_REPLICA`; got "
      f"{options.experimental_replication_mode}."
    )
  if options.experimental_fetch_to_device:
    raise ValueError(
      "`experimental_place_dataset_on_device` must go with "
      "`experimental_fetch_to_device=False`: a dataset on the device has "
      "nothing to fetch to it."
    )


def _described(value: Any) -> str:
  return f"{value!r} of type `{type(value).__name__}`"
