"""Training on several devices of one machine, in step."""

from collections.abc import Sequence

from stratagem.cluster import devices as devices_lib
from stratagem.strategies import extended as extended_lib
from stratagem.strategies import strategy as strategy_lib


class MirroredStrategy(strategy_lib.Strategy):
  """One replica on each of several devices of one machine.

  Every variable made in its scope has a component on each device, and the
  components are kept equal.

  Args:
    devices: names of devices, all of one type. By default all GPUs of the
      machine, or where there is none its CPU, which may be split into several
      logical devices.

  Raises:
    ValueError: if there is no such device, a device is named twice, or the
      devices are of several types.

  Example:
    >>> import stratagem as sg
    >>> strategy = sg.MirroredStrategy(["CPU:0"])
    >>> strategy.num_replicas_in_sync
    1

  References:
    Mirrors `tf.distribute.MirroredStrategy` (2.21).
  """

  def __init__(self, devices: Sequence[str] | None = None) -> None:
    if devices is None:
      devices = devices_lib.list_local("GPU") or devices_lib.list_local("CPU")
    resolved = devices_lib.resolve(devices)
    super().__init__(
      lambda strategy: extended_lib.StrategyExtended(strategy, resolved)
    )
