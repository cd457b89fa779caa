"""The strategy that is in force where there is none."""

from absl.testing import parameterized
import tensorflow as tf

import stratagem as sg
from tests.strategies import replication


class DefaultStrategyTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.strategy = sg.get_strategy()

  def test_is_one_for_the_process(self):
    self.assertIs(sg.get_strategy(), self.strategy)
    self.assertEqual(repr(self.strategy), "<stratagem.DefaultStrategy>")
    self.assertEqual(self.strategy.num_replicas_in_sync, 1)

  @parameterized.named_parameters(*replication.MODES)
  def test_runs_a_function_where_it_is_called(self, wrap):
    devices = []

    def fn(x):
      y = x * 2.0
      devices.append(y.device)
      return {"y": y}

    def step():
      with tf.device("CPU:2"):
        return self.strategy.run(fn, args=(tf.constant(3.0),))

    self.assertAllEqual(wrap(step)()["y"], 6.0)
    self.assertEqual(tf.DeviceSpec.from_string(devices[0]).device_index, 2)

  @parameterized.named_parameters(*replication.MODES)
  def test_reduces_and_gathers_what_there_is(self, wrap):
    x = tf.constant([1.0, 3.0])
    for op in ("SUM", "MEAN"):
      whole = wrap(lambda o=op: self.strategy.reduce(o, x, axis=None))()
      self.assertAllEqual(whole, x)
    mean = wrap(lambda: self.strategy.reduce("MEAN", x, axis=0))()
    self.assertAllEqual(mean, 2.0)
    self.assertAllEqual(wrap(lambda: self.strategy.gather(x, axis=0))(), x)

  def test_a_scope_changes_nothing(self):
    with self.strategy.scope() as given:
      self.assertIs(given, self.strategy)
      self.assertFalse(sg.has_strategy())
      v = tf.Variable(1.0)
    self.assertNotIsInstance(v, sg.DistributedValues)
    self.assertTrue(self.strategy.extended.variable_created_in_scope(v))

  def test_a_replica_merges_by_itself(self):
    seen = []

    def merge_fn(strategy, x, *, y):
      seen.append(strategy)
      return x + y

    result = sg.get_replica_context().merge_call(merge_fn, (1,), {"y": 2})
    self.assertEqual(result, 3)
    self.assertEqual(seen, [self.strategy])

  def test_gives_datasets_as_they_are(self):
    dataset = tf.data.Dataset.range(3)
    self.assertIs(
      self.strategy.experimental_distribute_dataset(dataset), dataset
    )
    contexts = []

    def dataset_fn(context):
      contexts.append(context)
      return dataset

    self.assertIs(
      self.strategy.distribute_datasets_from_function(dataset_fn), dataset
    )
    self.assertEqual(contexts[0].num_input_pipelines, 1)

  def test_makes_values_for_its_one_replica(self):
    value = self.strategy.experimental_distribute_values_from_function(
      lambda c: (c.replica_id_in_sync_group, c.num_replicas_in_sync)
    )
    self.assertEqual(value, (0, 1))

  def test_updates_an_ordinary_variable(self):
    v = tf.Variable(1.0)
    self.strategy.extended.update(v, lambda w, x: w.assign_add(x), (2.0,))
    self.assertAllEqual(v, 3.0)


if __name__ == "__main__":
  tf.test.main()
