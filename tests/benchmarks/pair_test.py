"""Medians, ratios and verdicts of a pair."""

from absl.testing import absltest
from absl.testing import parameterized

from benchmarks import pair as pair_lib


def make_pair(**changes) -> pair_lib.Pair:
  arguments = {"arguments": {"replicas": 8}, "target": 0.5, **changes}
  return pair_lib.against_upstream("step", "step_time", **arguments)


class OutcomeTest(parameterized.TestCase):
  def test_medians_are_of_each_side(self):
    outcome = pair_lib.Outcome(
      pair=make_pair(), first=[1.0, 9.0, 2.0], second=[4.0, 5.0, 30.0]
    )
    self.assertEqual(outcome.medians, (2.0, 5.0))

  def test_the_ratio_is_the_median_over_the_turns(self):
    # The second turn met a machine ten times slower: its ratio stands.
    outcome = pair_lib.Outcome(
      pair=make_pair(), first=[1.0, 10.0, 1.2], second=[2.0, 20.0, 2.0]
    )
    self.assertEqual(outcome.ratios, [0.5, 0.5, 0.6])
    self.assertEqual(outcome.ratio, 0.5)

  @parameterized.parameters((0.5, True), (0.49, False), (None, None))
  def test_a_target_is_met_up_to_and_including_it(self, target, met):
    pair = make_pair(target=target)
    outcome = pair_lib.Outcome(pair=pair, first=[1.0], second=[2.0])
    self.assertEqual(outcome.met, met)

  @parameterized.parameters(([], []), ([1.0], [1.0, 2.0]))
  def test_sides_of_unequal_length_are_refused(self, first, second):
    with self.assertRaisesRegex(ValueError, "same number of measurements"):
      pair_lib.Outcome(pair=make_pair(), first=first, second=second)


class PairTest(parameterized.TestCase):
  def test_against_upstream_differs_in_the_implementation_only(self):
    pair = make_pair()
    self.assertEqual(str(pair.first), "stratagem(replicas=8)")
    self.assertEqual(str(pair.second), "tf.distribute(replicas=8)")

  @parameterized.parameters({"processes": 0}, {"rounds": 0})
  def test_a_pair_that_measures_nothing_is_refused(self, **changes):
    with self.assertRaisesRegex(ValueError, "1 process and 1 round or more"):
      make_pair(**changes)

  def test_shortened_has_one_process_and_never_more_rounds(self):
    short = make_pair(processes=3, rounds=15).shortened()
    self.assertEqual((short.processes, short.rounds), (1, 5))
    self.assertEqual(make_pair(rounds=2).shortened().rounds, 2)

  def test_against_itself_has_upstream_on_both_sides_and_no_target(self):
    pair = make_pair().against_itself()
    self.assertEqual(pair.first, pair.second)
    self.assertEqual(pair.first.implementation, pair_lib.UPSTREAM)
    self.assertIsNone(pair.target)


if __name__ == "__main__":
  absltest.main()
