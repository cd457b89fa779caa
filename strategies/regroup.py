"""From one nest a replica to one nest of distributed values."""

from collections.abc import Callable, Mapping, Sequence, Sized
import copy as copy_lib
from typing import Any

import tensorflow as tf

from stratagem.cross_device import values as values_lib

_Wrap = Callable[[Sequence[Any]], Any]


def regroup(
  nests: Sequence[Any],
  wrap: _Wrap = values_lib.per_replica,
  container: Callable[[Any], Any] = lambda value: value,
  always_wrap: bool = False,
) -> Any:
  """Puts what the replicas returned together into one nest.

  Args:
    nests: the nest that each replica returned, all of one structure.
    wrap: makes a distributed value from the components of a leaf.
    container: gives the distributed variable that a component belongs to,
      or the value itself.
    always_wrap: whether to wrap even what all replicas have in common.

  Returns:
    The same structure. A leaf is the object itself where all replicas
    returned the same object, else a distributed value.

  Raises:
    ValueError: if the structures differ.

  Example:
    >>> regroup([{"n": 1}, {"n": 1}])
    {'n': 1}

  References:
    The rules are those that `tf.distribute.Strategy.run` (2.21) follows.
  """
  regrouping = _Regrouping(wrap, container, always_wrap)
  return regrouping.regroup(tuple(nests), path="")


class _Regrouping:
  """One call of `regroup`."""

  def __init__(
    self, wrap: _Wrap, container: Callable[[Any], Any], always_wrap: bool
  ) -> None:
    self._wrap = wrap
    self._container = container
    self._always_wrap = always_wrap

  def regroup(self, nests: tuple[Any, ...], path: str) -> Any:
    first = nests[0]
    if isinstance(first, Mapping):
      return self._mapping(nests, path)
    if isinstance(first, tuple) and not isinstance(first, tf.TensorShape):
      return self._tuple(nests, path)
    if isinstance(first, list):
      return self._list(nests, path)
    return self._leaf(nests, path)

  def _mapping(self, nests: tuple[Any, ...], path: str) -> Any:
    first = nests[0]
    keys = list(first)
    for replica, nest in enumerate(nests):
      if not isinstance(nest, Mapping) or set(nest) != set(keys):
        raise ValueError(_differs(path, 0, first, replica, nest))
    grouped = {
      key: self.regroup(tuple(n[key] for n in nests), f"{path}[{key!r}]")
      for key in keys
    }
    return _rebuilt(first, grouped)

  def _tuple(self, nests: tuple[Any, ...], path: str) -> Any:
    parts = self._parts(nests, tuple, path)
    first = nests[0]
    if hasattr(first, "_fields"):
      return type(first)(*parts)
    return tuple(parts)

  def _list(self, nests: tuple[Any, ...], path: str) -> Any:
    return self._parts(nests, list, path)

  def _parts(self, nests: tuple[Any, ...], kind: type, path: str) -> list[Any]:
    first = nests[0]
    for replica, nest in enumerate(nests):
      if not (isinstance(nest, kind) and isinstance(nest, Sized)) or (
        len(nest) != len(first)
      ):
        raise ValueError(_differs(path, 0, first, replica, nest))
    return [
      self.regroup(parts, f"{path}[{index}]")
      for index, parts in enumerate(zip(*nests, strict=True))
    ]

  def _leaf(self, nests: tuple[Any, ...], path: str) -> Any:
    first = nests[0]
    for replica, nest in enumerate(nests):
      if isinstance(nest, list | tuple | Mapping):
        raise ValueError(_differs(path, 0, first, replica, nest))
    if self._always_wrap:
      return self._wrap(nests)
    containers = [self._container(value) for value in nests]
    if all(value is containers[0] for value in containers):
      return containers[0]
    return self._wrap(nests)


def _rebuilt(like: Mapping[Any, Any], items: dict[Any, Any]) -> Any:
  """A mapping of the type of `like` with other values."""
  if type(like) is dict:
    return items
  copy = copy_lib.copy(like)
  copy.update(items)  # type: ignore[attr-defined]
  return copy


def _differs(
  path: str, left: int, left_value: Any, right: int, right_value: Any
) -> str:
  place = f" at `result{path}`" if path else ""
  return (
    "The function given to `strategy.run` must return values nested alike on "
    f"all replicas; they differ{place}: replica {left} returned "
    f"{_shape(left_value)} and replica {right} {_shape(right_value)}. Return "
    "the same structure on each, with a tensor for what is missing."
  )


def _shape(value: Any) -> str:
  if isinstance(value, Mapping):
    return f"a {type(value).__name__} with keys {list(value)}"
  if isinstance(value, list | tuple):
    return f"a {type(value).__name__} of length {len(value)}"
  return "`None`" if value is None else f"a `{type(value).__name__}`"
