"""Components of several replicas become one."""

from absl.testing import parameterized
import tensorflow as tf

from stratagem.cross_device import reduce_op
from stratagem.cross_device import reduction
from tests import logical_devices

SUM, MEAN = reduce_op.ReduceOp.SUM, reduce_op.ReduceOp.MEAN
_COUNTS = (("one", 1), ("two", 2), ("four", 4))
_MODES = (("eager", lambda f: f), ("function", tf.function))


def _spread(count, fn):
  """`fn(i)` on device i, for `count` devices."""
  components = []
  for index, name in enumerate(logical_devices.names(count)):
    with tf.device(name):
      components.append(tf.identity(fn(index)))
  return components


class ReduceTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(*_COUNTS)
  def test_sums(self, count):
    components = _spread(count, lambda i: tf.constant([i + 1.0, -1.0]))
    total = reduction.reduce(SUM, components, "CPU:0")
    self.assertAllEqual(total, [count * (count + 1) / 2, -count])

  @parameterized.named_parameters(*_COUNTS)
  def test_means(self, count):
    components = _spread(count, lambda i: tf.constant([i + 1.0, -1.0]))
    mean = reduction.reduce(MEAN, components, "CPU:0")
    self.assertAllClose(mean, [(count + 1) / 2, -1.0])

  def test_puts_the_result_on_the_device(self):
    components = _spread(2, lambda i: tf.constant(1.0))
    for name, full in zip(
      logical_devices.names(3), logical_devices.full_names(3), strict=True
    ):
      result = reduction.reduce(SUM, components, name)
      self.assertEqual(result.device, full)

  @parameterized.parameters(
    tf.int32, tf.int64, tf.float16, tf.bfloat16, tf.float64, tf.complex64
  )
  def test_keeps_the_type_of_a_sum(self, dtype):
    components = [tf.constant(1, dtype), tf.constant(2, dtype)]
    total = reduction.reduce(SUM, components, "CPU:0")
    self.assertEqual(total.dtype, dtype)
    self.assertAllEqual(total, tf.constant(3, dtype))

  def test_a_mean_of_integers_may_be_a_fraction(self):
    mean = reduction.reduce(MEAN, [tf.constant(1), tf.constant(2)], "CPU:0")
    self.assertEqual(mean.dtype, tf.float64)
    self.assertAllEqual(mean, 1.5)

  def test_takes_numbers(self):
    self.assertAllEqual(reduction.reduce(SUM, [1.0, 2.0], "CPU:0"), 3.0)

  @parameterized.named_parameters(*_COUNTS)
  def test_refuses_booleans(self, count):
    with self.assertRaisesRegex(
      TypeError, r"must be numeric.*dtype bool.*tf\.cast\(value, tf\.int32\)"
    ):
      reduction.reduce(SUM, [tf.constant(True)] * count, "CPU:0")

  @parameterized.named_parameters(*_MODES)
  def test_keeps_indexed_slices_sparse(self, wrap):
    @wrap
    def reduced(op):
      components = [
        tf.IndexedSlices(
          tf.constant([[i + 1.0]]), tf.constant([i]), tf.constant([3, 1])
        )
        for i in (0, 1)
      ] + [
        tf.IndexedSlices(
          tf.constant([[2.0]]), tf.constant([0]), tf.constant([3, 1])
        )
      ]
      return reduction.reduce(op, components, "CPU:0")

    total = reduced(SUM)
    self.assertIsInstance(total, tf.IndexedSlices)
    self.assertAllEqual(tf.convert_to_tensor(total), [[3.0], [2.0], [0.0]])
    mean = reduced(MEAN)
    self.assertAllClose(tf.convert_to_tensor(mean), [[1.0], [2 / 3], [0.0]])

  def test_makes_dense_what_is_sparse_on_some_alone(self):
    slices = tf.IndexedSlices(
      tf.constant([1.0]), tf.constant([1]), tf.constant([2])
    )
    total = reduction.reduce(SUM, [slices, tf.constant([1.0, 1.0])], "CPU:0")
    self.assertAllEqual(total, [1.0, 2.0])


class BroadcastTest(tf.test.TestCase):
  def test_copies_to_each_device(self):
    copies = reduction.broadcast(
      tf.constant([1.0, 2.0]), logical_devices.names(4)
    )
    self.assertEqual([c.device for c in copies], logical_devices.full_names(4))
    for copy in copies:
      self.assertAllEqual(copy, [1.0, 2.0])

  def test_copies_composite_tensors(self):
    ragged = tf.ragged.constant([[1], [2, 3]])
    copies = reduction.broadcast(ragged, logical_devices.names(2))
    for copy, name in zip(copies, logical_devices.full_names(2), strict=True):
      self.assertIsInstance(copy, tf.RaggedTensor)
      self.assertEqual(copy.to_list(), [[1], [2, 3]])
      self.assertEqual(copy.values.device, name)


if __name__ == "__main__":
  tf.test.main()
