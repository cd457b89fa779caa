"""Going through a distributed dataset, in Python and in a `tf.function`."""

from absl.testing import parameterized
import tensorflow as tf

from stratagem import input as input_lib
from tests.input import steps


def _dataset(size=7, batch=2, replicas=2, **kwargs):
  return input_lib.distribute_dataset(
    tf.data.Dataset.range(size).batch(batch, **kwargs), steps.devices(replicas)
  )


def _sum(step):
  return tf.add_n([tf.reduce_sum(part) for part in steps.components(step)])


class InPythonTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.parameters(1, 2, 4)
  def test_all_ways_take_the_next_step(self, replicas):
    iterator = iter(_dataset(batch=1, replicas=replicas))
    taken = [
      next(iterator),
      iterator.next(),
      iterator.get_next(),
      iterator.get_next_as_optional().get_value(),
    ]
    self.assertEqual([_sum(step).numpy() for step in taken], [0, 1, 2, 3])

  def test_the_end_is_told_as_by_upstream(self):
    iterator = iter(_dataset(size=2))
    next(iterator)
    with self.assertRaises(StopIteration):
      next(iterator)
    with self.assertRaises(StopIteration):
      iterator.next()
    with self.assertRaises(tf.errors.OutOfRangeError):
      iterator.get_next()
    self.assertFalse(iterator.get_next_as_optional().has_value())
    self.assertIsNone(next(iterator, None))

  def test_an_iterator_is_its_own_iterator(self):
    iterator = iter(_dataset())
    self.assertIs(iter(iterator), iterator)

  def test_iterators_are_equal_if_they_are_one(self):
    dataset = _dataset()
    self.assertNotEqual(iter(dataset), iter(dataset))
    self.assertLen({iter(dataset), iter(dataset)}, 2)

  def test_iterators_go_each_their_own_way(self):
    dataset = _dataset()
    one, other = iter(dataset), iter(dataset)
    next(one)
    self.assertEqual(_sum(next(one)).numpy(), 5)
    self.assertEqual(_sum(next(other)).numpy(), 1)

  def test_all_say_the_same_of_a_step(self):
    iterator = iter(_dataset())
    self.assertEqual(iterator.element_spec, _dataset().element_spec)
    optional = iterator.get_next_as_optional()
    self.assertEqual(optional.element_spec, iterator.element_spec)

  def test_a_step_is_made_as_its_class_makes_it(self):
    step = next(iter(_dataset()))
    self.assertEqual(
      tf.type_spec_from_value(step),
      tf.type_spec_from_value(type(step)(step.values)),
    )
    self.assertEqual(repr(step), repr(type(step)(step.values)))


class InAFunctionTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.parameters(1, 2, 4)
  def test_it_may_be_a_closure(self, replicas):
    iterator = iter(_dataset(replicas=replicas))

    @tf.function
    def add(count):
      total = tf.constant(0, tf.int64)
      for _ in tf.range(count):
        total += _sum(next(iterator))
      return total

    self.assertEqual(add(2).numpy(), 0 + 1 + 2 + 3)
    self.assertEqual(_sum(next(iterator)).numpy(), 4 + 5)
    with self.assertRaises(tf.errors.OutOfRangeError):
      add(2)

  @parameterized.parameters(1, 2, 4)
  def test_an_argument_is_traced_once(self, replicas):
    traces = []

    @tf.function
    def step(iterator):
      traces.append(1)
      return _sum(next(iterator))

    for size in (5, 8):
      iterator = iter(_dataset(size=size, replicas=replicas))
      total = sum(step(iterator).numpy() for _ in range((size + 1) // 2))
      self.assertEqual(total, sum(range(size)))
      with self.assertRaises(tf.errors.OutOfRangeError):
        step(iterator)
    self.assertLen(traces, 1)

  @parameterized.parameters(1, 2, 4)
  def test_a_loop_goes_to_the_end(self, replicas):
    @tf.function
    def add(iterator):
      total, count = tf.constant(0, tf.int64), 0
      for step in iterator:
        total += _sum(step)
        count += 1
      return total, count

    total, count = add(iter(_dataset(replicas=replicas)))
    self.assertEqual((total.numpy(), count.numpy()), (21, 4))

  def test_a_loop_may_be_left(self):
    @tf.function
    def first_above(iterator, least):
      found = tf.constant(-1, tf.int64)
      for step in iterator:
        if _sum(step) > least:
          found = _sum(step)
          break
      return found

    self.assertEqual(first_above(iter(_dataset()), 3).numpy(), 5)

  def test_an_optional_is_carried_through_a_loop(self):
    @tf.function
    def add(iterator):
      total = tf.constant(0, tf.int64)
      upcoming = iterator.get_next_as_optional()
      while upcoming.has_value():
        total += _sum(upcoming.get_value())
        upcoming = iterator.get_next_as_optional()
      return total

    self.assertEqual(add(iter(_dataset())).numpy(), 21)

  def test_it_may_be_made_there(self):
    dataset = _dataset()

    @tf.function
    def first():
      return _sum(next(iter(dataset)))

    self.assertEqual(first().numpy(), 1)

  @parameterized.parameters(
    (8, True, [4]), (7, True, [None]), (8, False, [None])
  )
  def test_shapes_are_static_where_they_can_be(self, batch, drop, shape):
    shapes = []

    @tf.function
    def step(iterator):
      shapes.extend(part.shape for part in next(iterator).values)

    dataset = _dataset(size=16, batch=batch, drop_remainder=drop)
    step(iter(dataset))
    self.assertEqual([s.as_list() for s in shapes], [shape, shape])

  def test_composite_steps_are_taken_there(self):
    dataset = tf.data.Dataset.range(4).map(tf.range).ragged_batch(4)
    iterator = iter(input_lib.distribute_dataset(dataset, steps.devices(2)))

    @tf.function
    def rows():
      return [part.row_lengths() for part in next(iterator).values]

    self.assertEqual([r.numpy().tolist() for r in rows()], [[0, 1], [2, 3]])


if __name__ == "__main__":
  tf.test.main()
