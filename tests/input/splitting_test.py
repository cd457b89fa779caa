"""Each batch is split over the replicas as tf.distribute splits it."""

import collections

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from stratagem import input as input_lib
from stratagem.input import splitting
from tests.input import steps

_range = tf.data.Dataset.range
_Pair = collections.namedtuple("_Pair", "first second")


def _lists(dtype=tf.int64):
  return tf.data.Dataset.from_generator(
    lambda: iter([np.arange(5), np.arange(0), np.arange(3), np.arange(6)]),
    output_signature=tf.TensorSpec([None], dtype),
  )


def _structured():
  return _range(6).map(
    lambda x: {"a": x, "b": (tf.as_string(x), _Pair(tf.cast(x, tf.half), -x))}
  )


def _one_hot(size):
  return _range(size).map(lambda x: tf.sparse.from_dense(tf.one_hot(x, 3)))


def _growing(size):
  return _range(size).map(tf.range)


_DATASETS = {
  "even": lambda: _range(16).batch(8),
  "partial": lambda: _range(10).batch(8),
  "odd": lambda: _range(17).batch(7),
  "odd_dropping": lambda: _range(17).batch(7, drop_remainder=True),
  "even_dropping": lambda: _range(17).batch(8, drop_remainder=True),
  "fewer_than_replicas": lambda: _range(5).batch(3),
  "ones": lambda: _range(3).batch(1),
  "nothing": lambda: _range(0).batch(4),
  "mapped": lambda: _range(10).batch(4).map(lambda x: 2 * x),
  "taken": lambda: _range(10).batch(4).take(2),
  "repeated": lambda: _range(6).batch(4).repeat(2),
  "repeated_for_ever": lambda: _range(6).batch(4).repeat(),
  "repeated_before": lambda: _range(6).repeat().batch(4),
  "shuffled": lambda: _range(12).shuffle(12, seed=1).batch(5),
  "shuffled_after": lambda: _range(12).batch(3).shuffle(4, seed=1),
  "prefetched": lambda: _range(6).batch(4).prefetch(2),
  "padded": lambda: _growing(6).padded_batch(4),
  "concatenated": lambda: _range(5).batch(3).concatenate(_range(4).batch(4)),
  "sizes_unknown": _lists,
  "flat_mapped": lambda: _range(2).flat_map(lambda _: _range(6).batch(4)),
  "filtered": lambda: _range(12).batch(3).filter(lambda x: x[0] > 2),
  "of_vectors": lambda: _range(5).map(lambda x: tf.stack([x] * 4)),
  "of_batches": lambda: _range(12).batch(3).batch(2),
  "structured": lambda: _structured().batch(4),
  "one_in_a_tuple": lambda: _range(6).map(lambda x: (x,)).batch(4),
  "sizes_differ": lambda: _range(6).batch(4).map(lambda x: (x, tf.range(5))),
  "ragged": lambda: _growing(7).ragged_batch(4),
  "ragged_dropping": lambda: _growing(9).ragged_batch(4, drop_remainder=True),
  "ragged_twice": lambda: (
    _range(7).map(lambda x: tf.ragged.range(tf.range(x))).batch(4)
  ),
  "sparse": lambda: _one_hot(8).batch(4),
  "sparse_dropping": lambda: _one_hot(9).batch(4, drop_remainder=True),
}


class SplittingTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.product(name=tuple(_DATASETS), replicas=(1, 2, 4))
  def test_parts_and_their_specs_are_those_of_upstream(self, name, replicas):
    make = _DATASETS[name]
    ours = input_lib.distribute_dataset(make(), steps.devices(replicas))
    theirs = steps.upstream(replicas).experimental_distribute_dataset(make())
    self.assertEqual(steps.specs(ours), steps.specs(theirs))
    self.assertEqual(steps.first(ours), steps.first(theirs))
    self.assertEqual(ours.cardinality, theirs.cardinality)

  @parameterized.product(
    size=(1, 7, 16, 23), batch=(1, 3, 5, 8), replicas=(1, 2, 4)
  )
  def test_an_epoch_has_every_element_once(self, size, batch, replicas):
    dataset = input_lib.distribute_dataset(
      _range(size).batch(batch), steps.devices(replicas)
    )
    for _ in range(2):
      seen = [
        row for step in steps.rows(dataset) for part in step for row in part
      ]
      self.assertEqual(seen, list(range(size)))

  def test_sparse_replicas_may_run_out(self):
    dataset = input_lib.distribute_dataset(
      _one_hot(5).batch(5), steps.devices(4)
    )
    (step,) = dataset
    shapes = [part.dense_shape.numpy().tolist() for part in step.values]
    self.assertEqual(shapes, [[2, 3], [2, 3], [1, 3], [0, 3]])

  def test_none_stays_none(self):
    dataset = _range(4).batch(4).map(lambda x: (x, None))
    distributed = input_lib.distribute_dataset(dataset, steps.devices(2))
    ((x, nothing),) = distributed
    self.assertIsNone(nothing)
    self.assertLen(x.values, 2)

  def test_an_extension_type_is_split(self):
    class Masked(tf.experimental.BatchableExtensionType):
      values: tf.Tensor
      mask: tf.Tensor

    dataset = _range(6).map(lambda x: Masked(x, x > 2)).batch(4)
    distributed = input_lib.distribute_dataset(dataset, steps.devices(2))
    parts = [
      (part.values.numpy().tolist(), part.mask.numpy().tolist())
      for step in distributed
      for part in step.values
    ]
    self.assertEqual(
      parts,
      [
        ([0, 1], [False, False]),
        ([2, 3], [False, True]),
        ([4], [True]),
        ([5], [True]),
      ],
    )

  @parameterized.named_parameters(
    ("scalars", lambda: _range(5)),
    ("enumerated", lambda: _range(6).batch(3).enumerate()),
    ("a_scalar_beside", lambda: _range(6).batch(3).map(lambda x: (x, 1))),
  )
  def test_what_is_not_batched_is_refused_at_once(self, make):
    with self.assertRaisesRegex(
      ValueError, r"must be batched.*over 2 replicas.*no first axis.*\.batch\("
    ):
      input_lib.distribute_dataset(make(), steps.devices(2))
    # One replica needs no batches.
    input_lib.distribute_dataset(make(), steps.devices(1))

  def test_a_batch_smaller_than_the_replicas_is_refused_at_once(self):
    dataset = _range(6).batch(2, drop_remainder=True)
    self.assertEqual(splitting.split(dataset, 2).cardinality(), 3)
    with self.assertRaisesRegex(
      ValueError, "got batches of 2 for 4 replicas.*Use a larger batch"
    ):
      splitting.split(dataset, 4)

  def test_a_scalar_of_unknown_rank_is_refused_when_it_comes(self):
    dataset = tf.data.Dataset.from_generator(
      lambda: iter([5]), output_signature=tf.TensorSpec(None, tf.int64)
    )
    distributed = input_lib.distribute_dataset(dataset, steps.devices(2))
    with self.assertRaisesRegex(
      tf.errors.InvalidArgumentError, "must be batched.*over 2 replicas"
    ):
      next(iter(distributed))

  def test_datasets_of_datasets_are_refused(self):
    with self.assertRaisesRegex(TypeError, "can't be split over 2 replicas"):
      input_lib.distribute_dataset(_range(6).window(3), steps.devices(2))


if __name__ == "__main__":
  tf.test.main()
