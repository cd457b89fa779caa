"""Splitting each batch of a dataset over replicas.

The rule: of a batch of `b` examples, each of `n` replicas in turn takes
`ceil(b / n)` as long as there are so many. The last ones may get fewer, or an
empty batch.
"""

from collections.abc import Sequence
import itertools
from typing import Any

import tensorflow as tf


def split(dataset: tf.data.Dataset, replicas: int) -> tf.data.Dataset:
  """Splits each batch of `dataset` into one for each replica.

  It is one map over the dataset, of splits that copy nothing: so a step takes
  one call of the iterator, however many replicas there are.

  Args:
    dataset: its elements' tensors have examples along their first axis.
    replicas: how many parts there must be.

  Returns:
    A dataset of tuples: the part of each replica, in the structure of
    `dataset`'s elements. For one replica, `dataset` as it is.

  Raises:
    ValueError: if the element holds a tensor without a first axis, or one
      that is known to be smaller than the number of replicas. (A last batch
      may be, and a batch whose size is not static.)
    TypeError: if it holds what can't be split.
  """
  if replicas == 1:
    return dataset
  element_spec = dataset.element_spec
  for spec in tf.nest.flatten(element_spec):
    _check(spec, element_spec, replicas)

  @tf.autograph.experimental.do_not_convert
  def parts(*element: Any) -> tuple[Any, ...]:
    # `map` spreads plain tuples over the arguments.
    nest = element if type(element_spec) is tuple else element[0]
    leaves = [_parts(leaf, replicas) for leaf in tf.nest.flatten(nest)]
    return tuple(
      tf.nest.pack_sequence_as(nest, part) for part in zip(*leaves, strict=True)
    )

  return dataset.map(parts)


def _check(spec: Any, element_spec: Any, replicas: int) -> None:
  if isinstance(spec, tf.data.DatasetSpec | tf.OptionalSpec):
    raise TypeError(
      f"A batch of {spec.value_type.__name__} can't be split over {replicas} "
      f"replicas; the dataset's `element_spec` is {element_spec}. Return "
      "tensors from the dataset, or use `distribute_datasets_from_function`, "
      "which splits nothing."
    )
  shape = getattr(spec, "shape", None)
  if shape is None or shape.rank is None:
    return
  if shape.rank == 0:
    raise ValueError(
      f"The dataset must be batched by the global batch size, to be split "
      f"over {replicas} replicas; its `element_spec` is {element_spec}, where "
      f"{spec} has no first axis. Write `dataset.batch(global_batch_size)`, "
      "or use `distribute_datasets_from_function`, which splits nothing."
    )
  if shape[0] is not None and shape[0] < replicas:
    raise ValueError(
      "The global batch size must be at least the number of replicas; got "
      f"batches of {shape[0]} for {replicas} replicas, which leaves some "
      "without any example at every step. Use a larger batch, or fewer "
      "replicas."
    )


def _parts(leaf: Any, replicas: int) -> Sequence[Any]:
  """The parts of all replicas of one leaf."""
  if leaf is None:
    return [None] * replicas
  if isinstance(leaf, tf.SparseTensor):
    return _parts_of_sparse(leaf, replicas)
  if isinstance(leaf, tf.RaggedTensor):
    return _parts_of_ragged(leaf, replicas)
  if isinstance(leaf, tf.Tensor):
    return _parts_of_tensor(leaf, replicas)
  # An extension type that can be batched has examples along the first axis of
  # all its tensors.
  components = [
    _parts_of_tensor(tensor, replicas)
    for tensor in tf.nest.flatten(leaf, expand_composites=True)
  ]
  return [
    tf.nest.pack_sequence_as(leaf, part, expand_composites=True)
    for part in zip(*components, strict=True)
  ]


def _parts_of_tensor(tensor: tf.Tensor, replicas: int) -> Sequence[tf.Tensor]:
  if _is_even(tensor.shape, replicas):
    return tf.split(tensor, replicas)
  if tensor.shape.rank is None:
    with tf.control_dependencies([_assert_batched(tensor, replicas)]):
      tensor = tf.identity(tensor)
    shape = None
  else:
    shape = [None, *tensor.shape[1:]]
  # The parts differ in size, and must agree on a static shape.
  tensor = tf.raw_ops.PlaceholderWithDefault(input=tensor, shape=shape)
  bounds = _bounds(tf.shape(tensor)[0], replicas)
  return tf.split(tensor, bounds[1:] - bounds[:-1], num=replicas)


def _parts_of_ragged(
  ragged: tf.RaggedTensor, replicas: int
) -> list[tf.RaggedTensor]:
  if _is_even(ragged.shape, replicas):
    size = ragged.shape[0] // replicas
    return [ragged[i * size : (i + 1) * size] for i in range(replicas)]
  bounds = tf.unstack(_bounds(ragged.nrows(), replicas), num=replicas + 1)
  return [
    _without_static_rows(ragged[begin:end])
    for begin, end in itertools.pairwise(bounds)
  ]


def _without_static_rows(ragged: tf.RaggedTensor) -> tf.RaggedTensor:
  splits = tf.raw_ops.PlaceholderWithDefault(
    input=ragged.row_splits, shape=[None]
  )
  return tf.RaggedTensor.from_row_splits(ragged.values, splits, validate=False)


def _parts_of_sparse(
  sparse: tf.SparseTensor, replicas: int
) -> list[tf.SparseTensor]:
  bounds = tf.unstack(
    _bounds(sparse.dense_shape[0], replicas), num=replicas + 1
  )
  rest = sparse.dense_shape[1:]
  parts = []
  for begin, end in itertools.pairwise(bounds):
    start = tf.concat([[begin], tf.zeros_like(rest)], axis=0)
    part = tf.sparse.slice(sparse, start, tf.concat([[end - begin], rest], 0))
    if sparse.shape.rank is not None:
      even = _is_even(sparse.shape, replicas)
      rows = sparse.shape[0] // replicas if even else None
      part.set_shape([rows, *sparse.shape[1:]])
    parts.append(part)
  return parts


def _is_even(shape: tf.TensorShape, replicas: int) -> bool:
  """Whether all parts are known to be of one size."""
  return bool(shape.rank and shape[0] is not None and shape[0] % replicas == 0)


def _bounds(size: tf.Tensor, replicas: int) -> tf.Tensor:
  """Where the parts of a batch of `size` begin, and where the last ends."""
  chunk = (size + replicas - 1) // replicas
  return tf.minimum(tf.range(replicas + 1, dtype=size.dtype) * chunk, size)


def _assert_batched(tensor: tf.Tensor, replicas: int) -> tf.Operation:
  return tf.debugging.Assert(
    tf.rank(tensor) > 0,
    [
      "The dataset must be batched by the global batch size, to be split over "
      f"{replicas} replicas; got a scalar. Write "
      "`dataset.batch(global_batch_size)`."
    ],
  )
