"""Running a pair: first, second, first, second, ..."""

import contextlib

from benchmarks import pair as pair_lib
from benchmarks import process


def run(pair: pair_lib.Pair) -> pair_lib.Outcome:
  """Measures both sides in turns, in `pair.processes` fresh processes each.

  While one side measures the other one waits for its turn and uses no CPU.

  Raises:
    process.ChildError: a side failed.
  """
  first: list[float] = []
  second: list[float] = []
  for _ in range(pair.processes):
    with contextlib.ExitStack() as stack:
      one = stack.enter_context(process.running(pair.piece, pair.first))
      other = stack.enter_context(process.running(pair.piece, pair.second))
      for _ in range(pair.rounds):
        first.append(one.measure())
        second.append(other.measure())
  return pair_lib.Outcome(pair=pair, first=first, second=second)
