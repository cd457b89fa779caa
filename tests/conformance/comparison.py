"""How two results differ, told in words."""

from collections.abc import Iterator

import numpy as np

from tests.conformance.normal_form import Node


def differences(
  theirs: Node, ours: Node, *, tolerance: float = 0.0, devices: bool = True
) -> list[str]:
  """Every difference between upstream's result and stratagem's.

  Args:
    theirs: What upstream gave.
    ours: What stratagem gave.
    tolerance: Relative distance that floating-point values may have.
    devices: Whether plain tensors must be on the same device.

  Returns:
    One sentence a difference; none if the two agree.
  """
  return list(_compare(theirs, ours, "result", tolerance, devices))


def _compare(
  theirs: Node, ours: Node, path: str, tolerance: float, devices: bool
) -> Iterator[str]:
  if theirs.kind != ours.kind:
    yield _say(path, "is", _brief(theirs), _brief(ours))
    return
  for fact, value in theirs.facts.items():
    if fact == "device" and theirs.kind == "tensor" and not devices:
      continue
    if ours.facts.get(fact) != value:
      yield _say(f"{path}'s {fact}", "is", value, ours.facts.get(fact))
  for word in theirs.mentions:
    if word.lower() not in ours.message.lower():
      yield f"{path}: the message does not mention {word!r}: {ours.message}"
  if not _near(theirs.array, ours.array, tolerance):
    yield _say(path, "has the value", theirs.array, ours.array)
  if list(theirs.children) != list(ours.children):
    if "keys" not in theirs.facts and "length" not in theirs.facts:
      yield _say(path, "has", list(theirs.children), list(ours.children))
    return
  for name, part in theirs.children.items():
    where = f"{path}[{name}]"
    plain = devices or theirs.kind in ("PerReplica", "Mirrored")
    yield from _compare(part, ours.children[name], where, tolerance, plain)


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
