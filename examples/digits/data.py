"""scikit-learn's handwritten digits: 1,797 real scans of 8x8 pixels."""

import dataclasses

import numpy as np
from sklearn import datasets
import tensorflow as tf

TEST_IMAGES = 360
_SPLIT_SEED = 0
_DARKEST = 16.0


@dataclasses.dataclass(frozen=True)
class Digits:
  """Images `[n, 8, 8, 1]` between 0 and 1, labels `[n]` between 0 and 9."""

  images: np.ndarray
  labels: np.ndarray

  def __len__(self) -> int:
    """How many digits."""
    return len(self.labels)


def load() -> tuple[Digits, Digits]:
  """The 1,437 digits to train on and the 360 to test on, always the same."""
  scans = datasets.load_digits()
  images = (scans.images / _DARKEST).astype(np.float32)[..., np.newaxis]
  labels = scans.target.astype(np.int64)
  order = np.random.default_rng(_SPLIT_SEED).permutation(len(labels))
  test, train = order[:TEST_IMAGES], order[TEST_IMAGES:]
  return (
    Digits(images[train], labels[train]),
    Digits(images[test], labels[test]),
  )


def batches(digits: Digits, global_batch_size: int) -> tf.data.Dataset:
  """The digits in order. The last batch is smaller, not dropped."""
  dataset = tf.data.Dataset.from_tensor_slices((digits.images, digits.labels))
  return dataset.batch(global_batch_size).prefetch(tf.data.AUTOTUNE)


def shuffled(
  digits: Digits, global_batch_size: int, epoch: int
) -> tf.data.Dataset:
  """The digits in an order that follows from `epoch` alone.

  So a run that resumes at an epoch sees what it would have seen without a stop.
  """
  order = np.random.default_rng([_SPLIT_SEED, epoch]).permutation(len(digits))
  return batches(
    Digits(digits.images[order], digits.labels[order]), global_batch_size
  )


def count(digits: Digits, global_batch_size: int) -> int:
  """How many batches that makes, the last, smaller one included."""
  return -(-len(digits) // global_batch_size)
