"""Timing one call again and again."""

from collections.abc import Callable, Iterator
import statistics
import time


def medians(call: Callable[[], object], calls: int) -> Iterator[float]:
  """Without end: the median of the seconds that each of `calls` calls took.

  A first lot of calls is not measured: it traces, allocates and warms up.
  """

  def lot() -> float:
    seconds = []
    for _ in range(calls):
      start = time.perf_counter()
      call()
      seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)

  lot()
  while True:
    yield lot()
