"""Everything on one device: the same program without replication."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from stratagem.cluster import devices as devices_lib
from stratagem.strategies import extended as extended_lib
from stratagem.strategies import replica_context
from stratagem.strategies import strategy as strategy_lib


class OneDeviceExtended(extended_lib.StrategyExtended):
  """One replica on one device, with ordinary variables."""

  replicates = False

  def call_for_each_replica(
    self,
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
  ) -> Any:
    """Calls `fn` on the device."""
    strategy = self._container_strategy
    with (
      replica_context.ReplicaContext(strategy, 0),
      tf.device(self._devices[0]),
    ):
      return fn(*args, **(kwargs or {}))

  def create_variable(
    self, next_creator: Callable[..., Any], **kwargs: Any
  ) -> Any:
    """Makes an ordinary variable on the device."""
    with tf.device(self._devices[0]):
      variable = next_creator(**kwargs)
    variable.distribute_strategy = self._container_strategy
    return variable


class OneDeviceStrategy(strategy_lib.Strategy):
  """Puts everything on one device.

  Serves to try a distributed program on one device, and to name that device
  in one place.

  Args:
    device: the name of the device.

  Raises:
    ValueError: if there is no such device.

  Example:
    >>> import stratagem as sg
    >>> strategy = sg.OneDeviceStrategy("CPU:0")
    >>> strategy.run(lambda x: x + 1, args=(1,))
    2

  References:
    Mirrors `tf.distribute.OneDeviceStrategy` (2.21).
  """

  def __init__(self, device: str) -> None:
    resolved = devices_lib.resolve([device])
    super().__init__(lambda strategy: OneDeviceExtended(strategy, resolved))
