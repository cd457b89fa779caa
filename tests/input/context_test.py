"""What a `dataset_fn` is told."""

from absl.testing import parameterized
import tensorflow as tf

from stratagem.input import context as context_lib


class InputContextTest(tf.test.TestCase, parameterized.TestCase):
  def test_it_holds_what_it_was_given(self):
    context = context_lib.InputContext(3, 2, 4)
    self.assertEqual(context.num_input_pipelines, 3)
    self.assertEqual(context.input_pipeline_id, 2)
    self.assertEqual(context.num_replicas_in_sync, 4)

  @parameterized.parameters((32, 4, 8), (0, 4, 0), (7, 1, 7))
  def test_a_global_batch_is_divided(self, batch, replicas, part):
    context = context_lib.InputContext(num_replicas_in_sync=replicas)
    self.assertEqual(context.get_per_replica_batch_size(batch), part)

  def test_a_batch_that_cannot_be_divided_is_refused(self):
    context = context_lib.InputContext(num_replicas_in_sync=4)
    with self.assertRaisesRegex(
      ValueError, "got 30 for 4 replicas. Take 28 or 32."
    ):
      context.get_per_replica_batch_size(30)


if __name__ == "__main__":
  tf.test.main()
