"""AutoGraph goes through the library without rewriting it."""

import inspect
import sys

from absl.testing import parameterized
import tensorflow as tf

import stratagem as sg
from tests.strategies import replication


def _branching(x):
  if x > 1.0:
    return x * 10.0
  return x


def _looping(x):
  while x < 5.0:
    x += 2.0
  return x


class InheritedAutographTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(*replication.COUNTS)
  def test_rewrites_the_function_within_a_tf_function(self, count):
    strategy = replication.mirrored(count)

    @tf.function
    def step(value):
      return strategy.run(_branching, args=(value,)), strategy.run(
        _looping, args=(value,)
      )

    value = replication.spread(strategy, lambda i: i * 1.0)
    branched, looped = step(value)
    self.assertAllEqual(
      replication.components(strategy, branched),
      [i * (10.0 if i > 1 else 1.0) for i in range(count)],
    )
    self.assertAllEqual(
      replication.components(strategy, looped),
      [6.0 if i % 2 == 0 else 5.0 for i in range(count)],
    )

  @parameterized.named_parameters(*replication.COUNTS)
  def test_rewrites_nothing_where_the_tf_function_does_not(self, count):
    strategy = replication.mirrored(count)

    @tf.function(autograph=False)
    def step(value):
      return strategy.run(_branching, args=(value,))

    value = replication.spread(strategy, lambda i: i * 1.0)
    with self.assertRaisesRegex(TypeError, "symbolic.*bool"):
      step(value)

  @parameterized.named_parameters(*replication.COUNTS)
  def test_leaves_functions_alone_that_ask_for_it(self, count):
    strategy = replication.mirrored(count)

    @tf.function
    def step(value):
      fn = tf.autograph.experimental.do_not_convert(_branching)
      return strategy.run(fn, args=(value,))

    with self.assertRaisesRegex(TypeError, "symbolic.*bool"):
      step(replication.spread(strategy, lambda i: i * 1.0))

  def test_rewrites_methods_and_callable_objects(self):
    strategy = replication.mirrored(2)

    class Model:
      limit = 0.5

      def method(self, x):
        if x > self.limit:
          return x * 10.0
        return x

      def __call__(self, x):
        return self.method(x)

    model = Model()

    @tf.function
    def step(value):
      return strategy.run(model.method, args=(value,)), strategy.run(
        model, args=(value,)
      )

    value = replication.spread(strategy, lambda i: i * 1.0)
    for result in step(value):
      self.assertAllEqual(replication.components(strategy, result), [0.0, 10.0])

  @parameterized.named_parameters(*replication.COUNTS)
  def test_says_nothing_of_the_library(self, count):
    strategy = replication.mirrored(count)
    with strategy.scope():
      v = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)

    def merge_fn(s, x):
      return s.reduce("SUM", x, axis=None)

    def fn(x):
      v.assign_add(x)
      context = sg.get_replica_context()
      return context.merge_call(merge_fn, (context.all_reduce("SUM", x),))

    @tf.function
    def step(value):
      return strategy.run(fn, args=(value,))

    value = replication.spread(strategy, lambda i: i * 1.0)
    with self.assertNoLogs("tensorflow", level="WARNING"):
      step(value)

  def test_no_function_of_the_library_is_rewritten(self):
    unmarked = []
    for name, module in sorted(sys.modules.items()):
      if not name.startswith("stratagem."):
        continue
      for label, member in inspect.getmembers(module, inspect.isfunction):
        own = member.__module__ == name
        if own and not hasattr(member, "autograph_info__"):
          unmarked.append(f"{name}.{label}")
    self.assertEqual(unmarked, [])


if __name__ == "__main__":
  tf.test.main()
