"""Reducing per-replica values along an axis of their own too."""

from collections.abc import Sequence
from typing import Any, TYPE_CHECKING

import tensorflow as tf

from stratagem.cross_device import reduce_op as reduce_op_lib

if TYPE_CHECKING:
  from stratagem.strategies import extended as extended_lib

ReduceOp = reduce_op_lib.ReduceOp


def reduce(
  extended: "extended_lib.StrategyExtended",
  op: ReduceOp,
  value: Any,
  axis: int | Sequence[int],
) -> tf.Tensor:
  """Reduces along `axis` of each component, and over the components.

  A mean is the sum of all elements over their number, so that it is right
  when replicas have batches of different sizes, or empty ones.

  Args:
    extended: whose replicas they are.
    op: how.
    value: a `PerReplica`, or a tensor that is the same on all replicas.
    axis: the axis, or several.

  Returns:
    A tensor on the host, without the axes.
  """
  axes = list(axis) if isinstance(axis, Sequence) else [axis]
  components = extended.all_components(value)
  sums, counts = [], []
  for component, device in zip(
    components, extended.replica_devices, strict=True
  ):
    with tf.device(device):
      tensor = tf.convert_to_tensor(component)
      for one in axes:
        _check_axis(tensor, one)
      sums.append(tf.reduce_sum(tensor, axes))
      shape = tf.shape(tensor, out_type=tf.int64)
      counts.append(tf.reduce_prod(tf.stack([shape[one] for one in axes])))
  with tf.device(extended.host_device):
    total = tf.add_n(sums)
    if op is ReduceOp.SUM:
      return total
    count = tf.add_n(counts)
    return total / tf.cast(count, total.dtype)


def _check_axis(tensor: tf.Tensor, axis: int) -> None:
  if isinstance(axis, bool) or not isinstance(axis, int):
    raise TypeError(
      f"`axis` must be an int, or None to keep all axes; got {axis!r}."
    )
  rank = tensor.shape.rank
  if rank is not None and not -rank <= axis < rank:
    raise ValueError(
      "`axis` must be an axis of the value that each replica has; got "
      f"`axis={axis}` for a component of shape {tensor.shape}. "
      + (
        "Use `axis=None`, which reduces scalars over the replicas."
        if rank == 0
        else f"Its axes are 0 to {rank - 1}."
      )
    )
