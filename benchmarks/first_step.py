"""Seconds of the first step: tracing, graph optimization and one run."""

from collections.abc import Iterator
import time
import types

from benchmarks import dense_stack


def measure(
  dist: types.ModuleType, *, replicas: int, layers: int
) -> Iterator[float]:
  """One measurement: a process has one first step."""
  strategy = dense_stack.make_strategy(dist, replicas)
  weights = dense_stack.make_weights(strategy, layers)
  step = dense_stack.make_step(dist, strategy, weights)
  batch = dense_stack.make_batch()
  start = time.perf_counter()
  step(batch).numpy()
  yield time.perf_counter() - start
