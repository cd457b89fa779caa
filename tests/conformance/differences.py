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

  def covers(self, case: str) -> bool:
    """Whether it shows in a case, `<area>.<function>/<strategy>/<mode>`."""
    program, _, rest = case.partition("/")
    return program == self.program and bool(re.fullmatch(self.cases, rest))


DELIBERATE: tuple[Difference, ...] = ()


def reason_of(case: str) -> str | None:
  """Why a case differs on purpose; None if it must agree.

  Args:
    case: `<area>.<function>/<strategy>/<mode>`.
  """
  return next((d.reason for d in DELIBERATE if d.covers(case)), None)
