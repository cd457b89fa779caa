"""Components of several replicas, concatenated."""

from absl.testing import parameterized
import tensorflow as tf

from stratagem.cross_device import gathering
from tests import logical_devices


class CheckTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(
    ("ragged", lambda: tf.ragged.constant([[1], [2, 3]]), "RaggedTensor"),
    ("sparse", lambda: tf.sparse.from_dense([[1, 0]]), "SparseTensor"),
    (
      "slices",
      lambda: tf.IndexedSlices(tf.constant([1.0]), tf.constant([0])),
      "IndexedSlices",
    ),
  )
  def test_refuses_what_is_not_dense(self, make, name):
    with self.assertRaisesRegex(
      NotImplementedError, f"needs dense tensors; got a `tf.{name}`"
    ):
      gathering.check(make(), 0)

  @parameterized.parameters(0, -1, 3)
  def test_refuses_a_scalar(self, axis):
    with self.assertRaisesRegex(
      ValueError, rf"`axis={axis}` for a value of shape \(\).*vector"
    ):
      gathering.check(tf.constant(1.0), axis)

  @parameterized.parameters(2, -3)
  def test_refuses_an_axis_that_is_not_there(self, axis):
    with self.assertRaisesRegex(
      ValueError, rf"`axis={axis}` for a value of shape \(2, 3\).*rank is 2"
    ):
      gathering.check(tf.ones([2, 3]), axis)

  @parameterized.parameters(-2, -1, 0, 1)
  def test_takes_every_axis_there_is(self, axis):
    gathering.check(tf.ones([2, 3]), axis)

  def test_takes_a_tensor_of_unknown_rank(self):
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def check(value):
      gathering.check(value, 1)
      return value

    self.assertAllEqual(check(tf.ones([2, 2])), tf.ones([2, 2]))


class GatherTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(
    ("first", 0, [[1, 2], [3, 4], [5, 6]]),
    ("last", -2, [[1, 2], [3, 4], [5, 6]]),
  )
  def test_concatenates_components_of_several_sizes(self, axis, expected):
    components = [tf.constant([[1, 2]]), tf.constant([[3, 4], [5, 6]])]
    self.assertAllEqual(gathering.gather(components, axis, "CPU:0"), expected)

  def test_concatenates_along_another_axis(self):
    components = [tf.constant([[1], [2]]), tf.constant([[3, 4], [5, 6]])]
    self.assertAllEqual(
      gathering.gather(components, 1, "CPU:0"), [[1, 3, 4], [2, 5, 6]]
    )

  @parameterized.parameters(1, 2)
  def test_puts_the_result_on_the_device(self, count):
    components = [tf.constant([1.0])] * count
    gathered = gathering.gather(components, 0, "CPU:1")
    self.assertEqual(gathered.device, logical_devices.full_names(2)[1])
    self.assertAllEqual(gathered, [1.0] * count)


if __name__ == "__main__":
  tf.test.main()
