"""The table, its Markdown and its JSON."""

import json

from absl.testing import absltest
from absl.testing import parameterized

from benchmarks import pair as pair_lib
from benchmarks import report

MACHINE = {"CPU": "Abacus", "cores": "2"}


def make_outcome(target=0.5, unit="s", scale=1.0) -> pair_lib.Outcome:
  pair = pair_lib.against_upstream(
    "step", "step_time", arguments={"replicas": 8}, target=target, unit=unit
  )
  return pair_lib.Outcome(
    pair=pair, first=[scale, 1.2 * scale], second=[4 * scale, 2 * scale]
  )


class ReportTest(parameterized.TestCase):
  @parameterized.parameters(
    (2.5, "s", "2.5 s"),
    (0.0123, "s", "12.3 ms"),
    (0.000045, "s", "45 us"),
    (1.5 * 2**30, "bytes", "1.50 GiB"),
  )
  def test_a_quantity_is_in_the_unit_that_reads_best(self, value, unit, text):
    self.assertEqual(report.quantity(value, unit), text)

  def test_an_unknown_unit_is_refused(self):
    with self.assertRaisesRegex(ValueError, "must be 's' or 'bytes'"):
      report.quantity(1.0, "miles")

  def test_a_row_has_both_sides_the_ratio_the_target_and_the_verdict(self):
    self.assertEqual(
      report.row(make_outcome()),
      (
        "step",
        "stratagem(replicas=8)",
        "1.1 s",
        "tf.distribute(replicas=8)",
        "3 s",
        "0.42",
        "(0.25-0.60)",
        "<= 0.50",
        "met",
      ),
    )

  def test_a_missed_target_stands_out(self):
    self.assertEqual(report.row(make_outcome(target=0.3))[-1], "MISSED")

  def test_no_target_has_no_verdict(self):
    self.assertEqual(report.row(make_outcome(target=None))[-2:], ("", ""))

  def test_the_text_names_the_machine_and_aligns_its_columns(self):
    lines = report.text([make_outcome(), make_outcome()], MACHINE).splitlines()
    self.assertEqual(lines[0], "CPU: Abacus; cores: 2")
    header, first, second = lines[2:5]
    self.assertEqual(header.index("verdict"), first.index("met"))
    self.assertEqual(first, second)

  def test_the_markdown_rows_have_as_many_cells_as_the_header(self):
    table = [
      line
      for line in report.markdown([make_outcome()], MACHINE).splitlines()
      if line.startswith("|")
    ]
    self.assertLen(table, 3)
    self.assertLen({line.count("|") for line in table}, 1)

  def test_the_json_holds_every_measurement(self):
    document = json.loads(report.as_json([make_outcome()], MACHINE))
    self.assertEqual(document["machine"], MACHINE)
    (outcome,) = document["outcomes"]
    self.assertEqual(outcome["first_values"], [1.0, 1.2])
    self.assertTrue(outcome["met"])


if __name__ == "__main__":
  absltest.main()
