"""Grouping elements that may differ in shape: one for each replica.

An element travels as a `tf.experimental.Optional`, which is one scalar
variant tensor whatever it holds, and costs no copy.
"""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from stratagem.input import empty as empty_lib


def group(dataset: tf.data.Dataset, replicas: int) -> tf.data.Dataset:
  """Deals the elements of one dataset out to the replicas, in turn.

  Args:
    dataset: its elements are batches of one replica each.
    replicas: how many elements make a step.

  Returns:
    A dataset of tuples: the element of each replica. Where the elements don't
    come out even, the last replicas get empty batches; or the step is left
    out, if the shapes are static and allow no empty batch. For one replica,
    `dataset` as it is.
  """
  if replicas == 1:
    return dataset
  spec = dataset.element_spec
  packed = dataset.map(_packer(spec))
  if not _always_full(dataset):
    # So many that the last step is full, and not so many as to make one more.
    packed = packed.concatenate(_empty_packed(spec).repeat(replicas - 1))
  steps = packed.batch(replicas, drop_remainder=True)

  @tf.autograph.experimental.do_not_convert
  def unpack(step: tf.Tensor) -> tuple[Any, ...]:
    return tuple(_unpack(one, spec) for one in tf.unstack(step, num=replicas))

  return steps.map(unpack)


def zipped(datasets: Sequence[tf.data.Dataset]) -> tf.data.Dataset:
  """Puts the datasets of all replicas side by side.

  Args:
    datasets: one for each replica, of one element spec.

  Returns:
    A dataset of tuples: the element of each replica. It goes on as long as
    any replica has an element, while the others get empty batches; or as long
    as all have, if the shapes are static and allow no empty batch.

  Raises:
    ValueError: if the datasets' element specs differ.
  """
  spec = datasets[0].element_spec
  for index, dataset in enumerate(datasets):
    if dataset.element_spec != spec:
      raise ValueError(
        "`dataset_fn` must return datasets of one `element_spec` for all "
        f"replicas; it is {spec} for replica 0 and {dataset.element_spec} for "
        f"replica {index}."
      )
  if len(datasets) == 1:
    return datasets[0]
  if _always_full(datasets[0]):
    return tf.data.Dataset.zip(tuple(datasets))
  return _zipped_to_the_longest(datasets)


def _zipped_to_the_longest(
  datasets: Sequence[tf.data.Dataset],
) -> tf.data.Dataset:
  spec = datasets[0].element_spec
  flag = tf.data.Dataset.from_tensors
  filler = tf.data.Dataset.zip((_empty_packed(spec), flag(False))).repeat()
  streams = tuple(
    tf.data.Dataset.zip(
      (dataset.map(_packer(spec)), flag(True).repeat())
    ).concatenate(filler)
    for dataset in datasets
  )

  @tf.autograph.experimental.do_not_convert
  def any_left(*replicas: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
    return tf.reduce_any([present for _, present in replicas])

  @tf.autograph.experimental.do_not_convert
  def unpack(*replicas: tuple[tf.Tensor, tf.Tensor]) -> tuple[Any, ...]:
    return tuple(_unpack(packed, spec) for packed, _ in replicas)

  return tf.data.Dataset.zip(streams).take_while(any_left).map(unpack)


def _always_full(dataset: tf.data.Dataset) -> bool:
  """Whether each step has an element for every replica, or is left out."""
  if empty_lib.is_static(dataset.element_spec):
    return True
  # In a graph the cardinality isn't known yet.
  return tf.executing_eagerly() and bool(
    dataset.cardinality() == tf.data.INFINITE_CARDINALITY
  )


def _packer(spec: Any) -> Any:
  @tf.autograph.experimental.do_not_convert
  def pack(*element: Any) -> tf.Tensor:
    # `map` spreads plain tuples over the arguments.
    return _pack(element if type(spec) is tuple else element[0])

  return pack


def _empty_packed(spec: Any) -> tf.data.Dataset:
  return tf.data.Dataset.range(1).map(
    lambda _: _pack(empty_lib.empty_batch(spec))
  )


def _pack(element: Any) -> tf.Tensor:
  flat = tf.nest.flatten(element, expand_composites=True)
  return tf.raw_ops.OptionalFromValue(
    components=[leaf for leaf in flat if leaf is not None]
  )


def _unpack(packed: tf.Tensor, spec: Any) -> Any:
  specs = tf.nest.flatten(spec, expand_composites=True)
  components = tf.raw_ops.OptionalGetValue(
    optional=packed,
    output_types=[component.dtype for component in specs],
    output_shapes=[component.shape for component in specs],
  )
  return tf.nest.pack_sequence_as(spec, components, expand_composites=True)
