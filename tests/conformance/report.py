"""The table in text, markdown and JSON."""

import collections
from collections.abc import Callable, Iterable, Sequence
import dataclasses
import json

from tests.conformance import table

_MARKS = {
  table.Verdict.AGREE: "=",
  table.Verdict.DIFFERS: "DIFFERS",
  table.Verdict.DELIBERATE: "deliberate",
  table.Verdict.STALE: "STALE",
  table.Verdict.MISSING: "not yet",
  table.Verdict.BROKEN: "BROKEN",
  table.Verdict.NOT_APPLICABLE: ".",
}
_LEGEND = "= agree, . not applicable"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
  """A finding in plain values, which can go from process to process."""

  program: str
  summary: str
  strategy: str
  mode: str
  verdict: table.Verdict
  details: tuple[str, ...]
  trace: str = ""
  hung: bool = False

  @classmethod
  def of(cls, finding: table.Finding) -> "Row":
    """The row of a finding."""
    return cls(
      program=finding.case.program.name,
      summary=finding.case.program.summary,
      strategy=finding.case.strategy,
      mode=finding.case.mode,
      verdict=finding.verdict,
      details=finding.details,
      trace=finding.trace,
      hung=finding.hung,
    )


def _header() -> list[str]:
  return ["program", *(f"{s} {m[0]}" for s, m in table.COLUMNS)]


def _lines(rows: Sequence[Row]) -> list[list[str]]:
  verdicts = {(r.program, r.strategy, r.mode): r.verdict for r in rows}
  return [
    [
      program,
      *(
        _MARKS[verdicts.get((program, *column), table.Verdict.NOT_APPLICABLE)]
        for column in table.COLUMNS
      ),
    ]
    for program in dict.fromkeys(row.program for row in rows)
  ]


def totals(rows: Sequence[Row]) -> str:
  """One sentence that counts programs, cases and verdicts."""
  counts = collections.Counter(row.verdict for row in rows)
  said = ", ".join(
    f"{counts[verdict]} {verdict.value}"
    for verdict in table.Verdict
    if counts[verdict]
  )
  programs = len({row.program for row in rows})
  return f"{programs} programs, {len(rows)} cases: {said}."


def _notes(rows: Iterable[Row]) -> list[str]:
  return [
    f"{row.program}/{row.strategy}/{row.mode}: {row.verdict.value}\n"
    + "\n".join(f"    {detail}" for detail in row.details)
    for row in rows
    if row.verdict is not table.Verdict.AGREE
  ]


def text(rows: Sequence[Row]) -> str:
  """The table in columns of equal width; differences told below it."""
  lines = [_header(), *_lines(rows)]
  widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
  grid = [
    "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip()
    for line in lines
  ]
  return "\n".join([*grid, "", _LEGEND, totals(rows), *_notes(rows)])


def markdown(rows: Sequence[Row]) -> str:
  """The table in GitHub's markdown; deliberate differences below it."""
  lines = [_header(), ["---"] * len(_header()), *_lines(rows)]
  grid = ["| " + " | ".join(line) + " |" for line in lines]
  notes = [f"- {note}" for note in _notes(rows)]
  return "\n".join([*grid, "", f"{_LEGEND}. {totals(rows)}", "", *notes])


def as_json(rows: Sequence[Row]) -> str:
  """A list of cases with everything there is to say about each."""
  return json.dumps(
    [{**dataclasses.asdict(r), "verdict": r.verdict.value} for r in rows],
    indent=2,
  )


FORMATS: dict[str, Callable[[Sequence[Row]], str]] = {
  "text": text,
  "markdown": markdown,
  "json": as_json,
}
