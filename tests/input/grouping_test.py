"""Elements are dealt out to the replicas as tf.distribute does."""

from absl.testing import parameterized
import tensorflow as tf

from stratagem import input as input_lib
from tests.input import steps

_range = tf.data.Dataset.range
_PER_REPLICA = input_lib.InputReplicationMode.PER_REPLICA


def _growing(size):
  return _range(size).map(tf.range)


def _one_hot(size):
  return _range(size).map(lambda x: tf.sparse.from_dense(tf.one_hot(x, 3)))


_DATASETS = {
  "even": lambda: _range(12).batch(3),
  "partial": lambda: _range(8).batch(3),
  "dropping_even": lambda: _range(8).batch(2, drop_remainder=True),
  "dropping_odd": lambda: _range(10).batch(2, drop_remainder=True),
  "nothing": lambda: _range(0).batch(4),
  "one": lambda: _range(2).batch(4),
  "repeated_for_ever": lambda: _range(5).batch(3).repeat(),
  "repeated_before": lambda: _range(5).repeat().batch(3),
  "scalars": lambda: _range(5),
  "vectors": lambda: _range(5).map(lambda x: tf.stack([x, x])),
  "with_a_scalar": lambda: _range(8).batch(3).map(lambda x: (x, 1)),
  "padded": lambda: _growing(8).padded_batch(3),
  "matrices": lambda: _range(8).map(lambda _: tf.ones([2])).batch(3),
  "ragged": lambda: _growing(8).ragged_batch(3),
  "sparse": lambda: _one_hot(8).batch(3),
  "structured": lambda: (
    _range(8).map(lambda x: {"a": x, "b": (tf.as_string(x), x > 2)}).batch(3)
  ),
}


class OnePipelineTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.product(name=tuple(_DATASETS), replicas=(1, 2, 4))
  def test_steps_and_their_specs_are_those_of_upstream(self, name, replicas):
    def dataset_fn(context):
      del context
      return _DATASETS[name]()

    ours = input_lib.distribute_datasets_from_function(
      dataset_fn, steps.devices(replicas)
    )
    theirs = steps.upstream(replicas).distribute_datasets_from_function(
      dataset_fn
    )
    self.assertEqual(steps.specs(ours), steps.specs(theirs))
    self.assertEqual(steps.first(ours), steps.first(theirs))
    self.assertEqual(ours.cardinality, theirs.cardinality)

  @parameterized.product(size=(1, 7, 23), batch=(1, 3), replicas=(1, 2, 4))
  def test_an_epoch_has_every_element_once(self, size, batch, replicas):
    dataset = input_lib.distribute_datasets_from_function(
      lambda context: _range(size).batch(batch), steps.devices(replicas)
    )
    for _ in range(2):
      seen = [
        row for step in steps.rows(dataset) for part in step for row in part
      ]
      self.assertEqual(seen, list(range(size)))

  def test_none_stays_none(self):
    dataset = input_lib.distribute_datasets_from_function(
      lambda context: _range(4).batch(3).map(lambda x: (x, None)),
      steps.devices(2),
    )
    ((x, nothing),) = dataset
    self.assertIsNone(nothing)
    self.assertEqual([part.shape for part in x.values], [[3], [1]])

  def test_a_batch_of_unknown_rank_runs_out_as_an_empty_vector(self):
    dataset = input_lib.distribute_datasets_from_function(
      lambda context: tf.data.Dataset.from_generator(
        lambda: iter([[1, 2]]), output_signature=tf.TensorSpec(None, tf.int64)
      ),
      steps.devices(2),
    )
    self.assertEqual(steps.rows(dataset), [[[1, 2], []]])


class PipelineForEachReplicaTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.product(
    replicas=(1, 2, 4), drop_remainder=(False, True), on_device=(False, True)
  )
  def test_steps_are_those_of_upstream(
    self, replicas, drop_remainder, on_device
  ):
    def dataset_fn(context):
      size = 8 + 5 * context.input_pipeline_id
      return _range(size).batch(3, drop_remainder=drop_remainder)

    options = {
      "experimental_fetch_to_device": not on_device,
      "experimental_place_dataset_on_device": on_device,
    }
    ours = input_lib.distribute_datasets_from_function(
      dataset_fn,
      steps.devices(replicas),
      input_lib.InputOptions(
        experimental_replication_mode=_PER_REPLICA, **options
      ),
    )
    theirs = steps.upstream(replicas).distribute_datasets_from_function(
      dataset_fn,
      tf.distribute.InputOptions(
        experimental_replication_mode=(
          tf.distribute.InputReplicationMode.PER_REPLICA
        ),
        **options,
      ),
    )
    self.assertEqual(steps.specs(ours), steps.specs(theirs))
    self.assertEqual(steps.first(ours), steps.first(theirs))

  def test_datasets_that_differ_in_kind_are_refused(self):
    def dataset_fn(context):
      dataset = _range(8).batch(2)
      return dataset.map(as_float) if context.input_pipeline_id else dataset

    def as_float(x):
      return tf.cast(x, tf.float32)

    with self.assertRaisesRegex(
      ValueError, "one `element_spec` for all replicas.*int64.*float32"
    ):
      input_lib.distribute_datasets_from_function(
        dataset_fn,
        steps.devices(2),
        input_lib.InputOptions(experimental_replication_mode=_PER_REPLICA),
      )


if __name__ == "__main__":
  tf.test.main()
