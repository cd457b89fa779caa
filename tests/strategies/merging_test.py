"""`merge_call`, in eager mode and while one trace stands for all."""

from absl.testing import parameterized
import tensorflow as tf

import stratagem as sg
from stratagem.strategies import engine
from tests.strategies import replication


def _merge(merge_fn, *args, **kwargs):
  return sg.get_replica_context().merge_call(merge_fn, args, kwargs)


class MergeCallTest(tf.test.TestCase, parameterized.TestCase):
  def _run(self, count, wrap, fn, *args):
    """What `fn` gives on each replica, nest by nest, and the strategy."""
    strategy = replication.mirrored(count)
    values = tuple(replication.spread(strategy, arg) for arg in args)
    result = wrap(lambda *v: strategy.run(fn, args=v))(*values)
    if wrap is tf.function and count > 1:
      last = strategy.extended.last_run
      self.assertIs(last.engine, engine.Engine.TRACE_ONCE, last.reason)
    return strategy, result

  @parameterized.named_parameters(*replication.CASES)
  def test_gives_every_replica_what_the_merge_function_returns(
    self, count, wrap
  ):
    def fn(x):
      return _merge(lambda s, v: s.reduce("SUM", v, axis=None), x) + 1.0

    strategy, result = self._run(count, wrap, fn, lambda i: i + 1.0)
    expected = count * (count + 1) / 2 + 1.0
    self.assertAllEqual(
      replication.components(strategy, result), [expected] * count
    )

  @parameterized.named_parameters(*replication.CASES)
  def test_calls_the_merge_function_once(self, count, wrap):
    calls = []

    def merge_fn(strategy, value):
      calls.append(strategy)
      return strategy.reduce("SUM", value, axis=None)

    strategy, _ = self._run(
      count, wrap, lambda x: _merge(merge_fn, x), lambda i: 1.0
    )
    self.assertEqual(calls, [strategy])

  @parameterized.named_parameters(*replication.SEVERAL_CASES)
  def test_gives_the_merge_function_a_component_of_each_replica(
    self, count, wrap
  ):
    seen = []

    def merge_fn(strategy, value, *, scale):
      seen.extend([type(value), type(scale["nested"][0])])
      parts = strategy.experimental_local_results(value)
      scales = strategy.experimental_local_results(scale["nested"][0])
      return tf.stack(parts) * tf.stack(scales)

    def fn(x):
      return _merge(merge_fn, x, scale={"nested": [x * 10.0]})

    strategy, result = self._run(count, wrap, fn, lambda i: i + 1.0)
    expected = [10.0 * (i + 1) ** 2 for i in range(count)]
    for component in replication.components(strategy, result):
      self.assertAllEqual(component, expected)
    self.assertTrue(issubclass(seen[0], sg.DistributedValues))
    self.assertTrue(issubclass(seen[1], sg.DistributedValues))

  @parameterized.named_parameters(*replication.CASES)
  def test_gives_the_merge_function_other_objects_as_they_are(
    self, count, wrap
  ):
    thing, seen = object(), []

    def merge_fn(strategy, *args, **kwargs):
      del strategy
      seen.append((args, kwargs))

    def fn():
      return _merge(merge_fn, thing, None, "text", 3, nothing=None)

    _, result = self._run(count, wrap, fn)
    self.assertEqual(seen, [((thing, None, "text", 3), {"nothing": None})])
    self.assertIsNone(result)

  @parameterized.named_parameters(*replication.CASES)
  def test_gives_back_each_replica_its_own_component(self, count, wrap):
    def fn(x):
      return _merge(lambda s, v: {"same": [v, 5.0]}, x)

    strategy, result = self._run(count, wrap, fn, lambda i: i * 2.0)
    self.assertAllEqual(
      replication.components(strategy, result["same"][0]),
      [i * 2.0 for i in range(count)],
    )
    self.assertEqual(result["same"][1], 5.0)

  @parameterized.named_parameters(*replication.CASES)
  def test_the_merge_function_may_use_tensors_of_the_first_replica(
    self, count, wrap
  ):
    def fn(x):
      doubled = x * 2.0
      return _merge(lambda s: doubled + 1.0) + x

    strategy, result = self._run(count, wrap, fn, lambda i: i + 1.0)
    self.assertAllEqual(
      replication.components(strategy, result),
      [4.0 + i for i in range(count)],
    )

  @parameterized.named_parameters(*replication.CASES)
  def test_may_be_called_several_times(self, count, wrap):
    def total(strategy, value):
      return strategy.reduce("SUM", value, axis=None)

    def fn(x):
      early = x * 100.0
      once = _merge(total, x)
      twice = _merge(total, once + x)
      return twice + early

    strategy, result = self._run(count, wrap, fn, lambda i: i + 1.0)
    once = count * (count + 1) / 2
    twice = count * once + once
    self.assertAllEqual(
      replication.components(strategy, result),
      [twice + 100.0 * (i + 1) for i in range(count)],
    )

  @parameterized.named_parameters(*replication.CASES)
  def test_lets_a_constant_of_outside_be_used_after_it(self, count, wrap):
    rate = tf.constant(0.5)

    def fn(x):
      return rate * _merge(lambda s, v: s.reduce("SUM", v, axis=None), x)

    strategy, result = self._run(count, wrap, fn, lambda i: 2.0)
    self.assertAllEqual(
      replication.components(strategy, result), [1.0 * count] * count
    )

  @parameterized.named_parameters(*replication.CASES)
  def test_updates_variables_as_optimizers_do(self, count, wrap):
    strategy = replication.mirrored(count)
    with strategy.scope():
      v = tf.Variable([1.0, 2.0])

    def merge_fn(s, gradient):
      total = s.extended.reduce_to("SUM", gradient, v)
      return s.extended.update(v, lambda w, g: w.assign_sub(g), args=(total,))

    def fn(x):
      _merge(merge_fn, tf.stack([x, 1.0]))
      return v.read_value()

    x = replication.spread(strategy, lambda i: i + 1.0)
    result = wrap(lambda value: strategy.run(fn, args=(value,)))(x)
    expected = [1.0 - count * (count + 1) / 2, 2.0 - count]
    for component in replication.components(strategy, result):
      self.assertAllEqual(component, expected)
    for component in strategy.experimental_local_results(v):
      self.assertAllEqual(component, expected)

  @parameterized.named_parameters(*replication.CASES)
  def test_an_error_in_the_merge_function_reaches_the_caller(self, count, wrap):
    def merge_fn(strategy):
      raise ValueError("on purpose")

    with self.assertRaisesRegex(ValueError, "on purpose"):
      self._run(count, wrap, lambda: _merge(merge_fn))
    self.assertFalse(sg.has_strategy())

  @parameterized.named_parameters(*replication.CASES)
  def test_must_not_be_called_in_a_merge_function(self, count, wrap):
    contexts = []

    def fn():
      context = sg.get_replica_context()
      contexts.append(context)
      return _merge(lambda s: contexts[0].merge_call(lambda s: None))

    with self.assertRaisesRegex(
      RuntimeError, r"`ReplicaContext\.merge_call`.*in cross-replica context"
    ):
      self._run(count, wrap, fn)

  @parameterized.named_parameters(*replication.SEVERAL)
  def test_must_not_be_called_in_a_loop(self, count):
    strategy = replication.mirrored(count)

    @tf.function
    def step():
      def fn():
        x = tf.constant(1.0)
        for _ in tf.range(2):
          x = _merge(lambda s, v: s.reduce("SUM", v, axis=None), x)
        return x

      return strategy.run(fn)

    with self.assertRaisesRegex(
      RuntimeError, "`merge_call` must be called by the function given to"
    ):
      step()


if __name__ == "__main__":
  tf.test.main()
