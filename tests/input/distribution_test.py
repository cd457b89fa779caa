"""What makes distributed datasets: contexts, devices, errors."""

from absl.testing import parameterized
import tensorflow as tf

from stratagem import input as input_lib
from tests.input import steps

_range = tf.data.Dataset.range
_PER_REPLICA = input_lib.InputReplicationMode.PER_REPLICA


class DevicesTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.product(
    replicas=(1, 2, 4),
    fetch=(None, True, False),
    names=(str, tf.as_string),
  )
  def test_parts_are_on_their_replicas(self, replicas, fetch, names):
    dataset = _range(8).batch(8)
    if names is tf.as_string:
      dataset = dataset.map(names)
    distributed = input_lib.distribute_dataset(
      dataset,
      steps.devices(replicas),
      input_lib.InputOptions(experimental_fetch_to_device=fetch),
    )
    (step,) = distributed
    where = [part.device[-1] for part in steps.components(step)]
    expected = [0] * replicas if fetch is False else range(replicas)
    self.assertEqual(where, [str(index) for index in expected])

  def test_components_of_a_ragged_part_are_on_its_replica(self):
    dataset = _range(4).map(tf.range).ragged_batch(4)
    (step,) = input_lib.distribute_dataset(dataset, steps.devices(2))
    self.assertEndsWith(step.values[1].flat_values.device, "CPU:1")

  def test_a_replica_may_be_elsewhere_than_on_the_first_device(self):
    (step,) = input_lib.distribute_dataset(
      _range(4).batch(4), ("/device:CPU:2",)
    )
    self.assertEndsWith(step.device, "CPU:2")

  def test_the_dataset_may_be_elsewhere(self):
    with tf.device("CPU:1"):
      dataset = _range(4).batch(4)
    distributed = input_lib.distribute_dataset(dataset, steps.devices(2))
    with tf.device("CPU:3"):
      self.assertEqual(steps.rows(distributed), [[[0, 1], [2, 3]]])

  @parameterized.parameters(0, 1, 3, tf.data.AUTOTUNE)
  def test_a_buffer_changes_no_value(self, size):
    options = input_lib.InputOptions(experimental_per_replica_buffer_size=size)
    distributed = input_lib.distribute_dataset(
      _range(5).batch(4), steps.devices(2), options
    )
    self.assertEqual(steps.rows(distributed), [[[0, 1], [2, 3]], [[4], []]])


class ContextsTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.parameters(1, 2, 4)
  def test_a_worker_has_one_pipeline(self, replicas):
    contexts = []
    input_lib.distribute_datasets_from_function(
      lambda context: contexts.append(context) or _range(4).batch(2),
      steps.devices(replicas),
    )
    (context,) = contexts
    self.assertEqual(context.num_input_pipelines, 1)
    self.assertEqual(context.num_replicas_in_sync, replicas)

  @parameterized.parameters(False, True)
  def test_each_replica_may_have_its_own(self, on_device):
    seen = []

    def dataset_fn(context):
      here = tf.identity(1.0).device[-5:]
      seen.append(
        (context.input_pipeline_id, context.num_input_pipelines, here)
      )
      return _range(4).batch(2)

    input_lib.distribute_datasets_from_function(
      dataset_fn,
      steps.devices(2),
      input_lib.InputOptions(
        experimental_replication_mode=_PER_REPLICA,
        experimental_place_dataset_on_device=on_device,
        experimental_fetch_to_device=not on_device,
      ),
    )
    second = "CPU:1" if on_device else "CPU:0"
    self.assertEqual(seen, [(0, 2, "CPU:0"), (1, 2, second)])


class ErrorsTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.parameters(42, None, ([1, 2],))
  def test_what_is_no_dataset_is_refused(self, value):
    with self.assertRaisesRegex(
      TypeError, "`dataset` must be a `tf.data.Dataset`; got"
    ):
      input_lib.distribute_dataset(value, steps.devices(2))

  def test_a_distributed_dataset_is_no_dataset(self):
    dataset = input_lib.distribute_dataset(_range(2).batch(2), steps.devices(2))
    with self.assertRaisesRegex(TypeError, "DistributedDataset"):
      input_lib.distribute_dataset(dataset, steps.devices(2))

  def test_one_dataset_does_not_serve_each_replica(self):
    options = input_lib.InputOptions(experimental_replication_mode=_PER_REPLICA)
    with self.assertRaisesRegex(
      NotImplementedError, "Use `distribute_datasets_from_function`"
    ):
      input_lib.distribute_dataset(
        _range(4).batch(2), steps.devices(2), options
      )

  @parameterized.parameters(42, None)
  def test_what_is_no_function_is_refused(self, value):
    with self.assertRaisesRegex(TypeError, "`dataset_fn` must be a function"):
      input_lib.distribute_datasets_from_function(value, steps.devices(2))

  @parameterized.parameters(42, None, "dataset")
  def test_a_function_must_return_a_dataset(self, value):
    with self.assertRaisesRegex(
      TypeError, f"must return a `tf.data.Dataset`.*returned {value!r}"
    ):
      input_lib.distribute_datasets_from_function(
        lambda context: value, steps.devices(2)
      )

  def test_the_error_of_a_function_is_seen(self):
    def dataset_fn(context):
      raise FileNotFoundError("no such shard")

    with self.assertRaisesRegex(FileNotFoundError, "no such shard"):
      input_lib.distribute_datasets_from_function(dataset_fn, steps.devices(2))

  def test_the_error_of_a_pipeline_is_seen(self):
    dataset = _range(4).batch(2)
    dataset = dataset.map(
      lambda x: tf.debugging.check_numerics(1 / tf.cast(x, tf.float32), "cause")
    )
    distributed = input_lib.distribute_dataset(dataset, steps.devices(2))
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "cause"):
      next(iter(distributed))

  @parameterized.parameters(
    (None, True, "must go with.*PER_REPLICA"),
    (_PER_REPLICA, True, "must go with.*fetch_to_device=False"),
  )
  def test_placement_that_contradicts_is_refused(self, mode, fetch, message):
    options = input_lib.InputOptions(
      experimental_replication_mode=mode or "PER_WORKER",
      experimental_fetch_to_device=fetch,
      experimental_place_dataset_on_device=True,
    )
    with self.assertRaisesRegex(ValueError, message):
      input_lib.distribute_datasets_from_function(
        lambda context: _range(4).batch(2), steps.devices(2), options
      )


if __name__ == "__main__":
  tf.test.main()
