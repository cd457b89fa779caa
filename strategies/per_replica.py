"""The engine that runs the function once for each replica.

It serves eager mode, and what the trace-once engine can't express.
"""

from collections.abc import Callable
from typing import Any, TYPE_CHECKING

import tensorflow as tf

from stratagem.cross_device import values as values_lib
from stratagem.strategies import meeting as meeting_lib
from stratagem.strategies import merging
from stratagem.strategies import regroup as regroup_lib
from stratagem.strategies import replica_context

if TYPE_CHECKING:
  from stratagem.strategies import extended as extended_lib


class PerReplicaContext(replica_context.ReplicaContext):
  """A replica whose function runs by itself, and meets the others."""

  def __init__(
    self, strategy: Any, replica: int, meeting: meeting_lib.Meeting
  ) -> None:
    super().__init__(strategy, replica)
    self._meeting = meeting

  def _merge_call(
    self,
    merge_fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
  ) -> Any:
    if self.num_replicas_in_sync == 1:
      return super()._merge_call(merge_fn, args, kwargs)
    if not self._meeting.within_reach:
      raise RuntimeError(merging.NESTED)
    return self._meeting.merge(self, merge_fn, args, kwargs)

  def reduce_leaves(self, op: Any, leaves: list[Any], options: Any) -> Any:
    """See `ReplicaContext.reduce_leaves`."""
    if self._meeting.within_reach:
      return super().reduce_leaves(op, leaves, options)
    self._meeting.join_collective(self)
    return self._strategy.extended.collectives.all_reduce(
      op, leaves, self.component
    )

  def gather_leaves(self, leaves: list[Any], axis: int, options: Any) -> Any:
    """See `ReplicaContext.gather_leaves`."""
    if self._meeting.within_reach:
      return super().gather_leaves(leaves, axis, options)
    self._meeting.join_collective(self)
    return self._strategy.extended.collectives.all_gather(
      leaves, axis, self.component
    )


def run(
  extended: "extended_lib.StrategyExtended",
  fn: Callable[..., Any],
  args: tuple[Any, ...],
  kwargs: dict[str, Any],
) -> Any:
  """Runs `fn` on every replica and regroups what they return.

  Args:
    extended: whose replicas they are.
    fn: the function.
    args: its positional arguments; distributed values are replaced by their
      component.
    kwargs: its keyword arguments, likewise.

  Returns:
    The nest that `fn` returns, with a `PerReplica` where replicas differ.
  """
  strategy = extended.container_strategy

  def call(replica: int) -> Any:
    own_args, own_kwargs = values_lib.select(replica, (args, kwargs))
    context = PerReplicaContext(strategy, replica, meeting)
    with context, tf.device(extended.worker_devices[replica]):
      return fn(*own_args, **own_kwargs)

  meeting = meeting_lib.Meeting(extended, call)
  return regroup_lib.regroup(meeting.run(), container=extended.value_container)
