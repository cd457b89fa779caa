"""`merge_call` while one trace stands for all replicas.

The merge function is traced by itself, once, in cross-replica context, as a
function of every replica's values. In the body, placeholders stand for what
it returns; the body is cut there.
"""

from collections.abc import Callable
import functools
from typing import Any, TYPE_CHECKING

import tensorflow as tf

from stratagem.cross_device import values as values_lib
from stratagem.strategies import regroup as regroup_lib
from stratagem.strategies import segments
from stratagem.strategies import tensor_nest

if TYPE_CHECKING:
  from stratagem.strategies import extended as extended_lib
  from stratagem.strategies import replica_context


class Merges:
  """The merges in one traced body, in order.

  Args:
    extended: whose replicas they are.
    outer: the graph in which `run` was called.
  """

  def __init__(
    self, extended: "extended_lib.StrategyExtended", outer: Any
  ) -> None:
    self._extended = extended
    self._outer = outer
    self.graph = tf.compat.v1.get_default_graph()
    self.made: list[Merge] = []
    # Whether the body holds collectives, out of reach of merges.
    self.beside_it = False

  @property
  def within_reach(self) -> bool:
    """Whether the code being traced can be cut here.

    Not so in a loop, a `tf.cond` or a nested `tf.function`, which are graphs
    of their own.
    """
    return tf.compat.v1.get_default_graph() is self.graph

  def call(
    self,
    replica: "replica_context.ReplicaContext",
    merge_fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
  ) -> Any:
    """Adds a merge; returns what stands for its result in the body."""
    if not self.within_reach:
      raise RuntimeError(NESTED)
    merge = Merge(self._extended, merge_fn, (args, kwargs))
    with self._outer.as_default(), replica.left():
      merge.trace()
    merge.stand_in()
    self.made.append(merge)
    return merge.result


NESTED = (
  "`merge_call` must be called by the function given to `strategy.run` "
  "itself; got a call inside a nested `tf.function`, a `tf.cond` or a loop, "
  "where the replicas can't be brought together. Call it outside of these, or "
  "remove the inner `@tf.function`. `all_reduce` and `all_gather` may be "
  "called anywhere."
)


class Merge:
  """One place where the replicas meet.

  Attributes:
    inputs: the body's tensors that the merge takes from every replica.
    result: what stands in the body for what the merge returns.
    cut: where the body is cut.
  """

  def __init__(
    self,
    extended: "extended_lib.StrategyExtended",
    merge_fn: Callable[..., Any],
    arguments: Any,
  ) -> None:
    self._extended = extended
    self._size = extended.num_replicas_in_sync
    self._merge_fn = merge_fn
    self._body = tf.compat.v1.get_default_graph()
    self._arguments = tensor_nest.TensorNest(arguments, self._body)
    self.inputs = tuple(self._arguments.tensors)
    self._results: list[tensor_nest.TensorNest] = []
    self._function: Any = None
    self.result: Any = None
    self.cut = segments.Cut(0, ())
    # Which of the function's outputs is each tensor of the results.
    self._places: list[int] = []

  def stand_in(self) -> None:
    """Puts placeholders for the results into the body, where it is cut."""
    position = len(self._body.get_operations())
    stand_ins = self._stand_ins()
    self.result = self._results[0].rebuilt(stand_ins)
    self.cut = segments.Cut(position, tuple(stand_ins))

  def trace(self) -> None:
    """Traces the merge as a function of all replicas' inputs, in turn.

    To be called in cross-replica context, in the graph of the caller of
    `run`.
    """
    count = len(self.inputs)

    def merge(*tensors: tf.Tensor) -> list[tf.Tensor]:
      nests = [
        self._arguments.rebuilt(tensors[r * count : (r + 1) * count])
        for r in range(self._size)
      ]
      args, kwargs = regroup_lib.regroup(
        nests, container=self._extended.value_container
      )
      result = self._merge_fn(
        self._extended.container_strategy, *args, **kwargs
      )
      result = tf.nest.map_structure(_without_operation, result)
      graph = tf.compat.v1.get_default_graph()
      self._results = [
        tensor_nest.TensorNest(values_lib.select(r, result), graph)
        for r in range(self._size)
      ]
      made = [t for nest in self._results for t in nest.tensors]
      unique = {id(t): t for t in made}
      # What is one for all replicas is given once.
      places = {key: place for place, key in enumerate(unique)}
      self._places = [places[id(t)] for t in made]
      return list(unique.values())

    specs = [tf.TensorSpec(t.shape, t.dtype) for t in self.inputs]
    function = tf.function(merge, autograph=False)
    self._function = function.get_concrete_function(*(specs * self._size))

  def _stand_ins(self) -> list[tf.Tensor]:
    """Placeholders for one replica's part of the result."""
    stand_ins = []
    for parts in zip(*(nest.tensors for nest in self._results), strict=True):
      shapes = [part.shape for part in parts]
      shape = functools.reduce(
        lambda left, right: left.most_specific_compatible_shape(right), shapes
      )
      stand_ins.append(tf.compat.v1.placeholder(parts[0].dtype, shape))
    return stand_ins

  def run(self, known: list[dict[str, tf.Tensor]]) -> None:
    """Calls the merge in the current graph.

    Args:
      known: the values of the body's tensors by name, on each replica. The
        merge's results are added.
    """
    captured = self._function.captured_inputs
    # A merge function is replica 0's: what it closes over is replica 0's.
    own = [
      known[0][t.name] if getattr(t, "graph", None) is self._body else t
      for t in captured
    ]
    inputs = [on[t.name] for on in known for t in self.inputs]
    try:
      self._function.set_external_captures(own)
      values = tf.nest.flatten(self._function(*inputs))
    finally:
      self._function.set_external_captures(captured)
    values = [values[place] for place in self._places]
    count = len(self.cut.results)
    for replica, on in enumerate(known):
      own_values = values[replica * count : (replica + 1) * count]
      for stand_in, value in zip(self.cut.results, own_values, strict=True):
        on[stand_in.name] = value

  @property
  def closed_over(self) -> list[tf.Tensor]:
    """The body's tensors that the merge function closes over."""
    return [
      t
      for t in self._function.captured_inputs
      if getattr(t, "graph", None) is self._body
    ]


def _without_operation(leaf: Any) -> Any:
  """An operation is run with the function it is part of; nothing is left."""
  return None if isinstance(leaf, tf.Operation) else leaf
