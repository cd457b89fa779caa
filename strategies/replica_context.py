"""What a function given to `strategy.run` may ask and do about replicas."""

from collections.abc import Callable, Iterator
import contextlib
from typing import Any, TYPE_CHECKING

import tensorflow as tf

from stratagem.cross_device import reduce_op as reduce_op_lib
from stratagem.strategies import context
from stratagem.strategies import synchronization

if TYPE_CHECKING:
  from stratagem.strategies import strategy as strategy_lib


class ReplicaContext:
  """The view of one replica, within `strategy.run`.

  Ask for it with `sg.get_replica_context()`. It is `None` in cross-replica
  context; outside of any strategy it is that of the single replica of the
  default strategy.

  Args:
    strategy: the strategy whose replica this is.
    replica_id_in_sync_group: which of `num_replicas_in_sync` replicas, from
      0.

  Example:
    >>> import stratagem as sg
    >>> strategy = sg.MirroredStrategy(["CPU:0"])
    >>> def step():
    ...   return sg.get_replica_context().num_replicas_in_sync
    >>> strategy.run(step)
    1

  References:
    Mirrors `tf.distribute.ReplicaContext` (2.21).
  """

  def __init__(
    self,
    strategy: "strategy_lib.Strategy",
    replica_id_in_sync_group: int,
  ) -> None:
    self._strategy = strategy
    self._replica_id = replica_id_in_sync_group
    self._tf_context: Any = None
    self._entered: list[list[context.Mode]] = []

  def __enter__(self) -> "ReplicaContext":
    self._entered.append(context.push(context.Mode(self._strategy, self)))
    if self._tf_context is None:
      self._tf_context = self._strategy.bridge.replica_context(self)
    if self._tf_context is not None:
      self._tf_context.__enter__()
    return self

  def __exit__(self, *exception: Any) -> None:
    if self._tf_context is not None:
      self._tf_context.__exit__(*exception)
    self._entered.pop().pop()
    if not self._entered:
      self._strategy.bridge.give_back(self._tf_context)
      self._tf_context = None

  @contextlib.contextmanager
  def left(self) -> Iterator[None]:
    """Leaves the replica, which is in force, for cross-replica context."""
    with contextlib.ExitStack() as stack:
      stack.enter_context(context.enter(context.Mode(self._strategy)))
      stack.enter_context(tf.device(None))
      # `tf.distribute` has no public way to enter cross-replica context from
      # a replica, but one can be left and entered again.
      if self._tf_context is not None:
        self._tf_context.__exit__(None, None, None)
        stack.callback(self._tf_context.__enter__)
      yield

  @property
  def strategy(self) -> "strategy_lib.Strategy":
    """The strategy whose replica this is."""
    return self._strategy

  @property
  def num_replicas_in_sync(self) -> int:
    """How many replicas there are; gradients are summed over them."""
    return self._strategy.num_replicas_in_sync

  @property
  def replica_id_in_sync_group(self) -> tf.Tensor:
    """Which replica this is, from 0, as a scalar int32 tensor."""
    return tf.convert_to_tensor(self._replica_id, dtype=tf.int32)

  @property
  def component(self) -> int:
    """Which component of a distributed variable this replica uses."""
    return self._replica_id

  @property
  def devices(self) -> list[str]:
    """The devices this replica runs on, as full names."""
    return [self._strategy.extended.worker_devices[self.component]]

  def merge_call(
    self,
    merge_fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
  ) -> Any:
    """Brings the replicas together and runs `merge_fn` once for all.

    Args:
      merge_fn: called as `merge_fn(strategy, *args, **kwargs)`, once, in
        cross-replica context.
      args: its positional arguments. `merge_fn` sees a `PerReplica` where
        the replicas give different objects.
      kwargs: its keyword arguments, likewise.

    Returns:
      What `merge_fn` returned, with this replica's component in place of
      each distributed value.

    Raises:
      RuntimeError: if this replica's context isn't the one in force.
    """
    self._require_in_force("merge_call")
    return self._merge_call(merge_fn, tuple(args), dict(kwargs or {}))

  def _merge_call(
    self,
    merge_fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
  ) -> Any:
    """Merges a single replica: there is nobody to wait for."""
    with self.left():
      return merge_fn(self._strategy, *args, **kwargs)

  def all_reduce(
    self,
    reduce_op: "reduce_op_lib.ReduceOp | str",
    value: Any,
    options: Any = None,
  ) -> Any:
    """Reduces `value` over all replicas; each gets the result.

    Args:
      reduce_op: `ReduceOp.SUM`, `ReduceOp.MEAN`, or their names.
      value: a nest of tensors or `tf.IndexedSlices`, alike on all replicas.
      options: `CommunicationOptions` for this call.

    Returns:
      The same nest, reduced. It is differentiable.

    Raises:
      ValueError: if `reduce_op` names no reduce op.
      RuntimeError: if this replica's context isn't the one in force.

    References:
      Mirrors `tf.distribute.ReplicaContext.all_reduce` (2.21).
    """
    self._require_in_force("all_reduce")
    op = reduce_op_lib.ReduceOp.from_any(reduce_op)
    return synchronization.all_reduce(self, op, value, options)

  def all_gather(self, value: Any, axis: int, options: Any = None) -> Any:
    """Concatenates `value` over all replicas; each gets the result.

    Args:
      value: a nest of dense tensors of rank 1 or more, of equal rank on all
        replicas and of equal shape but for `axis`.
      axis: along which to concatenate.
      options: `CommunicationOptions` for this call.

    Returns:
      The same nest of concatenated tensors. It is differentiable.

    Raises:
      ValueError: if a tensor has no such axis.
      NotImplementedError: if a value is sparse.
      RuntimeError: if this replica's context isn't the one in force.

    References:
      Mirrors `tf.distribute.ReplicaContext.all_gather` (2.21).
    """
    self._require_in_force("all_gather")
    return synchronization.all_gather(self, value, axis, options)

  def reduce_leaves(
    self, op: reduce_op_lib.ReduceOp, leaves: list[Any], options: Any
  ) -> list[Any]:
    """Reduces tensors or slices over the replicas, in one meeting."""

    def merge(strategy: Any, leaves: list[Any]) -> list[Any]:
      return strategy.extended.all_reduce_leaves(op, leaves, options)

    return self._merge_call(merge, (leaves,), {})

  def gather_leaves(
    self, leaves: list[Any], axis: int, options: Any
  ) -> list[Any]:
    """Concatenates tensors over the replicas, in one meeting."""

    def merge(strategy: Any, leaves: list[Any]) -> list[Any]:
      return strategy.extended.all_gather_leaves(leaves, axis, options)

    return self._merge_call(merge, (leaves,), {})

  def _require_in_force(self, method: str) -> None:
    mode = context.current()
    if mode is None and not self._strategy.extended.is_default:
      place = "outside of `strategy.run`"
    elif mode is not None and mode.replica_context is None:
      place = "in cross-replica context"
    elif mode is not None and mode.replica_context is not self:
      place = "in another replica"
    else:
      return
    raise RuntimeError(
      f"`ReplicaContext.{method}` must be called within the replica that it "
      f"belongs to, in the function given to `strategy.run`; got a call "
      f"{place}. Ask for `sg.get_replica_context()` inside that function."
    )
