"""`python -m benchmarks`: measures the suite's pairs and prints the ratios.

python -m benchmarks                          # Everything, about 9 minutes.
python -m benchmarks --quick                  # Fewer repetitions.
python -m benchmarks --only=step_time,eager_run
python -m benchmarks --markdown=bench.md --json=bench.json
python -m benchmarks --noise                  # tf.distribute against itself.

Exits with 1 where a measurement failed; a missed target is only reported, since
a busy machine misses targets too.
"""

from collections.abc import Sequence
import datetime
import pathlib
import sys
import time

from absl import app
from absl import flags

from benchmarks import interleave
from benchmarks import machine as machine_lib
from benchmarks import pair as pair_lib
from benchmarks import process
from benchmarks import report
from benchmarks import suite

_ONLY = flags.DEFINE_list("only", [], "Names of the benchmarks to run.")
_QUICK = flags.DEFINE_bool(
  "quick", False, "Fewer repetitions, and only what has a target."
)
_NOISE = flags.DEFINE_bool(
  "noise", False, "tf.distribute on both sides: what noise does to a ratio."
)
_MARKDOWN = flags.DEFINE_string("markdown", None, "Markdown file to write.")
_JSON = flags.DEFINE_string("json", None, "JSON file to write.")


def _plan() -> list[pair_lib.Pair]:
  try:
    pairs = suite.select(_ONLY.value)
  except ValueError as error:
    raise app.UsageError(str(error)) from error
  if _QUICK.value:
    pairs = [
      p.shortened() for p in pairs if p.target is not None or _ONLY.value
    ]
  if _NOISE.value:
    pairs = [pair.against_itself() for pair in pairs]
  return pairs


def _measure(
  pairs: Sequence[pair_lib.Pair],
) -> tuple[list[pair_lib.Outcome], list[str]]:
  """The outcomes of the pairs that ran, and the names of those that failed."""
  outcomes, failed = [], []
  for number, pair in enumerate(pairs, start=1):
    start = time.monotonic()
    label = f"[{number}/{len(pairs)}] {pair.name}"
    try:
      outcome = interleave.run(pair)
    except process.ChildError as error:
      failed.append(pair.name)
      print(f"{label}: FAILED. {error}", file=sys.stderr)
      continue
    outcomes.append(outcome)
    seconds = time.monotonic() - start
    print(f"{label}: {outcome.ratio:.2f}  ({seconds:.0f} s)", file=sys.stderr)
  return outcomes, failed


def main(argv: Sequence[str]) -> None:
  """Runs the plan, prints the report, writes the files asked for."""
  if len(argv) > 1:
    raise app.UsageError(f"There must be flags only, got {argv[1:]}.")
  start = time.monotonic()
  machine = machine_lib.describe(datetime.datetime.now())
  outcomes, failed = _measure(_plan())
  if outcomes:
    print(report.text(outcomes, machine))
  print(f"The whole took {time.monotonic() - start:.0f} s.")
  if _MARKDOWN.value:
    pathlib.Path(_MARKDOWN.value).write_text(report.markdown(outcomes, machine))
  if _JSON.value:
    pathlib.Path(_JSON.value).write_text(report.as_json(outcomes, machine))
  if failed:
    sys.exit(f"These failed: {', '.join(failed)}.")


if __name__ == "__main__":
  app.run(main)
