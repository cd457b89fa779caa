"""What replicas do together, seen from one of them: reduce and gather.

The replicas meet in `merge_call`. Only what they exchange goes through it:
packing, unpacking and slicing are each replica's own.
"""

from collections.abc import Callable, Sequence
from typing import Any, TYPE_CHECKING

import tensorflow as tf

from stratagem.cross_device import gathering
from stratagem.cross_device import packing
from stratagem.cross_device import reduce_op as reduce_op_lib

if TYPE_CHECKING:
  from stratagem.strategies import replica_context

ReduceOp = reduce_op_lib.ReduceOp
_COMPOSITE = (tf.IndexedSlices, tf.SparseTensor, tf.RaggedTensor)


def all_reduce(
  replica: "replica_context.ReplicaContext",
  op: ReduceOp,
  value: Any,
  options: Any,
) -> Any:
  """See `ReplicaContext.all_reduce`."""
  flat = [_as_tensor(leaf) for leaf in tf.nest.flatten(value)]
  for leaf in flat:
    if isinstance(leaf, tf.SparseTensor | tf.RaggedTensor):
      raise TypeError(
        "`all_reduce` needs dense tensors or `tf.IndexedSlices`; got a "
        f"`tf.{type(leaf).__name__}`. Make it dense first."
      )
  if replica.num_replicas_in_sync == 1:
    return tf.nest.pack_sequence_as(value, [_passed_on(leaf) for leaf in flat])
  dense = [i for i, leaf in enumerate(flat) if not _is_slices(leaf)]
  sparse = [i for i, leaf in enumerate(flat) if _is_slices(leaf)]
  reduced: dict[int, Any] = {}
  if dense:
    parts = _reduce_dense(replica, op, [flat[i] for i in dense], options)
    reduced.update(zip(dense, parts, strict=True))
  if sparse:
    slices = replica.reduce_leaves(op, [flat[i] for i in sparse], options)
    # In a graph all replicas are given one tensor; each makes it its own.
    own = tf.nest.map_structure(tf.identity, slices, expand_composites=True)
    reduced.update(zip(sparse, own, strict=True))
  ordered = [reduced[i] for i in range(len(flat))]
  return tf.nest.pack_sequence_as(value, ordered)


def _passed_on(leaf: Any) -> Any:
  """A single replica's value is the result."""
  return leaf if _is_slices(leaf) else tf.identity(leaf)


def _is_slices(leaf: Any) -> bool:
  return isinstance(leaf, tf.IndexedSlices)


def _as_tensor(leaf: Any) -> Any:
  return leaf if isinstance(leaf, _COMPOSITE) else tf.convert_to_tensor(leaf)


def _reduce_dense(
  replica: "replica_context.ReplicaContext",
  op: ReduceOp,
  tensors: Sequence[tf.Tensor],
  options: Any,
) -> list[tf.Tensor]:
  """Packs, reduces in one meeting, unpacks; differentiable throughout."""

  @tf.custom_gradient
  def reduce(*packed: tf.Tensor) -> tuple[list[tf.Tensor], Callable[..., Any]]:
    reduced = replica.reduce_leaves(op, list(packed), options)

    def grad(*upstream: tf.Tensor) -> Any:
      return all_reduce(replica, op, list(upstream), options)

    return reduced, grad

  if tf.executing_eagerly():
    # To pack costs more calls than it saves where nothing is optimized.
    return list(tf.nest.flatten(reduce(*tensors)))
  shapes = [tensor.shape for tensor in tensors]
  packs = packing.plan(shapes, [tensor.dtype for tensor in tensors])
  reduced = reduce(*packing.pack(packs, tensors))
  return packing.unpack(packs, tf.nest.flatten(reduced), shapes)


def all_gather(
  replica: "replica_context.ReplicaContext",
  value: Any,
  axis: int,
  options: Any,
) -> Any:
  """See `ReplicaContext.all_gather`."""
  flat = [_as_tensor(leaf) for leaf in tf.nest.flatten(value)]
  if not replica.strategy.extended.replicates:
    return tf.nest.map_structure(tf.identity, value)
  for leaf in flat:
    gathering.check(leaf, axis)
  if replica.num_replicas_in_sync == 1:
    return tf.nest.map_structure(tf.identity, value)
  gathered = _gather_dense(replica, flat, axis, options)
  return tf.nest.pack_sequence_as(value, gathered)


def _gather_dense(
  replica: "replica_context.ReplicaContext",
  tensors: Sequence[tf.Tensor],
  axis: int,
  options: Any,
) -> list[tf.Tensor]:
  @tf.custom_gradient
  def gather(*parts: tf.Tensor) -> tuple[list[tf.Tensor], Callable[..., Any]]:
    whole = replica.gather_leaves(list(parts), axis, options)

    def grad(*upstream: tf.Tensor) -> Any:
      """Each replica's part of the sum of all replicas' gradients."""
      total = all_reduce(replica, ReduceOp.SUM, list(upstream), options)
      sizes = [tf.shape(part)[axis] for part in parts]
      lengths = replica.gather_leaves([tf.stack(sizes)[tf.newaxis]], 0, options)
      own = replica.replica_id_in_sync_group
      starts = tf.cumsum(lengths[0], exclusive=True)[own]
      return [
        tf.gather(t, starts[i] + tf.range(size), axis=axis)
        for i, (t, size) in enumerate(zip(total, sizes, strict=True))
      ]

    return whole, grad

  return list(tf.nest.flatten(gather(*tensors)))
