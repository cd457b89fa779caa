"""Variables of which each replica has a value of its own."""

from absl.testing import parameterized
import tensorflow as tf

from tests.strategies import replication

_Aggregation = tf.VariableAggregation
# What the components 1, 2, ... are together.
_AGGREGATED = {
  _Aggregation.SUM: lambda count: count * (count + 1) / 2,
  _Aggregation.MEAN: lambda count: (count + 1) / 2,
  _Aggregation.ONLY_FIRST_REPLICA: lambda count: 1.0,
}
_READS = tuple(
  (f"{aggregation.name.lower()}_{case}", count, wrap, aggregation)
  for aggregation in _AGGREGATED
  for case, count, wrap in replication.CASES
)


def _variable(strategy, value=0.0, aggregation=_Aggregation.SUM, **kwargs):
  with strategy.scope():
    return tf.Variable(
      value,
      synchronization=tf.VariableSynchronization.ON_READ,
      aggregation=aggregation,
      **kwargs,
    )


def _number():
  """The number of the replica and one."""
  return tf.cast(replication.replica_id() + 1, tf.float32)


class SyncOnReadVariableTest(tf.test.TestCase, parameterized.TestCase):
  def assert_components(self, strategy, value, expected):
    self.assertAllClose(replication.components(strategy, value), expected)

  @parameterized.named_parameters(*_READS)
  def test_is_aggregated_when_read_across_replicas(
    self, count, wrap, aggregation
  ):
    strategy = replication.mirrored(count)
    v = _variable(strategy, aggregation=aggregation)
    wrap(lambda: strategy.run(lambda: v.assign(_number())))()
    expected = _AGGREGATED[aggregation](count)
    reads = wrap(
      lambda: (v.read_value(), v.value(), v + 0.0, tf.convert_to_tensor(v))
    )()
    self.assertAllClose(reads, [expected] * 4)
    with strategy.scope():
      self.assertAllClose(v.numpy(), expected)

  @parameterized.named_parameters(*replication.CASES)
  def test_is_the_replicas_own_within_it(self, count, wrap):
    strategy = replication.mirrored(count)
    v = _variable(strategy, 10.0)

    def fn():
      v.assign_add(_number())
      v.assign_sub(tf.ones([]))
      return v.read_value(), v * 1.0

    for result in wrap(lambda: strategy.run(fn))():
      self.assert_components(strategy, result, [10.0 + i for i in range(count)])
    self.assert_components(strategy, v, [10.0 + i for i in range(count)])

  @parameterized.named_parameters(*replication.COUNTS)
  def test_every_component_has_the_initial_value(self, count):
    strategy = replication.mirrored(count)
    v = _variable(strategy, 3.0)
    self.assert_components(strategy, v, [3.0] * count)

  @parameterized.named_parameters(*replication.CASES)
  def test_a_sum_that_is_assigned_is_shared_out(self, count, wrap):
    strategy = replication.mirrored(count)
    v = _variable(strategy)
    wrap(lambda: tf.convert_to_tensor(v.assign(8.0)))()
    self.assert_components(strategy, v, [8.0 / count] * count)
    self.assertAllEqual(v, 8.0)

  @parameterized.named_parameters(*replication.CASES)
  def test_anything_else_that_is_assigned_is_given_to_all(self, count, wrap):
    strategy = replication.mirrored(count)
    for aggregation in (_Aggregation.MEAN, _Aggregation.ONLY_FIRST_REPLICA):
      v = _variable(strategy, aggregation=aggregation)
      wrap(lambda v=v: tf.convert_to_tensor(v.assign(8.0)))()
      wrap(lambda v=v: tf.convert_to_tensor(v.assign_add(1.0)))()
      self.assert_components(strategy, v, [9.0] * count)

  @parameterized.named_parameters(*replication.SEVERAL_CASES)
  def test_a_sum_is_not_added_to_across_replicas(self, count, wrap):
    v = _variable(replication.mirrored(count))
    for method in ("assign_add", "assign_sub"):
      with self.assertRaisesRegex(
        ValueError, f"`{method}` of a variable.*VariableAggregation.SUM"
      ):
        wrap(lambda m=method: getattr(v, m)(1.0))()

  @parameterized.named_parameters(*replication.SEVERAL_CASES)
  def test_without_aggregation_is_not_read_across_replicas(self, count, wrap):
    strategy = replication.mirrored(count)
    v = _variable(strategy, aggregation=_Aggregation.NONE, name="own")
    with self.assertRaisesRegex(
      ValueError, "needs an aggregation.*'own:0' has VariableAggregation.NONE"
    ):
      wrap(lambda: v.read_value())()
    # But a replica reads its own.
    wrap(lambda: strategy.run(lambda: v.assign(_number())))()
    result = wrap(lambda: strategy.run(lambda: v.read_value()))()
    self.assert_components(strategy, result, [i + 1 for i in range(count)])

  @parameterized.named_parameters(*replication.SEVERAL_CASES)
  def test_without_saying_how_is_not_read_across_replicas(self, count, wrap):
    with replication.mirrored(count).scope():
      v = tf.Variable(1.0, synchronization=tf.VariableSynchronization.ON_READ)
    with self.assertRaisesRegex(ValueError, "VariableAggregation.NONE"):
      wrap(lambda: v.read_value())()

  @parameterized.named_parameters(*replication.CASES)
  def test_is_scattered_to_within_a_replica(self, count, wrap):
    strategy = replication.mirrored(count)
    v = _variable(strategy, [0.0, 0.0])

    def fn():
      v.scatter_add(tf.IndexedSlices(_number()[tf.newaxis], tf.constant([1])))

    wrap(lambda: strategy.run(fn))()
    self.assert_components(strategy, v, [[0.0, i + 1.0] for i in range(count)])

  def test_is_not_scattered_to_across_replicas(self):
    v = _variable(replication.mirrored(2), [0.0, 0.0])
    with self.assertRaisesRegex(
      NotImplementedError, r"`scatter_add`.*called in `strategy\.run`"
    ):
      v.scatter_add(tf.IndexedSlices(tf.constant([1.0]), tf.constant([1])))

  def test_is_not_trained(self):
    v = _variable(replication.mirrored(2))
    self.assertFalse(v.trainable)
    self.assertEqual(v.synchronization, tf.VariableSynchronization.ON_READ)
    self.assertEqual(v.aggregation, _Aggregation.SUM)
    self.assertRegex(repr(v), "SyncOnReadVariable.*on 2 replicas")

  @parameterized.named_parameters(*replication.MODES)
  def test_of_integers_may_be_summed(self, wrap):
    strategy = replication.mirrored(2)
    v = _variable(strategy, 0)
    wrap(lambda: strategy.run(lambda: v.assign_add(3)))()
    self.assertAllEqual(v, 6)
    self.assertEqual(v.read_value().dtype, tf.int32)


if __name__ == "__main__":
  tf.test.main()
