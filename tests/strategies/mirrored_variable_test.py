"""Variables whose components are kept equal, and what all kinds share."""

import gc
import operator
import weakref

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

import stratagem as sg
from stratagem.strategies import variable
from tests.strategies import replication

_Aggregation = tf.VariableAggregation
_METHODS = {
  "assign": lambda old, value: value,
  "assign_add": lambda old, value: old + value,
  "assign_sub": lambda old, value: old - value,
}
# What becomes of the values 1, 2, ... that the replicas write.
_AGGREGATED = {
  _Aggregation.SUM: lambda count: count * (count + 1) / 2,
  _Aggregation.MEAN: lambda count: (count + 1) / 2,
  _Aggregation.ONLY_FIRST_REPLICA: lambda count: 1.0,
}
_WRITES = tuple(
  (
    f"{method}_{aggregation.name.lower()}_{case}",
    count,
    wrap,
    method,
    aggregation,
  )
  for method in _METHODS
  for aggregation in _AGGREGATED
  for case, count, wrap in replication.CASES
)


def _variable(strategy, value=10.0, **kwargs):
  with strategy.scope():
    return tf.Variable(value, **kwargs)


class _VariableTestCase(tf.test.TestCase, parameterized.TestCase):
  def assert_components(self, strategy, value, expected):
    components = replication.components(strategy, value)
    self.assertLen(components, strategy.num_replicas_in_sync)
    for component in components:
      self.assertAllClose(component, expected)


class AssignTest(_VariableTestCase):
  @parameterized.named_parameters(*_WRITES)
  def test_in_a_replica_aggregates_what_replicas_write(
    self, count, wrap, method, aggregation
  ):
    strategy = replication.mirrored(count)
    v = _variable(strategy, aggregation=aggregation)

    def fn(x):
      getattr(v, method)(x)
      return v.read_value()

    x = replication.spread(strategy, lambda i: i + 1.0)
    result = wrap(lambda value: strategy.run(fn, args=(value,)))(x)
    # One replica has nothing to aggregate.
    expected = _METHODS[method](10.0, _AGGREGATED[aggregation](count))
    self.assert_components(strategy, v, expected)
    self.assert_components(strategy, result, expected)

  @parameterized.named_parameters(
    *((f"{m}_{c[0]}", m, *c[1:]) for m in _METHODS for c in replication.CASES)
  )
  def test_without_aggregation_each_replica_writes_its_own(
    self, method, count, wrap
  ):
    strategy = replication.mirrored(count)
    v = _variable(strategy)
    wrap(lambda: strategy.run(lambda: getattr(v, method)(2.0)))()
    self.assert_components(strategy, v, _METHODS[method](10.0, 2.0))

  @parameterized.named_parameters(
    *((f"{m}_{c[0]}", m, *c[1:]) for m in _METHODS for c in replication.CASES)
  )
  def test_in_cross_replica_context_writes_all(self, method, count, wrap):
    strategy = replication.mirrored(count)
    v = _variable(strategy, aggregation=_Aggregation.SUM)
    expected = _METHODS[method](10.0, 4.0)

    def step():
      return tf.convert_to_tensor(getattr(v, method)(4.0))

    self.assertAllEqual(wrap(step)(), expected)
    self.assert_components(strategy, v, expected)
    v.assign(10.0)
    with strategy.scope():
      wrap(step)()
    self.assert_components(strategy, v, expected)

  @parameterized.named_parameters(*replication.CASES)
  def test_gives_what_reads_the_new_value(self, count, wrap):
    strategy = replication.mirrored(count)
    v = _variable(strategy, aggregation=_Aggregation.SUM)
    result = wrap(lambda: strategy.run(lambda: v.assign_add(1.0) * 2.0))()
    self.assert_components(strategy, result, 2.0 * (10.0 + count))

  @parameterized.named_parameters(*replication.CASES)
  def test_may_be_called_without_reading(self, count, wrap):
    strategy = replication.mirrored(count)
    v = _variable(strategy, aggregation=_Aggregation.SUM)

    def step():
      strategy.run(lambda: v.assign_add(1.0, read_value=False))
      v.assign_add(1.0, read_value=False)

    wrap(step)()
    self.assert_components(strategy, v, 11.0 + count)

  @parameterized.named_parameters(*replication.SEVERAL)
  def test_takes_a_component_for_each_replica(self, count):
    strategy = replication.mirrored(count)
    v = _variable(strategy)
    v.assign(replication.spread(strategy, lambda i: i * 1.0))
    self.assertAllEqual(replication.components(strategy, v), np.arange(count))

  @parameterized.named_parameters(*replication.SEVERAL_CASES)
  def test_refuses_a_mean_of_integers(self, count, wrap):
    strategy = replication.mirrored(count)
    v = _variable(strategy, 1, aggregation=_Aggregation.MEAN)
    with self.assertRaisesRegex(ValueError, "floating-point.*got int32"):
      wrap(lambda: strategy.run(lambda: v.assign(2)))()

  @parameterized.named_parameters(*replication.CASES)
  def test_of_integers_may_be_summed(self, count, wrap):
    strategy = replication.mirrored(count)
    v = _variable(strategy, 1, aggregation=_Aggregation.SUM)
    wrap(lambda: strategy.run(lambda: v.assign_add(2)))()
    self.assert_components(strategy, v, 1 + 2 * count)

  def test_refuses_another_shape(self):
    strategy = replication.mirrored(2)
    v = _variable(strategy)
    with self.assertRaisesRegex(ValueError, "(?i)shape"):
      v.assign([1.0, 2.0])

  def test_works_in_loops_and_conditions(self):
    strategy = replication.mirrored(2)
    v = _variable(strategy, 0.0, aggregation=_Aggregation.SUM)

    @tf.function
    def step(x):
      def fn(x):
        for _ in tf.range(3):
          v.assign_add(x)
        if x > 0.0:
          v.assign_add(1.0)

      strategy.run(fn, args=(x,))

    step(tf.constant(2.0))
    self.assert_components(strategy, v, 14.0)


