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


_SEVERAL = "mirrored[24]/.*"
_MIRRORED = "mirrored.*"

DELIBERATE = (
  Difference(
    program="all_gather.negative_axis",
    cases=_SEVERAL,
    reason="A negative axis counts from the end, as it does in `tf.concat`.",
  ),
  Difference(
    program="all_gather.booleans",
    cases=_SEVERAL,
    reason="Booleans can be gathered; upstream's collective takes numbers.",
  ),
  Difference(
    program="all_gather.strings",
    cases=_SEVERAL,
    reason="Strings can be gathered; upstream's collective takes numbers.",
  ),
  Difference(
    program="all_reduce.an_empty_nest",
    cases=_MIRRORED,
    reason="Nothing reduces to nothing; upstream raises an AttributeError.",
  ),
  Difference(
    program="all_reduce.several_integers",
    cases=_SEVERAL,
    reason=(
      "Several int32 tensors can be reduced at once, as one can; upstream"
      " takes some for being on the host and refuses."
    ),
  ),
  Difference(
    program="all_reduce.integers_beside_floats",
    cases=_SEVERAL,
    reason="As `all_reduce.several_integers`.",
  ),
  Difference(
    program="all_reduce.several_precisions_at_once",
    cases="mirrored[24]/function",
    reason=(
      "Types may be mixed in a `tf.function` as in eager mode; upstream packs"
      " them into one tensor and fails."
    ),
  ),
  Difference(
    program="all_reduce.python_numbers",
    cases=_SEVERAL,
    reason="A Python number is a tensor; upstream raises an AttributeError.",
  ),
  Difference(
    program="construction.a_device_that_there_is_not",
    reason=(
      "A device that there is not is an error at once, which names those"
      " there are; upstream lets the first step fail."
    ),
  ),
  Difference(
    program="construction.a_number_too_high",
    reason="As `construction.a_device_that_there_is_not`.",
  ),
  Difference(
    program="construction.used_on_a_device_that_there_is_not",
    reason="As `construction.a_device_that_there_is_not`.",
  ),
  Difference(
    program="construction.the_same_device_twice",
    reason="A wrong argument is a ValueError, not an AssertionError.",
  ),
  Difference(
    program="datasets.not_batched",
    cases=_SEVERAL,
    reason=(
      "A dataset that is not batched is a ValueError that says so, not an"
      " IndexError."
    ),
  ),
  Difference(
    program="datasets.not_a_dataset",
    reason="An argument of a wrong type is a TypeError, not an AttributeError.",
  ),
  Difference(
    program="datasets.from_a_function_not_a_dataset",
    reason="As `datasets.not_a_dataset`.",
  ),
  Difference(
    program="reduce.python_zero",
    cases=_MIRRORED,
    reason="Zero is a number like others; upstream raises an AttributeError.",
  ),
  Difference(
    program="reduce.python_numbers_per_replica",
    cases=_MIRRORED,
    reason="Python numbers are reduced; upstream raises an AttributeError.",
  ),
  Difference(
    program="reduce.nests_along_an_axis",
    reason=(
      "A nest is reduced along an axis as it is without one; upstream raises"
      " a TypeError."
    ),
  ),
  Difference(
    program="reduce.sum_of_a_mirrored_variable",
    cases=_MIRRORED,
    reason=(
      "The sum over the replicas has a value; upstream raises an"
      " AssertionError without a message."
    ),
  ),
  Difference(
    program="run_results.differing_nests",
    reason=(
      "A ValueError says which replicas differ and how; upstream raises an"
      " AssertionError."
    ),
  ),
  Difference(
    program="run_results.differing_keys",
    reason="As `run_results.differing_nests`.",
  ),
  Difference(
    program="run_results.a_list_here_a_tuple_there",
    reason="As `run_results.differing_nests`.",
  ),
  Difference(
    program="variables_read.python_conversions",
    cases=_MIRRORED,
    reason=(
      "A distributed variable converts to a Python number, as an ordinary one"
      " does; upstream's raises a TypeError."
    ),
  ),
  Difference(
    program="variables_read.methods_that_gather",
    cases=_MIRRORED,
    reason="A distributed variable has an ordinary one's methods.",
  ),
)


def reason_of(case: str) -> str | None:
  """Why a case differs on purpose; None if it must agree.

  Args:
    case: `<area>.<function>/<strategy>/<mode>`.
  """
  return next((d.reason for d in DELIBERATE if d.covers(case)), None)
