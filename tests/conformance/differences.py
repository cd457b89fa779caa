"""Where stratagem differs from `tf.distribute` on purpose, and why."""

import dataclasses
import re


@dataclasses.dataclass(frozen=True, kw_only=True)
class Difference:
  """A deliberate difference.

  Attributes:
    program: The program that shows it, `<area>.<function>`.
    cases: Regular expression of the cases, `<strategy>/<mode>`, it shows in.
    reason: Why stratagem's behaviour is better.
  """

  program: str
  cases: str = ".*"
  reason: str


DELIBERATE: tuple[Difference, ...] = ()


def reason_of(case: str) -> str | None:
  """Why a case differs on purpose; None if it must agree.

  Args:
    case: `<area>.<function>/<strategy>/<mode>`.
  """
  program, _, rest = case.partition("/")
  for difference in DELIBERATE:
    if difference.program == program and re.fullmatch(difference.cases, rest):
      return difference.reason
  return None
