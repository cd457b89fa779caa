"""The engine that traces the function once, and when it gives way."""

import gc
import re

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

import stratagem as sg
from stratagem.strategies import engine
from tests.strategies import replication

TRACE_ONCE, PER_REPLICA = engine.Engine.TRACE_ONCE, engine.Engine.PER_REPLICA


class _EngineTestCase(tf.test.TestCase, parameterized.TestCase):
  def assert_traced_once(self, strategy):
    last = strategy.extended.last_run
    self.assertIs(last.engine, TRACE_ONCE, last.reason)

  def assert_ran_per_replica(self, strategy, reason):
    last = strategy.extended.last_run
    self.assertIs(last.engine, PER_REPLICA)
    self.assertTrue(re.search(reason, last.reason), last.reason)


class TraceOnceTest(_EngineTestCase):
  @parameterized.named_parameters(*replication.SEVERAL)
  def test_calls_the_function_once_whatever_the_number_of_replicas(self, count):
    strategy = replication.mirrored(count)
    calls = []

    def fn(x):
      calls.append(x)
      return x + 1.0

    @tf.function
    def step(value):
      return strategy.run(fn, args=(value,))

    for _ in range(2):
      value = replication.spread(strategy, lambda i: i * 1.0)
      result = step(value)
    self.assertLen(calls, 1)
    self.assertAllEqual(
      replication.components(strategy, result), np.arange(count) + 1.0
    )
    self.assert_traced_once(strategy)

  @parameterized.named_parameters(*replication.SEVERAL)
  def test_has_as_large_a_graph_whatever_the_number_of_replicas(self, count):
    strategy = replication.mirrored(count)

    def fn(x):
      for _ in range(50):
        x = tf.sqrt(x + 1.0)
      return x

    @tf.function
    def step(value):
      return strategy.run(fn, args=(value,))

    value = replication.spread(strategy, lambda i: i * 1.0)
    graph = step.get_concrete_function(value).graph
    self.assertLess(len(graph.get_operations()), 15 + 10 * count)

  @parameterized.named_parameters(*replication.SEVERAL)
  def test_runs_each_replica_on_its_device(self, count):
    strategy = replication.mirrored(count)

    @tf.function
    def step(value):
      with tf.device("CPU:3"):
        return strategy.run(lambda x: tf.sqrt(x), args=(value,))

    value = replication.spread(strategy, lambda i: 4.0)
    graph = step.get_concrete_function(value).graph
    calls = [op for op in graph.get_operations() if "Call" in op.type]
    self.assertEqual(
      [op.device for op in calls], list(strategy.extended.worker_devices)
    )
    # The function itself names no device, or all would run on one.
    (body,) = graph.as_graph_def().library.function
    self.assertEqual({node.device for node in body.node_def}, {""})

  def test_tells_a_replica_its_number_as_a_tensor(self):
    strategy = replication.mirrored(4)
    kinds = []

    def fn():
      number = sg.get_replica_context().replica_id_in_sync_group
      kinds.append(type(number))
      return number * 10

    result = tf.function(lambda: strategy.run(fn))()
    self.assertAllEqual(
      replication.components(strategy, result), [0, 10, 20, 30]
    )
    self.assertTrue(issubclass(kinds[0], tf.Tensor))
    self.assert_traced_once(strategy)

  def test_gives_each_replica_its_own_variables(self):
    strategy = replication.mirrored(4)
    with strategy.scope():
      own = tf.Variable(
        0.0,
        synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=tf.VariableAggregation.SUM,
      )
      same = tf.Variable(3.0)

    @tf.function
    def step():
      def fn():
        own.assign_add(tf.cast(replication.replica_id(), tf.float32))
        return own.read_value() + same

      return strategy.run(fn)

    result = step()
    self.assertAllEqual(
      replication.components(strategy, result), [3.0, 4.0, 5.0, 6.0]
    )
    self.assertAllEqual(
      replication.components(strategy, own), [0.0, 1.0, 2.0, 3.0]
    )
    self.assert_traced_once(strategy)

  def test_gives_a_nested_function_each_replicas_own_variables(self):
    strategy = replication.mirrored(2)
    with strategy.scope():
      own = tf.Variable(
        1.0,
        synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=tf.VariableAggregation.SUM,
      )

    @tf.function
    def inner(x):
      return own.assign_add(x)

    @tf.function
    def step(value):
      return strategy.run(inner, args=(value,))

    step(replication.spread(strategy, lambda i: 10.0 * (i + 1)))
    self.assertAllEqual(replication.components(strategy, own), [11.0, 21.0])
    self.assert_traced_once(strategy)

  def test_a_nested_function_that_asks_for_its_number_may_be_run_again(self):
    strategy = replication.mirrored(2)

    @tf.function
    def inner(x):
      return x + replication.replica_id()

    for _ in range(2):

      @tf.function
      def step():
        once = strategy.run(inner, args=(tf.constant(10),))
        again = strategy.run(inner, args=(tf.constant(20),))
        return once, again

      once, again = step()
      self.assertAllEqual(replication.components(strategy, once), [10, 11])
      self.assertAllEqual(replication.components(strategy, again), [20, 21])

  def test_keeps_the_nest_of_the_result(self):
    strategy = replication.mirrored(2)
    thing = object()

    @tf.function
    def step(value):
      def fn(x):
        return {"a": [x, (x * 2.0, None)], "b": 3, "c": ()}

      result = strategy.run(fn, args=(value,))
      self.assertEqual(result["b"], 3)
      self.assertEqual(result["c"], ())
      self.assertIsNone(result["a"][1][1])
      self.assertIs(strategy.run(lambda: thing), thing)
      return result["a"][1][0]

    result = step(replication.spread(strategy, lambda i: i + 1.0))
    self.assertAllEqual(replication.components(strategy, result), [2.0, 4.0])

  def test_gives_a_tensor_of_outside_as_it_is(self):
    strategy = replication.mirrored(2)
    outside = tf.constant(7.0)

    @tf.function
    def step(x):
      self.assertIs(strategy.run(lambda: x), x)
      self.assertIs(strategy.run(lambda: outside), outside)
      return x

    step(tf.constant(1.0))

  def test_takes_and_gives_composite_tensors(self):
    strategy = replication.mirrored(2)
    ragged = sg.PerReplica(
      (tf.ragged.constant([[1.0], []]), tf.ragged.constant([[2.0], []]))
    )

    @tf.function
    def step(value):
      def fn(x, number):
        sparse = tf.sparse.from_dense([[number, 0]])
        slices = tf.IndexedSlices(x.values, tf.constant([1]), tf.constant([3]))
        return x * 2.0, sparse, slices

      return strategy.run(fn, args=(value, 5))

    doubled, sparse, slices = step(ragged)
    local = strategy.experimental_local_results
    self.assertEqual(
      [c.to_list() for c in local(doubled)], [[[2.0], []], [[4.0], []]]
    )
    self.assertIsInstance(local(sparse)[0], tf.SparseTensor)
    self.assertAllEqual(tf.convert_to_tensor(local(slices)[1]), [0, 2.0, 0])

  def test_takes_one_object_for_all_as_it_is(self):
    strategy = replication.mirrored(2)
    seen = []

    @tf.function
    def step(x):
      strategy.run(
        lambda *args, **kwargs: seen.append((args, kwargs)),
        args=("text", None, x),
        kwargs={"n": 3},
      )
      self.assertEqual(seen[0][0][:2], ("text", None))
      self.assertEqual(seen[0][1], {"n": 3})

    step(tf.constant(1.0))
    self.assertLen(seen, 1)

  def test_python_side_effects_happen_once(self):
    strategy = replication.mirrored(4)
    effects = []

    @tf.function
    def step():
      strategy.run(lambda: effects.append(1))

    step()
    step()
    self.assertEqual(effects, [1])

  def test_the_order_of_effects_is_that_of_the_program(self):
    strategy = replication.mirrored(2)
    with strategy.scope():
      v = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)

    @tf.function
    def step():
      v.assign(2.0)
      strategy.run(lambda: v.assign(v * 3.0))
      v.assign_add(1.0)
      strategy.run(lambda: v.assign(v * 2.0))
      return v.read_value()

    # Twice the sum over two replicas.
    self.assertAllEqual(step(), 52.0)
    self.assertAllEqual(replication.components(strategy, v), [52.0, 52.0])

  def test_is_differentiable_from_outside(self):
    strategy = replication.mirrored(2)
    weight = tf.Variable(3.0)

    @tf.function
    def step(x):
      with tf.GradientTape() as tape:
        losses = strategy.run(lambda: weight * weight * x)
        loss = strategy.reduce("SUM", losses, axis=None)
      return tape.gradient(loss, weight)

    self.assertAllEqual(step(tf.constant(2.0)), 24.0)

  def test_runs_in_a_loop_of_the_caller(self):
    strategy = replication.mirrored(2)
    with strategy.scope():
      v = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)

    @tf.function
    def steps(times):
      for _ in tf.range(times):
        strategy.run(lambda: v.assign_add(1.0))
      return v.read_value()

    self.assertAllEqual(steps(tf.constant(3)), 6.0)
    self.assert_traced_once(strategy)

  def test_keeps_the_functions_of_loops_and_conditions(self):
    strategy = replication.mirrored(2)

    @tf.function
    def step(value):
      def fn(x):
        for _ in tf.range(2):
          if x > 1.0:
            x *= 10.0
        return x

      return strategy.run(fn, args=(value,))

    value = replication.spread(strategy, lambda i: i + 1.0)
    concrete = step.get_concrete_function(value)
    # What tracing left behind and nothing holds is gone.
    gc.collect()
    self.assertAllEqual(
      replication.components(strategy, concrete(value)), [1.0, 200.0]
    )

  def test_unseeded_random_numbers_differ_from_replica_to_replica(self):
    strategy = replication.mirrored(4)

    @tf.function
    def step():
      return strategy.run(lambda: tf.random.uniform([3]))

    drawn = replication.components(strategy, step())
    self.assertLen({tuple(d) for d in drawn}, 4)


