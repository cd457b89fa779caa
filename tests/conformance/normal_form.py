"""Results in a form in which the two sides can be compared."""

import builtins
from collections.abc import Mapping
import dataclasses
import enum
from typing import Any

import numpy as np
import tensorflow as tf

from tests.conformance import program as program_lib

# Classes that both sides have under the same name, most special first, and
# the kind they are. Only the last is public: which other class holds what is
# no tensor is each side's own affair.
_KINDS = {
  "Mirrored": "Mirrored",
  "PerReplica": "PerReplica",
  "DistributedValues": "PerReplica",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Node:
  """A result, or a part of one.

  Attributes:
    kind: What sort of thing it is: "tensor", "PerReplica", "dict", "raised".
    facts: What must be equal, by name.
    array: What must be equal or near, if it has values.
    children: Its parts, by name.
    message: An error's message.
    mentions: What stratagem's message must mention.
  """

  kind: str
  facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  array: np.ndarray | None = None
  children: Mapping[str, "Node"] = dataclasses.field(default_factory=dict)
  message: str = ""
  mentions: tuple[str, ...] = ()


def describe(value: Any) -> Node:
  """The normal form of `value`, a nest of anything a program may return."""
  for applies, form in _FORMS:
    if applies(value):
      return form(value)
  return Node(kind=type(value).__name__)


def _is_distributed(value: Any) -> bool:
  return any(base.__name__ in _KINDS for base in type(value).__mro__)


def _distributed_kind(value: Any) -> str:
  names = [base.__name__ for base in type(value).__mro__]
  return next(kind for name, kind in _KINDS.items() if name in names)


def _components(value: Any) -> dict[str, Node]:
  return {f"replica {i}": describe(v) for i, v in enumerate(value.values)}


def _distributed(value: Any) -> Node:
  return Node(kind=_distributed_kind(value), children=_components(value))


def _variable(value: Any) -> Node:
  facts = {
    "name": value.name,
    "dtype": value.dtype.name,
    "shape": str(value.shape),
    "trainable": value.trainable,
    "synchronization": value.synchronization.name,
    "aggregation": value.aggregation.name,
  }
  if _is_distributed(value):
    parts = {
      f"replica {i}": Node(
        kind="component",
        facts={"device": v.device},
        array=_numpy(v),
      )
      for i, v in enumerate(value.values)
    }
    return Node(kind="distributed variable", facts=facts, children=parts)
  facts["device"] = value.device
  return Node(kind="variable", facts=facts, array=_numpy(value))


def _tensor(value: tf.Tensor) -> Node:
  facts = {"dtype": value.dtype.name, "shape": str(value.shape)}
  if not hasattr(value, "numpy"):
    return Node(kind="symbolic tensor", facts=facts)
  facts["device"] = value.device
  return Node(kind="tensor", facts=facts, array=np.asarray(value.numpy()))


def _numpy(variable: tf.Variable) -> np.ndarray:
  return np.asarray(tf.identity(variable).numpy())


def _composite(value: Any) -> Node:
  parts = tf.nest.flatten(value, expand_composites=True)
  return Node(
    kind=type(value).__name__,
    children={str(i): describe(part) for i, part in enumerate(parts)},
  )


def _mapping(value: Mapping[Any, Any]) -> Node:
  return Node(
    kind=type(value).__name__,
    children={str(key): describe(part) for key, part in value.items()},
  )


def _sequence(value: Any) -> Node:
  names = getattr(value, "_fields", None) or range(len(value))
  return Node(
    kind=type(value).__name__,
    children={
      str(name): describe(part) for name, part in zip(names, value, strict=True)
    },
  )


def _number(value: Any) -> Node:
  return Node(kind=type(value).__name__, array=np.asarray(value))


def _array(value: np.ndarray) -> Node:
  facts = {"dtype": value.dtype.name, "shape": str(value.shape)}
  return Node(kind="array", facts=facts, array=value)


def _constant(value: Any) -> Node:
  kind = type(value).__name__
  if isinstance(value, enum.Enum):
    # TensorFlow has some enums twice; members of the two are equal.
    return Node(kind=kind.removesuffix("V2"), facts={"value": value.name})
  return Node(kind=kind, facts={"value": repr(value)})


def _raised(value: program_lib.Raised) -> Node:
  return Node(
    kind="raised",
    facts={"class": public_class(type(value.error)).__name__},
    message=str(value.error),
    mentions=value.mentions,
  )


def public_class(error: type[BaseException]) -> type[BaseException]:
  """The nearest base of `error` that everybody knows."""
  known = {
    *(v for v in vars(builtins).values() if isinstance(v, type)),
    *(v for v in vars(tf.errors).values() if isinstance(v, type)),
  }
  return next(base for base in error.__mro__ if base in known)


def _is(*classes: type) -> Any:
  return lambda value: isinstance(value, classes)


# The first form that applies is taken.
_FORMS = (
  (_is(program_lib.Raised), _raised),
  (_is(tf.Variable), _variable),
  (_is_distributed, _distributed),
  (_is(tf.Tensor), _tensor),
  (_is(tf.IndexedSlices, tf.SparseTensor, tf.RaggedTensor), _composite),
  (_is(Mapping), _mapping),
  (_is(list, tuple), _sequence),
  (_is(bool, str, bytes, type(None), enum.Enum), _constant),
  (_is(tf.DType, tf.TensorShape, tf.TypeSpec), _constant),
  (_is(int, float, complex, np.generic), _number),
  (_is(np.ndarray), _array),
)
