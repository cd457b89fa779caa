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

from stratagem.strategies import tidying


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
    cuts: where, in order. Without any, there is one segment.
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
    self._graph = body.graph
    self._graph_def = body.graph.as_graph_def()
    self._captures = _captures(body)
    self._count = len(cuts) + 1
    given = {t.op.name for t in body.inputs}
    given |= {t.op.name for cut in cuts for t in cut.results}
    self._stages = _stages(self._graph_def, given, cuts)
    nodes = [n for n in self._graph_def.node if n.name in self._stages]
    self._nodes = tidying.tidy(
      nodes, self._stages, {t.op.name for t in wanted}, self._is_stateful
    )
    self._present = {node.name for node in self._nodes}
    self._needs = self._find_needs()
    self._gives = self._find_gives(wanted)

  def _is_stateful(self, node: Any) -> bool:
    return self._graph.get_operation_by_name(node.name).op_def.is_stateful

  def _find_needs(self) -> list[dict[str, tf.Tensor]]:
    """The tensors by name that each segment takes from elsewhere."""
    needs: list[dict[str, tf.Tensor]] = [{} for _ in range(self._count)]
    for node in self._nodes:
      stage = self._stages[node.name]
      for name in node.input:
        source = tidying.source(name)
        if name.startswith("^") or self._stages.get(source) == stage:
          continue
        full = tidying.full(name)
        needs[stage][full] = self._graph.get_tensor_by_name(full)
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
    return [self._segment(stage, attributes) for stage in range(self._count)]

  def _segment(self, stage: int, attributes: dict[str, Any] | None) -> Segment:
    needs = self._needs[stage]
    taken = tuple(t for n, t in needs.items() if n not in self._captures)
    captured = {n: self._captures[n] for n in needs if n in self._captures}
    gives = tuple(self._gives[stage].values())
    graph_def, stubs = self._graph_def_of(stage, needs)

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

    specs = [tf.TensorSpec(t.shape, t.dtype) for t in taken]
    traced = tf.function(
      build, autograph=False, experimental_attributes=attributes
    )
    return Segment(traced.get_concrete_function(*specs), taken, gives)

  def _graph_def_of(
    self, stage: int, needs: dict[str, tf.Tensor]
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
    for node in self._nodes:
      if self._stages[node.name] == stage:
        copy = graph_def.node.add()
        copy.CopyFrom(node)
        copy.input[:] = self._inputs(node, stage, stubs)
    return graph_def, {name: f"{stub}:0" for name, stub in stubs.items()}

  def _inputs(self, node: Any, stage: int, stubs: dict[str, str]) -> list[str]:
    """The inputs of a node as they are called within its segment."""
    inputs = []
    for name in node.input:
      if not name.startswith("^"):
        inputs.append(stubs.get(tidying.full(name), name))
      elif name[1:] in self._present and self._stages.get(name[1:]) == stage:
        inputs.append(name)
      # Segments follow one another, so what is earlier has run already.
    return inputs


def _stages(
  graph_def: Any, given: set[str], cuts: Sequence[Cut]
) -> dict[str, int]:
  """Which segment makes each operation: the program's own order."""
  stages = {}
  stage = 0
  for index, node in enumerate(graph_def.node):
    while stage < len(cuts) and index >= cuts[stage].position:
      stage += 1
    if node.name not in given:
      stages[node.name] = stage
  return stages


def _captures(body: Any) -> dict[str, Any]:
  """What the function captured, by the name of the tensor inside it."""
  captured = body.captured_inputs
  inside = body.inputs[len(body.inputs) - len(captured) :]
  return dict(zip((t.name for t in inside), captured, strict=True))
