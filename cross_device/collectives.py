"""Collective operations between the replicas of one process.

They serve where the replicas can't be brought together by the engine: in
loops, in `tf.cond`, in nested `tf.function`s. All replicas run one traced
function, so they share the keys by which TensorFlow matches them.
"""

from collections.abc import Sequence
import itertools
from typing import Any
import zlib

import tensorflow as tf

from stratagem.cluster import devices as devices_lib
from stratagem.cross_device import arrivals
from stratagem.cross_device import reduce_op as reduce_op_lib
from stratagem.cross_device import resources

ReduceOp = reduce_op_lib.ReduceOp

# A replica that waits longer than this for the others fails. Long enough for
# the first step of a large model on a slow machine to be compiled.
TIMEOUT_SECONDS = 300.0
# After this long, the log says for whom the others wait.
WARN_SECONDS = 30.0

# Upstream's own groups count from 1; a process may use both.
_group_keys = itertools.count(1 << 20)


class Collectives:
  """The collective operations of one group of devices.

  Args:
    devices: the full name of each member's device.
    timeout_seconds: how long a member waits for the others.
  """

  def __init__(
    self, devices: Sequence[str], timeout_seconds: float = TIMEOUT_SECONDS
  ) -> None:
    self._devices = tuple(devices)
    self.timeout_seconds = timeout_seconds
    self._group_key = next(_group_keys)
    self.arrivals = arrivals.Arrivals(len(self._devices), WARN_SECONDS)
    self._order: resources.PerReplicaResource | None = None

  def all_reduce(
    self, op: ReduceOp, leaves: Sequence[Any], member: int = 0
  ) -> list[Any]:
    """Reduces dense tensors and `tf.IndexedSlices` over all members.

    To be traced into a function that every member calls on its device.

    Args:
      op: how.
      leaves: this member's tensors.
      member: which member traces it. 0 also where one trace serves all.

    Returns:
      The reduced tensors.
    """
    return [self._reduce(op, leaf, member) for leaf in leaves]

  def _reduce(self, op: ReduceOp, leaf: Any, member: int) -> Any:
    if isinstance(leaf, tf.IndexedSlices):
      parts = [leaf.values, leaf.indices]
      values, indices = self.all_gather(parts, 0, member)
      if op is ReduceOp.MEAN:
        values /= len(self._devices)
      return tf.IndexedSlices(values, indices, leaf.dense_shape)
    with tf.control_dependencies([self.arrivals.count(member)]):
      total = tf.raw_ops.CollectiveReduceV2(
        input=leaf,
        merge_op="Add",
        final_op="Id",
        **self._common(f"reduce/{leaf.dtype.name}/{leaf.shape}", member),
      )
    if leaf.shape.rank is not None:
      total = tf.ensure_shape(total, leaf.shape)
    return total / len(self._devices) if op is ReduceOp.MEAN else total

  def all_gather(
    self, leaves: Sequence[tf.Tensor], axis: int, member: int = 0
  ) -> list[tf.Tensor]:
    """Concatenates dense tensors over all members along `axis`.

    The members' tensors may differ in size along `axis`.
    """
    return [self._gather(leaf, axis, member) for leaf in leaves]

  def _gather(self, leaf: tf.Tensor, axis: int, member: int) -> tf.Tensor:
    rank = leaf.shape.rank
    axis %= rank
    # The collective wants equal sizes: each member pads to the largest.
    size = tf.shape(leaf)[axis]
    sizes = self._gather_equal(size[tf.newaxis], member)
    front = [axis, *(a for a in range(rank) if a != axis)]
    moved = tf.transpose(leaf, front)
    padding = [[0, tf.reduce_max(sizes) - size], *([[0, 0]] * (rank - 1))]
    whole = self._gather_equal(tf.pad(moved, padding), member)
    parts = tf.split(whole, len(self._devices))
    kept = [part[: sizes[i]] for i, part in enumerate(parts)]
    back = [front.index(a) for a in range(rank)]
    joined = tf.transpose(tf.concat(kept, axis=0), back)
    shape = leaf.shape.as_list()
    shape[axis] = None
    return tf.ensure_shape(joined, shape)

  def _gather_equal(self, leaf: tf.Tensor, member: int) -> tf.Tensor:
    with tf.control_dependencies([self.arrivals.count(member)]):
      return tf.raw_ops.CollectiveGatherV2(
        input=leaf,
        **self._common(f"gather/{leaf.dtype.name}/{leaf.shape}", member),
      )

  def _common(self, what: str, member: int) -> dict[str, Any]:
    """The arguments that all collectives share.

    The key by which members match is made from what is exchanged. Two
    exchanges with one key don't meet, since all exchanges of a member are
    put in order by its ordering token.
    """
    on_gpu = devices_lib.type_of(self._devices[0]) == "GPU"
    return {
      "group_size": len(self._devices),
      "group_key": self._group_key,
      "instance_key": zlib.crc32(what.encode()) & 0x7FFFFFFF,
      "ordering_token": [self._ordering_token(member)],
      "communication_hint": "nccl" if on_gpu else "ring",
      "timeout_seconds": self.timeout_seconds,
    }

  def _ordering_token(self, member: int) -> tf.Tensor:
    if self._order is None:
      with tf.init_scope():
        self._order = resources.PerReplicaResource(
          [self._make_token(device) for device in self._devices]
        )
    return self._order.handles[member]

  def _make_token(self, device: str) -> tf.Tensor:
    with tf.device(device):
      return tf.raw_ops.VarHandleOp(
        dtype=tf.float32,
        shape=[],
        shared_name=f"stratagem_order_{self._group_key}_{device}",
      )
