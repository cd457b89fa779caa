"""The digits, their order, and the progress bar."""

import io

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from examples.digits import data
from examples.digits import progress
from examples.digits import replication


class DataTest(tf.test.TestCase):
  def test_train_and_test_digits_are_all_the_digits_once(self):
    train, test = data.load()
    self.assertLen(train, 1437)
    self.assertLen(test, 360)
    images = np.concatenate([train.images, test.images])
    self.assertEqual(images.shape, (1797, 8, 8, 1))
    self.assertEqual((images.min(), images.max()), (0.0, 1.0))

  def test_the_split_is_always_the_same(self):
    self.assertAllEqual(data.load()[1].labels, data.load()[1].labels)

  def test_the_order_follows_from_the_epoch(self):
    train, _ = data.load()

    def first_labels(epoch):
      return next(iter(data.shuffled(train, 64, epoch)))[1]

    self.assertAllEqual(first_labels(1), first_labels(1))
    self.assertNotAllEqual(first_labels(1), first_labels(2))

  def test_the_last_batch_is_kept(self):
    train, _ = data.load()
    sizes = [len(labels) for _, labels in data.batches(train, 64)]
    self.assertLen(sizes, data.count(train, 64))
    self.assertEqual(sizes[-1], 1437 % 64)


class GpuNamesTest(parameterized.TestCase):
  @parameterized.parameters(
    (2, 0, []), (2, 2, ["GPU:0", "GPU:1"]), (1, 2, ["GPU:0"])
  )
  def test_the_first_gpus_are_taken(self, replicas, gpus, names):
    self.assertEqual(replication.gpu_names(replicas, gpus), names)

  def test_too_few_gpus_are_refused(self):
    with self.assertRaisesRegex(ValueError, "--replicas=4, found 2.*Ask for 2"):
      replication.gpu_names(4, 2)


class ProgressTest(parameterized.TestCase):
  @parameterized.parameters(
    (0, "[>         ]"), (5, "[=====>    ]"), (10, "[==========]")
  )
  def test_the_bar_fills(self, done, bar):
    self.assertEqual(progress.bar(done, 10, width=10), bar)

  def test_a_file_gets_the_finished_epoch_only(self):
    stream = io.StringIO()
    shown = progress.Progress("Epoch 1/2", 3, stream)
    shown.step(1, "loss 2")
    shown.finish("loss 1")
    self.assertRegex(stream.getvalue(), r"^Epoch 1/2 \[=+\] 3/3  loss 1\n$")

  def test_a_terminal_gets_every_step_on_one_line(self):
    stream = io.StringIO()
    stream.isatty = lambda: True
    shown = progress.Progress("Epoch 1/2", 2, stream)
    shown.step(1, "loss 2")
    shown.finish("loss 1")
    self.assertEqual(stream.getvalue().count("\r"), 2)
    self.assertEqual(stream.getvalue().count("\n"), 1)


if __name__ == "__main__":
  tf.test.main()
