"""Which strategy is in force: the functions users ask it with."""

import contextlib
from typing import Any

from stratagem.strategies import context
from stratagem.strategies import default
from stratagem.strategies import replica_context as replica_context_lib
from stratagem.strategies import strategy as strategy_lib


def get_strategy() -> strategy_lib.Strategy:
  """The strategy in force; the default strategy where there is none.

  Example:
    >>> import stratagem as sg
    >>> strategy = sg.MirroredStrategy(["CPU:0"])
    >>> with strategy.scope():
    ...   sg.get_strategy() is strategy
    True

  References:
    Mirrors `tf.distribute.get_strategy` (2.21).
  """
  mode = context.current()
  return default.default_strategy() if mode is None else mode.strategy


def has_strategy() -> bool:
  """Whether a strategy other than the default one is in force.

  References:
    Mirrors `tf.distribute.has_strategy` (2.21).
  """
  return get_strategy() is not default.default_strategy()


def get_replica_context() -> replica_context_lib.ReplicaContext | None:
  """The context of the replica that is running; None across replicas.

  Under no strategy at all, the context of the default strategy's replica.

  References:
    Mirrors `tf.distribute.get_replica_context` (2.21).
  """
  mode = context.current()
  if mode is None:
    return default.default_replica_context()
  return mode.replica_context


def in_cross_replica_context() -> bool:
  """Whether a strategy's scope or an update is in force, and no replica.

  References:
    Mirrors `tf.distribute.in_cross_replica_context` (2.21).
  """
  mode = context.current()
  return mode is not None and mode.replica_context is None


class _Global:
  """The scope that `experimental_set_strategy` keeps entered."""

  scope: contextlib.AbstractContextManager[Any] | None = None


def experimental_set_strategy(strategy: strategy_lib.Strategy | None) -> None:
  """Puts a strategy in force without a `with`, as notebooks like it.

  Args:
    strategy: the strategy, which replaces the one set before; None to go
      back to the default strategy.

  Raises:
    RuntimeError: if called inside a strategy's scope.
    TypeError: if `strategy` isn't a strategy of this library.

  References:
    Mirrors `tf.distribute.experimental_set_strategy` (2.21).
  """
  if strategy is not None and not isinstance(strategy, strategy_lib.Strategy):
    raise TypeError(
      "`strategy` must be a `stratagem.Strategy` or None; got "
      f"{strategy!r}. Make one with, for example, `sg.MirroredStrategy()`."
    )
  previous = _Global.scope
  depth = context.depth()
  if depth > (0 if previous is None else 1):
    raise RuntimeError(
      "`experimental_set_strategy` must be called outside of every "
      "`strategy.scope()`; got a call inside the scope of "
      f"`{type(get_strategy()).__name__}`. Leave the scope first."
    )
  if previous is not None:
    _Global.scope = None
    previous.__exit__(None, None, None)
  if strategy is not None:
    scope = strategy.scope()
    scope.__enter__()
    _Global.scope = scope
