"""Seconds of an eager `strategy.run` of a function with nothing to merge."""

from collections.abc import Iterator
import types

import tensorflow as tf

from benchmarks import dense_stack
from benchmarks import timing


def measure(
  dist: types.ModuleType, *, replicas: int, adds: bool = True
) -> Iterator[float]:
  """As many measurements as asked for, each the median of some calls.

  With `adds` the function adds two scalars, which takes as long as all else;
  without, what is measured is `strategy.run` alone.
  """
  strategy = dense_stack.make_strategy(dist, replicas)
  one = tf.constant(1.0)

  def replica_fn(value: tf.Tensor) -> tf.Tensor:
    return value + one if adds else value

  return timing.medians(lambda: strategy.run(replica_fn, args=(one,)), calls=20)
