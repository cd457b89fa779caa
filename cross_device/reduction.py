"""Several replicas' components become one, on one device."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from stratagem.cross_device import reduce_op as reduce_op_lib

ReduceOp = reduce_op_lib.ReduceOp


def reduce(op: ReduceOp, components: Sequence[Any], device: str) -> Any:
  """Reduces one component a replica to one value on `device`.

  Args:
    op: how.
    components: dense tensors of one shape, or `tf.IndexedSlices` of one
      dense shape, one a replica.
    device: where the result is computed.

  Returns:
    A dense tensor, or `tf.IndexedSlices` if every component is that. A mean
    of several integers is a float64, as true division makes it.

  Example:
    >>> reduce(ReduceOp.MEAN, [tf.constant(1.0), tf.constant(2.0)], "").numpy()
    1.5
  """
  with tf.device(device):
    if all(isinstance(c, tf.IndexedSlices) for c in components):
      return _reduce_slices(op, components)
    dense = [tf.convert_to_tensor(component) for component in components]
    if any(d.dtype == tf.bool for d in dense):
      raise TypeError(
        "A value must be numeric to be reduced; got dtype bool. Cast it, for "
        "example with `tf.cast(value, tf.int32)`."
      )
    if len(dense) == 1:
      return tf.identity(dense[0])
    total = tf.add_n(dense)
    return total / len(dense) if op is ReduceOp.MEAN else total


def _reduce_slices(
  op: ReduceOp, components: Sequence[tf.IndexedSlices]
) -> tf.IndexedSlices:
  values = tf.concat([c.values for c in components], axis=0)
  if op is ReduceOp.MEAN:
    values = values / len(components)
  return tf.IndexedSlices(
    values=values,
    indices=tf.concat([c.indices for c in components], axis=0),
    dense_shape=components[0].dense_shape,
  )


def broadcast(value: Any, devices: Sequence[str]) -> list[Any]:
  """Copies a value, dense or composite, to each of the devices."""
  copies = []
  for device in devices:
    with tf.device(device):
      copies.append(
        tf.nest.map_structure(tf.identity, value, expand_composites=True)
      )
  return copies
