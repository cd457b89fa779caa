"""Where the replicas of one `run` come together in `merge_call`.

Replica 0 runs in the caller's thread and leads. The others need a thread of
their own only when replica 0 comes to a `merge_call`: then each is started,
one after the other, and runs up to its own. One thread runs at a time, so
what the replicas do is in a fixed order.

An exception are collectives in a `tf.function` that the replicas call in
eager mode: each then waits in its collective until all have come, so the
threads run side by side.
"""

from collections.abc import Callable
import concurrent.futures
import dataclasses
import queue
from typing import Any, TYPE_CHECKING

import tensorflow as tf

from stratagem.cross_device import values as values_lib
from stratagem.strategies import caller as caller_lib
from stratagem.strategies import regroup as regroup_lib

if TYPE_CHECKING:
  from stratagem.strategies import extended as extended_lib
  from stratagem.strategies import replica_context


@dataclasses.dataclass(frozen=True)
class _Merge:
  """A replica waits in `merge_call`."""

  replica: "replica_context.ReplicaContext"
  merge_fn: Callable[..., Any]
  args: tuple[Any, ...]
  kwargs: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class _Joining:
  """A replica is about to wait for the others in a collective."""


@dataclasses.dataclass(frozen=True)
class _Finished:
  """A replica has returned."""

  result: Any


@dataclasses.dataclass(frozen=True)
class _Failed:
  """A replica has raised."""

  error: BaseException


class _Cancelled(BaseException):
  """Unwinds the replicas that wait when another one has failed."""


# Threads kept for the next meeting of a size, in executors nobody uses.
_idle: dict[int, list[concurrent.futures.ThreadPoolExecutor]] = {}


def _lease(size: int) -> concurrent.futures.ThreadPoolExecutor:
  kept = _idle.setdefault(size, [])
  try:
    return kept.pop()
  except IndexError:
    return concurrent.futures.ThreadPoolExecutor(size, "stratagem_replica")


class _Follower:
  """A replica other than the first, in its thread."""

  def __init__(self, replica: int) -> None:
    self.replica = replica
    # From the leader: what `merge_call` returned here, or `_Cancelled`.
    self.answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
    self.reports: queue.SimpleQueue[Any] = queue.SimpleQueue()
    self.last: _Merge | _Finished | _Failed | None = None

  def wait(self) -> bool:
    """For the leader: until this replica merges, returns or raises.

    Returns:
      Whether it did; if not, it is about to join a collective.
    """
    report = self.reports.get()
    joining = isinstance(report, _Joining)
    self.last = None if joining else report
    return not joining

  def settled(self) -> "_Merge | _Finished | _Failed":
    """For the leader: what this replica did, once it has."""
    while self.last is None:
      self.wait()
    return self.last


