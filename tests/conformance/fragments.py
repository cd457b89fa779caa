"""What many programs begin with."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def replica_id(dist: Any, dtype: tf.DType = tf.float32) -> tf.Tensor:
  """The number of the running replica."""
  context = dist.get_replica_context()
  return tf.cast(context.replica_id_in_sync_group, dtype)


def spread(strategy: Any, make: Callable[[int], Any]) -> Any:
  """`make(i)` on each replica i, from outside `run`."""
  return strategy.experimental_distribute_values_from_function(
    lambda context: make(context.replica_id_in_sync_group)
  )


def discard(call: Callable[..., Any], *args: Any) -> None:
  """Calls and gives no result, whatever the two sides would give."""
  call(*args)


def kind(value: Any) -> str:
  """What sort of result a value is, for programs that only return that."""
  names = [base.__name__ for base in type(value).__mro__]
  for name in ("PerReplica", "Mirrored"):
    if name in names:
      return name
  return "tensor" if isinstance(value, tf.Tensor) else type(value).__name__
