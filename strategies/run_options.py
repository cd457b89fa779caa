"""How `Strategy.run` is to run a function, and what it may be given."""

from collections.abc import Callable
import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOptions:
  """Options of `Strategy.run`.

  Attributes:
    experimental_enable_dynamic_batch_size: on TPU, whether batches may vary
      in size. Elsewhere they always may.
    experimental_bucketizing_dynamic_shape: on TPU, whether to pad dynamic
      shapes to a few sizes.
    experimental_xla_options: options of the TPU compiler.

  References:
    Mirrors `tf.distribute.RunOptions` (2.21).
  """

  experimental_enable_dynamic_batch_size: bool = True
  experimental_bucketizing_dynamic_shape: bool = False
  experimental_xla_options: Any = None


def check(
  fn: Callable[..., Any],
  args: Any,
  kwargs: Any,
  options: Any,
) -> None:
  """Refuses what `Strategy.run` can't use.

  Raises:
    TypeError: if `fn` or `options` is of the wrong type.
    ValueError: if `args` or `kwargs` is.
  """
  if not callable(fn):
    raise TypeError(
      f"`fn` must be a function; got {fn!r}. Pass the function itself, and "
      "its arguments as `args=(...)`."
    )
  if not isinstance(args, tuple | list):
    raise ValueError(
      "`args` must be a tuple of the function's arguments; got a "
      f"`{type(args).__name__}`. Write `args=(value,)` for one argument."
    )
  if kwargs is not None and not isinstance(kwargs, dict):
    raise ValueError(
      "`kwargs` must be a dict of the function's keyword arguments; got a "
      f"`{type(kwargs).__name__}`."
    )
  if options is not None and not hasattr(
    options, "experimental_enable_dynamic_batch_size"
  ):
    raise TypeError(f"`options` must be `sg.RunOptions(...)`; got {options!r}.")