class Meeting:
  """One run of a function on all replicas.

  Args:
    extended: whose replicas they are.
    call: runs the function for one replica and returns its result.
  """

  def __init__(
    self,
    extended: "extended_lib.StrategyExtended",
    call: Callable[[int], Any],
  ) -> None:
    self._extended = extended
    self._call = call
    self._size = extended.num_replicas_in_sync
    self._followers: list[_Follower] = []
    self._executor: concurrent.futures.ThreadPoolExecutor | None = None
    self._state = caller_lib.Caller()
    self._side_by_side = False

  def run(self) -> list[Any]:
    """Runs the function on all replicas.

    Returns:
      What each replica returned.
    """
    try:
      if self._extended.joins_collectives and tf.executing_eagerly():
        self._side_by_side = True
        self._start()
      first = self._call(0)
      if self._followers:
        return [first, *self._finish()]
      return [first, *(self._call(r) for r in range(1, self._size))]
    finally:
      self._close()

  def merge(
    self,
    replica: "replica_context.ReplicaContext",
    merge_fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
  ) -> Any:
    """For a replica: waits for the others, then what `merge_fn` returned."""
    merge = _Merge(replica, merge_fn, args, kwargs)
    position = replica.component
    if position == 0:
      return self._lead(merge)
    if not self._followers:
      raise RuntimeError(_uneven(position, "calls", 0, "has not"))
    follower = self._followers[position - 1]
    follower.reports.put(merge)
    answer = follower.answers.get()
    if answer is _Cancelled:
      raise _Cancelled
    return answer

  @property
  def within_reach(self) -> bool:
    """Whether the replicas can be brought together by the code running.

    Not so where it is traced into a graph of its own: in a `tf.cond`, a
    loop, or a `tf.function` that the replicas call.
    """
    return self._state.is_current

  def join_collective(self, replica: "replica_context.ReplicaContext") -> None:
    """For a replica: says that it will wait for all in a collective."""
    if not self._state.is_eager:
      # The collectives of all replicas will be in one graph.
      return
    # The next run makes no trace, and so doesn't come here.
    self._extended.joins_collectives = True
    if replica.component == 0:
      self._side_by_side = True
      if not self._followers:
        self._start()
    elif self._followers:
      self._followers[replica.component - 1].reports.put(_Joining())

  def _lead(self, own: _Merge) -> Any:
    """For replica 0: brings the others here, merges, and answers them."""
    if not self._followers:
      self._start()
    others = [self._expect_merge(follower) for follower in self._followers]
    merges = [own, *others]
    results = self._merge(merges)
    for follower, result in zip(self._followers, results[1:], strict=True):
      # One at a time: this replica goes on to its next merge, or its end,
      # before the following one does.
      follower.last = None
      follower.answers.put(result)
      self._let_go_on(follower)
    return results[0]

  def _let_go_on(self, follower: _Follower) -> None:
    if not self._side_by_side:
      self._side_by_side = not follower.wait()

  def _start(self) -> None:
    self._followers = [_Follower(r) for r in range(1, self._size)]
    self._executor = _lease(self._size - 1)
    for follower in self._followers:
      self._executor.submit(self._follow, follower)
      self._let_go_on(follower)

  def _follow(self, follower: _Follower) -> None:
    """Runs one replica, in its thread."""
    try:
      # A context of its own: several threads may not share one.
      variables = self._state.variables.copy()
      follower.reports.put(_Finished(variables.run(self._enter, follower)))
    except BaseException as error:
      follower.reports.put(_Failed(error))

  def _enter(self, follower: _Follower) -> Any:
    with self._state.enter():
      return self._call(follower.replica)

  def _expect_merge(self, follower: _Follower) -> _Merge:
    report = follower.settled()
    if isinstance(report, _Failed):
      raise report.error
    if isinstance(report, _Finished):
      raise RuntimeError(_uneven(0, "calls", follower.replica, "has not"))
    return report

  def _merge(self, merges: list[_Merge]) -> list[Any]:
    """Runs the first replica's merge function on all replicas' arguments."""
    args, kwargs = regroup_lib.regroup(
      [(merge.args, merge.kwargs) for merge in merges],
      container=self._extended.value_container,
    )
    with merges[0].replica.left():
      result = merges[0].merge_fn(
        self._extended.container_strategy, *args, **kwargs
      )
    return [values_lib.select(r, result) for r in range(self._size)]

  def _finish(self) -> list[Any]:
    """What the others returned, now that replica 0 has."""
    results = []
    for follower in self._followers:
      report = follower.settled()
      if isinstance(report, _Failed):
        raise report.error
      if not isinstance(report, _Finished):
        raise RuntimeError(_uneven(follower.replica, "calls", 0, "has not"))
      results.append(report.result)
    return results

  def _close(self) -> None:
    """Ends the replicas that still wait, and keeps the threads."""
    for follower in self._followers:
      while isinstance(follower.settled(), _Merge):
        follower.last = None
        follower.answers.put(_Cancelled)
    if self._executor is not None:
      _idle[self._size - 1].append(self._executor)


def _uneven(left: int, does: str, right: int, has_not: str) -> str:
  return (
    "All replicas must call `merge_call`, `all_reduce` and `all_gather` the "
    f"same number of times, in the same order; replica {left} {does} one "
    f"that replica {right} {has_not} called when it returned. Move the call "
    "out of the `if` that the replicas decide differently."
  )
