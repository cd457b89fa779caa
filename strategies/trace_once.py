"""The engine that traces the function once and runs it on every replica.

All replicas run the same program. So the function is traced once, with
component 0 standing for each distributed variable, and called once for each
replica, on its device, with its own components in place of those captured.
Start-up time doesn't grow with the number of replicas.
"""

from collections.abc import Callable, Sequence
import dataclasses
from typing import Any, TYPE_CHECKING

import tensorflow as tf

from stratagem.cross_device import resources
from stratagem.cross_device import values as values_lib
from stratagem.strategies import merging
from stratagem.strategies import random_ops
from stratagem.strategies import regroup as regroup_lib
from stratagem.strategies import replica_context
from stratagem.strategies import replica_ids
from stratagem.strategies import segments as segments_lib
from stratagem.strategies import tensor_nest

if TYPE_CHECKING:
  from stratagem.strategies import extended as extended_lib


class UnsuitedError(Exception):
  """The function can't be traced once for all; the message says why."""


class TraceOnceContext(replica_context.ReplicaContext):
  """The replica that stands for all of them while the body is traced."""

  def __init__(self, strategy: Any, merges: merging.Merges) -> None:
    super().__init__(strategy, 0)
    self._merges = merges

  @property
  def replica_id_in_sync_group(self) -> tf.Tensor:
    """See `ReplicaContext.replica_id_in_sync_group`."""
    return replica_ids.read()

  @property
  def devices(self) -> list[str]:
    """Not known: the trace is for every device."""
    raise UnsuitedError("the function asks for its replica's device")

  def _merge_call(
    self,
    merge_fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
  ) -> Any:
    return self._merges.call(self, merge_fn, args, kwargs)

  def reduce_leaves(self, op: Any, leaves: list[Any], options: Any) -> Any:
    """See `ReplicaContext.reduce_leaves`."""
    if self._merges.within_reach:
      return super().reduce_leaves(op, leaves, options)
    self._merges.beside_it = True
    return self._strategy.extended.collectives.all_reduce(op, leaves)

  def gather_leaves(self, leaves: list[Any], axis: int, options: Any) -> Any:
    """See `ReplicaContext.gather_leaves`."""
    if self._merges.within_reach:
      return super().gather_leaves(leaves, axis, options)
    self._merges.beside_it = True
    collectives = self._strategy.extended.collectives
    return collectives.all_gather(leaves, axis)


@dataclasses.dataclass(frozen=True)
class _Traced:
  """The function, traced.

  Attributes:
    body: its `ConcreteFunction`, which takes the distributed arguments.
    results: what it returns.
    merges: the places where the replicas meet.
  """

  body: Any
  results: tensor_nest.TensorNest
  merges: merging.Merges


def run(
  extended: "extended_lib.StrategyExtended",
  fn: Callable[..., Any],
  args: tuple[Any, ...],
  kwargs: dict[str, Any],
) -> Any:
  """Traces `fn` once into the current graph and runs it on every replica.

  Args:
    extended: whose replicas they are.
    fn: the function.
    args: its positional arguments; distributed values are replaced by their
      component.
    kwargs: its keyword arguments, likewise.

  Returns:
    The nest that `fn` returns, with a `PerReplica` for each tensor that it
    made.

  Raises:
    UnsuitedError: if it has to run once for each replica.
  """
  replica_ids.make(extended.num_replicas_in_sync)
  arguments = _Arguments((args, kwargs), extended.num_replicas_in_sync)
  traced = _trace(extended, fn, arguments)
  random_ops.check(traced.body, UnsuitedError)
  _keep(traced)
  return _Execution(extended, arguments, traced).run()


# The attribute of a graph that holds what was traced for it.
_KEPT = "_stratagem_traces"


def _keep(traced: "_Traced") -> None:
  """Keeps a trace as long as the function that it is part of.

  The branches of its conditions and loops are functions that TensorFlow
  forgets with it, but its segments call them.
  """
  graph = tf.compat.v1.get_default_graph()
  while getattr(graph, "outer_graph", None) is not None:
    if not hasattr(graph.outer_graph, "outer_graph"):
      break
    graph = graph.outer_graph
  kept = getattr(graph, _KEPT, ())
  setattr(graph, _KEPT, (*kept, traced))


