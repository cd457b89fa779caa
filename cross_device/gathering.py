"""Several replicas' components concatenated, on one device."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf


def check(value: Any, axis: int) -> None:
  """Refuses what can't be gathered along `axis`.

  Raises:
    NotImplementedError: if `value` is sparse.
    ValueError: if `value` has no such axis.
  """
  if isinstance(value, tf.IndexedSlices | tf.SparseTensor | tf.RaggedTensor):
    raise NotImplementedError(
      "`gather` needs dense tensors; got a "
      f"`tf.{type(value).__name__}`. Gather its dense parts, or make it dense "
      "first."
    )
  rank = value.shape.rank
  if rank is not None and not (rank > 0 and -rank <= axis < rank):
    raise ValueError(
      "`axis` must be an axis of the value that is gathered; got "
      f"`axis={axis}` for a value of shape {value.shape}. "
      + ("Make a vector of it first." if not rank else f"Its rank is {rank}.")
    )


def gather(components: Sequence[Any], axis: int, device: str) -> tf.Tensor:
  """Concatenates one component a replica along `axis` on `device`."""
  with tf.device(device):
    if len(components) == 1:
      return tf.identity(components[0])
    return tf.concat(list(components), axis=axis)
