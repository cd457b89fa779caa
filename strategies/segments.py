"""A traced function cut where the replicas meet.

A function that every replica runs is traced once. Where it calls
`merge_call`, placeholders stand for what the merge gives back; here the
graph is cut at those places into *segments*, each a function of its own.
A replica then runs segment 0, meets the others, runs segment 1, and so on.
What one segment computes and a later one uses is passed along.
"""

from collections.abc import Sequence
import dataclasses
from typing import Any

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class Cut:
  """A place where the replicas meet.

  Attributes:
    position: how many operations the graph had when the cut was made.
    results: the placeholders that stand for what the merge gives back.
  """

  position: int
  results: tuple[tf.Tensor, ...]


@dataclasses.dataclass(frozen=True)
class Segment:
  """A part of the traced function.

  Attributes:
    function: takes the values of `inputs` in order, and captures what the
      traced function captured.
    inputs: the tensors of the traced graph that it needs: arguments,
      results of merges, results of earlier segments.
    outputs: the tensors of the traced graph that it gives.
  """

  function: Any
  inputs: tuple[tf.Tensor, ...]
  outputs: tuple[tf.Tensor, ...]


def split(
  body: Any,
  cuts: Sequence[Cut],
  wanted: Sequence[tf.Tensor],
  attributes: dict[str, Any] | None = None,
) -> list[Segment]:
  """Cuts a concrete function into segments.

  Args:
    body: the `ConcreteFunction`.
    cuts: where, in order.
    wanted: tensors of the graph that the caller needs, which merges take or
      the function returns.
    attributes: `experimental_attributes` of the functions that are made.

  Returns:
    One segment more than there are cuts.
  """
  return _Splitting(body, cuts, wanted).segments(attributes)


class _Splitting:
  """One call of `split`."""

  def __init__(
    self, body: Any, cuts: Sequence[Cut], wanted: Sequence[tf.Tensor]
  ) -> None:
    self._graph_def = body.graph.as_graph_def()
    self._operations = body.graph.get_operations()
    self._captures = _captures(body)
    self._given = {t.op.name for t in body.inputs}
    self._given |= {t.op.name for cut in cuts for t in cut.results}
    self._stages = self._assign_stages([cut.position for cut in cuts])
    self._count = len(cuts) + 1
    self._needs = self._find_needs()
    self._gives = self._find_gives(wanted)

  def _assign_stages(self, positions: list[int]) -> dict[str, int]:
    """Which segment makes each operation: the program's own order."""
    stages = {}
    stage = 0
    for index, operation in enumerate(self._operations):
      while stage < len(positions) and index >= positions[stage]:
        stage += 1
      if operation.name not in self._given:
        stages[operation.name] = stage
    return stages

  def _find_needs(self) -> list[dict[str, tf.Tensor]]:
    """The tensors by name that each segment takes from elsewhere."""
    needs: list[dict[str, tf.Tensor]] = [{} for _ in range(self._count)]
    for operation in self._operations:
      stage = self._stages.get(operation.name)
      if stage is None:
        continue
      for tensor in operation.inputs:
        source = tensor.op
        if self._stages.get(source.name) == stage or _is_constant(source):
          continue
        needs[stage][tensor.name] = tensor
    return needs

  def _find_gives(
    self, wanted: Sequence[tf.Tensor]
  ) -> list[dict[str, tf.Tensor]]:
    """The tensors by name that each segment must return."""
    gives: list[dict[str, tf.Tensor]] = [{} for _ in range(self._count)]
    needed = [t for needs in self._needs for t in needs.values()]
    for tensor in [*wanted, *needed]:
      stage = self._stages.get(tensor.op.name)
      if stage is not None:
        gives[stage][tensor.name] = tensor
    return gives

  def segments(self, attributes: dict[str, Any] | None) -> list[Segment]:
    """Makes the functions."""
    nodes = self._nodes_by_stage()
    return [
      self._segment(stage, nodes[stage], attributes)
      for stage in range(self._count)
    ]

  def _nodes_by_stage(self) -> list[list[Any]]:
    nodes: list[list[Any]] = [[] for _ in range(self._count)]
    for node in self._graph_def.node:
      stage = self._stages.get(node.name)
      if stage is None:
        continue
      if node.op == "Const":
        # A constant is cheaper made again than passed along.
        for later in nodes[stage:]:
          later.append(node)
      else:
        nodes[stage].append(node)
    return nodes

  def _segment(
    self, stage: int, nodes: list[Any], attributes: dict[str, Any] | None
  ) -> Segment:
    needs = self._needs[stage]
    taken = tuple(t for n, t in needs.items() if n not in self._captures)
    captured = {n: self._captures[n] for n in needs if n in self._captures}
    gives = tuple(self._gives[stage].values())
    graph_def, stubs = self._graph_def_of(nodes, needs)

    def build(*values: tf.Tensor) -> list[tf.Tensor]:
      graph = tf.compat.v1.get_default_graph()
      sources = dict(zip((t.name for t in taken), values, strict=True))
      for name, external in captured.items():
        sources[name] = graph.capture(external)
      return tf.graph_util.import_graph_def(
        graph_def,
        input_map={stubs[name]: value for name, value in sources.items()},
        return_elements=[tensor.name for tensor in gives],
        name="",
      )

    traced = tf.function(
      build, autograph=False, experimental_attributes=attributes
    )
    specs = [tf.TensorSpec(t.shape, t.dtype) for t in taken]
    return Segment(traced.get_concrete_function(*specs), taken, gives)

  def _graph_def_of(
    self, nodes: list[Any], needs: dict[str, tf.Tensor]
  ) -> tuple[Any, dict[str, str]]:
    """The graph of one segment, with stubs for what it takes.

    Returns:
      The graph, and the name of the stub for each tensor that is taken.
    """
    graph_def = tf.compat.v1.GraphDef()
    graph_def.versions.CopyFrom(self._graph_def.versions)
    graph_def.library.CopyFrom(self._graph_def.library)
    stubs = {}
    for index, (name, tensor) in enumerate(needs.items()):
      stub = graph_def.node.add(name=f"taken_{index}", op="Placeholder")
      stub.attr["dtype"].type = tensor.dtype.as_datatype_enum
      stubs[name] = stub.name
    present = {node.name for node in nodes}
    for node in nodes:
      copy = graph_def.node.add()
      copy.CopyFrom(node)
      del copy.input[:]
      copy.input.extend(_inputs(node, present, stubs))
    return graph_def, {name: f"{stub}:0" for name, stub in stubs.items()}


def _captures(body: Any) -> dict[str, Any]:
  """What the function captured, by the name of the tensor inside it."""
  captured = body.captured_inputs
  inside = body.inputs[len(body.inputs) - len(captured) :]
  return dict(zip((t.name for t in inside), captured, strict=True))


def _is_constant(operation: Any) -> bool:
  return operation.type == "Const"


def _inputs(node: Any, present: set[str], stubs: dict[str, str]) -> list[str]:
  """The inputs of a node as they are called within its segment."""
  inputs = []
  for name in node.input:
    if name.startswith("^"):
      # Segments follow one another, so what is earlier has run already.
      if name[1:] in present:
        inputs.append(name)
      continue
    full = name if ":" in name else f"{name}:0"
    inputs.append(stubs.get(full, name))
  return inputs
