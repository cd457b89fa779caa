"""How the replicas are to be fed."""

import dataclasses
import enum
from typing import Any

import tensorflow as tf


class InputReplicationMode(enum.Enum):
  """How many input pipelines there are.

  References:
    Mirrors `tf.distribute.InputReplicationMode` (2.21).
  """

  PER_WORKER = "PER_WORKER"  # One a worker; its batches go to its replicas.
  PER_REPLICA = "PER_REPLICA"  # One a replica, each made by `dataset_fn`.

  @classmethod
  def from_any(cls, mode: object) -> "InputReplicationMode":
    """Reads a mode from what users write.

    Args:
      mode: an `InputReplicationMode`, tf.distribute's, or a name.

    Returns:
      The member meant.

    Raises:
      ValueError: if `mode` names no mode.
    """
    name = mode.name if isinstance(mode, enum.Enum) else mode
    if isinstance(name, str) and name.upper() in cls.__members__:
      return cls[name.upper()]
    raise ValueError(
      "`experimental_replication_mode` must be "
      "`InputReplicationMode.PER_WORKER` or "
      f"`InputReplicationMode.PER_REPLICA`; got {mode!r}."
    )


@dataclasses.dataclass(frozen=True)
class InputOptions:
  """How the replicas are to be fed.

  Attributes:
    experimental_fetch_to_device: whether each replica's part is put on the
      replica's device, which None means too; else it stays on the host.
    experimental_replication_mode: one input pipeline for all replicas of a
      worker, or one for each replica. The latter is for
      `distribute_datasets_from_function` alone.
    experimental_place_dataset_on_device: whether `dataset_fn` is called with
      the replica's device in force. For `PER_REPLICA` alone, and with
      `experimental_fetch_to_device=False`.
    experimental_per_replica_buffer_size: how many steps are prepared ahead; 0
      for none, `tf.data.AUTOTUNE` for as many as serve.

  Example:
    >>> InputOptions(
    ...   experimental_per_replica_buffer_size=2
    ... ).experimental_fetch_to_device
    True

  References:
    Mirrors `tf.distribute.InputOptions` (2.21), but is a dataclass and not a
    named tuple, and is checked when it is made.
  """

  experimental_fetch_to_device: bool | None = None
  experimental_replication_mode: InputReplicationMode = (
    InputReplicationMode.PER_WORKER
  )
  experimental_place_dataset_on_device: bool = False
  experimental_per_replica_buffer_size: int = 1

  def __post_init__(self) -> None:
    """Checks each option, and writes out what its short forms mean."""
    if self.experimental_fetch_to_device is None:
      object.__setattr__(self, "experimental_fetch_to_device", True)
    mode = InputReplicationMode.from_any(self.experimental_replication_mode)
    object.__setattr__(self, "experimental_replication_mode", mode)
    _check_buffer_size(self.experimental_per_replica_buffer_size)

  @classmethod
  def from_any(cls, options: Any) -> "InputOptions":
    """Reads options from what users pass.

    Args:
      options: `InputOptions`, ours or tf.distribute's, or None for defaults.

    Returns:
      The options meant.

    Raises:
      TypeError: if `options` is anything else.
    """
    if options is None:
      return cls()
    if isinstance(options, cls):
      return options
    if isinstance(options, tf.distribute.InputOptions):
      names = [field.name for field in dataclasses.fields(cls)]
      return cls(**{name: getattr(options, name) for name in names})
    raise TypeError(
      f"`options` must be an `sg.InputOptions` or None; got {options!r}."
    )


def _check_buffer_size(size: object) -> None:
  if not isinstance(size, int) or isinstance(size, bool):
    raise TypeError(
      f"`experimental_per_replica_buffer_size` must be an int; got {size!r}."
    )
  if size < 0 and size != tf.data.AUTOTUNE:
    raise ValueError(
      "`experimental_per_replica_buffer_size` must be 0 or more, or "
      f"`tf.data.AUTOTUNE`; got {size}."
    )
