"""Random operations that would draw the same numbers on every replica."""

from typing import Any


def check(function: Any, error: type[Exception]) -> None:
  """Raises `error` if `function` holds a seeded stateful random operation.

  Such an operation keeps its state itself and starts from its seeds: called
  once for each replica it gives every replica the same numbers. Traced once
  for each replica it is given other seeds each time, as upstream does.
  """
  graph_def = function.graph.as_graph_def()
  bodies = [f.node_def for f in graph_def.library.function]
  for nodes in [graph_def.node, *bodies]:
    for node in nodes:
      if _is_seeded(node):
        raise error(f"operation `{node.name}` has a random seed")


def _is_seeded(node: Any) -> bool:
  if "Dataset" in node.op:
    return False
  return any(
    name in node.attr and node.attr[name].i for name in ("seed", "seed2")
  )
