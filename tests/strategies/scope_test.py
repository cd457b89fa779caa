"""The scope of a strategy."""

import copy

from absl.testing import parameterized
import tensorflow as tf

import stratagem as sg
from tests import logical_devices
from tests.strategies import replication


class ScopeTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(*replication.COUNTS)
  def test_gives_the_strategy_and_makes_distributed_variables(self, count):
    strategy = replication.mirrored(count)
    with strategy.scope() as given:
      v = tf.Variable(1.0)
    self.assertIs(given, strategy)
    self.assertIs(v.distribute_strategy, strategy)
    self.assertLen(strategy.experimental_local_results(v), count)

  def test_may_be_entered_again_within_itself(self):
    strategy = replication.mirrored(2)
    with strategy.scope(), strategy.scope():
      self.assertIs(sg.get_strategy(), strategy)
      v = tf.Variable(1.0)
    self.assertLen(v.values, 2)
    self.assertFalse(sg.has_strategy())

  def test_is_left_when_an_error_is_raised(self):
    strategy = replication.mirrored(2)
    with self.assertRaisesRegex(ValueError, "on purpose"), strategy.scope():
      raise ValueError("on purpose")
    self.assertFalse(sg.has_strategy())
    self.assertFalse(tf.distribute.has_strategy())

  def test_of_another_strategy_must_not_be_entered_within(self):
    inner = replication.mirrored(2)
    with (
      replication.mirrored(3).scope(),
      self.assertRaisesRegex(
        RuntimeError,
        "must not be entered inside another.*CPU:0, CPU:1> inside "
        ".*CPU:0, CPU:1, CPU:2>",
      ),
    ):
      inner.scope().__enter__()

  def test_of_the_default_strategy_must_not_be_entered_within(self):
    default = sg.get_strategy()
    with (
      replication.mirrored(2).scope(),
      self.assertRaisesRegex(RuntimeError, "inside another strategy's"),
    ):
      default.scope().__enter__()

  @parameterized.named_parameters(*replication.COUNTS)
  def test_must_not_be_entered_in_run(self, count):
    strategy = replication.mirrored(count)
    with self.assertRaisesRegex(
      RuntimeError, "must be entered in cross-replica context"
    ):
      strategy.run(lambda: strategy.scope().__enter__())

  def test_may_be_entered_in_merge_call(self):
    strategy = replication.mirrored(2)

    def merge_fn(s):
      with s.scope():
        return sg.in_cross_replica_context()

    def replica_fn():
      return sg.get_replica_context().merge_call(merge_fn)

    self.assertTrue(strategy.run(replica_fn))

  def test_must_be_left_before_it_is_entered_again(self):
    scope = replication.mirrored(2).scope()
    with scope, self.assertRaisesRegex(RuntimeError, "left before"):
      scope.__enter__()
    with scope:
      self.assertTrue(sg.has_strategy())

  def test_must_be_entered_before_it_is_left(self):
    with self.assertRaisesRegex(RuntimeError, "entered before it is left"):
      replication.mirrored(2).scope().__exit__(None, None, None)

  def test_must_not_be_entered_within_that_of_tf_distribute(self):
    upstream = tf.distribute.MirroredStrategy(logical_devices.names(2))
    strategy = replication.mirrored(2)
    with (
      upstream.scope(),
      self.assertRaisesRegex(
        RuntimeError,
        "inside the scope of a `tf.distribute` strategy.*one of the two",
      ),
    ):
      strategy.scope().__enter__()
    with (
      upstream.scope(),
      self.assertRaisesRegex(RuntimeError, "`tf.distribute` strategy"),
    ):
      strategy.run(lambda: None)

  def test_refuses_that_of_tf_distribute_within(self):
    upstream = tf.distribute.MirroredStrategy(logical_devices.names(2))
    with (
      replication.mirrored(2).scope(),
      self.assertRaisesRegex(RuntimeError, "Mixing different"),
      upstream.scope(),
    ):
      pass
    self.assertFalse(sg.has_strategy())
    self.assertFalse(tf.distribute.has_strategy())

  def test_makes_variables_in_a_function_too(self):
    strategy = replication.mirrored(2)
    made = []

    @tf.function
    def make():
      with strategy.scope():
        if not made:
          made.append(tf.Variable(2.0))
      return made[0] + 1.0

    self.assertAllEqual(make(), 3.0)
    self.assertLen(made[0].values, 2)

  def test_tells_tf_distribute_which_strategy_is_in_force(self):
    strategy = replication.mirrored(2)
    with strategy.scope():
      self.assertTrue(tf.distribute.has_strategy())
      self.assertTrue(tf.distribute.in_cross_replica_context())
      theirs = tf.distribute.get_strategy()
      self.assertEqual(theirs.num_replicas_in_sync, 2)
      self.assertEqual(repr(theirs), repr(strategy))
    self.assertFalse(tf.distribute.has_strategy())


class StrategyTest(tf.test.TestCase):
  def test_a_copy_is_the_same_strategy(self):
    strategy = replication.mirrored(2)
    self.assertIs(copy.deepcopy([strategy])[0], strategy)

  def test_says_its_devices(self):
    self.assertEqual(
      repr(replication.mirrored(2)),
      "<stratagem.MirroredStrategy on CPU:0, CPU:1>",
    )


if __name__ == "__main__":
  tf.test.main()
