"""Everything on one device, by name or by default."""

from absl.testing import parameterized
import tensorflow as tf

import stratagem as sg
from tests import logical_devices
from tests.strategies import replication

_DEVICE = logical_devices.full_names(2)[1]


def _strategy():
  return sg.OneDeviceStrategy("CPU:1")


class OneDeviceStrategyTest(tf.test.TestCase, parameterized.TestCase):
  def test_has_one_replica_there(self):
    strategy = _strategy()
    self.assertEqual(strategy.num_replicas_in_sync, 1)
    self.assertEqual(strategy.extended.worker_devices, (_DEVICE,))
    self.assertEqual(repr(strategy), "<stratagem.OneDeviceStrategy on CPU:1>")

  def test_refuses_a_device_that_is_not_there(self):
    with self.assertRaisesRegex(ValueError, "there is no `CPU:77`"):
      sg.OneDeviceStrategy("CPU:77")

  def test_makes_ordinary_variables_there(self):
    strategy = _strategy()
    with strategy.scope():
      v = tf.Variable(1.0)
    self.assertIsInstance(v, tf.Variable)
    self.assertEqual(v.device, _DEVICE)
    self.assertIs(v.distribute_strategy, strategy)
    self.assertTrue(strategy.extended.variable_created_in_scope(v))
    self.assertEqual(strategy.experimental_local_results(v), (v,))

  @parameterized.named_parameters(*replication.MODES)
  def test_runs_there(self, wrap):
    strategy = _strategy()
    seen = []

    def fn(x):
      context = sg.get_replica_context()
      seen.append((*context.devices, context.num_replicas_in_sync))
      y = x + 1.0
      seen.append(y.device)
      return y

    self.assertAllEqual(
      wrap(lambda: strategy.run(fn, args=(tf.constant(1.0),)))(), 2.0
    )
    self.assertEqual(seen[0], (_DEVICE, 1))
    self.assertEqual(tf.DeviceSpec.from_string(seen[1]).device_index, 1)

  @parameterized.named_parameters(*replication.MODES)
  def test_reduces_gathers_and_merges_by_itself(self, wrap):
    strategy = _strategy()
    with strategy.scope():
      v = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)

    def fn():
      context = sg.get_replica_context()
      v.assign_add(1.0)
      return (
        context.all_reduce("SUM", tf.constant(2.0)),
        context.all_gather(tf.constant([3.0]), axis=0),
        context.merge_call(lambda s, x: s.reduce("SUM", x, None), (v.value(),)),
      )

    total, whole, merged = wrap(lambda: strategy.run(fn))()
    self.assertAllEqual(total, 2.0)
    self.assertAllEqual(whole, [3.0])
    self.assertAllEqual(merged, 2.0)
    self.assertAllEqual(strategy.reduce("MEAN", total, axis=None), 2.0)
    self.assertAllEqual(strategy.reduce("MEAN", whole, axis=0), 3.0)
    self.assertAllEqual(strategy.gather(whole, axis=0), [3.0])


if __name__ == "__main__":
  tf.test.main()
