"""Running an example as its users do: in a process of its own."""

import os
import pathlib
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
_DEADLINE_SECONDS = 300.0


def run(
  *command: str, deadline_seconds: float = _DEADLINE_SECONDS
) -> subprocess.CompletedProcess[str]:
  """Runs `python <command>` at the root of the checkout, to its end.

  At the deadline the process is ended with all it has started: it leads a
  process group of its own.

  Raises:
    subprocess.TimeoutExpired: it was still running at the deadline.
  """
  process = subprocess.Popen(
    [sys.executable, *command],
    cwd=ROOT,
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    text=True,
    start_new_session=True,
  )
  try:
    out, err = process.communicate(timeout=deadline_seconds)
  finally:
    if process.poll() is None:
      os.killpg(process.pid, signal.SIGKILL)
      process.communicate()
  return subprocess.CompletedProcess(process.args, process.returncode, out, err)