class _Arguments:
  """The distributed values among the arguments, and what stands for them."""

  def __init__(self, nest: Any, replicas: int) -> None:
    self._nest = nest
    self.per_replica: list[list[tf.Tensor]] = [[] for _ in range(replicas)]
    self.specs: list[Any] = []
    self._leaves: list[tuple[Any, int]] = []
    values_lib.map_distributed(self._add, nest)

  def _add(self, value: values_lib.DistributedValues) -> None:
    first = value.values[0]
    if all(component is first for component in value.values[1:]) or (
      isinstance(value, values_lib.PythonPerReplica)
    ):
      if not all(component is first for component in value.values):
        raise UnsuitedError(
          "an argument holds other Python objects per replica"
        )
      return
    specs = [tf.type_spec_from_value(c) for c in value.values]
    if any(spec != specs[0] for spec in specs):
      raise UnsuitedError("an argument has another shape or type per replica")
    for replica, component in enumerate(value.values):
      tensors = tf.nest.flatten(component, expand_composites=True)
      self.per_replica[replica].extend(tensors)
    flat = tf.nest.flatten(first, expand_composites=True)
    self._leaves.append((specs[0], len(flat)))
    self.specs.extend(tf.TensorSpec(t.shape, t.dtype) for t in flat)

  def rebuilt(self, tensors: Sequence[tf.Tensor]) -> Any:
    """The arguments as the function sees them, made of `tensors`."""
    leaves = iter(self._leaves)
    rest = list(tensors)

    def component(value: values_lib.DistributedValues) -> Any:
      first = value.values[0]
      if all(c is first for c in value.values):
        return first
      spec, count = next(leaves)
      parts = [rest.pop(0) for _ in range(count)]
      return tf.nest.pack_sequence_as(spec, parts, expand_composites=True)

    return values_lib.map_distributed(component, self._nest)


def _trace(
  extended: "extended_lib.StrategyExtended",
  fn: Callable[..., Any],
  arguments: _Arguments,
) -> _Traced:
  outer = tf.compat.v1.get_default_graph()
  traced: dict[str, Any] = {}

  def body(*tensors: tf.Tensor) -> list[tf.Tensor]:
    merges = merging.Merges(extended, outer)
    context = TraceOnceContext(extended.container_strategy, merges)
    # An empty device keeps nested `tf.function`s that are traced in here
    # from being taken for those traced outside.
    with context, tf.device(""):
      own_args, own_kwargs = arguments.rebuilt(tensors)
      result = fn(*own_args, **own_kwargs)
    traced["merges"] = merges
    traced["results"] = tensor_nest.TensorNest(result, merges.graph)
    return traced["results"].tensors

  with tf.device(None):
    concrete = tf.function(body, autograph=False).get_concrete_function(
      *arguments.specs
    )
  return _Traced(concrete, traced["results"], traced["merges"])


class _Execution:
  """Calls the traced function for every replica, merge by merge."""

  def __init__(
    self,
    extended: "extended_lib.StrategyExtended",
    arguments: _Arguments,
    traced: _Traced,
  ) -> None:
    self._extended = extended
    self._traced = traced
    self._size = extended.num_replicas_in_sync
    # What is known of the traced graph's tensors, by name, on each replica.
    self._known: list[dict[str, tf.Tensor]] = []
    inputs = traced.body.inputs
    for tensors in arguments.per_replica:
      self._known.append(
        {t.name: v for t, v in zip(inputs, tensors, strict=False)}
      )

  def run(self) -> Any:
    merges = self._traced.merges.made
    segments = self._segments()
    previous: list[Any] = [[] for _ in range(self._size)]
    for stage, segment in enumerate(segments):
      for replica in range(self._size):
        with tf.control_dependencies(previous[replica]):
          previous[replica] = self._call(segment, replica)
      if stage < len(merges):
        merges[stage].run(self._known)
    return self._regrouped()

  def _segments(self) -> list[segments_lib.Segment]:
    body, merges = self._traced.body, self._traced.merges.made
    wanted = list(self._traced.results.tensors)
    for merge in merges:
      wanted += [*merge.inputs, *merge.closed_over]
    cuts = [merge.cut for merge in merges]
    # Collectives in a loop find each other by the loop's name, which is the
    # same for all replicas only within a function that isn't inlined.
    keep = {"_noinline": True} if self._traced.merges.beside_it else None
    return segments_lib.split(body, cuts, wanted, keep)

  def _call(
    self, segment: segments_lib.Segment, replica: int
  ) -> list[tf.Operation]:
    """Runs a segment; returns what the replica's next one waits for."""
    known = self._known[replica]
    function = segment.function
    captured = function.captured_inputs
    own = [resources.of_replica(tensor, replica) for tensor in captured]
    graph = tf.compat.v1.get_default_graph()
    before = len(graph.get_operations())
    try:
      function.set_external_captures(own)
      with tf.device(self._extended.worker_devices[replica]):
        values = function(*(known[t.name] for t in segment.inputs))
    finally:
      function.set_external_captures(captured)
    flat = tf.nest.flatten(values)
    for tensor, value in zip(segment.outputs, flat, strict=False):
      known[tensor.name] = value
    calls = graph.get_operations()[before:]
    return [op for op in calls if "PartitionedCall" in op.type]

  def _regrouped(self) -> Any:
    outputs = [t.name for t in self._traced.results.tensors]
    results = []
    for known in self._known:
      tensors = [known[name] for name in outputs]
      results.append(self._traced.results.rebuilt(tensors))
    return regroup_lib.regroup(
      results, container=self._extended.value_container
    )
