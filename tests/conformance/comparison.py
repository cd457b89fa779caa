"""How two results differ, told in words."""

from collections.abc import Iterator
import dataclasses

import numpy as np

from tests.conformance.normal_form import Node

_DISTRIBUTED = ("PerReplica", "Mirrored")


def differences(
  theirs: Node,
  ours: Node,
  *,
  tolerance: float = 0.0,
  devices: bool = True,
  clearer: bool = True,
) -> list[str]:
  """Every difference between upstream's result and stratagem's.

  Args:
    theirs: What upstream gave.
    ours: What stratagem gave.
    tolerance: Relative distance that floating-point values may have.
    devices: Whether plain tensors must be on the same device.
    clearer: Whether stratagem's messages must mention what the program says.

  Returns:
    One sentence a difference; none if the two agree.
  """
  rules = _Rules(tolerance=tolerance, devices=devices, clearer=clearer)
  return list(_compare(theirs, ours, "result", rules))


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Rules:
  tolerance: float
  devices: bool
  clearer: bool


def _compare(
  theirs: Node, ours: Node, path: str, rules: _Rules
) -> Iterator[str]:
  if theirs.kind != ours.kind:
    yield _say(path, "is", _brief(theirs), _brief(ours))
    return
  yield from _compare_facts(theirs, ours, path, rules)
  if rules.clearer:
    for word in theirs.mentions:
      if word.lower() not in ours.message.lower():
        yield f"{path}: the message does not mention {word!r}: {ours.message}"
  if not _near(theirs.array, ours.array, rules.tolerance):
    yield _say(path, "has the value", theirs.array, ours.array)
  if list(theirs.children) != list(ours.children):
    yield _say(path, "has", list(theirs.children), list(ours.children))
    return
  if theirs.kind in _DISTRIBUTED:
    # Where a replica's part is matters even if plain tensors may be anywhere.
    rules = dataclasses.replace(rules, devices=True)
  for name, part in theirs.children.items():
    yield from _compare(part, ours.children[name], f"{path}[{name}]", rules)


def _compare_facts(
  theirs: Node, ours: Node, path: str, rules: _Rules
) -> Iterator[str]:
  for name, fact in theirs.facts.items():
    if name == "device" and theirs.kind == "tensor" and not rules.devices:
      continue
    if ours.facts.get(name) != fact:
      yield _say(f"{path}'s {name}", "is", fact, ours.facts.get(name))


def _near(
  theirs: np.ndarray | None, ours: np.ndarray | None, tolerance: float
) -> bool:
  if theirs is None or ours is None:
    return theirs is ours
  if theirs.shape != ours.shape:
    return False
  if not np.issubdtype(theirs.dtype, np.inexact):
    return np.array_equal(theirs, ours)
  return np.allclose(
    theirs, ours, rtol=tolerance, atol=tolerance, equal_nan=True
  )


def _brief(node: Node) -> str:
  if node.kind == "raised":
    return f"a {node.facts['class']}: {node.message}"
  facts = ", ".join(f"{name} {fact}" for name, fact in node.facts.items())
  return f"{node.kind} ({facts})" if facts else node.kind


def _say(what: str, verb: str, theirs: object, ours: object) -> str:
  return f"{what} {verb} {ours} in stratagem, {theirs} upstream"
