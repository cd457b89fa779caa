"""TensorBoard scalars, where a directory for them was given."""

from collections.abc import Mapping

import tensorflow as tf


class Scalars:
  """Writes one set of scalars an epoch.

  Args:
    directory: TensorBoard's `--logdir`; nothing is written where it is None.
  """

  def __init__(self, directory: str | None) -> None:
    self._writer = (
      tf.summary.create_file_writer(directory)
      if directory
      else tf.summary.create_noop_writer()
    )

  def write(self, epoch: int, values: Mapping[str, float]) -> None:
    """Writes `values` at step `epoch`."""
    with self._writer.as_default(step=epoch):
      for name, value in values.items():
        tf.summary.scalar(name, value)
    self._writer.flush()
