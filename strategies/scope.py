"""The scope of a strategy."""

import contextlib
from typing import Any, TYPE_CHECKING

from stratagem.strategies import context
from stratagem.strategies import keras_bridge

if TYPE_CHECKING:
  from stratagem.strategies import strategy as strategy_lib


class Scope:
  """What `with strategy.scope():` enters. See `Strategy.scope`."""

  def __init__(self, strategy: "strategy_lib.Strategy") -> None:
    self._strategy = strategy
    self._stack: contextlib.ExitStack | None = None

  def __enter__(self) -> "strategy_lib.Strategy":
    if self._stack is not None:
      raise RuntimeError(
        "A scope must be left before it is entered again. Call "
        "`strategy.scope()` for each `with`."
      )
    mode = context.current()
    self._check(mode)
    self._stack = contextlib.ExitStack()
    if mode is None:
      cross_replica = self._strategy.extended.enter_cross_replica()
      self._stack.enter_context(cross_replica)
    return self._strategy

  def __exit__(self, *exception: Any) -> None:
    stack, self._stack = self._stack, None
    if stack is None:
      raise RuntimeError("A scope must be entered before it is left.")
    stack.__exit__(*exception)

  def _check(self, mode: context.Mode | None) -> None:
    if mode is None:
      foreign = keras_bridge.foreign_strategy()
      if foreign is not None:
        raise RuntimeError(
          "A strategy's scope must not be entered inside the scope of a "
          f"`tf.distribute` strategy; got {self._strategy!r} inside "
          f"{foreign!r}. Use one of the two libraries throughout."
        )
      return
    if mode.strategy is not self._strategy:
      raise RuntimeError(
        "A strategy's scope must not be entered inside another strategy's; "
        f"got {self._strategy!r} inside {mode.strategy!r}. Leave the outer "
        "scope first, or use one strategy throughout."
      )
    if not mode.is_cross_replica:
      raise RuntimeError(
        "A strategy's scope must be entered in cross-replica context; got "
        "`scope()` inside the function given to `strategy.run`, where the "
        "strategy is in force already. Remove the `with`."
      )
