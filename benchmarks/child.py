"""The measuring process: `python -m benchmarks.child <piece> <side as JSON>`.

It says `{"ready": true}` once TensorFlow is imported, then answers each line on
its standard input with one measurement: `{"value": 1.25}`. It ends when its
standard input does. Internal: `benchmarks.process` speaks the other half.
"""

from collections.abc import Callable, Iterator
import importlib
import json
import os
import sys
import types

from benchmarks import pair as pair_lib


def _load(implementation: str) -> types.ModuleType:
  if implementation == pair_lib.UPSTREAM:
    import tensorflow as tf  # The parent reads this module without it.

    return tf.distribute
  return importlib.import_module(implementation)


def _private_stdout() -> Callable[[str], object]:
  """Keeps standard output for measurements; what else prints goes to stderr."""
  channel = os.fdopen(os.dup(1), "w")
  os.dup2(2, 1)
  return lambda line: print(line, file=channel, flush=True)


def main(piece: str, implementation: str, arguments: dict[str, int]) -> None:
  """Measures whenever the parent asks."""
  say = _private_stdout()
  dist = _load(implementation)
  module = importlib.import_module(f"benchmarks.{piece}")
  say(json.dumps({"ready": True}))
  values: Iterator[float] | None = None
  for _ in sys.stdin:
    values = values or module.measure(dist, **arguments)
    say(json.dumps({"value": next(values)}))


if __name__ == "__main__":
  main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
