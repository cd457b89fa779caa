"""A `tf.function` given to `strategy.run` in eager mode."""

import gc
import weakref

from absl.testing import parameterized
import tensorflow as tf

import stratagem as sg
from stratagem.strategies import engine
from tests.strategies import replication


class WholeFunctionTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(*replication.COUNTS)
  def test_is_traced_once_for_all_replicas_and_all_calls(self, count):
    strategy = replication.mirrored(count)
    traces = []

    @tf.function
    def fn(x, scale=1.0):
      traces.append(x)
      return x * scale + tf.cast(replication.replica_id(), tf.float32)

    for _ in range(3):
      value = replication.spread(strategy, lambda i: 10.0 * i)
      result = strategy.run(fn, args=(value,), kwargs={"scale": 2.0})
      self.assertAllEqual(
        replication.components(strategy, result),
        [21.0 * i for i in range(count)],
      )
    self.assertLen(traces, 1)

  @parameterized.named_parameters(*replication.SEVERAL)
  def test_runs_by_the_engine_that_traces_once(self, count):
    strategy = replication.mirrored(count)
    strategy.run(tf.function(lambda: tf.constant(1.0)))
    self.assertIs(strategy.extended.last_run.engine, engine.Engine.TRACE_ONCE)

  @parameterized.named_parameters(*replication.COUNTS)
  def test_is_traced_again_for_another_shape(self, count):
    strategy = replication.mirrored(count)
    shapes = []

    @tf.function
    def fn(x):
      shapes.append(x.shape)
      return tf.reduce_sum(x)

    for size in (2, 3, 2):
      value = replication.spread(strategy, lambda i, n=size: tf.ones([n]))
      result = strategy.run(fn, args=(value,))
      self.assertAllEqual(
        replication.components(strategy, result), [size] * count
      )
    self.assertEqual(shapes, [[2], [3]])

  @parameterized.named_parameters(*replication.COUNTS)
  def test_is_rewritten_by_autograph(self, count):
    strategy = replication.mirrored(count)

    @tf.function
    def fn(x):
      if x > 1.0:
        return x * 10.0
      return x

    value = replication.spread(strategy, lambda i: i * 1.0)
    self.assertAllEqual(
      replication.components(strategy, strategy.run(fn, args=(value,))),
      [i * (10.0 if i > 1 else 1.0) for i in range(count)],
    )

  @parameterized.named_parameters(*replication.COUNTS)
  def test_is_not_rewritten_where_it_asks_not_to_be(self, count):
    strategy = replication.mirrored(count)

    @tf.function(autograph=False)
    def fn(x):
      if x > 1.0:
        return x * 10.0
      return x

    value = replication.spread(strategy, lambda i: i * 1.0)
    with self.assertRaisesRegex(TypeError, "symbolic.*bool"):
      strategy.run(fn, args=(value,))

  @parameterized.named_parameters(*replication.COUNTS)
  def test_reduces_and_updates(self, count):
    strategy = replication.mirrored(count)
    with strategy.scope():
      v = tf.Variable(1.0)

    @tf.function
    def fn(x):
      total = sg.get_replica_context().all_reduce("SUM", x)
      v.assign_add(total)

    value = replication.spread(strategy, lambda i: i + 1.0)
    for _ in range(2):
      self.assertIsNone(strategy.run(fn, args=(value,)))
    expected = 1.0 + count * (count + 1)
    self.assertAllEqual(replication.components(strategy, v), [expected] * count)

  @parameterized.named_parameters(*replication.COUNTS)
  def test_makes_variables_the_first_time(self, count):
    strategy = replication.mirrored(count)
    made = []

    @tf.function
    def fn():
      if not made:
        made.append(tf.Variable(5.0))
      return made[0].read_value()

    for _ in range(2):
      self.assertAllEqual(
        replication.components(strategy, strategy.run(fn)), [5.0] * count
      )
    self.assertLen(strategy.experimental_local_results(made[0]), count)

  @parameterized.named_parameters(*replication.COUNTS)
  def test_may_have_a_signature(self, count):
    strategy = replication.mirrored(count)

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def fn(x):
      self.assertEqual(x.shape.as_list(), [None])
      return tf.reduce_sum(x)

    value = replication.spread(strategy, lambda i: tf.ones([i + 1]))
    self.assertAllEqual(
      replication.components(strategy, strategy.run(fn, args=(value,))),
      [i + 1.0 for i in range(count)],
    )

  @parameterized.named_parameters(*replication.COUNTS)
  def test_may_be_compiled(self, count):
    strategy = replication.mirrored(count)

    @tf.function(jit_compile=True)
    def fn(x):
      return x * 2.0

    value = replication.spread(strategy, lambda i: i + 1.0)
    self.assertAllEqual(
      replication.components(strategy, strategy.run(fn, args=(value,))),
      [2.0 * (i + 1) for i in range(count)],
    )

  def test_may_be_a_method(self):
    strategy = replication.mirrored(2)

    class Model:
      factor = 3.0

      @tf.function
      def call(self, x):
        return x * self.factor

    # A method that is a `tf.function` doesn't hold its object.
    model = Model()
    value = replication.spread(strategy, lambda i: i + 1.0)
    result = strategy.run(model.call, args=(value,))
    self.assertAllEqual(replication.components(strategy, result), [3.0, 6.0])

  def test_without_parameters_may_be_run_anywhere(self):
    fn = tf.function(replication.replica_id)
    for count in (2, 4, 2):
      strategy = replication.mirrored(count)
      for wrap in (lambda f: f, tf.function):
        result = wrap(lambda s=strategy: s.run(fn))()
        self.assertAllEqual(
          replication.components(strategy, result), list(range(count))
        )

  def test_is_not_kept_when_its_owner_lets_it_go(self):
    strategy = replication.mirrored(2)
    data = tf.Variable(1.0)
    fn = tf.function(lambda: data.read_value())
    strategy.run(fn)
    dead = weakref.ref(fn)
    del fn
    gc.collect()
    self.assertIsNone(dead())

  def test_does_not_keep_the_strategy(self):
    fn = tf.function(lambda: tf.constant(1.0))
    strategy = replication.mirrored(2)
    strategy.run(fn)
    dead = weakref.ref(strategy)
    del strategy
    gc.collect()
    self.assertIsNone(dead())


if __name__ == "__main__":
  tf.test.main()
