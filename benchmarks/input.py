"""Seconds to get the next batch of a distributed dataset."""

from collections.abc import Iterator
import types

import tensorflow as tf

from benchmarks import dense_stack
from benchmarks import timing


def measure(dist: types.ModuleType, *, replicas: int) -> Iterator[float]:
  """As many measurements as asked for, each the median of some batches."""
  strategy = dense_stack.make_strategy(dist, replicas)
  examples = tf.zeros([replicas * dense_stack.PER_REPLICA_BATCH, 64])
  dataset = tf.data.Dataset.from_tensor_slices(examples).repeat()
  batches = dataset.batch(replicas * dense_stack.PER_REPLICA_BATCH)
  iterator = iter(strategy.experimental_distribute_dataset(batches))
  return timing.medians(lambda: next(iterator), calls=20)
