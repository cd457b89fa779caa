"""The replicas' numbers, as tensors that one trace reads for each of them.

A trace that stands for all replicas captures the first number's variable, and
each replica is given its own in its place: in nested functions too, which are
kept and may be part of another trace, of another strategy, later. So there is
one variable for each number, in the whole process.
"""

import threading

import tensorflow as tf

from stratagem.cross_device import resources

_lock = threading.Lock()
_numbers = resources.PerReplicaResource([])


def make(replicas: int) -> None:
  """Makes the numbers of so many replicas, before they can be read."""
  with _lock, tf.init_scope(), tf.device("/device:CPU:0"):
    for number in range(len(_numbers.handles), replicas):
      _numbers.add(_variable(number))


def read() -> tf.Tensor:
  """The number of the replica for which the trace is run.

  Returns:
    A scalar int32 tensor.
  """
  value = tf.raw_ops.ReadVariableOp(
    resource=_numbers.handles[0], dtype=tf.int32
  )
  return tf.ensure_shape(value, [])


def _variable(number: int) -> tf.Tensor:
  # Not a `tf.Variable`, which a strategy's scope would make its own.
  handle = tf.raw_ops.VarHandleOp(
    dtype=tf.int32, shape=[], shared_name=f"stratagem_replica_{number}"
  )
  tf.raw_ops.AssignVariableOp(resource=handle, value=tf.constant(number))
  return handle
