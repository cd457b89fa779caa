"""How far two training runs are apart, and what each of them took."""

from collections.abc import Sequence
import dataclasses
import math
import statistics

from examples.digits import session

TOLERANCE = 1e-5


@dataclasses.dataclass(frozen=True, kw_only=True)
class Comparison:
  """The runs of both sides, as often as each was made.

  Attributes:
    ours: `stratagem`'s runs.
    upstream: `tf.distribute`'s runs.
  """

  ours: Sequence[session.Record]
  upstream: Sequence[session.Record]

  def __post_init__(self) -> None:
    lengths = {len(record.losses) for record in (*self.ours, *self.upstream)}
    if len(lengths) != 1 or 0 in lengths:
      raise ValueError(
        "Every run must have the same number of steps, 1 or more; got runs of "
        f"{sorted(lengths)} steps."
      )

  def differences(self) -> list[float]:
    """The largest relative difference of the losses, step by step."""
    return [
      max(relative_difference(one, other) for one in ours for other in upstream)
      for ours, upstream in zip(
        _by_step(self.ours), _by_step(self.upstream), strict=True
      )
    ]

  def worst(self) -> float:
    """The largest relative difference of all steps."""
    return max(self.differences())


def _by_step(records: Sequence[session.Record]) -> list[tuple[float, ...]]:
  """For each step, the loss of each run."""
  return list(zip(*(record.losses for record in records), strict=True))


def relative_difference(one: float, other: float) -> float:
  """How far apart two losses are, measured by the larger one.

  Infinite where either is no finite number: two runs that both broke down do
  not agree.
  """
  if not (math.isfinite(one) and math.isfinite(other)):
    return math.inf
  larger = max(abs(one), abs(other))
  return abs(one - other) / larger if larger else 0.0


def startup(records: Sequence[session.Record]) -> float:
  """Seconds from the strategy to the first loss: the median over the runs."""
  return statistics.median(record.startup_seconds for record in records)


def step_time(records: Sequence[session.Record]) -> float:
  """Seconds of a step, the median over all runs' steps but their first."""
  seconds = [s for record in records for s in record.step_seconds[1:]]
  return statistics.median(seconds) if seconds else math.nan


def table(comparison: Comparison, rows: int = 12) -> str:
  """The losses side by side at about `rows` steps, the last one among them."""
  ours, upstream = comparison.ours[0].losses, comparison.upstream[0].losses
  differences = comparison.differences()
  stride = max(1, len(ours) // rows)
  steps = sorted({*range(0, len(ours), stride), len(ours) - 1})
  lines = [f"{'step':>6} {'stratagem':>14} {'tf.distribute':>14}  apart"]
  lines += [
    f"{step + 1:>6} {ours[step]:>14.8f} {upstream[step]:>14.8f}  "
    f"{differences[step]:.1e}"
    for step in steps
  ]
  return "\n".join(lines)


def _timing(name: str, ours: float, upstream: float, unit: str) -> str:
  return (
    f"{name:<10} {ours:>10.3g} {unit:<2} {upstream:>10.3g} {unit:<2} "
    f"{ours / upstream:>7.2f}"
  )


def timings(comparison: Comparison) -> str:
  """Start-up and step times of both sides with their ratios."""
  ours, upstream = comparison.ours, comparison.upstream
  return "\n".join(
    [
      f"{'median':<10} {'stratagem':>13} {'tf.distribute':>13} {'ratio':>7}",
      _timing("start-up", startup(ours), startup(upstream), "s"),
      _timing("step", 1e3 * step_time(ours), 1e3 * step_time(upstream), "ms"),
      "Start-up is from making the strategy to the first loss: building the",
      "model, tracing and the first step. The process' imports are not in it.",
    ]
  )


def summary(comparison: Comparison) -> str:
  """Everything, for a terminal."""
  steps = len(comparison.ours[0].losses)
  accuracies = (
    comparison.ours[0].test_accuracy,
    comparison.upstream[0].test_accuracy,
  )
  return "\n".join(
    [
      table(comparison),
      "",
      f"Losses over {steps} steps are at most {comparison.worst():.1e} apart "
      f"(relative; {TOLERANCE:.0e} is allowed).",
      "Test accuracy: stratagem {:.4f}, tf.distribute {:.4f}.".format(
        *accuracies
      ),
      "",
      timings(comparison),
    ]
  )
