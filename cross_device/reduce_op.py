"""The ways in which values of several replicas become one."""

import enum

import tensorflow as tf


class ReduceOp(enum.Enum):
  """How the values of all replicas are combined.

  Wherever a `ReduceOp` is expected, its name in any case (`"sum"`) and
  `tf.distribute.ReduceOp` serve as well.

  Example:
    >>> ReduceOp.from_any("mean")
    <ReduceOp.MEAN: 'MEAN'>

  References:
    Mirrors `tf.distribute.ReduceOp` (2.21), which takes names too.
  """

  SUM = "SUM"  # Add all values.
  MEAN = "MEAN"  # Add all values and divide by their number.

  @staticmethod
  def from_variable_aggregation(
    aggregation: tf.VariableAggregation,
  ) -> "ReduceOp":
    """The reduce op that a variable's aggregation asks for.

    Raises:
      ValueError: if it asks for none.
    """
    if aggregation is tf.VariableAggregation.SUM:
      return ReduceOp.SUM
    if aggregation is tf.VariableAggregation.MEAN:
      return ReduceOp.MEAN
    raise ValueError(
      f"`aggregation` must be SUM or MEAN to be a reduce op; got {aggregation}."
    )

  @classmethod
  def from_any(cls, op: object) -> "ReduceOp":
    """Reads a reduce op from what users write.

    Args:
      op: a `ReduceOp`, an enum of the same names, or a name in any case.

    Returns:
      The member meant.

    Raises:
      ValueError: if `op` names no reduce op.
    """
    if isinstance(op, cls):
      return op
    name = op.name if isinstance(op, enum.Enum) else op
    if isinstance(name, str) and name.upper() in cls.__members__:
      return cls[name.upper()]
    raise ValueError(
      "`reduce_op` must be `ReduceOp.SUM`, `ReduceOp.MEAN`, or one of their "
      f"names; got {op!r}. Write `reduce_op=sg.ReduceOp.SUM`."
    )
