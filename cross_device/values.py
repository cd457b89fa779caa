"""Values that live on several devices: one component for each replica."""

import abc
from collections.abc import Callable, Sequence
from typing import Any, Tuple, Union  # noqa: UP035

import tensorflow as tf

from stratagem.cross_device import interfaces

# What `tf.function`, loops and `tf.cond` carry as a component. The composite
# types come first: a conversion to `tf.Tensor` would make them dense.
_Component = Union[  # noqa: UP007
  tf.RaggedTensor, tf.SparseTensor, tf.IndexedSlices, tf.Tensor
]
_COMPONENT_TYPES = (
  tf.Tensor,
  tf.RaggedTensor,
  tf.SparseTensor,
  tf.IndexedSlices,
)


class DistributedValues(interfaces.Values, abc.ABC):
  """A value with one component for each replica.

  Every distributed value and every distributed variable is an instance. The
  components are read with `strategy.experimental_local_results(value)`, and
  are what the function sees when the value is an argument of `strategy.run`.

  References:
    Mirrors `tf.distribute.DistributedValues` (2.21).
  """

  values: tuple[Any, ...]


class PerReplica(DistributedValues):
  """A value whose components may differ from replica to replica.

  Goes in and out of `tf.function`, through loops and `tf.cond`, if its
  components are tensors.

  Args:
    values: the component of each replica: tensors (ragged, sparse and
      `tf.IndexedSlices` too) of any shapes, or any objects.

  Example:
    >>> PerReplica((tf.constant(1.0), tf.constant(2.0))).values[1].numpy()
    2.0

  References:
    Mirrors `tf.types.experimental.distributed.PerReplica` (2.21), which has
    no public constructor.
  """

  def __new__(cls, values: Sequence[Any]) -> Any:  # noqa: D102
    return per_replica(values)


class Mirrored(DistributedValues):
  """A value whose components are equal, one on the device of each replica.

  Args:
    values: the component of each replica.

  References:
    Mirrors `tf.types.experimental.distributed.Mirrored` (2.21).
  """

  def __new__(cls, values: Sequence[Any]) -> Any:  # noqa: D102
    return mirrored(values)


class TensorPerReplica(tf.experimental.ExtensionType, DistributedValues):
  """A `PerReplica` of what TensorFlow can carry."""

  values: Tuple[_Component, ...]  # noqa: UP006


class TensorMirrored(tf.experimental.ExtensionType, DistributedValues):
  """A `Mirrored` of what TensorFlow can carry."""

  values: Tuple[_Component, ...]  # noqa: UP006


class _PythonValues(DistributedValues):
  """Components that TensorFlow can't carry: Python objects, variables."""

  def __init__(self, values: Sequence[Any]) -> None:
    self.values = tuple(values)

  def __repr__(self) -> str:
    return f"{type(self).__name__}(values={self.values!r})"


class PythonPerReplica(_PythonValues):
  """A `PerReplica` of Python objects."""


class PythonMirrored(_PythonValues):
  """A `Mirrored` of Python objects or of variables."""


# An extension type can't be a base of what isn't one: TensorFlow would take
# that for an extension type too. So what users see is a base by name alone.
for _public, _made in (
  (PerReplica, (TensorPerReplica, PythonPerReplica)),
  (Mirrored, (TensorMirrored, PythonMirrored)),
):
  for _class in _made:
    _public.register(_class)
    _class.__name__ = _class.__qualname__ = _public.__name__


def _all_tensors(values: Sequence[Any]) -> bool:
  return all(isinstance(v, _COMPONENT_TYPES) for v in values)


def per_replica(values: Sequence[Any]) -> DistributedValues:
  """Wraps one component a replica, of any type, as a `PerReplica`."""
  return _wrap(TensorPerReplica, PythonPerReplica, tuple(values))


def mirrored(values: Sequence[Any]) -> DistributedValues:
  """Wraps equal components, one a replica, of any type, as a `Mirrored`."""
  return _wrap(TensorMirrored, PythonMirrored, tuple(values))


def _wrap(tensors: Any, others: Any, values: tuple[Any, ...]) -> Any:
  if not _all_tensors(values):
    return others(values)
  # An extension type converts and checks its fields, for 100 us with 8
  # replicas; they are of the right types already.
  wrapped = object.__new__(tensors)
  wrapped.__dict__["values"] = values
  return wrapped


def is_leaf(value: object) -> bool:
  """Whether a nest ends at `value`, which may itself be distributed."""
  return isinstance(value, DistributedValues)


def select(replica: int, nest: Any) -> Any:
  """Takes the component of one replica from every distributed value.

  Args:
    replica: the position of the component.
    nest: any nest; what isn't distributed stays as it is, and so do
      variables, which find their component by themselves.

  Returns:
    The same nest with components in place of distributed values.
  """
  kind = type(nest)
  # The usual nests at once: `tf.nest` takes 60 us for each.
  if kind is tuple:
    return tuple([select(replica, part) for part in nest])
  if kind is list:
    return [select(replica, part) for part in nest]
  if kind is dict:
    return {key: select(replica, part) for key, part in nest.items()}
  if isinstance(nest, DistributedValues):
    is_variable = isinstance(nest, tf.Variable)
    return nest if is_variable else _component(nest, replica)
  if isinstance(nest, _COMPONENT_TYPES) or not tf.nest.is_nested(nest):
    return nest
  return map_distributed(lambda value: _component(value, replica), nest)


def _component(value: DistributedValues, replica: int) -> Any:
  if replica < len(value.values):
    return value.values[replica]
  raise ValueError(
    "A distributed value must have a component for each replica; replica "
    f"{replica} asks for its own of a value with {len(value.values)}. Make "
    "it with the strategy that uses it."
  )


def map_distributed(fn: Callable[[DistributedValues], Any], nest: Any) -> Any:
  """Applies `fn` to the distributed values in `nest`, variables excepted."""

  def leaf(value: Any) -> Any:
    if isinstance(value, DistributedValues) and not isinstance(
      value, tf.Variable
    ):
      return fn(value)
    return value

  return tf.nest.map_structure(leaf, nest)
