"""A measuring child process, and a deadline on everything it is asked."""

from collections.abc import Iterator
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
from typing import Any, IO

from benchmarks import pair as pair_lib

ROOT = pathlib.Path(__file__).resolve().parent.parent
_STDERR_LINES = 15


class ChildError(RuntimeError):
  """A child ended, or was ended at its deadline, before it answered."""


class Child:
  """One side of a pair, in a process of its own. `running` makes it."""

  def __init__(
    self,
    side: pair_lib.Side,
    process: subprocess.Popen[str],
    stderr: IO[str],
    deadline_seconds: float,
  ) -> None:
    self._side = side
    assert process.stdin is not None
    assert process.stdout is not None
    self._process = process
    self._stdin = process.stdin
    self._stdout = process.stdout
    self._stderr = stderr
    self._deadline_seconds = deadline_seconds

  def measure(self) -> float:
    """The next measurement.

    Raises:
      ChildError: the child failed, or did not answer in time.
    """
    # A broken pipe: it has ended already, and `answer` says of what.
    with contextlib.suppress(BrokenPipeError):
      self._stdin.write("\n")
      self._stdin.flush()
    return self.answer()["value"]

  def answer(self) -> dict[str, Any]:
    """The next line the child says; see `measure` for what it raises."""
    timer = threading.Timer(self._deadline_seconds, self._process.kill)
    timer.start()
    try:
      line = self._stdout.readline()
    finally:
      timer.cancel()
    if line:
      return json.loads(line)
    code = self._process.wait()
    self._stderr.seek(0)
    tail = "".join(self._stderr.readlines()[-_STDERR_LINES:])
    raise ChildError(
      f"{self._side} must answer within {self._deadline_seconds:g} s; its "
      f"process ended with exit code {code}. The end of its stderr:\n{tail}"
    )


@contextlib.contextmanager
def running(
  piece: str, side: pair_lib.Side, deadline_seconds: float = 300.0
) -> Iterator[Child]:
  """A fresh process, ready to measure; ended with the context.

  Args:
    piece: the module of `benchmarks` to measure with.
    side: the implementation and arguments to measure.
    deadline_seconds: how long one answer may take.

  Yields:
    The child, which has imported all it needs and waits for its turn.

  Raises:
    ChildError: the child could not import the piece or the implementation.
  """
  arguments = [piece, side.implementation, json.dumps(dict(side.arguments))]
  with tempfile.TemporaryFile("w+") as stderr:
    process = subprocess.Popen(
      [sys.executable, "-m", "benchmarks.child", *arguments],
      cwd=ROOT,
      env={"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ},
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      stderr=stderr,
      text=True,
    )
    try:
      child = Child(side, process, stderr, deadline_seconds)
      child.answer()
      yield child
    finally:
      process.kill()
      process.communicate()
