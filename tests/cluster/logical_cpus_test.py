"""`make_logical_cpus`, each time in a process where TensorFlow is down."""

import textwrap

from absl.testing import parameterized
import tensorflow as tf

import stratagem as sg
from tests import logical_devices

# Ample: it is the time to import TensorFlow on a machine with much to do.
_DEADLINE_SECONDS = 120.0


class MakeLogicalCpusTest(tf.test.TestCase, parameterized.TestCase):
  def _assert_succeeds(self, program):
    ended = logical_devices.run_alone(
      "import tensorflow as tf\nimport stratagem as sg\n"
      + textwrap.dedent(program),
      timeout_seconds=_DEADLINE_SECONDS,
    )
    self.assertEqual(ended.returncode, 0, ended.stderr)

  def test_makes_them_and_may_be_called_again(self):
    self._assert_succeeds("""
      assert sg.make_logical_cpus(2) == ["CPU:0", "CPU:1"]
      assert sg.make_logical_cpus(3) == ["CPU:0", "CPU:1", "CPU:2"]
      assert len(tf.config.list_logical_devices("CPU")) == 3
      assert sg.make_logical_cpus(2) == ["CPU:0", "CPU:1"]
      assert len(tf.config.list_logical_devices("CPU")) == 3
      strategy = sg.MirroredStrategy(sg.make_logical_cpus(3))
      assert strategy.num_replicas_in_sync == 3
    """)

  def test_says_to_come_first_when_tensorflow_is_up(self):
    self._assert_succeeds("""
      tf.constant(1.0)
      assert sg.make_logical_cpus(1) == ["CPU:0"]
      try:
        sg.make_logical_cpus(2)
      except RuntimeError as error:
        assert "make_logical_cpus(2)" in str(error), error
        assert "with 1 logical CPU" in str(error), error
        assert "start of the program" in str(error), error
      else:
        raise AssertionError("No error was raised.")
    """)

  @parameterized.parameters(0, -1)
  def test_refuses_less_than_one(self, count):
    with self.assertRaisesRegex(
      ValueError, f"`count` must be at least 1; got {count}"
    ):
      sg.make_logical_cpus(count)

  def test_is_content_with_the_devices_there_are(self):
    made = sg.make_logical_cpus(logical_devices.FEWEST)
    self.assertEqual(made, logical_devices.names(logical_devices.FEWEST))


if __name__ == "__main__":
  tf.test.main()
