"""Which strategy is in force, and whether the code runs in a replica.

Kept for each thread and each graph, as upstream does: a graph that is being
traced sees what was in force where its tracing began, and `tf.init_scope`,
which leaves the graph, sees what is in force outside.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import threading
from typing import Any, TYPE_CHECKING
import weakref

import tensorflow as tf

if TYPE_CHECKING:
  from stratagem.strategies import replica_context
  from stratagem.strategies import strategy as strategy_lib


@dataclasses.dataclass(frozen=True)
class Mode:
  """What is in force at one place of the program.

  Attributes:
    strategy: whose scope, replica or update it is.
    replica_context: the replica's context; None outside of replicas.
    update_replica: which component an update applies to; None outside of
      updates.
  """

  strategy: "strategy_lib.Strategy"
  replica_context: "replica_context.ReplicaContext | None" = None
  update_replica: int | None = None

  @property
  def is_cross_replica(self) -> bool:
    """Whether neither a replica nor an update is in force."""
    return self.replica_context is None and self.update_replica is None


class _PerThread(threading.local):
  """The modes entered on each graph by this thread, innermost last."""

  def __init__(self) -> None:
    self.modes: weakref.WeakKeyDictionary[Any, list[Mode]] = (
      weakref.WeakKeyDictionary()
    )


_thread = _PerThread()


def current() -> Mode | None:
  """The innermost mode in force; None under the default strategy."""
  modes = _thread.modes
  graph = tf.compat.v1.get_default_graph()
  while graph is not None:
    entered = modes.get(graph)
    if entered:
      return entered[-1]
    graph = getattr(graph, "outer_graph", None)
  return None


@contextlib.contextmanager
def enter(mode: Mode) -> Iterator[None]:
  """Puts `mode` in force, on the current graph and thread."""
  entered = push(mode)
  try:
    yield
  finally:
    entered.pop()


def push(mode: Mode) -> list[Mode]:
  """Puts `mode` in force until it is popped from the list returned."""
  graph = tf.compat.v1.get_default_graph()
  entered = _thread.modes.setdefault(graph, [])
  entered.append(mode)
  return entered


def update_replica() -> int | None:
  """Which component `StrategyExtended.update` is updating, if it is."""
  mode = current()
  return None if mode is None else mode.update_replica


def depth() -> int:
  """How many modes are in force, one inside the other, on this graph."""
  graph = tf.compat.v1.get_default_graph()
  return len(_thread.modes.get(graph, ()))
