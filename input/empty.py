"""Batches of no examples, for replicas that have run out of them."""

from typing import Any

import tensorflow as tf


def is_static(element_spec: Any) -> bool:
  """Whether the shapes of an element allow no empty batch."""
  return all(_is_static(spec) for spec in tf.nest.flatten(element_spec))


def _is_static(spec: Any) -> bool:
  if isinstance(spec, tf.RaggedTensorSpec | tf.SparseTensorSpec):
    # Their other axes are never static.
    return bool(spec.shape.rank) and spec.shape[0] is not None
  components = tf.nest.flatten(spec, expand_composites=True)
  return all(c.shape.is_fully_defined() for c in components)


def empty_batch(element_spec: Any) -> Any:
  """Makes an element of which every axis of unknown size has size 0.

  Args:
    element_spec: a nest of type specs, of which some shape isn't static.

  Returns:
    The element, all zeros where there is anything in it.
  """
  return tf.nest.map_structure(_empty, element_spec)


def _empty(spec: Any) -> Any:
  if isinstance(spec, tf.TensorSpec):
    return tf.zeros(_emptied(spec.shape), spec.dtype)
  if isinstance(spec, tf.SparseTensorSpec):
    return _empty_sparse(spec)
  if isinstance(spec, tf.RaggedTensorSpec):
    return _empty_ragged(spec)
  components = tf.nest.flatten(spec, expand_composites=True)
  return tf.nest.pack_sequence_as(
    spec, [_empty(c) for c in components], expand_composites=True
  )


def _empty_sparse(spec: tf.SparseTensorSpec) -> tf.SparseTensor:
  shape = _emptied(spec.shape)
  return tf.SparseTensor(
    indices=tf.zeros([0, len(shape)], tf.int64),
    values=tf.zeros([0], spec.dtype),
    dense_shape=tf.constant(shape, tf.int64, [len(shape)]),
  )


def _empty_ragged(spec: tf.RaggedTensorSpec) -> tf.RaggedTensor:
  inner = _emptied(spec.shape[spec.ragged_rank + 1 :])
  splits = tf.zeros([1], spec.row_splits_dtype)
  return tf.RaggedTensor.from_nested_row_splits(
    tf.zeros([0, *inner], spec.dtype), [splits] * spec.ragged_rank
  )


def _emptied(shape: tf.TensorShape) -> list[int]:
  if shape.rank is None:
    return [0]
  return [0 if size is None else size for size in shape]