class ScatterTest(_VariableTestCase):
  @parameterized.named_parameters(
    ("add", "scatter_add", [11.0, 2.0, 33.0]),
    ("sub", "scatter_sub", [-9.0, 2.0, -27.0]),
    ("mul", "scatter_mul", [10.0, 2.0, 90.0]),
    ("div", "scatter_div", [0.1, 2.0, 0.1]),
    ("min", "scatter_min", [1.0, 2.0, 3.0]),
    ("max", "scatter_max", [10.0, 2.0, 30.0]),
    ("update", "scatter_update", [10.0, 2.0, 30.0]),
  )
  def test_changes_rows(self, method, expected):
    slices = tf.IndexedSlices(tf.constant([10.0, 30.0]), tf.constant([0, 2]))
    for count in (1, 2):
      strategy = replication.mirrored(count)
      v = _variable(strategy, [1.0, 2.0, 3.0])
      getattr(v, method)(slices)
      self.assert_components(strategy, v, expected)
      v.assign([1.0, 2.0, 3.0])
      strategy.run(lambda v=v: getattr(v, method)(slices))
      self.assert_components(strategy, v, expected)

  @parameterized.named_parameters(
    *(
      (f"{a.name.lower()}_{c[0]}", a, *c[1:])
      for a in _AGGREGATED
      for c in replication.CASES
    )
  )
  def test_aggregates_what_replicas_add(self, aggregation, count, wrap):
    strategy = replication.mirrored(count)
    v = _variable(strategy, [0.0, 0.0], aggregation=aggregation)

    def fn(x):
      v.scatter_add(tf.IndexedSlices(x[tf.newaxis], tf.constant([1])))

    x = replication.spread(strategy, lambda i: i + 1.0)
    wrap(lambda value: strategy.run(fn, args=(value,)))(x)
    self.assert_components(strategy, v, [0.0, _AGGREGATED[aggregation](count)])

  @parameterized.named_parameters(*replication.SEVERAL_CASES)
  def test_refuses_what_has_no_sum(self, count, wrap):
    strategy = replication.mirrored(count)
    v = _variable(strategy, [0.0, 0.0], aggregation=_Aggregation.SUM)
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([1]))
    with self.assertRaisesRegex(
      NotImplementedError, "`scatter_max`.*needs the aggregation NONE or ONLY"
    ):
      wrap(lambda: strategy.run(lambda: v.scatter_max(slices)))()


