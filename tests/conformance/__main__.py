"""Prints the table: `python -m tests.conformance --help`."""

import re
import sys

from absl import app
from absl import flags

from tests.conformance import report
from tests.conformance import sides
from tests.conformance import table
from tests.conformance import workers

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


def _wanted(case: table.Case) -> bool:
  in_area = _AREA.value in ("", case.program.area)
  return in_area and bool(re.search(_FILTER.value, case.name))


def main(argv: list[str]) -> None:
  """Judges the wanted cases, prints them, and fails if any differs."""
  if len(argv) > 1:
    raise app.UsageError(f"Unexpected arguments: {argv[1:]}.")
  cases = [case for case in table.all_cases() if _wanted(case)]
  rows = workers.judge_all(cases, ours=_OURS.value, jobs=_JOBS.value)
  print(report.FORMATS[_FORMAT.value](rows))
  if not {row.verdict for row in rows} <= table.FINE:
    sys.exit(1)


if __name__ == "__main__":
  app.run(main)
