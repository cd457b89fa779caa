"""Outcomes as a table, as Markdown and as JSON."""

from collections.abc import Mapping, Sequence
import json
from typing import Any

from benchmarks import pair as pair_lib

_HEADER = (
  "benchmark",
  "first",
  "median",
  "second",
  "median",
  "ratio",
  "(range)",
  "target",
  "verdict",
)
_NOTE = (
  "ratio = first / second, the median over the turns; smaller is better. "
  "range = the smallest and the largest turn."
)


def quantity(value: float, unit: str) -> str:
  """`0.0123 s` as `12.3 ms`, `2**30 bytes` as `1.00 GiB`."""
  if unit == "bytes":
    return f"{value / 2**30:.2f} GiB"
  if unit != "s":
    raise ValueError(f"`unit` must be 's' or 'bytes', got {unit!r}.")
  for scale, suffix in ((1.0, "s"), (1e-3, "ms")):
    if value >= scale:
      return f"{value / scale:.3g} {suffix}"
  return f"{value * 1e6:.3g} us"


def verdict(outcome: pair_lib.Outcome) -> str:
  """`met`, `MISSED`, or nothing where there is no target."""
  return {True: "met", False: "MISSED", None: ""}[outcome.met]


def row(outcome: pair_lib.Outcome) -> tuple[str, ...]:
  """The cells of one outcome, in the order of the table's header."""
  pair = outcome.pair
  first, second = outcome.medians
  low, high = min(outcome.ratios), max(outcome.ratios)
  return (
    pair.name,
    str(pair.first),
    quantity(first, pair.unit),
    str(pair.second),
    quantity(second, pair.unit),
    f"{outcome.ratio:.2f}",
    f"({low:.2f}-{high:.2f})",
    "" if pair.target is None else f"<= {pair.target:.2f}",
    verdict(outcome),
  )


def _machine_line(machine: Mapping[str, str]) -> str:
  return "; ".join(f"{key}: {value}" for key, value in machine.items())


def text(
  outcomes: Sequence[pair_lib.Outcome], machine: Mapping[str, str]
) -> str:
  """The report for a terminal, its columns aligned."""
  rows = [_HEADER, *map(row, outcomes)]
  widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
  lines = [
    "  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip()
    for r in rows
  ]
  return "\n".join([_machine_line(machine), "", *lines, "", _NOTE])


def markdown(
  outcomes: Sequence[pair_lib.Outcome], machine: Mapping[str, str]
) -> str:
  """The report as a Markdown table."""
  rows = [_HEADER, ("---",) * len(_HEADER), *map(row, outcomes)]
  lines = ["| " + " | ".join(r) + " |" for r in rows]
  return "\n".join([_machine_line(machine), "", *lines, "", _NOTE, ""])


def as_json(
  outcomes: Sequence[pair_lib.Outcome], machine: Mapping[str, str]
) -> str:
  """The report with every single measurement."""

  def encode(outcome: pair_lib.Outcome) -> dict[str, Any]:
    return {
      "name": outcome.pair.name,
      "first": str(outcome.pair.first),
      "second": str(outcome.pair.second),
      "unit": outcome.pair.unit,
      "first_values": list(outcome.first),
      "second_values": list(outcome.second),
      "ratio": outcome.ratio,
      "target": outcome.pair.target,
      "met": outcome.met,
    }

  document = {"machine": dict(machine), "outcomes": list(map(encode, outcomes))}
  return json.dumps(document, indent=2) + "\n"
