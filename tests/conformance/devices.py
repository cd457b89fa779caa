"""The logical devices that every conformance process has."""

import tensorflow as tf
from tensorflow.python.eager import context

CPUS = 4


def configure() -> None:
  """Splits the one CPU into four, once a process, before anything runs."""
  (cpu,) = tf.config.list_physical_devices("CPU")
  if tf.config.get_logical_device_configuration(cpu) is None:
    part = tf.config.LogicalDeviceConfiguration()
    tf.config.set_logical_device_configuration(cpu, [part] * CPUS)
  have = len(tf.config.list_logical_devices("CPU"))
  if have != CPUS:
    raise RuntimeError(
      f"The conformance programs need {CPUS} logical CPU devices, and this "
      f"process has {have}. Run them in a process of their own."
    )


def recover() -> None:
  """Starts TensorFlow's runtime anew.

  A collective that failed aborts every later one in the process, and
  TensorFlow has no public way out but a new process.
  """
  context._reset_context()
  configure()
