"""Choosing pairs, and reading what the machine says of itself."""

import importlib.util

from absl.testing import absltest

from benchmarks import machine
from benchmarks import suite


class SuiteTest(absltest.TestCase):
  def test_names_are_unique(self):
    names = [pair.name for pair in suite.PAIRS]
    self.assertLen(set(names), len(names))

  def test_every_piece_is_a_module(self):
    for pair in suite.PAIRS:
      name = f"benchmarks.{pair.piece}"
      self.assertIsNotNone(importlib.util.find_spec(name), name)

  def test_nothing_chosen_is_all(self):
    self.assertEqual(suite.select([]), list(suite.PAIRS))

  def test_a_name_selects_its_pair(self):
    chosen = suite.select(["step_time_4", "eager_run_alone"])
    names = [pair.name for pair in chosen]
    self.assertEqual(names, ["step_time_4", "eager_run_alone"])

  def test_a_piece_selects_all_its_pairs(self):
    names = [pair.name for pair in suite.select(["step_time"])]
    self.assertEqual(names, ["step_time_2", "step_time_4", "step_time_8"])

  def test_an_unknown_name_is_refused_with_the_known_ones(self):
    with self.assertRaisesRegex(ValueError, "got walk_time.*step_time"):
      suite.select(["walk_time"])


class MachineTest(absltest.TestCase):
  def test_the_cpu_model_is_read_from_cpuinfo(self):
    self.assertEqual(
      machine.cpu_model("processor\t: 0\nmodel name\t: Abacus 3: fast\n"),
      "Abacus 3: fast",
    )

  def test_a_cpuinfo_without_a_model_gives_none(self):
    self.assertIsNone(machine.cpu_model("processor\t: 0\n"))


if __name__ == "__main__":
  absltest.main()
