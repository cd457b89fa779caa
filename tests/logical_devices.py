"""The logical CPU devices on which tests run several replicas.

Importing this module is enough: pytest imports every test module before it
runs the first test, hence before TensorFlow sets up its devices.
"""

import subprocess
import sys

import tensorflow as tf

COUNT = 8
# No test needs more; another module may have configured as few as these.
FEWEST = 4


def configure() -> None:
  """Splits the one CPU, unless it is split already."""
  (cpu,) = tf.config.list_physical_devices("CPU")
  if tf.config.get_logical_device_configuration(cpu) is None:
    part = tf.config.LogicalDeviceConfiguration()
    try:
      tf.config.set_logical_device_configuration(cpu, [part] * COUNT)
    except RuntimeError as error:
      raise RuntimeError(
        "TensorFlow had set up its devices before `tests.logical_devices` was "
        "imported. Import it in each test module that runs several replicas."
      ) from error
  have = len(tf.config.get_logical_device_configuration(cpu))
  if have < FEWEST:
    raise RuntimeError(
      f"The tests need {FEWEST} logical CPU devices; another module has "
      f"configured {have}."
    )


configure()


def names(count: int) -> list[str]:
  """The short names of the first `count` devices."""
  return [f"CPU:{index}" for index in range(count)]


def full_names(count: int) -> list[str]:
  """The full names of the first `count` devices."""
  task = "/job:localhost/replica:0/task:0"
  return [f"{task}/device:CPU:{index}" for index in range(count)]


def run_alone(
  program: str, timeout_seconds: float
) -> "subprocess.CompletedProcess[str]":
  """Runs a Python program in a process of its own, which has a deadline.

  Args:
    program: its text.
    timeout_seconds: after this long the process is killed.

  Returns:
    The process, ended, with all it wrote.
  """
  return subprocess.run(
    [sys.executable, "-c", program],
    capture_output=True,
    check=False,
    text=True,
    timeout=timeout_seconds,
  )
