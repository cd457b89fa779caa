"""Collective operations between the replicas of one process."""

import textwrap

from absl.testing import parameterized
import tensorflow as tf

from stratagem.cross_device import collectives as collectives_lib
from stratagem.cross_device import reduce_op
from stratagem.cross_device import resources
from tests import logical_devices

SUM, MEAN = reduce_op.ReduceOp.SUM, reduce_op.ReduceOp.MEAN
_COUNTS = (("one", 1), ("two", 2), ("four", 4))
_DEADLINE_SECONDS = 120.0


def _make(count):
  return collectives_lib.Collectives(
    logical_devices.full_names(count), timeout_seconds=60.0
  )


def _on_each(fn, arguments, specs=None):
  """Traces `fn` once and calls it for each replica on its device.

  Args:
    fn: the function.
    arguments: the tuple of arguments of each replica.
    specs: those of the arguments; those of the first replica's by default.

  Returns:
    What `fn` returned for each replica.
  """
  if specs is None:
    specs = [tf.TensorSpec(a.shape, a.dtype) for a in arguments[0]]

  @tf.function
  def whole(arguments):
    # Inlined, the loops of two replicas are two frames of one graph, and the
    # frame is a part of the key by which TensorFlow matches members.
    function = tf.function(fn, experimental_attributes={"_noinline": True})
    body = function.get_concrete_function(*specs)
    captured = body.captured_inputs
    results = []
    names = logical_devices.full_names(len(arguments))
    for replica, (name, own) in enumerate(zip(names, arguments, strict=True)):
      body.set_external_captures(
        [resources.of_replica(tensor, replica) for tensor in captured]
      )
      with tf.device(name):
        results.append(body(*own))
    return results

  return whole(arguments)


def _numbers(count, dtype=tf.float32):
  return [(tf.constant([i + 1, 10], dtype),) for i in range(count)]


class AllReduceTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(*_COUNTS)
  def test_every_member_gets_the_sum(self, count):
    collectives = _make(count)
    results = _on_each(
      lambda x: collectives.all_reduce(SUM, [x])[0], _numbers(count)
    )
    self.assertLen(results, count)
    for result in results:
      self.assertAllEqual(result, [count * (count + 1) / 2, 10 * count])

  @parameterized.named_parameters(*_COUNTS)
  def test_every_member_gets_the_mean(self, count):
    collectives = _make(count)
    results = _on_each(
      lambda x: collectives.all_reduce(MEAN, [x])[0], _numbers(count)
    )
    for result in results:
      self.assertAllClose(result, [(count + 1) / 2, 10])

  @parameterized.parameters(
    tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int32, tf.int64
  )
  def test_keeps_the_type(self, dtype):
    collectives = _make(2)
    results = _on_each(
      lambda x: collectives.all_reduce(SUM, [x])[0], _numbers(2, dtype)
    )
    for result in results:
      self.assertEqual(result.dtype, dtype)
      self.assertAllEqual(result, tf.constant([3, 20], dtype))

  def test_reduces_several_tensors_of_one_shape_in_order(self):
    collectives = _make(2)
    results = _on_each(
      lambda x: collectives.all_reduce(SUM, [x, 2.0 * x, 3.0 * x]), _numbers(2)
    )
    for result in results:
      for factor, total in enumerate(result, start=1):
        self.assertAllEqual(total, [3.0 * factor, 20.0 * factor])

  @parameterized.named_parameters(("sum", SUM, 1.0), ("mean", MEAN, 0.5))
  def test_reduces_indexed_slices(self, op, factor):
    collectives = _make(2)

    def body(values, indices):
      slices = tf.IndexedSlices(values, indices, tf.constant([3]))
      (reduced,) = collectives.all_reduce(op, [slices])
      self.assertIsInstance(reduced, tf.IndexedSlices)
      return tf.convert_to_tensor(reduced)

    arguments = [
      (tf.constant([2.0]), tf.constant([0])),
      (tf.constant([4.0, 6.0]), tf.constant([0, 2])),
    ]
    specs = [tf.TensorSpec([None]), tf.TensorSpec([None], tf.int32)]
    for result in _on_each(body, arguments, specs):
      self.assertAllEqual(result, [6.0 * factor, 0.0, 6.0 * factor])

  def test_works_for_a_shape_that_is_not_known(self):
    collectives = _make(2)
    results = _on_each(
      lambda x: collectives.all_reduce(SUM, [x])[0],
      _numbers(2),
      specs=[tf.TensorSpec(None)],
    )
    for result in results:
      self.assertAllEqual(result, [3.0, 20.0])

  def test_works_in_a_loop(self):
    collectives = _make(2)

    def body(x):
      for _ in tf.range(3):
        (x,) = collectives.all_reduce(SUM, [x])
      return x

    for result in _on_each(body, _numbers(2)):
      self.assertAllEqual(result, [12.0, 80.0])

  @parameterized.parameters(True, False)
  def test_works_in_a_condition(self, sum_up):
    collectives = _make(2)

    def body(x, sum_up):
      if sum_up:
        return collectives.all_reduce(SUM, [x])[0]
      return collectives.all_reduce(MEAN, [x])[0]

    arguments = [(x, tf.constant(sum_up)) for (x,) in _numbers(2)]
    for result in _on_each(body, arguments):
      self.assertAllEqual(result, [3.0, 20.0] if sum_up else [1.5, 10.0])

  def test_works_in_a_nested_function(self):
    collectives = _make(2)

    @tf.function
    def inner(x):
      return collectives.all_reduce(SUM, [x])[0]

    for result in _on_each(lambda x: inner(inner(x)), _numbers(2)):
      self.assertAllEqual(result, [6.0, 40.0])

  def test_two_groups_do_not_meet(self):
    first, second = _make(2), _make(2)

    def body(x):
      (once,) = first.all_reduce(SUM, [x])
      (twice,) = second.all_reduce(SUM, [once])
      return twice

    for result in _on_each(body, _numbers(2)):
      self.assertAllEqual(result, [6.0, 40.0])


class AllGatherTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(*_COUNTS)
  def test_concatenates_in_the_order_of_the_members(self, count):
    collectives = _make(count)
    results = _on_each(
      lambda x: collectives.all_gather([x], axis=0)[0], _numbers(count)
    )
    expected = [n for i in range(count) for n in (i + 1, 10)]
    for result in results:
      self.assertAllEqual(result, expected)

  @parameterized.parameters(0, 1, 2, -1, -3)
  def test_concatenates_along_any_axis(self, axis):
    collectives = _make(2)
    arguments = [
      (tf.reshape(tf.range(6) + 100 * i, [1, 2, 3]),) for i in range(2)
    ]
    results = _on_each(
      lambda x: collectives.all_gather([x], axis=axis)[0], arguments
    )
    for result in results:
      self.assertAllEqual(result, tf.concat([a for (a,) in arguments], axis))

  @parameterized.parameters(0, 1)
  def test_members_may_differ_in_size(self, axis):
    collectives = _make(3)
    shapes = [[2, 2], [2, 2], [2, 2]]
    for member, size in enumerate((3, 0, 1)):
      shapes[member][axis] = size
    arguments = [(tf.fill(shape, float(i)),) for i, shape in enumerate(shapes)]
    results = _on_each(
      lambda x: collectives.all_gather([x], axis=axis)[0],
      arguments,
      specs=[tf.TensorSpec([None, None])],
    )
    for result in results:
      self.assertAllEqual(result, tf.concat([a for (a,) in arguments], axis))

  def test_gathers_several(self):
    collectives = _make(2)
    results = _on_each(
      lambda x: collectives.all_gather([x, -x], axis=0), _numbers(2)
    )
    for positive, negative in results:
      self.assertAllEqual(positive, [1.0, 10.0, 2.0, 10.0])
      self.assertAllEqual(negative, [-1.0, -10.0, -2.0, -10.0])

  def test_works_in_a_loop(self):
    collectives = _make(2)

    def body(x):
      total = tf.zeros([])
      for _ in tf.range(3):
        (whole,) = collectives.all_gather([x], axis=0)
        total += tf.reduce_sum(whole)
      return total

    for result in _on_each(body, _numbers(2)):
      self.assertAllEqual(result, 69.0)


class TimeoutTest(tf.test.TestCase):
  def test_a_member_that_never_comes_is_an_error(self):
    # In a process of its own: after an error no collective works in it.
    program = """
      import tensorflow as tf
      from tests import logical_devices
      from stratagem.cross_device import collectives
      from stratagem.cross_device import reduce_op

      group = collectives.Collectives(
        logical_devices.full_names(2), timeout_seconds=1.0
      )

      @tf.function
      def alone(x):
        return group.all_reduce(reduce_op.ReduceOp.SUM, [x])

      try:
        with tf.device("CPU:0"):
          alone(tf.constant(1.0))
      except tf.errors.DeadlineExceededError as error:
        print("It took too long.")
    """
    ended = logical_devices.run_alone(
      textwrap.dedent(program), timeout_seconds=_DEADLINE_SECONDS
    )
    self.assertEqual(ended.returncode, 0, ended.stderr)
    self.assertIn("It took too long.", ended.stdout)


if __name__ == "__main__":
  tf.test.main()
