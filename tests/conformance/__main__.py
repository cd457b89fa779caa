"""Prints the table: `python -m tests.conformance --help`."""

import collections
from concurrent import futures
import multiprocessing
import re
import sys

from absl import app
from absl import flags

from tests.conformance import devices
from tests.conformance import report
from tests.conformance import sides
from tests.conformance import table

_FILTER = flags.DEFINE_string(
  "filter", "", "Only cases whose `<area>.<program>/<strategy>/<mode>` matches."
)
_AREA = flags.DEFINE_string("area", "", "Only programs of this area.")
_FORMAT = flags.DEFINE_enum(
  "format", "text", list(report.FORMATS), "How to print the table."
)
_OURS = flags.DEFINE_enum(
  "ours",
  sides.OURS,
  [sides.OURS, sides.UPSTREAM],
  "What to compare with upstream; upstream itself shows that the programs"
  " are deterministic.",
)
_JOBS = flags.DEFINE_integer("jobs", 2, "How many processes.", lower_bound=1)


def _judge(name: str, ours: str) -> report.Row:
  case = next(case for case in _cases() if case.name == name)
  finding = table.judge(
    case, upstream=sides.load(sides.UPSTREAM), ours=sides.load(ours)
  )
  return report.Row.of(finding)


def _cases() -> list[table.Case]:
  return [
    case
    for program in table.all_programs()
    for case in table.cases_of(program)
  ]


def _wanted(case: table.Case) -> bool:
  in_area = _AREA.value in ("", case.program.area)
  return in_area and bool(re.search(_FILTER.value, case.name))


def main(argv: list[str]) -> None:
  """Judges the wanted cases, prints them, and fails if any differs."""
  if len(argv) > 1:
    raise app.UsageError(f"Unexpected arguments: {argv[1:]}.")
  names = [case.name for case in _cases() if _wanted(case)]
  with futures.ProcessPoolExecutor(
    max_workers=_JOBS.value,
    mp_context=multiprocessing.get_context("spawn"),
    initializer=devices.configure,
  ) as pool:
    rows = list(pool.map(_judge, names, [_OURS.value] * len(names)))
  print(report.FORMATS[_FORMAT.value](rows))
  counts = collections.Counter(row.verdict for row in rows)
  if counts.keys() - {table.Verdict.AGREE, table.Verdict.DELIBERATE}:
    sys.exit(1)


if __name__ == "__main__":
  app.run(main)
