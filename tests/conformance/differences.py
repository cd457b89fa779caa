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
_ONE_REPLICA = "mirrored1/.*"

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
    program="all_gather.scalars",
    cases=_ONE_REPLICA,
    reason=(
      "A scalar has no axis with one replica either; upstream gives it back."
    ),
  ),
  Difference(
    program="all_gather.of_a_strategy_scalars",
    cases=_ONE_REPLICA,
    reason="As `all_gather.scalars`.",
  ),
  Difference(
    program="all_gather.of_a_strategy_nests",
    cases=_SEVERAL,
    reason=(
      "A nest is gathered part by part; upstream gives replica 0's values"
      " alone, and says nothing."
    ),
  ),
  Difference(
    program="all_reduce.an_empty_nest",
    cases=_MIRRORED,
    reason="Nothing reduces to nothing; upstream raises an AttributeError.",
  ),
  Difference(
    program="all_reduce.several_integers",
    cases=_MIRRORED,
    reason=(
      "Several int32 tensors can be reduced at once, as one can; upstream"
      " takes some for being on the host and refuses."
    ),
  ),
  Difference(
    program="all_reduce.integers_beside_floats",
    cases=_MIRRORED,
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
    cases=_MIRRORED,
    reason="A Python number is a tensor; upstream raises an AttributeError.",
  ),
  Difference(
    program="checkpoints.without_aggregation",
    cases=_MIRRORED,
    reason=(
      "A variable without aggregation is saved as its first component and"
      " restored to all; upstream cannot save it."
    ),
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
    program="construction.no_devices",
    reason=(
      "An empty list of devices, as left by a filter that matched none, is an"
      " error; upstream takes it for all devices."
    ),
  ),
  Difference(
    program="construction.copied",
    reason=(
      "What holds a strategy can be copied, and the copy holds the same"
      " strategy; upstream refuses to copy, and makes a second strategy in a"
      " deep copy."
    ),
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
    program="datasets.replicated_per_replica",
    cases="one/.*",
    reason="With one replica, per replica is per worker; upstream refuses.",
  ),
  Difference(
    program="datasets.inside_run",
    reason=(
      "A dataset that each replica distributes again over all of them is a"
      " mistake; upstream goes on."
    ),
  ),
  Difference(
    program="iterators.optional",
    cases=_SEVERAL,
    reason=(
      "An optional's parts are on their replicas' devices, as `next` gives"
      " them; upstream leaves all on the first one."
    ),
  ),
  Difference(
    program="local_values.made_in_replica_context",
    reason=(
      "Values for all replicas made by each of them are a mistake; upstream"
      " gives nests of them."
    ),
  ),
  Difference(
    program="merge_call.in_a_loop",
    cases=_ONE_REPLICA,
    reason=(
      "A single replica need not wait for others, so it can merge in a loop."
    ),
  ),
  Difference(
    program="properties.devices_of_a_replica",
    reason=(
      "A replica's devices are a list of names with every strategy; upstream"
      " gives a tuple here and nested lists there."
    ),
  ),
  Difference(
    program="reduce.python_zero",
    cases=_MIRRORED,
    reason="Zero is a number like others; upstream raises an AttributeError.",
  ),
  Difference(
    program="reduce.python_numbers",
    cases=_ONE_REPLICA,
    reason=(
      "A Python number stays one with one replica, as with several; upstream"
      " makes a tensor of it."
    ),
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
    program="reduce.none",
    cases="one/.*",
    reason="None has no sum; upstream says so with several replicas only.",
  ),
  Difference(
    program="reduce.booleans",
    cases=_MIRRORED,
    reason=(
      "Booleans are refused by a TypeError that says what to do, however many"
      " replicas; upstream gives one replica's back, and the addition of"
      " several fails."
    ),
  ),
  Difference(
    program="reduce.mirrored_variables",
    cases=_MIRRORED,
    reason=(
      "A reduction gives a value; upstream gives a component of the variable,"
      " which changes when the variable does."
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
    program="run_arguments.too_few_values",
    cases="mirrored4/.*",
    reason=(
      "A ValueError says how many parts and replicas there are; upstream"
      " raises an IndexError."
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
  Difference(
    program="variables_scatter.own_in_replica",
    cases=_MIRRORED,
    reason=(
      "Rows of a replica's own variable are assigned to as the whole of it is;"
      " upstream raises a NotImplementedError."
    ),
  ),
  Difference(
    program="variables_scatter.outside",
    cases=_MIRRORED,
    reason=(
      "Outside `run` there is one value for all components, so there is"
      " nothing to aggregate; upstream asks for another aggregation."
    ),
  ),
  Difference(
    program="variables_write.own_none_outside",
    cases=_MIRRORED,
    reason=(
      "What is assigned outside `run` goes to all components, and no"
      " aggregation is needed; upstream looks for one and fails."
    ),
  ),
  Difference(
    program="variables_write.by_a_function_that_a_replica_calls",
    cases=_MIRRORED,
    reason=(
      "A `tf.function` called by a replica may assign what is to be"
      " aggregated; upstream raises a RuntimeError."
    ),
  ),
  Difference(
    program="variables_write.a_python_number_by_replicas",
    cases=_SEVERAL,
    reason=(
      "A Python number is a value like a tensor: each replica gives it, and"
      " they are summed; upstream refuses."
    ),
  ),
  Difference(
    program="variables_write.a_value_per_replica_outside",
    cases=_SEVERAL,
    reason=(
      "A value per replica is assigned to each replica's own variable, as it"
      " is to a mirrored one; upstream raises an AttributeError."
    ),
  ),
)


def reason_of(case: str) -> str | None:
  """Why a case differs on purpose; None if it must agree.

  Args:
    case: `<area>.<function>/<strategy>/<mode>`.
  """
  return next((d.reason for d in DELIBERATE if d.covers(case)), None)
