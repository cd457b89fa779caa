"""Who has come to a collective operation, and for whom the others wait.

TensorFlow's own message says that a collective timed out, and not who was
missing. Each member counts the collectives it comes to; while some wait, the
counts differ.
"""

from collections.abc import Callable
import itertools
import threading
import time

from absl import logging
import tensorflow as tf

from stratagem.cross_device import resources

_serial = itertools.count()


class Arrivals:
  """The number of collectives that each member has come to.

  Args:
    size: how many members there are.
    warn_seconds: after how long a wait to log who is missing. None to leave
      it to whoever asks.
  """

  def __init__(self, size: int, warn_seconds: float | None) -> None:
    self._size = size
    self._warn_seconds = warn_seconds
    self._counts: resources.PerReplicaResource | None = None

  def count(self, member: int) -> tf.Operation | None:
    """Counts one arrival of a member, as part of what it runs."""
    if self._counts is None:
      self._start()
    assert self._counts is not None
    return tf.raw_ops.AssignAddVariableOp(
      resource=self._counts.handles[member], value=tf.constant(1, tf.int64)
    )

  def _start(self) -> None:
    serial = next(_serial)
    with tf.init_scope(), tf.device("/device:CPU:0"):
      handles = [_variable(serial, member) for member in range(self._size)]
      self._counts = resources.PerReplicaResource(handles)
    if self._warn_seconds is not None:
      watch = threading.Thread(
        target=_watch, args=(self.read, self._warn_seconds), daemon=True
      )
      watch.start()

  def read(self) -> list[int]:
    """How often each member has arrived; in eager mode."""
    if self._counts is None:
      return [0] * self._size
    with tf.init_scope(), tf.device("/device:CPU:0"):
      return [
        int(tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.int64))
        for handle in self._counts.handles
      ]

  def explain(self, timeout_seconds: float) -> str | None:
    """Says for whom a collective has waited; None if for nobody."""
    missing = late(self.read())
    if not missing:
      return None
    who = (
      f"replica {missing[0]} did not come to it"
      if len(missing) == 1
      else f"replicas {missing} did not come to it"
    )
    return (
      "`all_reduce` and `all_gather` must be called by all replicas the same "
      f"number of times; the others waited {timeout_seconds:g} s for one "
      f"call, and {who}. Move "
      "the call out of the condition or loop that the replicas decide "
      "differently. TensorFlow makes no further collective in this process; "
      "restart it."
    )


def late(counts: list[int]) -> list[int]:
  """The members that have arrived less often than others."""
  return [m for m, count in enumerate(counts) if count < max(counts)]


def _variable(serial: int, member: int) -> tf.Tensor:
  # Not a `tf.Variable`, which a strategy's scope would make its own.
  handle = tf.raw_ops.VarHandleOp(
    dtype=tf.int64,
    shape=[],
    shared_name=f"stratagem_arrivals_{serial}_{member}",
  )
  zero = tf.constant(0, tf.int64)
  tf.raw_ops.AssignVariableOp(resource=handle, value=zero)
  return handle


def _watch(read: Callable[[], list[int]], warn_seconds: float) -> None:
  """Logs, once for each wait, who is missing for too long."""
  seen, since, told = read(), time.monotonic(), False
  while True:
    time.sleep(min(1.0, warn_seconds / 4))
    counts = read()
    if counts != seen:
      seen, since, told = counts, time.monotonic(), False
    waited = time.monotonic() - since
    if late(counts) and waited > warn_seconds and not told:
      told = True
      logging.error(
        "stratagem: some replicas wait in `all_reduce` or `all_gather` for "
        "%.0f s. Those that have not come: %s.",
        waited,
        late(counts),
      )
