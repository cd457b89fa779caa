"""The two implementations that are compared."""

from collections.abc import Callable
import importlib
import itertools
from typing import Any

import tensorflow as tf

UPSTREAM = "tf.distribute"
OURS = "stratagem"

# Far from the keys that stratagem may use in the same process.
_first_keys = itertools.count(100_000_000, 1000)


def load(side: str) -> Any:
  """The module that plays `tf.distribute` on one side."""
  if side == OURS:
    return importlib.import_module("stratagem")
  _separate_collectives()
  return tf.distribute


def _separate_collectives() -> None:
  """Gives each of upstream's `MirroredStrategy`s its own collective keys.

  Without, two of them in one process over equally many devices use the same
  group and instance keys, and the second fails as soon as its collectives
  have other shapes than the first one's had. Upstream's own tests move the
  attribute before they make a strategy.
  """
  tf.distribute.MirroredStrategy._collective_key_base = property(
    lambda _: next(_first_keys)
  )


def _cpus(dist: Any, count: int) -> Any:
  return dist.MirroredStrategy([f"/cpu:{i}" for i in range(count)])


STRATEGIES: dict[str, Callable[[Any], Any]] = {
  "default": lambda dist: dist.get_strategy(),
  "one": lambda dist: dist.OneDeviceStrategy("/cpu:0"),
  "mirrored1": lambda dist: _cpus(dist, 1),
  "mirrored2": lambda dist: _cpus(dist, 2),
  "mirrored4": lambda dist: _cpus(dist, 4),
}
