"""Every pair, with the ratio that is hoped for: the table to change."""

from collections.abc import Sequence

from benchmarks import pair as pair_lib

PAIRS: tuple[pair_lib.Pair, ...] = (
  pair_lib.against_upstream(
    "first_step",
    "first_step",
    arguments={"replicas": 8, "layers": 50},
    target=0.45,
  ),
  pair_lib.against_upstream(
    "keras_first_step",
    "keras_first_step",
    arguments={"replicas": 8, "layers": 10},
    target=None,
    processes=2,
  ),
  # Tracing must not grow with the replicas: ours at 8 over ours at 2.
  pair_lib.Pair(
    name="tracing_growth",
    piece="tracing",
    first=pair_lib.Side(
      implementation=pair_lib.OURS, arguments={"replicas": 8, "layers": 50}
    ),
    second=pair_lib.Side(
      implementation=pair_lib.OURS, arguments={"replicas": 2, "layers": 50}
    ),
    target=1.3,
    processes=2,
    rounds=5,
  ),
  pair_lib.against_upstream(
    "tracing",
    "tracing",
    arguments={"replicas": 8, "layers": 50},
    target=None,
    processes=1,
    rounds=3,
  ),
  *(
    pair_lib.against_upstream(
      f"step_time_{replicas}",
      "step_time",
      arguments={"replicas": replicas, "layers": 50},
      target=0.85,
      processes=2,
      rounds=15,
    )
    for replicas in (2, 4, 8)
  ),
  pair_lib.against_upstream(
    "eager_run",
    "eager_run",
    arguments={"replicas": 8},
    target=0.10,
    processes=2,
    rounds=15,
  ),
  pair_lib.against_upstream(
    "eager_run_alone",
    "eager_run",
    arguments={"replicas": 8, "adds": False},
    target=0.10,
    processes=2,
    rounds=15,
  ),
  pair_lib.against_upstream(
    "eager_all_reduce",
    "eager_all_reduce",
    arguments={"replicas": 8},
    target=0.5,
    processes=2,
    rounds=15,
  ),
  pair_lib.against_upstream(
    "input",
    "input",
    arguments={"replicas": 8},
    target=None,
    processes=1,
    rounds=15,
  ),
  pair_lib.against_upstream(
    "peak_memory",
    "peak_memory",
    arguments={"replicas": 8, "layers": 200},
    target=0.85,
    unit="bytes",
    processes=2,
  ),
)


def select(
  only: Sequence[str], pairs: Sequence[pair_lib.Pair] = PAIRS
) -> list[pair_lib.Pair]:
  """The pairs called `only`, in the suite's order; all where it is empty.

  A name selects the pair of that name and every pair of the piece of that
  name: `step_time` is `step_time_2`, `step_time_4` and `step_time_8`.

  Raises:
    ValueError: a name is none of the suite's.
  """
  known = {p.name for p in pairs} | {p.piece for p in pairs}
  if unknown := sorted(set(only) - known):
    raise ValueError(
      f"`--only` must name benchmarks, got {', '.join(unknown)}. There are: "
      f"{', '.join(sorted(known))}."
    )
  return [p for p in pairs if not only or {p.name, p.piece} & set(only)]
