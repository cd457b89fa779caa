"""Steps of distributed datasets in a form that can be compared."""

from collections.abc import Iterable
import itertools
from typing import Any

import numpy as np
import tensorflow as tf

from tests import logical_devices


def devices(replicas: int) -> tuple[str, ...]:
  """The devices of so many replicas."""
  return tuple(logical_devices.names(replicas))


def upstream(replicas: int) -> tf.distribute.Strategy:
  """What tf.distribute has for so many replicas."""
  return tf.distribute.MirroredStrategy(devices(replicas))


def components(leaf: Any) -> tuple[Any, ...]:
  """The component of each replica of a leaf of either side."""
  if isinstance(leaf, tf.distribute.DistributedValues):
    return leaf.values
  return getattr(leaf, "values", (leaf,)) if _is_ours(leaf) else (leaf,)


def _is_ours(leaf: Any) -> bool:
  return type(leaf).__module__.startswith("stratagem.")


def plain(step: Any) -> Any:
  """The nest of a step, with a list of plain values for each leaf."""
  return tf.nest.map_structure(
    lambda leaf: _Parts([_plain(part) for part in components(leaf)]), step
  )


class _Parts:
  """The values of all replicas, as a leaf of a nest."""

  def __init__(self, parts: list[Any]) -> None:
    self.parts = parts

  def __eq__(self, other: object) -> bool:
    return isinstance(other, _Parts) and self.parts == other.parts

  __hash__ = None  # type: ignore[assignment]

  def __repr__(self) -> str:
    return repr(self.parts)


def _plain(tensor: Any) -> Any:
  if isinstance(tensor, tf.RaggedTensor):
    return "ragged", tensor.to_list(), tensor.dtype
  if isinstance(tensor, tf.SparseTensor):
    dense = tf.sparse.to_dense(tensor).numpy()
    return "sparse", dense.tolist(), dense.shape, tensor.dtype
  if tensor is None:
    return None
  array = np.asarray(tensor.numpy())
  return array.tolist(), array.shape, tensor.dtype


def first(dataset: Iterable[Any], count: int = 9) -> list[Any]:
  """The first steps in comparable form."""
  return [plain(step) for step in itertools.islice(dataset, count)]


def rows(dataset: Iterable[Any]) -> list[list[list[int]]]:
  """For each step, for each replica, its rows; of one leaf."""
  return [
    [part.numpy().tolist() for part in components(step)] for step in dataset
  ]


def specs(dataset: Any) -> list[tf.TypeSpec]:
  """The specs of all components of a step, in order."""
  return [
    spec
    for leaf in tf.nest.flatten(dataset.element_spec)
    for spec in _component_specs(leaf)
  ]


def _component_specs(spec: Any) -> tuple[tf.TypeSpec, ...]:
  # Theirs has no public name for them.
  name = "values" if _is_ours(spec) else "_value_specs"
  return getattr(spec, name, (spec,))
