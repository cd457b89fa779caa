"""Seconds of a step, once it is traced and warm."""

from collections.abc import Iterator
import types

from benchmarks import dense_stack
from benchmarks import timing


def measure(
  dist: types.ModuleType, *, replicas: int, layers: int
) -> Iterator[float]:
  """As many measurements as asked for, each the median of some steps."""
  strategy = dense_stack.make_strategy(dist, replicas)
  weights = dense_stack.make_weights(strategy, layers)
  step = dense_stack.make_step(dist, strategy, weights)
  batch = dense_stack.make_batch()
  return timing.medians(lambda: step(batch).numpy(), calls=20)
