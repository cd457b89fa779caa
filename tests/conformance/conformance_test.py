"""Every program of the table, in the cases that tell the most.

`python -m tests.conformance` runs the whole table, which takes too long for a
test that is run with all others.
"""

import re

from absl.testing import absltest
from absl.testing import parameterized

from tests.conformance import devices
from tests.conformance import sides
from tests.conformance import table

# Where the number of replicas matters most. Elsewhere two stand for four.
_AREAS_WITH_FOUR_REPLICAS = frozenset(
  {"all_gather", "all_reduce", "datasets", "reduce"}
)


def _is_tested(case: table.Case) -> bool:
  program = case.program
  if "mirrored2" not in program.strategies or case.strategy == "mirrored2":
    return True
  if case.strategy == "mirrored4":
    return program.area in _AREAS_WITH_FOUR_REPLICAS
  # With one replica, one mode is enough: a graph, if the program has one.
  return case.mode == program.modes[-1]


_CASES = [case for case in table.all_cases() if _is_tested(case)]


def setUpModule():
  devices.configure()


class ConformanceTest(parameterized.TestCase):
  @parameterized.named_parameters(
    (re.sub(r"\W", "_", f"_{c.name}"), c) for c in _CASES
  )
  def test_does_as_tf_distribute_does(self, case):
    finding = table.judge(
      case,
      upstream=sides.load(sides.UPSTREAM),
      ours=sides.load(sides.OURS),
    )
    said = "\n".join([finding.verdict.value, *finding.details, finding.trace])
    if finding.verdict is table.Verdict.MISSING:
      self.skipTest(said.strip())
    self.assertIn(finding.verdict, table.FINE, said)


if __name__ == "__main__":
  absltest.main()
