"""Runs one program on one side, so that nothing leaks into the next run."""

import dataclasses
import functools
import gc
import tempfile
import threading
import traceback
from typing import Any

import keras
import tensorflow as tf

from tests.conformance import devices
from tests.conformance import normal_form
from tests.conformance import program as program_lib
from tests.conformance import sides

# Far above the second or two that a program takes; a program that waits for
# a collective that never comes must not hold up the table.
DEADLINE_SECONDS = 60.0
_SEED = 20
_ABORTED = "Collective ops is aborted"
# What is said of the first program that hung in this process: it may hold
# locks and devices, so nothing that runs after it shows anything.
_stuck: list[str] = []


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
  """What became of a run: a result, or why there is none.

  Attributes:
    result: The normal form of what the program returned.
    failure: The error it ended with, or that it did not end.
    trace: Where the error came from.
    hung: Whether it did not end, and this process is of no more use.
  """

  result: normal_form.Node | None = None
  failure: str = ""
  trace: str = ""
  hung: bool = False


def run(
  program: program_lib.Program,
  *,
  dist: Any,
  strategy: str,
  mode: str,
  deadline_seconds: float = DEADLINE_SECONDS,
) -> Outcome:
  """Runs `program` with the implementation `dist`.

  The thread is a new one: strategies in scope, graphs and device scopes
  belong to a thread, so none is left over from another run.

  Args:
    program: What to run.
    dist: `tf.distribute` or a module that plays it.
    strategy: A name in `sides.STRATEGIES`.
    mode: `program.EAGER` or `program.FUNCTION`.
    deadline_seconds: After how many seconds the run is given up.

  Returns:
    Its result, or its failure.
  """
  if _stuck:
    return Outcome(failure=f"was not run, since {_stuck[0]}", hung=True)
  outcomes: list[Outcome] = []

  def work() -> None:
    outcomes.append(_run_here(program, dist, strategy, mode))
    # Upstream's iterators deadlock when many are collected together, at
    # some later time: they go now, one program's at a time.
    gc.collect()

  _keep_what_is_imported()
  thread = threading.Thread(target=work, name=program.name, daemon=True)
  thread.start()
  thread.join(deadline_seconds)
  if thread.is_alive():
    _stuck.append(f"{program.name} did not end in {deadline_seconds:.0f} s")
    return Outcome(failure=_stuck[0], hung=True)
  if _ABORTED in repr(outcomes[0]):
    devices.recover()
  return outcomes[0]


@functools.cache
def _keep_what_is_imported() -> None:
  """Spares the collections after each run TensorFlow's million objects."""
  gc.collect()
  gc.freeze()


def _run_here(
  program: program_lib.Program, dist: Any, strategy: str, mode: str
) -> Outcome:
  keras.utils.set_random_seed(_SEED)
  try:
    with tempfile.TemporaryDirectory() as directory:
      offers = {
        "dist": dist,
        "strategy": sides.STRATEGIES[strategy](dist),
        "wrap": tf.function if mode == program_lib.FUNCTION else _unwrapped,
        "directory": directory,
      }
      result = program.run(**{name: offers[name] for name in program.wants})
      return Outcome(result=normal_form.describe(result))
  except Exception as error:
    kind = normal_form.public_class(type(error)).__name__
    return Outcome(failure=f"{kind}: {error}", trace=traceback.format_exc())


def _unwrapped(function: Any) -> Any:
  return function
