"""What is in force: kept for each thread and each graph."""

import threading

import tensorflow as tf

import stratagem as sg
from stratagem.strategies import context
from tests.strategies import replication


def _in_thread(fn):
  """What `fn` returns in a thread of its own."""
  results = []
  thread = threading.Thread(target=lambda: results.append(fn()))
  thread.start()
  thread.join()
  return results[0]


class ContextTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.strategy = replication.mirrored(2)

  def test_nothing_is_in_force_at_first(self):
    self.assertIsNone(context.current())
    self.assertIsNone(context.update_replica())
    self.assertEqual(context.depth(), 0)

  def test_the_innermost_mode_is_in_force(self):
    outer = context.Mode(self.strategy)
    inner = context.Mode(self.strategy, update_replica=1)
    with context.enter(outer):
      self.assertIs(context.current(), outer)
      self.assertEqual(context.depth(), 1)
      with context.enter(inner):
        self.assertIs(context.current(), inner)
        self.assertEqual(context.depth(), 2)
        self.assertEqual(context.update_replica(), 1)
      self.assertIs(context.current(), outer)
    self.assertIsNone(context.current())

  def test_a_mode_is_left_when_an_error_is_raised(self):
    with (
      self.assertRaisesRegex(ValueError, "on purpose"),
      context.enter(context.Mode(self.strategy)),
    ):
      raise ValueError("on purpose")
    self.assertIsNone(context.current())

  def test_only_outside_of_replicas_and_updates_is_it_cross_replica(self):
    self.assertTrue(context.Mode(self.strategy).is_cross_replica)
    update = context.Mode(self.strategy, update_replica=0)
    self.assertFalse(update.is_cross_replica)
    modes = []
    self.strategy.run(lambda: modes.append(context.current()))
    self.assertFalse(modes[0].is_cross_replica)

  def test_another_thread_is_not_concerned(self):
    with self.strategy.scope():
      self.assertFalse(_in_thread(sg.has_strategy))
      self.assertTrue(sg.has_strategy())

  def test_a_new_graph_is_not_concerned(self):
    with self.strategy.scope(), tf.Graph().as_default():
      self.assertFalse(sg.has_strategy())

  def test_a_function_traced_in_scope_sees_the_strategy(self):
    seen = []

    @tf.function
    def trace():
      seen.append(sg.get_strategy())
      seen.append(sg.in_cross_replica_context())

    with self.strategy.scope():
      trace()
    self.assertEqual(seen, [self.strategy, True])

  def test_a_scope_entered_in_a_function_is_in_force_in_init_scope(self):
    seen = []

    @tf.function
    def trace():
      with self.strategy.scope():
        seen.append(sg.has_strategy())
        with tf.init_scope():
          seen.append(sg.has_strategy())

    trace()
    self.assertEqual(seen, [True, True])
    self.assertFalse(sg.has_strategy())

  def test_a_scope_around_a_function_is_seen_in_init_scope(self):
    seen = []

    @tf.function
    def trace():
      with tf.init_scope():
        seen.append(sg.get_strategy())

    with self.strategy.scope():
      trace()
    self.assertEqual(seen, [self.strategy])

  def test_a_dataset_function_within_a_replica_sees_the_replica(self):
    seen = []

    def element(x):
      seen.append(sg.get_replica_context() is not None)
      seen.append(sg.get_strategy())
      return x + 1

    def step():
      dataset = tf.data.Dataset.range(2).map(element)
      return sum(int(x) for x in dataset)

    self.assertEqual(self.strategy.run(step), 3)
    self.assertEqual(seen, [True, self.strategy] * 2)

  def test_a_dataset_function_outside_of_any_scope_sees_no_strategy(self):
    seen = []

    def element(x):
      seen.append(sg.has_strategy())
      return x

    list(tf.data.Dataset.range(2).map(element))
    self.assertEqual(seen, [False])


if __name__ == "__main__":
  tf.test.main()
