"""`train_digits.py`, run for real."""

import contextlib
import functools
import json
import os
import pathlib
import tempfile
from unittest import mock

from absl import flags
from absl.testing import flagsaver
from absl.testing import parameterized
import pytest
import tensorflow as tf

from examples import train_digits  # It defines the flags.
from examples.digits import comparison as comparison_lib
from examples.digits import session
from examples.digits import sides
from tests.examples import programs

_STEPS_PER_EPOCH = 23  # 1,437 digits in batches of 64: the last one has 29.


def train(*arguments: str, succeed: bool = True) -> str:
  """What the program said; the test fails where its exit code surprises."""
  finished = programs.run("examples/train_digits.py", *arguments)
  if (finished.returncode == 0) != succeed:
    raise AssertionError(
      f"Exit code {finished.returncode}.\n{finished.stdout}\n{finished.stderr}"
    )
  return finished.stdout + finished.stderr


def train_and_record(*arguments: str) -> tuple[str, dict]:
  """What the program said, and what it measured."""
  with tempfile.TemporaryDirectory() as directory:
    result = pathlib.Path(directory, "record.json")
    said = train(*arguments, f"--result={result}")
    return said, json.loads(result.read_text())


def read_scalars(logdir: str) -> dict[str, dict[int, float]]:
  """By tag and step, every scalar in the event files of `logdir`."""
  scalars: dict[str, dict[int, float]] = {}
  files = tf.io.gfile.glob(os.path.join(logdir, "events.out.*"))
  for serialized in tf.data.TFRecordDataset(files):
    event = tf.compat.v1.Event.FromString(serialized.numpy())
    for value in event.summary.value:
      scalar = float(tf.make_ndarray(value.tensor))
      scalars.setdefault(value.tag, {})[event.step] = scalar
  return scalars


@functools.cache
def default_run() -> tuple[str, dict, dict[str, dict[int, float]]]:
  """What a run with the default flags said, measured and logged."""
  with tempfile.TemporaryDirectory() as logdir:
    said, record = train_and_record(f"--logdir={logdir}")
    return said, record, read_scalars(logdir)


class DefaultRunTest(tf.test.TestCase):
  def test_it_reaches_96_percent_on_the_test_digits(self):
    said, record, _ = default_run()
    self.assertGreaterEqual(record["test_accuracy"], 0.96)
    self.assertIn(f"Test accuracy: {record['test_accuracy']:.4f}", said)

  def test_every_epoch_shows_a_full_bar_and_its_figures(self):
    said, _, _ = default_run()
    self.assertRegex(
      said, r"Epoch 15/15 \[=+\] 23/23  loss 0\.\d+  accuracy 0\.\d+  \d+ image"
    )

  def test_the_last_partial_batch_is_trained_on(self):
    _, record, _ = default_run()
    self.assertLen(record["losses"], 15 * _STEPS_PER_EPOCH)

  def test_the_event_file_holds_each_epochs_scalars(self):
    _, record, scalars = default_run()
    for tag in ("loss", "accuracy", "images_per_second"):
      self.assertEqual(sorted(scalars[tag]), list(range(1, 16)), tag)
    self.assertLess(scalars["loss"][15], 0.1)
    self.assertGreater(scalars["accuracy"][15], 0.97)
    self.assertGreater(scalars["images_per_second"][15], 0)
    self.assertAllClose(scalars["test_accuracy"], {15: record["test_accuracy"]})

  def test_the_logged_loss_is_the_mean_over_all_digits(self):
    _, record, scalars = default_run()
    mean = sum(record["losses"][:_STEPS_PER_EPOCH]) * 64 / 1437
    self.assertAllClose(scalars["loss"][1], mean, rtol=1e-5)


class CheckpointTest(tf.test.TestCase):
  def test_a_resumed_run_equals_one_without_a_stop(self):
    _, uninterrupted, _ = default_run()
    flag = f"--checkpoint_dir={self.get_temp_dir()}"
    said, first = train_and_record("--epochs=1", flag)
    self.assertRegex(said, r"Saved epoch 1 to .*ckpt-1\.")
    self.assertNotIn("Resumed", said)

    said, rest = train_and_record("--epochs=3", flag)
    self.assertRegex(said, r"Resumed after epoch 1 from .*ckpt-1\.")
    self.assertNotIn("Epoch 1/3", said)
    self.assertRegex(said, r"Saved epoch 3 to .*ckpt-3\.")
    self.assertAllClose(
      first["losses"] + rest["losses"],
      uninterrupted["losses"][: 3 * _STEPS_PER_EPOCH],
      rtol=1e-6,
      atol=0,
    )


@pytest.mark.multiprocess
class CompareTest(parameterized.TestCase):
  @parameterized.parameters("--strategy=one_device", "--replicas=4")
  def test_the_losses_are_those_of_tf_distribute(self, flag):
    said = train(flag, "--compare", "--compare_rounds=1", "--epochs=2")
    self.assertRegex(
      said, r"Losses over 46 steps are at most \d\.\de[-+]\d\d apart"
    )
    self.assertRegex(said, r"start-up +[\d.]+ s +[\d.]+ s +[\d.]+\n")
    self.assertRegex(said, r"step +[\d.]+ ms +[\d.]+ ms +[\d.]+\n")


class BadFlagsTest(parameterized.TestCase):
  @parameterized.named_parameters(
    (
      "replicas_on_one_device",
      ["--strategy=one_device", "--replicas=2"],
      "one_device must have --replicas=1",
    ),
    ("no_replica", ["--replicas=0"], "0 is not a positive integer"),
    ("no_epoch", ["--epochs=0"], "0 is not a positive integer"),
    (
      "an_unknown_strategy",
      ["--strategy=telepathic"],
      "should be one of <one_device|mirrored>",
    ),
    (
      "a_batch_too_small_for_the_replicas",
      ["--replicas=8", "--global_batch_size=4"],
      "--global_batch_size must be --replicas or more",
    ),
    (
      "a_comparison_with_checkpoints",
      ["--compare", "--checkpoint_dir=somewhere"],
      "leave out --logdir and --checkpoint_dir",
    ),
  )
  def test_is_refused(self, arguments, message):
    with (
      flagsaver.flagsaver(),
      self.assertRaisesRegex(flags.IllegalFlagValueError, message),
    ):
      flags.FLAGS(["train_digits.py", *arguments])

  def test_the_program_says_so_and_trains_nothing(self):
    said = train("--strategy=one_device", "--replicas=2", succeed=False)
    self.assertIn("--strategy=one_device must have --replicas=1", said)
    self.assertNotIn("Epoch", said)


class ToleranceTest(parameterized.TestCase):
  @parameterized.parameters((1 + 0.9e-5, None), (1 + 1.2e-5, "are 1.2e-05"))
  def test_losses_may_be_1e_5_apart(self, loss, refusal):
    def record(loss):
      return session.Record(
        losses=[loss],
        step_seconds=[1.0],
        startup_seconds=1.0,
        test_accuracy=1.0,
      )

    comparison = comparison_lib.Comparison(
      ours=[record(loss)], upstream=[record(1.0)]
    )
    with (
      mock.patch.object(sides, "compare", return_value=comparison),
      flagsaver.flagsaver(),
      self.assertRaisesRegex(SystemExit, refusal)
      if refusal
      else contextlib.nullcontext(),
    ):
      train_digits.main(flags.FLAGS(["train_digits.py", "--compare"]))


if __name__ == "__main__":
  tf.test.main()
