"""Every case of the table."""

from absl.testing import parameterized
import tensorflow as tf

from tests.conformance import devices
from tests.conformance import differences
from tests.conformance import sides
from tests.conformance import table

_CASES = [
  case for program in table.all_programs() for case in table.cases_of(program)
]
_PASS = (table.Verdict.AGREE, table.Verdict.DELIBERATE)


def setUpModule():
  devices.configure()


class ConformanceTest(parameterized.TestCase):
  @parameterized.named_parameters((f"_{c.name}", c) for c in _CASES)
  def test_does_as_tf_distribute_does(self, case):
    finding = table.judge(
      case,
      upstream=sides.load(sides.UPSTREAM),
      ours=sides.load(sides.OURS),
    )
    said = "\n".join([finding.verdict.value, *finding.details, finding.trace])
    self.assertIn(finding.verdict, _PASS, said)

  def test_every_listed_difference_names_a_case(self):
    for difference in differences.DELIBERATE:
      self.assertTrue(
        [c for c in _CASES if differences.reason_of(c.name) == difference.reason],
        f"{difference} matches no case.",
      )

  def test_every_program_says_what_it_shows(self):
    for case in _CASES:
      self.assertTrue(case.program.summary, case.name)


if __name__ == "__main__":
  tf.test.main()
