"""A nest whose tensors leave a graph, while the rest stays as it is."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf


class TensorNest:
  """A nest that was made while `graph` was traced, taken apart.

  Args:
    nest: tensors, composite tensors, anything else.
    graph: the graph whose tensors are taken out. Tensors of other graphs,
      variables and Python objects are the same for all replicas, and stay.
  """

  def __init__(self, nest: Any, graph: Any) -> None:
    self._nest = nest
    self._leaves = tf.nest.flatten(nest)
    self._own = [_is_of(leaf, graph) for leaf in self._leaves]
    self.tensors: list[tf.Tensor] = []
    for leaf, own in zip(self._leaves, self._own, strict=True):
      if own:
        self.tensors.extend(tf.nest.flatten(leaf, expand_composites=True))

  def rebuilt(self, tensors: Sequence[tf.Tensor]) -> Any:
    """The nest with other tensors in place of those taken out."""
    rest = list(tensors)
    leaves = []
    for leaf, own in zip(self._leaves, self._own, strict=True):
      if own:
        count = len(tf.nest.flatten(leaf, expand_composites=True))
        parts = [rest.pop(0) for _ in range(count)]
        leaf = tf.nest.pack_sequence_as(leaf, parts, expand_composites=True)
      leaves.append(leaf)
    return tf.nest.pack_sequence_as(self._nest, leaves)


def _is_of(leaf: Any, graph: Any) -> bool:
  if isinstance(leaf, tf.Variable):
    return False
  tensors = tf.nest.flatten(leaf, expand_composites=True)
  return bool(tensors) and any(
    isinstance(t, tf.Tensor) and getattr(t, "graph", None) is graph
    for t in tensors
  )
