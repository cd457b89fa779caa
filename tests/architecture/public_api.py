"""The public face of stratagem as text, one line a name.

To accept a change to it, from the root of the checkout:

    python -m tests.architecture.public_api > tests/architecture/public_api.txt
"""

from collections.abc import Iterator
import enum
import inspect
import types
from typing import Any


def describe(module: types.ModuleType) -> Iterator[str]:
  """A line for each name in `module.__all__` and each member under it.

  Args:
    module: a module with `__all__`. A module in it is described too.

  Yields:
    Lines sorted by name: a class with its constructor's parameters and,
    indented, its public members; a function with its parameters; for other
    values, the name of their class. Annotations are left out, since Python's
    versions print them each in its own way.
  """
  prefix = module.__name__
  for name in sorted(module.__all__):
    value = getattr(module, name)
    if inspect.ismodule(value):
      yield from describe(value)
    elif inspect.isclass(value):
      yield f"{prefix}.{name}{_parameters(value)}"
      yield from _members(value)
    else:
      yield f"{prefix}.{name}{_kind(value)}"


def _members(cls: type) -> Iterator[str]:
  """What `cls` has from stratagem, not what it has from elsewhere."""
  members = {
    name: value
    for base in reversed(cls.__mro__)
    if base.__module__.split(".")[0] == cls.__module__.split(".")[0]
    for name, value in vars(base).items()
    if not name.startswith("_")
  }
  for name in sorted(members):
    yield f"  {name}{_kind(members[name])}"


def _kind(value: Any) -> str:
  match value:
    case property():
      return ": property"
    case enum.Enum():
      return f" = {value.value!r}"
    case staticmethod() | classmethod():
      return f"{_parameters(value.__func__)}: {type(value).__name__}"
  if inspect.isclass(value) or callable(value):
    return _parameters(value)
  return f": {type(value).__name__}"


def _parameters(function: Any) -> str:
  if inspect.isclass(function) and issubclass(function, enum.Enum):
    return ""  # No one calls it, and Python's versions differ on how.
  try:
    signature = inspect.signature(function)
  except (TypeError, ValueError):
    return "(...)"
  bare = [
    parameter.replace(
      annotation=parameter.empty,
      default=parameter.default
      if parameter.default is parameter.empty
      else _Shown(parameter.default),
    )
    for parameter in signature.parameters.values()
  ]
  return str(inspect.Signature(bare))


class _Shown:
  """A default value, printed the same by every Python and in every run."""

  def __init__(self, value: Any) -> None:
    self._value = value

  def __repr__(self) -> str:
    match self._value:
      case enum.Enum():
        return f"{type(self._value).__name__}.{self._value.name}"
      case None | bool() | int() | float() | str() | bytes() | tuple():
        return repr(self._value)
    return getattr(self._value, "__qualname__", "...")


if __name__ == "__main__":
  import stratagem

  for line in describe(stratagem):
    print(line)
