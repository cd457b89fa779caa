"""The logical devices that every conformance process has."""

import tensorflow as tf
from tensorflow.python.eager import context

from tests import logical_devices


def configure() -> None:
  """Splits the one CPU into several, before anything runs, and begins."""
  logical_devices.configure()
  tf.config.list_logical_devices("CPU")


def recover() -> None:
  """Starts TensorFlow's runtime anew.

  A collective that failed aborts every later one in the process, and
  TensorFlow has no public way out but a new process.
  """
  context._reset_context()
  configure()
