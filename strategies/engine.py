"""Chooses how a function is run on all replicas."""

from collections.abc import Callable
import dataclasses
import enum
from typing import Any, TYPE_CHECKING

from absl import logging
import tensorflow as tf

from stratagem.strategies import per_replica
from stratagem.strategies import trace_once

if TYPE_CHECKING:
  from stratagem.strategies import extended as extended_lib


class Engine(enum.Enum):
  """How a function was run on all replicas."""

  TRACE_ONCE = "trace once"  # Traced once, called for every replica.
  PER_REPLICA = "per replica"  # Run once for every replica.


@dataclasses.dataclass(frozen=True)
class Report:
  """How the last function was run.

  Attributes:
    engine: which engine ran it.
    reason: why that one.
  """

  engine: Engine
  reason: str


def run(
  extended: "extended_lib.StrategyExtended",
  fn: Callable[..., Any],
  args: tuple[Any, ...],
  kwargs: dict[str, Any],
) -> Any:
  """Runs `fn` on every replica of `extended`. See `Strategy.run`."""
  report, result = _run(extended, fn, args, kwargs)
  extended.last_run = report
  return result


def _run(
  extended: "extended_lib.StrategyExtended",
  fn: Callable[..., Any],
  args: tuple[Any, ...],
  kwargs: dict[str, Any],
) -> tuple[Report, Any]:
  if tf.executing_eagerly():
    reason = "eager mode"
  elif extended.num_replicas_in_sync == 1:
    reason = "there is one replica"
  else:
    try:
      result = trace_once.run(extended, fn, args, kwargs)
      reason = "part of a `tf.function`"
      return Report(Engine.TRACE_ONCE, reason), result
    except Exception as error:
      # Whatever went wrong, the other engine does it as upstream does, and
      # raises what there is to raise.
      reason = f"not traced once: {error}"
      logging.vlog(1, "stratagem: %s", reason)
  result = per_replica.run(extended, fn, args, kwargs)
  return Report(Engine.PER_REPLICA, reason), result
