"""Names of devices."""

from absl.testing import parameterized
import tensorflow as tf

from stratagem.cluster import devices
from tests import logical_devices

_LOCAL = "/job:localhost/replica:0/task:0"


def _machine(*names):
  """A lister of the devices of a machine that isn't there."""
  return lambda: [f"{_LOCAL}/device:{name}" for name in names]


_TWO_GPUS = _machine("CPU:0", "GPU:0", "GPU:1")


class CanonicalTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(
    ("short", "GPU:1"),
    ("in_lower_case", "gpu:1"),
    ("with_a_slash", "/gpu:1"),
    ("with_the_word_device", "/device:GPU:1"),
    ("full", f"{_LOCAL}/device:GPU:1"),
    ("with_the_job_alone", "/job:localhost/device:GPU:1"),
  )
  def test_completes_a_name(self, name):
    self.assertEqual(devices.canonical(name), f"{_LOCAL}/device:GPU:1")

  def test_keeps_the_task_of_another_machine(self):
    self.assertEqual(
      devices.canonical("/job:worker/task:3/gpu:2"),
      "/job:worker/replica:0/task:3/device:GPU:2",
    )

  def test_of_a_full_name_is_that_name(self):
    for name in logical_devices.full_names(4):
      self.assertEqual(devices.canonical(name), name)

  @parameterized.named_parameters(
    ("empty", ""),
    ("a_word", "nonsense"),
    ("no_type", "/job:worker/task:1"),
    ("an_index_that_is_no_number", "GPU:one"),
    ("an_unknown_part", "/planet:earth/GPU:0"),
  )
  def test_refuses_what_names_no_device(self, name):
    with self.assertRaisesRegex(
      ValueError, rf"must be named by its type and index.*got '{name}'"
    ):
      devices.canonical(name)

  def test_type_of_is_in_capitals(self):
    self.assertEqual(devices.type_of(devices.canonical("gpu:1")), "GPU")


class ListLocalTest(tf.test.TestCase):
  def test_gives_full_names_in_order(self):
    expected = logical_devices.full_names(logical_devices.FEWEST)
    listed = devices.list_local("CPU")
    self.assertEqual(listed[: len(expected)], expected)

  def test_gives_nothing_of_a_type_that_is_not_there(self):
    self.assertEqual(devices.list_local("TPU"), [])

  def test_gives_all_types_by_default(self):
    self.assertContainsSubset(devices.list_local("CPU"), devices.list_local())


class ResolveTest(tf.test.TestCase, parameterized.TestCase):
  def test_completes_the_names_and_keeps_their_order(self):
    self.assertEqual(
      devices.resolve(["gpu:1", "/GPU:0"], available=_TWO_GPUS),
      (f"{_LOCAL}/device:GPU:1", f"{_LOCAL}/device:GPU:0"),
    )

  def test_takes_a_tuple(self):
    resolved = devices.resolve(("GPU:0",), available=_TWO_GPUS)
    self.assertEqual(resolved, (f"{_LOCAL}/device:GPU:0",))

  def test_lists_this_machine_by_default(self):
    resolved = devices.resolve(logical_devices.names(2))
    self.assertEqual(resolved, tuple(logical_devices.full_names(2)))

  def test_leaves_devices_of_other_tasks_to_them(self):
    name = "/job:worker/replica:0/task:1/device:GPU:7"
    self.assertEqual(devices.resolve([name], available=_TWO_GPUS), (name,))

  def test_says_which_device_is_missing_and_which_there_are(self):
    with self.assertRaisesRegex(
      ValueError, "there is no `GPU:2`.*It has `CPU:0`, `GPU:0`, `GPU:1`"
    ):
      devices.resolve(["GPU:0", "GPU:2"], available=_TWO_GPUS)

  def test_tells_of_logical_cpus_where_a_cpu_is_missing(self):
    with self.assertRaisesRegex(
      ValueError, r"there is no `CPU:1`.*sg\.make_logical_cpus\(2\)"
    ):
      devices.resolve(["CPU:0", "CPU:1"], available=_machine("CPU:0"))

  def test_does_not_tell_of_logical_cpus_where_a_gpu_is_missing(self):
    with self.assertRaises(ValueError) as caught:
      devices.resolve(["GPU:0"], available=_machine("CPU:0"))
    self.assertNotIn("make_logical_cpus", str(caught.exception))

  @parameterized.named_parameters(
    ("alike", ["GPU:0", "GPU:0"]),
    ("in_two_forms", ["GPU:0", "/device:gpu:0"]),
  )
  def test_refuses_a_device_twice(self, names):
    with self.assertRaisesRegex(
      ValueError, "name each device once; got `GPU:0` more than once"
    ):
      devices.resolve(names, available=_TWO_GPUS)

  def test_refuses_devices_of_several_types(self):
    with self.assertRaisesRegex(
      ValueError, r"all be of one type; got CPU and GPU in \['GPU:0', 'CPU:0'\]"
    ):
      devices.resolve(["GPU:0", "CPU:0"], available=_TWO_GPUS)

  def test_refuses_an_empty_list(self):
    with self.assertRaisesRegex(ValueError, "at least one.*an empty list"):
      devices.resolve([], available=_TWO_GPUS)

  @parameterized.named_parameters(
    ("one_name", "GPU:0"),
    ("numbers", [0, 1]),
    ("a_number", 2),
    ("nothing", None),
  )
  def test_refuses_what_is_no_list_of_names(self, given):
    with self.assertRaisesRegex(
      (TypeError, ValueError), "must be a list of device names"
    ):
      devices.resolve(given, available=_TWO_GPUS)


if __name__ == "__main__":
  tf.test.main()
