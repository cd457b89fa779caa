"""The replicas' numbers, as tensors that one trace reads for each of them."""

from collections.abc import Sequence
import itertools

import tensorflow as tf

from stratagem.cross_device import resources

# Resources of one name are one.
_serial = itertools.count()


class ReplicaIds:
  """The number of each replica in a variable of its own.

  A trace that stands for all replicas captures the first one's variable, and
  is given each replica's in its place, in nested functions too, which are
  kept and may be part of another trace later.

  Args:
    devices: the device of each replica.
  """

  def __init__(self, devices: Sequence[str]) -> None:
    self._size = len(devices)
    self._resource: resources.PerReplicaResource | None = None

  def read(self) -> tf.Tensor:
    """The number of the replica for which the trace is run, int32."""
    if self._resource is None:
      with tf.init_scope(), tf.device("/device:CPU:0"):
        handles = [_made(replica) for replica in range(self._size)]
        self._resource = resources.PerReplicaResource(handles)
    value = tf.raw_ops.ReadVariableOp(
      resource=self._resource.handles[0], dtype=tf.int32
    )
    return tf.ensure_shape(value, [])


def _made(replica: int) -> tf.Tensor:
  # Not by `tf.Variable`, which a strategy's scope would make its own.
  handle = tf.raw_ops.VarHandleOp(
    dtype=tf.int32,
    shape=[],
    shared_name=f"stratagem_replica_{replica}_{next(_serial)}",
  )
  tf.raw_ops.AssignVariableOp(resource=handle, value=tf.constant(replica))
  return handle