class GivingWayTest(_EngineTestCase):
  def test_in_eager_mode(self):
    strategy = replication.mirrored(2)
    strategy.run(lambda: None)
    self.assert_ran_per_replica(strategy, "eager mode")

  def test_where_there_is_one_replica(self):
    strategy = replication.mirrored(1)
    tf.function(lambda: strategy.run(lambda: None))()
    self.assert_ran_per_replica(strategy, "one replica")

  def test_where_the_function_asks_for_its_device(self):
    strategy = replication.mirrored(2)
    devices = []

    def fn():
      devices.extend(sg.get_replica_context().devices)
      return tf.constant(1.0)

    tf.function(lambda: strategy.run(fn))()
    self.assertEqual(devices, list(strategy.extended.worker_devices))
    self.assert_ran_per_replica(strategy, "asks for its replica's device")

  def test_where_arguments_have_different_shapes(self):
    strategy = replication.mirrored(2)

    @tf.function
    def step(value):
      return strategy.run(tf.reduce_sum, args=(value,))

    value = sg.PerReplica((tf.ones([2]), tf.ones([5])))
    self.assertAllEqual(
      replication.components(strategy, step(value)), [2.0, 5.0]
    )
    self.assert_ran_per_replica(strategy, "another shape or type")

  def test_where_arguments_are_different_python_objects(self):
    strategy = replication.mirrored(2)
    value = strategy.experimental_distribute_values_from_function(
      lambda context: context.replica_id_in_sync_group
    )

    @tf.function
    def step():
      return strategy.run(lambda n: tf.ones([n + 1]), args=(value,))

    sizes = [len(c) for c in replication.components(strategy, step())]
    self.assertEqual(sizes, [1, 2])
    self.assert_ran_per_replica(strategy, "other Python objects")

  def test_where_the_program_has_a_random_seed(self):
    strategy = replication.mirrored(4)
    tf.random.set_seed(7)
    self.addCleanup(tf.random.set_seed, None)

    @tf.function
    def step():
      return strategy.run(lambda: tf.random.uniform([3]))

    drawn = replication.components(strategy, step())
    self.assertLen({tuple(d) for d in drawn}, 4)
    self.assert_ran_per_replica(strategy, "has a random seed")

  @parameterized.named_parameters(
    ("of_the_replica", lambda: tf.random.uniform([3], seed=5)),
    ("nested", tf.function(lambda: tf.random.normal([3], seed=5))),
  )
  def test_where_an_operation_has_a_random_seed(self, draw):
    strategy = replication.mirrored(2)
    tf.function(lambda: strategy.run(draw))()
    self.assert_ran_per_replica(strategy, "has a random seed")

  def test_an_error_of_the_function_is_raised(self):
    strategy = replication.mirrored(2)

    def fn():
      raise ValueError("on purpose")

    with self.assertRaisesRegex(ValueError, "on purpose"):
      tf.function(lambda: strategy.run(fn))()
    self.assertFalse(sg.has_strategy())
    # And the strategy is as good as before.
    result = tf.function(lambda: strategy.run(lambda: tf.constant(1)))()
    self.assertAllEqual(replication.components(strategy, result), [1, 1])
    self.assert_traced_once(strategy)

  def test_leaves_nothing_of_the_attempt(self):
    strategy = replication.mirrored(2)
    with strategy.scope():
      v = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)

    @tf.function
    def step():
      def fn():
        v.assign_add(1.0)
        return sg.get_replica_context().devices

      strategy.run(fn)

    step()
    self.assertAllEqual(v, 2.0)
    self.assert_ran_per_replica(strategy, "device")


if __name__ == "__main__":
  tf.test.main()
