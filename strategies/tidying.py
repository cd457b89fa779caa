"""A traced graph without what nothing needs.

TensorFlow's optimizer would remove it too, but later, and once for every
replica: of the time to the first step, a third.
"""

from collections.abc import Callable, Sequence
from typing import Any


def full(name: str) -> str:
  """A tensor's whole name, as in `MatMul:0`."""
  return name if ":" in name else f"{name}:0"


def source(name: str) -> str:
  """The operation that an input comes from, data or control."""
  return name.removeprefix("^").partition(":")[0]


def tidy(
  nodes: Sequence[Any],
  stages: dict[str, int],
  wanted: set[str],
  is_stateful: Callable[[Any], bool],
) -> list[Any]:
  """Leaves out copies and what is computed for nothing.

  A constant is made in each segment that uses it, rather than passed along.

  Args:
    nodes: the `NodeDef`s, in the order in which they were made. They are
      changed.
    stages: the segment of each node by name. Copies of constants are added.
    wanted: the names of nodes whose results are asked for.
    is_stateful: whether a node must run even if nothing uses its results.

  Returns:
    The nodes that are needed, in their order.
  """
  nodes = _without_copies(nodes, wanted)
  nodes = _needed(nodes, wanted, is_stateful)
  return _with_own_constants(nodes, stages, wanted)


def _without_copies(nodes: Sequence[Any], wanted: set[str]) -> list[Any]:
  """Reads from the source wherever an `Identity` only passes it on."""
  named = {name for node in nodes for name in _colocated_with(node)}
  origins: dict[str, str] = {}
  kept = []
  for node in nodes:
    node.input[:] = [_origin(name, origins) for name in node.input]
    if (
      node.op == "Identity"
      and len(node.input) == 1
      and node.name not in wanted
      and node.name not in named
    ):
      origins[node.name] = node.input[0]
    else:
      kept.append(node)
  return kept


def _origin(name: str, origins: dict[str, str]) -> str:
  if name.startswith("^"):
    origin = origins.get(name[1:])
    return name if origin is None else f"^{source(origin)}"
  # An `Identity` has one output, so its input stands for it whole.
  return origins.get(source(name), name)


def _colocated_with(node: Any) -> list[str]:
  if "_class" not in node.attr:
    return []
  entries = node.attr["_class"].list.s
  return [e.decode().removeprefix("loc:@") for e in entries]


def _needed(
  nodes: Sequence[Any], wanted: set[str], is_stateful: Callable[[Any], bool]
) -> list[Any]:
  """What is wanted or stateful, and all that these depend on."""
  by_name = {node.name: node for node in nodes}
  open_names = [n.name for n in nodes if n.name in wanted or is_stateful(n)]
  needed: set[str] = set()
  while open_names:
    name = open_names.pop()
    if name in needed or name not in by_name:
      continue
    needed.add(name)
    node = by_name[name]
    open_names += [source(i) for i in node.input] + _colocated_with(node)
  return [node for node in nodes if node.name in needed]


def _with_own_constants(
  nodes: Sequence[Any], stages: dict[str, int], wanted: set[str]
) -> list[Any]:
  """Gives each segment one constant of each value that it uses."""
  constants = {
    n.name: n for n in nodes if n.op == "Const" and n.name not in wanted
  }
  made: dict[tuple[int, bytes], str] = {}
  result: list[Any] = []
  for node in nodes:
    if node.name in constants:
      continue
    stage = stages[node.name]
    for position, name in enumerate(node.input):
      constant = constants.get(source(name))
      if constant is None:
        continue
      if name.startswith("^"):
        # A constant is there from the start.
        node.input[position] = ""
        continue
      key = (stage, _content(constant))
      if key not in made:
        copy = type(constant)()
        copy.CopyFrom(constant)
        copy.name = f"{constant.name}_in_segment_{stage}"
        del copy.input[:]
        stages[copy.name] = stage
        made[key] = copy.name
        result.append(copy)
      node.input[position] = made[key]
    node.input[:] = [name for name in node.input if name]
    result.append(node)
  return result


def _content(constant: Any) -> bytes:
  """What makes two constants the same."""
  parts = [f"{key}={constant.attr[key]}" for key in ("dtype", "value")]
  return "\n".join(parts).encode()
