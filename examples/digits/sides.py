"""Both sides of a comparison, each run in a fresh process of its own."""

from collections.abc import Sequence
import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile

from examples.digits import comparison as comparison_lib
from examples.digits import model
from examples.digits import replication
from examples.digits import session

_DEADLINE_SECONDS = 1800.0


class SideError(RuntimeError):
  """One side's process failed."""


def save_record(path: str, record: session.Record) -> None:
  """Writes what a side's process hands to the comparing one."""
  pathlib.Path(path).write_text(json.dumps(dataclasses.asdict(record)))


def _run_side(
  command: Sequence[str], implementation: str, directory: pathlib.Path
) -> session.Record:
  result = directory / "record.json"
  flags = [f"--implementation={implementation}", f"--result={result}"]
  finished = subprocess.run(
    [sys.executable, *command, *flags],
    capture_output=True,
    check=False,
    text=True,
    timeout=_DEADLINE_SECONDS,
  )
  if finished.returncode:
    raise SideError(
      f"The run under {implementation} must succeed; it ended with exit code "
      f"{finished.returncode} and said:\n{finished.stderr}"
    )
  return session.Record(**json.loads(result.read_text()))


def compare(command: Sequence[str], rounds: int) -> comparison_lib.Comparison:
  """Runs `command` in turns under `stratagem` and `tf.distribute`.

  Args:
    command: what Python is to run, without the flags that tell the sides apart.
    rounds: how often each side runs; times are medians over all rounds.

  Raises:
    SideError: a run failed.
  """
  records: dict[str, list[session.Record]] = {
    side: [] for side in replication.IMPLEMENTATIONS
  }
  with tempfile.TemporaryDirectory() as name:
    directory = pathlib.Path(name)
    weights = directory / "initial_weights.npz"
    session.save_initial_weights(str(weights), model.make_model().get_weights())
    command = [*command, f"--initial_weights={weights}"]
    for number in range(1, rounds + 1):
      for side in replication.IMPLEMENTATIONS:
        print(f"Round {number}/{rounds}: training under {side}.", flush=True)
        records[side].append(_run_side(command, side, directory))
  return comparison_lib.Comparison(
    ours=records[replication.OURS], upstream=records[replication.UPSTREAM]
  )
