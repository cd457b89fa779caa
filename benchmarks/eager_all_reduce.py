"""Seconds of an eager `strategy.run` of a function that all-reduces."""

from collections.abc import Iterator
import types

import tensorflow as tf

from benchmarks import dense_stack
from benchmarks import timing


def measure(dist: types.ModuleType, *, replicas: int) -> Iterator[float]:
  """As many measurements as asked for, each the median of some calls."""
  strategy = dense_stack.make_strategy(dist, replicas)
  one = tf.constant(1.0)

  def replica_fn(value: tf.Tensor) -> tf.Tensor:
    context = dist.get_replica_context()
    return context.all_reduce(dist.ReduceOp.SUM, value + one)

  return timing.medians(lambda: strategy.run(replica_fn, args=(one,)), calls=20)
