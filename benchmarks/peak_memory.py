"""Bytes of the process at their highest, after a deep stack's first steps."""

from collections.abc import Iterator
import pathlib
import resource
import sys
import types

from benchmarks import dense_stack


def high_water_mark(status: str) -> int:
  """The bytes of `VmHWM` in the text of a `/proc/<pid>/status`."""
  for line in status.splitlines():
    if line.startswith("VmHWM:"):
      return int(line.split()[1]) * 1024
  raise ValueError("There must be a `VmHWM` line in the status; found none.")


def peak_bytes() -> int:
  """This process' resident set at its highest.

  Linux' `VmHWM` belongs to this program alone; `ru_maxrss`, which other systems
  have (in bytes on macOS, in KiB elsewhere), starts at what the parent had.
  """
  status = pathlib.Path("/proc/self/status")
  if status.exists():
    return high_water_mark(status.read_text())
  peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
  return peak if sys.platform == "darwin" else peak * 1024


def measure(
  dist: types.ModuleType, *, replicas: int, layers: int
) -> Iterator[float]:
  """One measurement: a process has one peak."""
  strategy = dense_stack.make_strategy(dist, replicas)
  weights = dense_stack.make_weights(strategy, layers)
  step = dense_stack.make_step(dist, strategy, weights)
  batch = dense_stack.make_batch()
  for _ in range(3):
    step(batch).numpy()
  yield float(peak_bytes())
