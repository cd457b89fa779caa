"""Which tensor of replica 0 has which counterpart on the other replicas.

While a function is traced once for all replicas, replica 0's resources stand
for everyone's. This is the record of what stands for what.
"""

from collections.abc import Sequence
import weakref

import tensorflow as tf


class PerReplicaResource:
  """One resource of each replica.

  Args:
    handles: the resource of each replica, as tensors. Kept as long as this
      object is.
  """

  def __init__(self, handles: Sequence[tf.Tensor]) -> None:
    self.handles: list[tf.Tensor] = []
    for handle in handles:
      self.add(handle)

  def add(self, handle: tf.Tensor) -> None:
    """Adds the resource of one more replica."""
    self.handles.append(handle)
    if len(self.handles) == 1:
      _by_first_handle[id(handle)] = self


_by_first_handle: "weakref.WeakValueDictionary[int, PerReplicaResource]" = (
  weakref.WeakValueDictionary()
)


def of_replica(tensor: tf.Tensor, replica: int) -> tf.Tensor:
  """Replica `replica`'s counterpart of a tensor that the trace captured.

  Args:
    tensor: a tensor as replica 0 has it.
    replica: whose counterpart is asked for.

  Returns:
    The counterpart; `tensor` itself if it is the same for all.
  """
  resource = _by_first_handle.get(id(tensor))
  return tensor if resource is None else resource.handles[replica]
