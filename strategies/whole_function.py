"""A `tf.function` given to `strategy.run` in eager mode.

It becomes one `tf.function` that runs it on all replicas, so that it is
traced once for all of them, and kept with the function it was made of.
"""

from collections.abc import Callable
import inspect
from typing import Any, TYPE_CHECKING
import weakref

import tensorflow as tf

from stratagem.strategies import inherited_autograph

if TYPE_CHECKING:
  from stratagem.strategies import extended as extended_lib


def is_function(fn: Callable[..., Any]) -> bool:
  """Whether `fn` is a `tf.function`."""
  return isinstance(fn, tf.types.experimental.PolymorphicFunction)


def run(
  extended: "extended_lib.StrategyExtended",
  fn: Any,
  args: Any,
  kwargs: dict[str, Any],
) -> Any:
  """Runs a `tf.function` on all replicas, as one `tf.function`."""
  made = extended.whole_functions
  whole = made.get(fn)
  if whole is None:
    whole = made[fn] = _whole(weakref.ref(extended), weakref.ref(fn))
  return whole(tuple(args), kwargs)


def _whole(
  extended: "weakref.ref[extended_lib.StrategyExtended]",
  fn: "weakref.ref[Any]",
) -> Any:
  # Only weak references: the dictionary would keep its own keys alive.
  def on_all_replicas(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    strategy, function = extended(), fn()
    assert strategy is not None
    assert function is not None
    return strategy.call_for_each_replica(_inner(function), args, kwargs)

  return inherited_autograph.function(on_all_replicas)


def _inner(fn: Any) -> Callable[..., Any]:
  """What to trace for `fn`: the Python function, where nothing is lost.

  Compiled by XLA, with a signature, or as a method, the `tf.function` itself
  is called.
  """
  python_function = fn.python_function
  if (
    fn.input_signature is not None
    or getattr(fn, "_jit_compile", None)
    or inspect.ismethod(python_function)
  ):
    return fn
  if getattr(fn, "_autograph", True):
    return inherited_autograph.convert(python_function, always=True)
  return python_function
