"""A distributed variable as an argument of a `tf.function`."""

from collections.abc import Sequence
from typing import Any
import weakref

import tensorflow as tf


class VariableType(tf.types.experimental.TraceType):
  """The type of one variable: a trace serves that variable alone.

  Args:
    variable: the variable.
  """

  def __init__(self, variable: Any) -> None:
    self._variable = weakref.ref(variable)
    self._hash = id(variable)

  def is_subtype_of(self, other: Any) -> bool:
    """Whether both are the type of one variable."""
    return self == other

  def most_specific_common_supertype(
    self, others: Sequence[Any]
  ) -> "VariableType | None":
    """This type, if all are equal to it."""
    return self if all(self == other for other in others) else None

  def placeholder_value(self, placeholder_context: Any = None) -> Any:
    """The variable, which stands for itself in a trace."""
    del placeholder_context
    return self._value()

  def to_tensors(self, value: Any) -> list[tf.Tensor]:
    """Nothing: the trace captures the variable."""
    del value
    return []

  def from_tensors(self, tensors: Any) -> Any:
    """The variable."""
    del tensors
    return self._value()

  def flatten(self) -> list[Any]:
    """Nothing: see `to_tensors`."""
    return []

  def cast(self, value: Any, cast_context: Any) -> Any:
    """The value, which is the variable."""
    del cast_context
    return value

  def _value(self) -> Any:
    variable = self._variable()
    if variable is None:
      raise ReferenceError("The variable of this trace doesn't exist any more.")
    return variable

  def __eq__(self, other: object) -> bool:
    return (
      isinstance(other, VariableType) and self._variable() is other._variable()
    )

  def __hash__(self) -> int:
    return self._hash

  def __repr__(self) -> str:
    variable = self._variable()
    return f"VariableType({None if variable is None else variable.name!r})"
