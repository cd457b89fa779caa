"""Variables whose components are kept equal."""

from typing import Any

import tensorflow as tf

from stratagem.cross_device import reduce_op as reduce_op_lib
from stratagem.cross_device import values as values_lib
from stratagem.strategies import context
from stratagem.strategies import variable

_REDUCE_OPS = {
  tf.VariableAggregation.SUM: reduce_op_lib.ReduceOp.SUM,
  tf.VariableAggregation.MEAN: reduce_op_lib.ReduceOp.MEAN,
}


class MirroredVariable(variable.DistributedVariable):
  """A variable with the same value on every replica.

  What replicas assign is first made one by the variable's aggregation: the
  sum, the mean, or what the first replica assigned. Without aggregation the
  replicas must assign equal values.

  References:
    The rules are those of variables that `tf.distribute.MirroredStrategy`
    (2.21) makes with `tf.VariableSynchronization.ON_WRITE`.
  """

  _synchronization = tf.VariableSynchronization.ON_WRITE

  def _write(self, method: str, value: Any, **kwargs: Any) -> Any:
    replica = self._replica()
    if replica is None:
      return self._write_each(method, value, **kwargs)
    component = self._components[replica]
    if self._in_replica() and len(self._components) > 1:
      value = self._agreed(method, value)
    return self._write_component(component, method, value, **kwargs)

  def _scatter(
    self, method: str, sparse_delta: Any, use_locking: bool, name: str | None
  ) -> Any:
    kwargs: dict[str, Any] = {"use_locking": use_locking, "name": name}
    replica = self._replica()
    if replica is None:
      return self._write_each(method, sparse_delta, read_value=True, **kwargs)
    component = self._components[replica]
    if self._in_replica():
      self._check_scatter(method)
      if len(self._components) > 1:
        sparse_delta = self._agreed(method, sparse_delta)
    return self._write_component(component, method, sparse_delta, **kwargs)

  def _check_scatter(self, method: str) -> None:
    needs_one = method in ("scatter_min", "scatter_max", "scatter_update")
    if needs_one and self._aggregation in _REDUCE_OPS:
      raise NotImplementedError(
        f"`{method}` of a mirrored variable in `strategy.run` needs the "
        "aggregation NONE or ONLY_FIRST_REPLICA: several replicas' updates "
        f"have no sum or mean; got {self._aggregation} for variable "
        f"{self.name!r}. Call it in cross-replica context, or make the "
        "variable with that aggregation."
      )

  def _agreed(self, method: str, value: Any) -> Any:
    """One value for all replicas of what each wants to write."""
    mode = context.current()
    assert mode is not None
    assert mode.replica_context is not None
    replica_context = mode.replica_context
    if self._aggregation in _REDUCE_OPS:
      self._check_mean(method)
      value = self._converted(value)
      op = _REDUCE_OPS[self._aggregation]
      reduced = replica_context.all_reduce(op, value)
      if isinstance(reduced, tf.IndexedSlices):
        return reduced
      return tf.cast(reduced, self.dtype)
    if self._aggregation is tf.VariableAggregation.ONLY_FIRST_REPLICA:
      return replica_context.merge_call(_first, (self._converted(value),))
    # Without aggregation each replica writes what it has, and the user sees
    # to it that all have the same.
    return value

  def _check_mean(self, method: str) -> None:
    mean = self._aggregation is tf.VariableAggregation.MEAN
    if mean and not self.dtype.is_floating:
      raise ValueError(
        f"`{method}` of a mirrored variable in `strategy.run` with "
        "VariableAggregation.MEAN needs a floating-point variable, for the "
        f"mean may not be an integer; got {self.dtype.name} for variable "
        f"{self.name!r}. Make it floating-point, or assign to it in "
        "cross-replica context."
      )

  def _converted(self, value: Any) -> Any:
    if isinstance(value, tf.IndexedSlices):
      return value
    return tf.convert_to_tensor(value, dtype_hint=self.dtype)


def _first(strategy: Any, value: Any) -> Any:
  """The first replica's value, for all."""
  if isinstance(value, values_lib.DistributedValues):
    value = value.values[0]
  return strategy.extended.to_all(value)


# What `isinstance(variable, sg.Mirrored)` goes by.
values_lib.Mirrored.register(MirroredVariable)
