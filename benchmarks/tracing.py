"""Seconds of Python tracing: `get_concrete_function` of a fresh step."""

from collections.abc import Iterator
import time
import types

from benchmarks import dense_stack


def measure(
  dist: types.ModuleType, *, replicas: int, layers: int
) -> Iterator[float]:
  """As many measurements as asked for, each of another `tf.function`."""
  strategy = dense_stack.make_strategy(dist, replicas)
  weights = dense_stack.make_weights(strategy, layers)
  batch = dense_stack.make_batch()

  def trace() -> float:
    step = dense_stack.make_step(dist, strategy, weights)
    start = time.perf_counter()
    step.get_concrete_function(batch)
    return time.perf_counter() - start

  trace()
  while True:
    yield trace()
