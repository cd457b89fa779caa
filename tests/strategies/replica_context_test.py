"""What a replica may ask and do."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

import stratagem as sg
from stratagem.strategies import engine
from tests.strategies import replication

_OPS = (
  ("sum", "SUM", lambda x: x.sum(0)),
  ("mean", "MEAN", lambda x: x.mean(0)),
)
# Each way of reducing, with each number of replicas, in each mode.
_ALL = tuple(
  (f"{name}_{case}", count, wrap, op, expect)
  for name, op, expect in _OPS
  for case, count, wrap in replication.CASES
)


def _context():
  return sg.get_replica_context()


class _ContextTestCase(tf.test.TestCase, parameterized.TestCase):
  def run_on(self, count, wrap, fn, make):
    """What `fn(make(i))` gives on each replica i, component by component."""
    strategy = replication.mirrored(count)
    value = sg.PerReplica(
      tuple(tf.convert_to_tensor(make(i)) for i in range(count))
    )
    result = wrap(lambda v: strategy.run(fn, args=(v,)))(value)
    self.last_run = strategy.extended.last_run
    return [
      tf.nest.map_structure(
        lambda leaf, r=replica: (
          leaf.values[r] if isinstance(leaf, sg.DistributedValues) else leaf
        ),
        result,
      )
      for replica in range(count)
    ]

  def assert_traced_once(self):
    self.assertIs(
      self.last_run.engine, engine.Engine.TRACE_ONCE, self.last_run.reason
    )


class AllReduceTest(_ContextTestCase):
  @parameterized.named_parameters(*_ALL)
  def test_every_replica_gets_the_result(self, count, wrap, op, expect):
    parts = np.stack(
      [np.array([i + 1.0, -i], np.float32) for i in range(count)]
    )
    results = self.run_on(
      count, wrap, lambda x: _context().all_reduce(op, x), lambda i: parts[i]
    )
    for result in results:
      self.assertAllClose(result, expect(parts))

  @parameterized.named_parameters(*replication.CASES)
  def test_reduces_a_nest_of_several_types_and_shapes(self, count, wrap):
    def fn(x):
      value = {
        "a": [x, tf.cast(x, tf.int32)],
        "b": (tf.stack([x, 2.0 * x]), tf.cast(x, tf.float64)),
        "c": tf.fill([2, 3], tf.cast(x, tf.float16)),
      }
      return _context().all_reduce("SUM", value)

    total = count * (count + 1) / 2
    for result in self.run_on(count, wrap, fn, lambda i: i + 1.0):
      self.assertAllEqual(result["a"], [total, total])
      self.assertEqual(result["a"][1].dtype, tf.int32)
      self.assertAllEqual(result["b"][0], [total, 2 * total])
      self.assertEqual(result["b"][1].dtype, tf.float64)
      self.assertAllEqual(result["c"], np.full([2, 3], total))
      self.assertEqual(result["c"].dtype, tf.float16)
    if wrap is tf.function and count > 1:
      self.assert_traced_once()

  @parameterized.named_parameters(*replication.SEVERAL)
  def test_reduces_large_and_small_tensors_alike(self, count):
    def fn(x):
      value = [tf.fill([n], x) for n in (1, 1 << 19, 3, 1 << 18, 0)]
      return _context().all_reduce("SUM", value)

    total = count * (count + 1) / 2
    for result in self.run_on(count, tf.function, fn, lambda i: i + 1.0):
      for part, size in zip(result, (1, 1 << 19, 3, 1 << 18, 0), strict=True):
        self.assertAllEqual(part, np.full([size], total, np.float32))

  @parameterized.named_parameters(*_ALL)
  def test_reduces_indexed_slices(self, count, wrap, op, expect):
    def fn(x):
      slices = tf.IndexedSlices(
        tf.stack([x, x])[:, tf.newaxis],
        tf.stack([0, 1 + tf.cast(x, tf.int32)]),
        tf.constant([6, 1]),
      )
      reduced = _context().all_reduce(op, {"sparse": slices, "dense": x})
      self.assertIsInstance(reduced["sparse"], tf.IndexedSlices)
      return tf.convert_to_tensor(reduced["sparse"]), reduced["dense"]

    parts = np.zeros([count, 6, 1], np.float32)
    for i in range(count):
      parts[i, [0, 2 + i]] = i + 1
    for sparse, dense in self.run_on(count, wrap, fn, lambda i: i + 1.0):
      self.assertAllClose(sparse, expect(parts))
      self.assertAllClose(dense, expect(np.arange(count) + 1.0))

  @parameterized.named_parameters(*_ALL)
  def test_has_a_gradient(self, count, wrap, op, expect):
    del expect

    def fn(x):
      with tf.GradientTape() as tape:
        tape.watch(x)
        # The loss of replica i is i + 1 times the square of the result.
        y = _context().all_reduce(op, x * x)
        loss = y * tf.cast(replication.replica_id() + 1, tf.float32)
      return tape.gradient(loss, x)

    results = self.run_on(count, wrap, fn, lambda i: i + 1.0)
    weight = count * (count + 1) / 2 / (count if op == "MEAN" else 1)
    self.assertAllClose(results, [2.0 * (i + 1) * weight for i in range(count)])

  @parameterized.named_parameters(*replication.CASES)
  def test_serves_gradients_of_a_model(self, count, wrap):
    strategy = replication.mirrored(count)
    with strategy.scope():
      w = tf.Variable([[1.0], [2.0]])
      b = tf.Variable([0.5])

    def fn(x):
      with tf.GradientTape() as tape:
        loss = tf.reduce_sum((x @ w + b) ** 2)
      gradients = tape.gradient(loss, [w, b])
      return _context().all_reduce("SUM", gradients)

    data = np.arange(8.0, dtype=np.float32).reshape(4, 2)
    shares = np.split(data, count)
    value = replication.spread(strategy, lambda i: shares[i])
    dw, db = wrap(lambda v: strategy.run(fn, args=(v,)))(value)
    error = 2 * (data @ [[1.0], [2.0]] + 0.5)
    for component in replication.components(strategy, dw):
      self.assertAllClose(component, data.T @ error)
    for component in replication.components(strategy, db):
      self.assertAllClose(component, error.sum(0))

  @parameterized.named_parameters(*replication.SEVERAL)
  def test_may_be_called_in_a_loop_a_condition_and_a_nested_function(
    self, count
  ):
    @tf.function
    def inner(x):
      return _context().all_reduce("SUM", x)

    def fn(x):
      for _ in tf.range(2):
        x = _context().all_reduce("MEAN", x)
      if x > 0.0:
        x = _context().all_reduce("SUM", x)
      return inner(x)

    results = self.run_on(count, tf.function, fn, lambda i: i + 1.0)
    mean = (count + 1) / 2
    self.assertAllClose(results, [mean * count * count] * count)
    self.assert_traced_once()

  @parameterized.named_parameters(*replication.CASES)
  def test_takes_numbers_and_both_libraries_names(self, count, wrap):
    def fn(x):
      del x
      context = _context()
      return [
        context.all_reduce("sum", 2.0),
        context.all_reduce(sg.ReduceOp.SUM, 2.0),
        context.all_reduce(tf.distribute.ReduceOp.SUM, 2.0),
      ]

    for result in self.run_on(count, wrap, fn, lambda i: 0.0):
      self.assertAllEqual(result, [2.0 * count] * 3)

  @parameterized.named_parameters(*replication.CASES)
  def test_refuses_another_reduce_op(self, count, wrap):
    with self.assertRaisesRegex(ValueError, "must be `ReduceOp.SUM`.*'max'"):
      self.run_on(
        count, wrap, lambda x: _context().all_reduce("max", x), lambda i: 0.0
      )

  @parameterized.named_parameters(*replication.CASES)
  def test_refuses_sparse_tensors(self, count, wrap):
    def fn(x):
      return _context().all_reduce("SUM", tf.sparse.from_dense([x]))

    with self.assertRaisesRegex(
      TypeError, "needs dense tensors or `tf.IndexedSlices`.*SparseTensor"
    ):
      self.run_on(count, wrap, fn, lambda i: 1.0)

  @parameterized.named_parameters(*replication.CASES)
  def test_of_an_empty_nest_is_empty(self, count, wrap):
    results = self.run_on(
      count, wrap, lambda x: _context().all_reduce("SUM", []), lambda i: 0.0
    )
    self.assertEqual(results, [[]] * count)


class AllGatherTest(_ContextTestCase):
  @parameterized.named_parameters(*replication.CASES)
  def test_concatenates_along_any_axis(self, count, wrap):
    parts = [
      np.arange(6.0, dtype=np.float32).reshape(1, 2, 3) + 10 * i
      for i in range(count)
    ]
    for axis in (0, 1, 2, -1):
      results = self.run_on(
        count,
        wrap,
        lambda x, axis=axis: _context().all_gather(x, axis=axis),
        lambda i: parts[i],
      )
      for result in results:
        self.assertAllEqual(result, np.concatenate(parts, axis))

  @parameterized.named_parameters(*replication.CASES)
  def test_gathers_a_nest(self, count, wrap):
    def fn(x):
      value = {"a": x, "b": [tf.cast(x, tf.int32), tf.strings.as_string(x)]}
      return _context().all_gather(value, axis=0)

    expected = [i + 1 for i in range(count)]
    for result in self.run_on(count, wrap, fn, lambda i: [i + 1.0]):
      self.assertAllEqual(result["a"], expected)
      self.assertAllEqual(result["b"][0], expected)
      self.assertAllEqual(result["b"][1].shape, [count])

  @parameterized.named_parameters(*replication.SEVERAL_CASES)
  def test_replicas_may_differ_in_size(self, count, wrap):
    parts = [np.full([i, 2], float(i), np.float32) for i in range(count)]
    results = self.run_on(
      count,
      wrap,
      lambda x: _context().all_gather(x, axis=0),
      lambda i: parts[i],
    )
    for result in results:
      self.assertAllEqual(result, np.concatenate(parts))

  @parameterized.named_parameters(*replication.SEVERAL)
  def test_replicas_may_differ_in_size_that_one_trace_does_not_know(
    self, count
  ):
    def fn(x):
      # As many rows as the number says, for all replicas in one trace.
      rows = tf.fill([tf.cast(x, tf.int32), 2], x)
      return _context().all_gather(rows, axis=0)

    results = self.run_on(count, tf.function, fn, lambda i: float(i))
    for result in results:
      self.assertAllEqual(
        result,
        np.concatenate([np.full([i, 2], float(i)) for i in range(count)]),
      )
    self.assert_traced_once()

  @parameterized.named_parameters(*replication.CASES)
  def test_has_a_gradient(self, count, wrap):
    def fn(x):
      with tf.GradientTape() as tape:
        tape.watch(x)
        whole = _context().all_gather(x * x, axis=0)
        weights = tf.range(1.0, tf.cast(tf.size(whole), tf.float32) + 1.0)
        loss = tf.reduce_sum(whole * weights)
      return tape.gradient(loss, x)

    parts = [np.array([i + 1.0, i + 2.0], np.float32) for i in range(count)]
    results = self.run_on(count, wrap, fn, lambda i: parts[i])
    weights = np.arange(1.0, 2 * count + 1)
    # All replicas have the same loss, and gradients are summed over them.
    expected = count * weights * 2 * np.concatenate(parts)
    self.assertAllClose(np.concatenate(results), expected)

  @parameterized.named_parameters(*replication.SEVERAL_CASES)
  def test_has_a_gradient_where_replicas_differ_in_size(self, count, wrap):
    def fn(x):
      with tf.GradientTape() as tape:
        tape.watch(x)
        whole = _context().all_gather(x, axis=0)
        loss = tf.reduce_sum(whole * whole)
      return tape.gradient(loss, x)

    parts = [np.full([i + 1], i + 1.0, np.float32) for i in range(count)]
    results = self.run_on(count, wrap, fn, lambda i: parts[i])
    for result, part in zip(results, parts, strict=True):
      self.assertAllClose(result, 2.0 * count * part)

  @parameterized.named_parameters(*replication.SEVERAL)
  def test_may_be_called_in_a_loop(self, count):
    def fn(x):
      total = 0.0
      for _ in tf.range(3):
        total += tf.reduce_sum(_context().all_gather(x, axis=0))
      return total

    results = self.run_on(count, tf.function, fn, lambda i: [i + 1.0])
    self.assertAllEqual(results, [3 * count * (count + 1) / 2] * count)
    self.assert_traced_once()

  @parameterized.named_parameters(*replication.CASES)
  def test_refuses_scalars(self, count, wrap):
    with self.assertRaisesRegex(ValueError, "`axis=0` for a value of shape"):
      self.run_on(
        count, wrap, lambda x: _context().all_gather(x, axis=0), lambda i: 1.0
      )

  @parameterized.named_parameters(*replication.CASES)
  def test_refuses_sparse_tensors(self, count, wrap):
    def fn(x):
      return _context().all_gather(tf.sparse.from_dense([x]), axis=0)

    with self.assertRaisesRegex(
      NotImplementedError, r"needs dense tensors.*SparseTensor"
    ):
      self.run_on(count, wrap, fn, lambda i: 1.0)


class OutOfPlaceTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(
    ("merge_call", lambda c: c.merge_call(lambda s: None)),
    ("all_reduce", lambda c: c.all_reduce("SUM", tf.constant(1.0))),
    ("all_gather", lambda c: c.all_gather(tf.constant([1.0]), axis=0)),
  )
  def test_a_context_kept_from_a_run_is_of_no_use(self, call):
    strategy = replication.mirrored(2)
    kept = []
    strategy.run(lambda: kept.append(_context()))
    with self.assertRaisesRegex(RuntimeError, r"outside of `strategy\.run`"):
      call(kept[0])
    with (
      strategy.scope(),
      self.assertRaisesRegex(RuntimeError, "in cross-replica context"),
    ):
      call(kept[0])
    with self.assertRaisesRegex(RuntimeError, "in another replica"):
      strategy.run(lambda: call(kept[0]))

  def test_the_default_replica_reduces_and_gathers_by_itself(self):
    context = _context()
    self.assertAllEqual(context.all_reduce("SUM", tf.constant(2.0)), 2.0)
    self.assertAllEqual(context.all_reduce("MEAN", [1.0, 2.0]), [1.0, 2.0])
    self.assertAllEqual(context.all_gather(tf.constant([3.0]), axis=0), [3.0])
    self.assertEqual(context.replica_id_in_sync_group, 0)
    self.assertEqual(context.num_replicas_in_sync, 1)


if __name__ == "__main__":
  tf.test.main()
