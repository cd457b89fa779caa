"""Reducing along an axis of the components too."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests.strategies import replication


class AxisReductionTest(tf.test.TestCase, parameterized.TestCase):
  def _reduce(self, count, wrap, op, arrays, axis):
    strategy = replication.mirrored(count)
    value = replication.spread(strategy, lambda i: arrays[i])
    return wrap(lambda v: strategy.reduce(op, v, axis=axis))(value)

  @parameterized.named_parameters(*replication.CASES)
  def test_is_that_of_all_elements(self, count, wrap):
    arrays = [np.arange(6.0).reshape(2, 3) + i for i in range(count)]
    for axis in (0, 1, -1):
      # Components side by side along the axis.
      whole = np.concatenate(arrays, axis)
      self.assertAllClose(
        self._reduce(count, wrap, "SUM", arrays, axis), whole.sum(axis)
      )
      self.assertAllClose(
        self._reduce(count, wrap, "MEAN", arrays, axis), whole.mean(axis)
      )

  @parameterized.named_parameters(*replication.CASES)
  def test_may_be_along_several_axes(self, count, wrap):
    arrays = [np.arange(24.0).reshape(2, 3, 4) + i for i in range(count)]
    expected = np.mean(np.stack(arrays), axis=(0, 1, 3))
    mean = self._reduce(count, wrap, "MEAN", arrays, [0, 2])
    self.assertAllClose(mean, expected)

  @parameterized.named_parameters(*replication.SEVERAL_CASES)
  def test_a_replica_with_more_elements_weighs_more(self, count, wrap):
    arrays = [np.full([i + 1], float(i)) for i in range(count)]
    mean = self._reduce(count, wrap, "MEAN", arrays, 0)
    self.assertAllClose(mean, np.concatenate(arrays).mean())

  @parameterized.named_parameters(*replication.SEVERAL_CASES)
  def test_a_replica_without_elements_weighs_nothing(self, count, wrap):
    arrays = [np.zeros([0, 2])] * (count - 1) + [np.array([[1.0, 3.0]])]
    for op in ("SUM", "MEAN"):
      self.assertAllEqual(self._reduce(count, wrap, op, arrays, 0), [1.0, 3.0])

  @parameterized.named_parameters(*replication.CASES)
  def test_a_mean_of_integers_may_be_a_fraction(self, count, wrap):
    arrays = [np.array([1, 2])] * count
    mean = self._reduce(count, wrap, "MEAN", arrays, 0)
    self.assertAllEqual(mean, 1.5)

  def test_the_result_is_on_the_host(self):
    result = self._reduce(2, lambda f: f, "MEAN", [np.ones([2])] * 2, 0)
    self.assertEndsWith(result.device, "CPU:0")

  @parameterized.named_parameters(*replication.CASES)
  def test_refuses_an_axis_that_is_not_there(self, count, wrap):
    with self.assertRaisesRegex(
      ValueError, r"`axis=2` for a component of shape \(2, 3\).*axes are 0 to 1"
    ):
      self._reduce(count, wrap, "SUM", [np.ones([2, 3])] * count, 2)

  @parameterized.named_parameters(*replication.CASES)
  def test_refuses_an_axis_of_scalars(self, count, wrap):
    with self.assertRaisesRegex(
      ValueError, r"`axis=0` for a component of shape \(\).*Use `axis=None`"
    ):
      self._reduce(count, wrap, "SUM", [1.0] * count, 0)

  @parameterized.parameters("0", 0.0, True)
  def test_refuses_an_axis_that_is_no_int(self, axis):
    with self.assertRaisesRegex(TypeError, "`axis` must be an int, or None"):
      self._reduce(2, lambda f: f, "SUM", [np.ones([2])] * 2, axis)


if __name__ == "__main__":
  tf.test.main()
