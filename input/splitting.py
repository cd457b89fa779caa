"""Splitting each batch of a dataset over replicas.

The rule: of a batch of `b` examples, each of `n` replicas in turn takes
`ceil(b / n)` as long as there are so many. The last ones may get fewer, or an
empty batch.
"""

import functools
from typing import Any

import tensorflow as tf


def split(dataset: tf.data.Dataset, replicas: int) -> tf.data.Dataset:
  """Splits each batch of `dataset` into one for each replica.

  It is one map over the dataset, of slices that copy nothing: so a step takes
  one call of the iterator, however many replicas there are.

  Args:
    dataset: its elements' tensors have examples along their first axis.
    replicas: how many parts there must be.

  Returns:
    A dataset of tuples: the part of each replica, in the structure of
    `dataset`'s elements. For one replica, `dataset` as it is.

  Raises:
    ValueError: if the element holds a tensor without a first axis.
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
    return tuple(
      tf.nest.map_structure(
        functools.partial(_part, index=index, replicas=replicas), nest
      )
      for index in range(replicas)
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
  if getattr(spec, "shape", None) is not None and spec.shape.rank == 0:
    raise ValueError(
      f"The dataset must be batched by the global batch size, to be split "
      f"over {replicas} replicas; its `element_spec` is {element_spec}, where "
      f"{spec} has no first axis. Write `dataset.batch(global_batch_size)`, "
      "or use `distribute_datasets_from_function`, which splits nothing."
    )


def _part(leaf: Any, index: int, replicas: int) -> Any:
  if leaf is None:
    return None
  if isinstance(leaf, tf.SparseTensor):
    return _part_of_sparse(leaf, index, replicas)
  if isinstance(leaf, tf.RaggedTensor):
    return _part_of_ragged(leaf, index, replicas)
  if isinstance(leaf, tf.Tensor):
    return _part_of_tensor(leaf, index, replicas)
  # An extension type that can be batched has examples along the first axis of
  # all its tensors.
  return tf.nest.map_structure(
    lambda tensor: _part_of_tensor(tensor, index, replicas),
    leaf,
    expand_composites=True,
  )


def _part_of_tensor(tensor: tf.Tensor, index: int, replicas: int) -> tf.Tensor:
  if tensor.shape.rank is None:
    with tf.control_dependencies([_assert_batched(tensor, replicas)]):
      tensor = tf.identity(tensor)
    begin, end = _bounds(tf.shape(tensor)[0], index, replicas)
    return tensor[begin:end]
  size = tensor.shape[0]
  if size is None or size % replicas:
    begin, end = _bounds(tf.shape(tensor)[0], index, replicas)
    # Replicas get different shapes, and must agree on a static one.
    return tf.raw_ops.PlaceholderWithDefault(
      input=tensor[begin:end], shape=[None, *tensor.shape[1:]]
    )
  begin, end = _bounds(size, index, replicas)
  return tensor[begin:end]


def _part_of_ragged(
  ragged: tf.RaggedTensor, index: int, replicas: int
) -> tf.RaggedTensor:
  size = ragged.shape[0]
  if size is not None and size % replicas == 0:
    begin, end = _bounds(size, index, replicas)
    return ragged[begin:end]
  begin, end = _bounds(ragged.nrows(), index, replicas)
  part = ragged[begin:end]
  splits = tf.raw_ops.PlaceholderWithDefault(
    input=part.row_splits, shape=[None]
  )
  return tf.RaggedTensor.from_row_splits(part.values, splits, validate=False)


def _part_of_sparse(
  sparse: tf.SparseTensor, index: int, replicas: int
) -> tf.SparseTensor:
  begin, end = _bounds(sparse.dense_shape[0], index, replicas)
  rest = sparse.dense_shape[1:]
  part = tf.sparse.slice(
    sparse,
    tf.concat([[begin], tf.zeros_like(rest)], axis=0),
    tf.concat([[end - begin], rest], axis=0),
  )
  if sparse.shape.rank is not None:
    static = sparse.shape[0]
    even = static is not None and static % replicas == 0
    part.set_shape([static // replicas if even else None, *sparse.shape[1:]])
  return part


def _bounds(size: Any, index: int, replicas: int) -> tuple[Any, Any]:
  """Where the part of a replica begins and ends in a batch of `size`."""
  chunk = (size + replicas - 1) // replicas
  if isinstance(size, int):
    return min(index * chunk, size), min((index + 1) * chunk, size)
  return tf.minimum(index * chunk, size), tf.minimum((index + 1) * chunk, size)


def _assert_batched(tensor: tf.Tensor, replicas: int) -> tf.Operation:
  return tf.debugging.Assert(
    tf.rank(tensor) > 0,
    [
      "The dataset must be batched by the global batch size, to be split over "
      f"{replicas} replicas; got a scalar. Write "
      "`dataset.batch(global_batch_size)`."
    ],
  )
