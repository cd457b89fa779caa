"""The table: programs x strategies x modes, and what each case came to."""

from collections.abc import Iterator
import dataclasses
import enum
import importlib
import pkgutil
from typing import Any

from tests.conformance import comparison
from tests.conformance import differences
from tests.conformance import normal_form
from tests.conformance import program as program_lib
from tests.conformance import programs
from tests.conformance import runner

COLUMNS = tuple(
  (strategy, mode)
  for strategy in program_lib.EVERY
  for mode in (program_lib.EAGER, program_lib.FUNCTION)
)


class Verdict(enum.Enum):
  """What a case came to."""

  AGREE = "agree"
  DIFFERS = "differs"
  # Listed in `differences.py`, and found.
  DELIBERATE = "deliberate difference"
  # Listed in `differences.py`, but both sides agree.
  STALE = "listed as a difference, but agrees"
  # Stratagem lacks a name that the program requires; it was not run.
  MISSING = "not there yet"
  # The program itself fails upstream, so it shows nothing.
  BROKEN = "fails upstream"
  NOT_APPLICABLE = "not applicable"


# With these alone, a table is as it should be.
FINE = frozenset({Verdict.AGREE, Verdict.DELIBERATE, Verdict.MISSING})


@dataclasses.dataclass(frozen=True)
class Case:
  """One program with one strategy in one mode."""

  program: program_lib.Program
  strategy: str
  mode: str

  @property
  def name(self) -> str:
    """`<area>.<function>/<strategy>/<mode>`."""
    return f"{self.program.name}/{self.strategy}/{self.mode}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finding:
  """A case's verdict, with what there is to say about it."""

  case: Case
  verdict: Verdict
  details: tuple[str, ...] = ()
  trace: str = ""
  hung: bool = False


def all_programs() -> list[program_lib.Program]:
  """The programs of every area, in the order in which they stand."""
  found = []
  for module in pkgutil.iter_modules(programs.__path__):
    area = importlib.import_module(f"{programs.__name__}.{module.name}")
    found += [
      value
      for value in vars(area).values()
      if isinstance(value, program_lib.Program)
    ]
  return found


def cases_of(program: program_lib.Program) -> Iterator[Case]:
  """The cases of the table that a program has, in the order of `COLUMNS`."""
  for strategy, mode in COLUMNS:
    if strategy in program.strategies and mode in program.modes:
      yield Case(program, strategy, mode)


def all_cases() -> list[Case]:
  """The whole table."""
  return [case for program in all_programs() for case in cases_of(program)]


def judge(case: Case, *, upstream: Any, ours: Any) -> Finding:
  """Runs a case on both sides and compares."""
  lacking = case.program.lacks(ours)
  if lacking:
    return Finding(
      case=case,
      verdict=Verdict.MISSING,
      details=tuple(f"stratagem has no `{name}`" for name in lacking),
    )
  theirs = _run(case, upstream)
  if theirs.result is None:
    return Finding(
      case=case,
      verdict=Verdict.BROKEN,
      details=(theirs.failure,),
      trace=theirs.trace,
      hung=theirs.hung,
    )
  mine = _run(case, ours)
  found = _differences(
    case.program, theirs.result, mine, clearer=ours is not upstream
  )
  reason = differences.reason_of(case.name)
  if reason:
    verdict = Verdict.DELIBERATE if found else Verdict.STALE
    return Finding(case=case, verdict=verdict, details=(reason, *found))
  return Finding(
    case=case,
    verdict=Verdict.DIFFERS if found else Verdict.AGREE,
    details=tuple(found),
    trace=mine.trace,
    hung=mine.hung,
  )


def _run(case: Case, dist: Any) -> runner.Outcome:
  return runner.run(
    case.program, dist=dist, strategy=case.strategy, mode=case.mode
  )


def _differences(
  program: program_lib.Program,
  theirs: normal_form.Node,
  mine: runner.Outcome,
  clearer: bool,
) -> list[str]:
  if mine.result is None:
    return [f"stratagem fails, upstream does not: {mine.failure}"]
  return comparison.differences(
    theirs,
    mine.result,
    tolerance=program.tolerance,
    devices=program.devices,
    clearer=clearer,
  )
