"""A progress bar that is one line on a terminal and one line in a log file."""

import sys
from typing import TextIO

_WIDTH = 30


def bar(done: int, total: int, width: int = _WIDTH) -> str:
  """`[=====>    ]`, as far along as `done` of `total`."""
  filled = width * done // total
  head = ">" if filled < width else ""
  return "[" + ("=" * filled + head).ljust(width) + "]"


class Progress:
  """Shows one epoch's steps.

  Each step redraws the line where `stream` is a terminal; elsewhere only the
  finished epoch is written.

  Args:
    title: what stands in front of the bar.
    total: how many steps there will be.
    stream: where to write.
  """

  def __init__(
    self, title: str, total: int, stream: TextIO = sys.stdout
  ) -> None:
    self._title = title
    self._total = total
    self._stream = stream
    self._is_terminal = stream.isatty()

  def step(self, done: int, note: str) -> None:
    """Shows that `done` steps are over."""
    if self._is_terminal:
      self._draw(done, note, end="")

  def finish(self, note: str) -> None:
    """Shows that all are, and goes to the next line."""
    self._draw(self._total, note, end="\n")

  def _draw(self, done: int, note: str, end: str) -> None:
    start = "\r\033[K" if self._is_terminal else ""
    progress = bar(done, self._total)
    line = f"{self._title} {progress} {done}/{self._total}  {note}"
    print(start + line, end=end, file=self._stream, flush=True)
