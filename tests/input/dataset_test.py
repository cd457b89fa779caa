"""A dataset of which each step feeds all replicas."""

from absl.testing import parameterized
import tensorflow as tf

from stratagem import input as input_lib
from tests.input import steps


def _dataset(size=7, batch=2, replicas=2):
  return input_lib.distribute_dataset(
    tf.data.Dataset.range(size).batch(batch), steps.devices(replicas)
  )


def _sum(step):
  return tf.add_n([tf.reduce_sum(part) for part in steps.components(step)])


class DistributedDatasetTest(tf.test.TestCase, parameterized.TestCase):
  def test_it_is_what_tensorflow_takes_for_one(self):
    dataset = _dataset()
    self.assertIsInstance(dataset, tf.distribute.DistributedDataset)
    self.assertIsInstance(iter(dataset), tf.distribute.DistributedIterator)

  def test_each_epoch_is_shuffled_anew(self):
    distributed = input_lib.distribute_dataset(
      tf.data.Dataset.range(100).shuffle(100).batch(100), steps.devices(4)
    )
    epochs = []
    for _ in range(2):
      (step,) = steps.rows(distributed)
      epochs.append([row for part in step for row in part])
      self.assertCountEqual(epochs[-1], range(100))
    self.assertNotEqual(*epochs)

  def test_it_goes_with_zip_and_enumerate(self):
    counts = [index for index, _ in enumerate(_dataset())]
    self.assertEqual(counts, [0, 1, 2, 3])
    self.assertLen(list(zip(range(9), _dataset(), strict=False)), 4)

  def test_it_has_no_length_as_upstream_has_none(self):
    with self.assertRaisesRegex(TypeError, "no len"):
      len(_dataset())

  def test_datasets_are_equal_if_they_are_one(self):
    dataset = _dataset()
    self.assertEqual(dataset, dataset)
    self.assertLen({dataset, _dataset()}, 2)

  @parameterized.parameters(1, 2, 4)
  def test_a_function_loops_over_it_and_is_traced_once(self, replicas):
    traces = []

    @tf.function
    def add(dataset):
      traces.append(1)
      total, count = tf.constant(0, tf.int64), 0
      for step in dataset:
        total += _sum(step)
        count += 1
      return total, count

    for size, expected in ((7, 4), (7, 4), (9, 5)):
      total, count = add(_dataset(size=size, replicas=replicas))
      self.assertEqual(total.numpy(), sum(range(size)))
      self.assertEqual(count.numpy(), expected)
    self.assertLen(traces, 1)

  def test_a_function_may_distribute(self):
    @tf.function
    def add():
      total = tf.constant(0, tf.int64)
      for step in _dataset():
        total += _sum(step)
      return total

    self.assertEqual(add().numpy(), 21)

  def test_the_cardinality_is_not_known_in_a_function(self):
    dataset = _dataset()
    self.assertEqual(dataset.cardinality, 4)

    @tf.function
    def cardinality():
      return dataset.cardinality

    self.assertEqual(cardinality().numpy(), tf.data.UNKNOWN_CARDINALITY)


class ReduceTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.product(replicas=(1, 2, 4), in_graph=(False, True))
  def test_the_state_goes_through_all_steps(self, replicas, in_graph):
    dataset = _dataset(replicas=replicas)

    def reduce():
      return dataset.reduce(
        {"count": 0, "total": tf.constant(0, tf.int64)},
        lambda state, step: {
          "count": state["count"] + 1,
          "total": state["total"] + _sum(step),
        },
      )

    state = tf.function(reduce)() if in_graph else reduce()
    self.assertEqual(state["count"].numpy(), 4)
    self.assertEqual(state["total"].numpy(), 21)

  @parameterized.parameters(False, True)
  def test_of_no_step_it_is_the_initial_state(self, in_graph):
    dataset = _dataset(size=0)

    def reduce():
      return dataset.reduce(5, lambda state, step: state + 1)

    state = tf.function(reduce)() if in_graph else reduce()
    self.assertEqual(state.numpy(), 5)


if __name__ == "__main__":
  tf.test.main()
