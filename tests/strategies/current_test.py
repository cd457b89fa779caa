"""The functions that tell which strategy is in force, and set it."""

from absl.testing import parameterized
import tensorflow as tf

import stratagem as sg
from tests.strategies import replication


def _answers():
  """What the four functions say."""
  return {
    "strategy": sg.get_strategy(),
    "has": sg.has_strategy(),
    "in_replica": sg.get_replica_context() is not None,
    "cross_replica": sg.in_cross_replica_context(),
  }


class AnswersTest(tf.test.TestCase, parameterized.TestCase):
  def test_outside_of_scopes_the_default_strategy_and_replica_are_in_force(
    self,
  ):
    default = sg.get_strategy()
    self.assertEqual(
      _answers(),
      {
        "strategy": default,
        "has": False,
        "in_replica": True,
        "cross_replica": False,
      },
    )
    self.assertEqual(default.num_replicas_in_sync, 1)
    self.assertIs(sg.get_strategy(), default)
    self.assertIs(sg.get_replica_context().strategy, default)

  @parameterized.named_parameters(*replication.COUNTS)
  def test_in_a_scope_its_strategy_is_in_force_across_replicas(self, count):
    strategy = replication.mirrored(count)
    with strategy.scope():
      self.assertEqual(
        _answers(),
        {
          "strategy": strategy,
          "has": True,
          "in_replica": False,
          "cross_replica": True,
        },
      )
    self.assertFalse(sg.has_strategy())

  @parameterized.named_parameters(*replication.CASES)
  def test_in_run_a_replica_is_in_force(self, count, wrap):
    strategy = replication.mirrored(count)
    seen = []
    wrap(lambda: strategy.run(lambda: seen.append(_answers())))()
    expected = {
      "strategy": strategy,
      "has": True,
      "in_replica": True,
      "cross_replica": False,
    }
    self.assertEqual(seen, [expected] * len(seen))
    self.assertNotEmpty(seen)
    self.assertFalse(sg.has_strategy())

  @parameterized.named_parameters(*replication.CASES)
  def test_in_merge_call_no_replica_is_in_force(self, count, wrap):
    strategy = replication.mirrored(count)
    seen = []

    def replica_fn():
      sg.get_replica_context().merge_call(lambda s: seen.append(_answers()))

    wrap(lambda: strategy.run(replica_fn))()
    expected = {
      "strategy": strategy,
      "has": True,
      "in_replica": False,
      "cross_replica": True,
    }
    self.assertEqual(seen, [expected])

  def test_in_an_update_no_replica_is_in_force(self):
    strategy = replication.mirrored(2)
    seen = []
    with strategy.scope():
      v = tf.Variable(1.0)
      strategy.extended.update(v, lambda _: seen.append(_answers()))
    expected = {
      "strategy": strategy,
      "has": True,
      "in_replica": False,
      "cross_replica": True,
    }
    self.assertEqual(seen, [expected] * 2)


class ExperimentalSetStrategyTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.addCleanup(sg.experimental_set_strategy, None)

  def test_puts_a_strategy_in_force_until_none_is_set(self):
    strategy = replication.mirrored(2)
    sg.experimental_set_strategy(strategy)
    self.assertIs(sg.get_strategy(), strategy)
    self.assertTrue(sg.in_cross_replica_context())
    self.assertLen(tf.Variable(1.0).values, 2)
    sg.experimental_set_strategy(None)
    self.assertFalse(sg.has_strategy())
    self.assertNotIsInstance(tf.Variable(1.0), sg.DistributedValues)

  def test_replaces_the_strategy_set_before(self):
    first, second = replication.mirrored(2), replication.mirrored(3)
    sg.experimental_set_strategy(first)
    sg.experimental_set_strategy(second)
    self.assertIs(sg.get_strategy(), second)
    sg.experimental_set_strategy(second)
    self.assertIs(sg.get_strategy(), second)
    self.assertLen(tf.Variable(1.0).values, 3)

  def test_of_none_may_be_called_at_any_time_outside_of_scopes(self):
    sg.experimental_set_strategy(None)
    sg.experimental_set_strategy(None)
    self.assertFalse(sg.has_strategy())

  def test_must_not_be_called_in_a_scope(self):
    strategy = replication.mirrored(2)
    with strategy.scope():
      for other in (None, strategy, replication.mirrored(2)):
        with self.assertRaisesRegex(
          RuntimeError, "outside of every.*scope of `MirroredStrategy`"
        ):
          sg.experimental_set_strategy(other)
      self.assertIs(sg.get_strategy(), strategy)

  def test_must_not_be_called_in_a_scope_entered_since(self):
    strategy = replication.mirrored(2)
    sg.experimental_set_strategy(strategy)
    errors = []

    def replica_fn():
      try:
        sg.experimental_set_strategy(None)
      except RuntimeError as error:
        errors.append(str(error))

    strategy.run(replica_fn)
    self.assertLen(errors, 2)
    self.assertIs(sg.get_strategy(), strategy)

  def test_refuses_what_is_no_strategy_of_this_library(self):
    for wrong in ("mirrored", tf.distribute.get_strategy()):
      with self.assertRaisesRegex(
        TypeError, r"must be a `stratagem\.Strategy` or None"
      ):
        sg.experimental_set_strategy(wrong)


if __name__ == "__main__":
  tf.test.main()
