"""Processes that judge cases, replaced when one hangs or dies."""

from collections.abc import Iterator, Sequence
import multiprocessing
from multiprocessing import connection
import threading
from typing import Any

from tests.conformance import devices
from tests.conformance import report
from tests.conformance import sides
from tests.conformance import table


def judge_all(
  cases: Sequence[table.Case], *, ours: str, jobs: int
) -> list[report.Row]:
  """Judges cases in several processes.

  Args:
    cases: What to judge.
    ours: The side to compare with upstream, a name of `sides.load`.
    jobs: How many processes.

  Returns:
    A row a case, in the order of the cases.
  """
  rows: dict[str, report.Row] = {}
  queue = iter(cases)
  lock = threading.Lock()

  def feed() -> None:
    worker = _Worker(ours)
    for case in _shared(queue, lock):
      rows[case.name] = row = worker.judge(case)
      if row.hung:
        worker.stop()
        worker = _Worker(ours)
    worker.stop()

  threads = [threading.Thread(target=feed) for _ in range(jobs)]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join()
  return [rows[case.name] for case in cases]


def _shared(
  queue: Iterator[table.Case], lock: threading.Lock
) -> Iterator[table.Case]:
  while True:
    with lock:
      case = next(queue, None)
    if case is None:
      return
    yield case


class _Worker:
  """A process, and the pipe to it."""

  def __init__(self, ours: str) -> None:
    context = multiprocessing.get_context("spawn")
    self._pipe, end = context.Pipe()
    self._process = context.Process(
      target=_serve, args=(end, ours), daemon=True
    )
    self._process.start()
    end.close()

  def judge(self, case: table.Case) -> report.Row:
    """The row of a case; one that says so if the process dies of it."""
    try:
      self._pipe.send(case.name)
      return self._pipe.recv()
    except (EOFError, ConnectionError):
      self._process.join()
      return report.Row.of(
        table.Finding(
          case=case,
          verdict=table.Verdict.DIFFERS,
          details=(f"the process died: {self._process.exitcode}",),
          hung=True,
        )
      )

  def stop(self) -> None:
    """Ends the process, whatever it is doing."""
    self._process.kill()
    self._process.join()


def _serve(pipe: connection.Connection, ours: str) -> None:
  devices.configure()
  upstream: Any = sides.load(sides.UPSTREAM)
  mine: Any = sides.load(ours)
  cases = {case.name: case for case in table.all_cases()}
  while True:
    finding = table.judge(cases[pipe.recv()], upstream=upstream, ours=mine)
    pipe.send(report.Row.of(finding))
