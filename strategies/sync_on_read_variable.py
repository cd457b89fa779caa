"""Variables that each replica has for itself until they are read."""

from typing import Any

import tensorflow as tf

from stratagem.cross_device import values as values_lib
from stratagem.strategies import variable

_Aggregation = tf.VariableAggregation


class SyncOnReadVariable(variable.DistributedVariable):
  """A variable of which each replica has a value of its own.

  Read in cross-replica context it is one value, by its aggregation: metrics
  are sums, statistics of batch normalization are means.

  References:
    The rules are those of variables that `tf.distribute.MirroredStrategy`
    (2.21) makes with `tf.VariableSynchronization.ON_READ`.
  """

  _synchronization = tf.VariableSynchronization.ON_READ

  def _read(self) -> tf.Tensor:
    replica = self._replica()
    if replica is not None:
      return self._components[replica].value()
    return self.aggregated()

  def aggregated(self) -> tf.Tensor:
    """One value of all components, by the variable's aggregation.

    Raises:
      ValueError: if the aggregation is NONE.
    """
    first = self.primary
    if self._aggregation is _Aggregation.ONLY_FIRST_REPLICA:
      return first.read_value()
    if self._aggregation is _Aggregation.NONE:
      raise ValueError(
        "A variable that is synchronized on read needs an aggregation to be "
        f"read in cross-replica context; variable {self.name!r} has "
        "VariableAggregation.NONE. Make it with, for example, "
        "`aggregation=tf.VariableAggregation.SUM`, or read its components "
        "with `strategy.experimental_local_results(variable)`."
      )
    values = self._on_each(lambda _, component: component.read_value())
    with tf.device(first.device):
      total = tf.add_n(values)
      if self._aggregation is _Aggregation.MEAN:
        total = tf.cast(total / len(values), self.dtype)
      return total

  def _write(self, method: str, value: Any, **kwargs: Any) -> Any:
    replica = self._replica()
    if replica is not None:
      component = self._components[replica]
      return self._write_component(component, method, value, **kwargs)
    if self._aggregation is _Aggregation.SUM:
      value = self._shared_out(method, value)
    return self._write_each(method, value, **kwargs)

  def _shared_out(self, method: str, value: Any) -> Any:
    """The part of a sum that each component holds."""
    if method != "assign":
      raise ValueError(
        f"`{method}` of a variable that is synchronized on read by a sum is "
        "not defined in cross-replica context; variable "
        f"{self.name!r} has VariableAggregation.SUM. Call it in "
        "`strategy.run`, or use `assign`, which shares the value out."
      )
    if isinstance(value, values_lib.DistributedValues):
      return value
    whole = tf.convert_to_tensor(value, dtype=self.dtype)
    return tf.cast(whole / len(self._components), self.dtype)

  def _scatter(
    self, method: str, sparse_delta: Any, use_locking: bool, name: str | None
  ) -> Any:
    replica = self._replica()
    if replica is None:
      raise NotImplementedError(
        f"`{method}` of a variable that is synchronized on read must be "
        f"called in `strategy.run`; got a call for variable {self.name!r} in "
        "cross-replica context."
      )
    component = self._components[replica]
    kwargs: dict[str, Any] = {"use_locking": use_locking, "name": name}
    return self._write_component(component, method, sparse_delta, **kwargs)

  def restore(self, value: tf.Tensor) -> Any:
    """See `OneValueInCheckpoint.restore`: a sum is shared out."""
    if self._aggregation is _Aggregation.SUM:
      value = tf.cast(value / len(self._components), self.dtype)
    return super().restore(value)

  def checkpoint_value(self) -> tf.Tensor:
    """See `OneValueInCheckpoint.checkpoint_value`."""
    if self._aggregation is _Aggregation.NONE:
      return self.primary.read_value()
    return self.aggregated()
