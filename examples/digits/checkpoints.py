"""Saving each epoch, and going on after the last one saved."""

import tensorflow as tf

from examples.digits import training

_KEPT = 3


class Checkpoints:
  """Model, optimizer and the number of finished epochs, in a directory.

  Args:
    trainer: whose model and optimizer to save.
    directory: where to; nothing is saved or restored where it is None.
  """

  def __init__(self, trainer: training.Trainer, directory: str | None) -> None:
    self._finished = tf.Variable(0, dtype=tf.int64, trainable=False)
    checkpoint = tf.train.Checkpoint(
      model=trainer.model,
      optimizer=trainer.optimizer,
      finished_epochs=self._finished,
    )
    self._manager = directory and tf.train.CheckpointManager(
      checkpoint, directory, max_to_keep=_KEPT
    )

  def resume(self) -> int:
    """Restores the newest checkpoint, if any; the number of finished epochs."""
    path = self._manager and self._manager.restore_or_initialize()
    if not path:
      return 0
    finished = int(self._finished.numpy())
    print(f"Resumed after epoch {finished} from {path}.")
    return finished

  def save(self, finished_epochs: int) -> None:
    """Saves, if there is a directory to save to."""
    if not self._manager:
      return
    self._finished.assign(finished_epochs)
    path = self._manager.save(checkpoint_number=finished_epochs)
    print(f"Saved epoch {finished_epochs} to {path}.")
