"""Every case of the table."""

import re

from absl.testing import absltest
from absl.testing import parameterized

from tests.conformance import devices
from tests.conformance import sides
from tests.conformance import table

_CASES = table.all_cases()
_PASS = (table.Verdict.AGREE, table.Verdict.DELIBERATE)


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
    self.assertIn(finding.verdict, _PASS, said)


if __name__ == "__main__":
  absltest.main()