class ReadTest(_VariableTestCase):
  @parameterized.named_parameters(
    *(
      (f"{o.__name__}_{c[0]}", o, *c[1:])
      for o in (
        operator.add,
        operator.sub,
        operator.mul,
        operator.truediv,
        operator.floordiv,
        operator.mod,
        operator.pow,
        operator.lt,
        operator.ge,
      )
      for c in replication.CASES[:4]
    )
  )
  def test_takes_operators_on_either_side(self, operation, count, wrap):
    strategy = replication.mirrored(count)
    v = _variable(strategy, [3.0, 4.0])

    def fn():
      return operation(v, 2.0), operation(2.0, v), operation(v, v)

    value = np.array([3.0, 4.0])
    expected = (
      operation(value, 2.0),
      operation(2.0, value),
      operation(value, value),
    )
    self.assertAllClose(wrap(fn)(), expected)
    for got, wanted in zip(
      wrap(lambda: strategy.run(fn))(), expected, strict=True
    ):
      self.assert_components(strategy, got, wanted)

  def test_takes_indexing_negation_and_matrix_products(self):
    strategy = replication.mirrored(2)
    v = _variable(strategy, [[1.0, 2.0], [3.0, 4.0]])
    for wrap in (lambda f: f, tf.function):
      results = wrap(lambda: (v[0], v[:, 1], -v, v @ v, abs(v)))()
      self.assertAllEqual(results[0], [1.0, 2.0])
      self.assertAllEqual(results[1], [2.0, 4.0])
      self.assertAllEqual(results[2], [[-1.0, -2.0], [-3.0, -4.0]])
      self.assertAllEqual(results[3], [[7.0, 10.0], [15.0, 22.0]])
      self.assertAllEqual(results[4], v)

  @parameterized.named_parameters(*replication.COUNTS)
  def test_is_converted(self, count):
    v = _variable(replication.mirrored(count), [1.5, 2.5])
    self.assertAllEqual(tf.convert_to_tensor(v), [1.5, 2.5])
    self.assertAllEqual(v.numpy(), [1.5, 2.5])
    self.assertAllEqual(np.asarray(v), [1.5, 2.5])
    self.assertEqual(np.asarray(v, np.float64).dtype, np.float64)
    self.assertAllEqual(v.value(), [1.5, 2.5])
    self.assertAllEqual(tf.stack([v, v])[1], [1.5, 2.5])

  @parameterized.named_parameters(*replication.COUNTS)
  def test_of_a_scalar_is_converted(self, count):
    v = _variable(replication.mirrored(count), 2.5)
    self.assertEqual((int(v), float(v), bool(v)), (2, 2.5, True))
    self.assertEqual(complex(v), 2.5 + 0j)
    self.assertAllEqual(np.asarray(v), 2.5)
    self.assertAllEqual(np.array([v, v]), [2.5, 2.5])

  @parameterized.named_parameters(*replication.CASES)
  def test_takes_tf_gather_and_sparse_reads(self, count, wrap):
    strategy = replication.mirrored(count)
    v = _variable(strategy, [[1.0], [2.0], [3.0]])

    def fn():
      return (
        tf.gather(v, [2, 0]),
        v.sparse_read([1]),
        v.gather_nd([[1, 0]]),
        tf.nn.embedding_lookup(v, [0]),
      )

    results = wrap(lambda: strategy.run(fn))()
    for got, expected in zip(
      results, ([[3.0], [1.0]], [[2.0]], [2.0], [[1.0]]), strict=True
    ):
      self.assert_components(strategy, got, expected)

  def test_numpy_is_for_eager_mode(self):
    v = _variable(replication.mirrored(2))
    with self.assertRaisesRegex(
      NotImplementedError, r"`numpy\(\)` must be called in eager mode"
    ):
      tf.function(lambda: v.numpy())()

  @parameterized.named_parameters(*replication.CASES)
  def test_has_gradients(self, count, wrap):
    strategy = replication.mirrored(count)
    v = _variable(strategy, [3.0, 4.0])

    def fn(x):
      with tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * v) * x + tf.reduce_sum(tf.gather(v, [1]))
      gradient = tape.gradient(loss, v)
      return tf.convert_to_tensor(gradient)

    x = replication.spread(strategy, lambda i: i + 1.0)
    gradients = wrap(lambda value: strategy.run(fn, args=(value,)))(x)
    self.assertAllEqual(
      replication.components(strategy, gradients),
      [[6.0 * (i + 1), 8.0 * (i + 1) + 1.0] for i in range(count)],
    )

  @parameterized.named_parameters(*replication.MODES)
  def test_has_gradients_in_cross_replica_context(self, wrap):
    v = _variable(replication.mirrored(2), 3.0)

    def fn():
      with tf.GradientTape() as tape:
        loss = v * v
      return tape.gradient(loss, v)

    self.assertAllEqual(wrap(fn)(), 6.0)

  def test_gradients_of_a_sparse_read_are_sparse(self):
    strategy = replication.mirrored(2)
    v = _variable(strategy, [[1.0], [2.0], [3.0]])
    kinds = []

    @tf.function
    def step():
      def fn():
        with tf.GradientTape() as tape:
          loss = tf.reduce_sum(tf.gather(v, [2]))
        gradient = tape.gradient(loss, v)
        kinds.append(type(gradient))
        return gradient

      return strategy.run(fn)

    gradient = step()
    self.assertEqual(kinds, [tf.IndexedSlices])
    for part in strategy.experimental_local_results(gradient):
      self.assertAllEqual(tf.convert_to_tensor(part), [[0.0], [0.0], [1.0]])


