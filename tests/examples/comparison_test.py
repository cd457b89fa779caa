"""How far two runs are apart."""

import math

from absl.testing import absltest
from absl.testing import parameterized

from examples.digits import comparison as comparison_lib
from examples.digits import session


def make_record(losses, startup_seconds=1.0, step_seconds=None):
  return session.Record(
    losses=losses,
    step_seconds=step_seconds or [1.0] * len(losses),
    startup_seconds=startup_seconds,
    test_accuracy=0.97,
  )


def compare(ours, upstream) -> comparison_lib.Comparison:
  return comparison_lib.Comparison(ours=ours, upstream=upstream)


class RelativeDifferenceTest(parameterized.TestCase):
  @parameterized.parameters(
    (1.0, 1.0, 0.0), (1.0, 2.0, 0.5), (2.0, 1.0, 0.5), (0.0, 0.0, 0.0)
  )
  def test_is_measured_by_the_larger_one(self, one, other, difference):
    self.assertEqual(comparison_lib.relative_difference(one, other), difference)

  @parameterized.parameters(
    (math.nan, 1.0), (1.0, math.nan), (math.nan, math.nan), (math.inf, math.inf)
  )
  def test_is_infinite_where_a_loss_is_not_finite(self, one, other):
    self.assertEqual(comparison_lib.relative_difference(one, other), math.inf)


class ComparisonTest(parameterized.TestCase):
  def test_the_worst_pair_of_runs_counts_at_each_step(self):
    comparison = compare(
      ours=[make_record([1.0, 2.0]), make_record([1.0, 2.0])],
      upstream=[make_record([1.0, 2.0]), make_record([1.0, 4.0])],
    )
    self.assertEqual(comparison.differences(), [0.0, 0.5])
    self.assertEqual(comparison.worst(), 0.5)

  @parameterized.parameters(([1.0], [1.0, 2.0]), ([], []))
  def test_runs_of_unequal_length_are_refused(self, ours, upstream):
    with self.assertRaisesRegex(ValueError, "same number of steps"):
      compare(ours=[make_record(ours)], upstream=[make_record(upstream)])

  def test_startup_is_the_median_over_the_runs(self):
    records = [make_record([1.0], startup_seconds=s) for s in (1.0, 9.0, 2.0)]
    self.assertEqual(comparison_lib.startup(records), 2.0)

  def test_step_time_leaves_each_runs_first_step_out(self):
    records = [
      make_record([1.0] * 3, step_seconds=[50.0, 1.0, 2.0]),
      make_record([1.0] * 3, step_seconds=[60.0, 3.0, 2.0]),
    ]
    self.assertEqual(comparison_lib.step_time(records), 2.0)

  def test_the_table_ends_with_the_last_step(self):
    record = make_record([float(i) for i in range(1, 101)])
    lines = comparison_lib.table(compare([record], [record])).splitlines()
    self.assertLess(len(lines), 20)
    self.assertEqual(
      lines[1].split(), ["1", "1.00000000", "1.00000000", "0.0e+00"]
    )
    self.assertEqual(lines[-1].split()[0], "100")

  def test_the_timings_show_the_ratio(self):
    comparison = compare(
      ours=[make_record([1.0] * 2, 1.0, [9.0, 0.005])],
      upstream=[make_record([1.0] * 2, 4.0, [9.0, 0.010])],
    )
    said = comparison_lib.timings(comparison)
    self.assertRegex(said, r"start-up +1 s +4 s +0\.25\n")
    self.assertRegex(said, r"step +5 ms +10 ms +0\.50\n")


if __name__ == "__main__":
  absltest.main()