class AttributesTest(_VariableTestCase):
  @parameterized.named_parameters(*replication.COUNTS)
  def test_are_those_of_a_variable(self, count):
    strategy = replication.mirrored(count)
    v = _variable(
      strategy,
      [1.0, 2.0],
      name="weight",
      aggregation=_Aggregation.MEAN,
      constraint=tf.abs,
    )
    self.assertIsInstance(v, tf.Variable)
    self.assertEqual(v.name, "weight:0")
    self.assertEqual(v.dtype, tf.float32)
    self.assertEqual(v.shape, [2])
    self.assertTrue(v.trainable)
    self.assertEqual(v.aggregation, _Aggregation.MEAN)
    self.assertIs(v.distribute_strategy, strategy)
    self.assertIs(v.constraint, tf.abs)
    self.assertEqual(v.get_shape(), [2])
    self.assertTrue(v.is_initialized())

  @parameterized.named_parameters(*replication.SEVERAL)
  def test_each_component_is_on_its_device(self, count):
    strategy = replication.mirrored(count)
    v = _variable(strategy)
    self.assertIsInstance(v, sg.DistributedValues)
    self.assertIsInstance(v, sg.Mirrored)
    self.assertEqual(
      [c.device for c in v.values], list(strategy.extended.worker_devices)
    )
    self.assertEqual(v.synchronization, tf.VariableSynchronization.ON_WRITE)
    devices = []
    strategy.run(lambda: devices.append(v.device))
    self.assertEqual(devices, list(strategy.extended.worker_devices))

  def test_a_component_knows_its_variable(self):
    v = _variable(replication.mirrored(2))
    for component in v.values:
      self.assertIs(variable.container_of(component), v)
    self.assertIs(variable.container_of(v), v)
    self.assertEqual(variable.container_of(3), 3)

  def test_says_what_it_is(self):
    v = _variable(replication.mirrored(2), name="weight")
    self.assertRegex(
      repr(v), r"MirroredVariable 'weight:0' shape=\(\).*on 2 replicas"
    )

  def test_is_compared_and_hashed_as_a_variable(self):
    strategy = replication.mirrored(2)
    v, w = _variable(strategy), _variable(strategy)
    self.assertLen({v.ref(), w.ref(), v.ref()}, 2)
    self.assertIs(v.ref().deref(), v)

  @parameterized.named_parameters(*replication.COUNTS)
  def test_is_collected_by_a_module(self, count):
    strategy = replication.mirrored(count)

    class Model(tf.Module):
      def __init__(self):
        super().__init__()
        self.weights = [tf.Variable(1.0), tf.Variable(2.0, trainable=False)]

    with strategy.scope():
      model = Model()
    self.assertLen(model.variables, 2)
    self.assertIs(model.variables[0], model.weights[0])
    self.assertLen(model.trainable_variables, 1)

  def test_must_be_used_under_its_own_strategy(self):
    v = _variable(replication.mirrored(2), name="weight")
    other = replication.mirrored(2)
    for use in (lambda: v + 1.0, lambda: v.assign(1.0)):
      with (
        self.assertRaisesRegex(
          RuntimeError, "'weight:0' was made under.*is in force"
        ),
        other.scope(),
      ):
        use()
      with self.assertRaisesRegex(RuntimeError, "'weight:0' was made under"):
        other.run(use)

  @parameterized.named_parameters(*replication.MODES)
  def test_frees_its_memory_when_it_is_let_go(self, wrap):
    strategy = replication.mirrored(2)

    def used():
      v = _variable(strategy, aggregation=_Aggregation.SUM)

      def replica_fn():
        v.assign_add(1.0)

      def step():
        strategy.run(replica_fn)

      wrap(step)()
      return [weakref.ref(v), *(weakref.ref(c) for c in v.values)]

    dead = used()
    gc.collect()
    self.assertEqual([ref() is None for ref in dead], [True] * 3)


if __name__ == "__main__":
  tf.test.main()
