"""What is measured: two sides that run one program, and their ratio."""

from collections.abc import Mapping, Sequence
import dataclasses
import statistics

OURS = "stratagem"
UPSTREAM = "tf.distribute"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Side:
  """One process of a pair.

  Attributes:
    implementation: `OURS` or `UPSTREAM`: what the program gets as `dist`.
    arguments: what the piece's `measure` is called with besides.
  """

  implementation: str
  arguments: Mapping[str, int]

  def __str__(self) -> str:
    """The implementation and its arguments: `stratagem(replicas=8)`."""
    arguments = ", ".join(f"{k}={v}" for k, v in self.arguments.items())
    return f"{self.implementation}({arguments})"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pair:
  """Two sides of one measurement, and the ratio that is hoped for.

  Attributes:
    name: how `--only` and the report call it.
    piece: the module of `benchmarks` whose `measure` runs in the children.
    first: the side whose measurement is divided.
    second: the side it is divided by.
    unit: what a measurement is in: `"s"` or `"bytes"`.
    target: the largest ratio that is good enough; None where there is none.
    processes: how often a fresh process of each side is started.
    rounds: how many measurements each process makes, in turns with the other.
  """

  name: str
  piece: str
  first: Side
  second: Side
  unit: str = "s"
  target: float | None = None
  processes: int = 3
  rounds: int = 1

  def __post_init__(self) -> None:
    if self.processes < 1 or self.rounds < 1:
      raise ValueError(
        f"Pair `{self.name}` must have 1 process and 1 round or more, got "
        f"processes={self.processes}, rounds={self.rounds}."
      )

  def shortened(self) -> "Pair":
    """The same pair with the fewest processes and rounds that say something."""
    return dataclasses.replace(self, processes=1, rounds=min(self.rounds, 5))

  def against_itself(self) -> "Pair":
    """Both sides `tf.distribute`: how far noise alone moves the ratio."""
    side = dataclasses.replace(self.second, implementation=UPSTREAM)
    return dataclasses.replace(self, first=side, second=side, target=None)


def against_upstream(
  name: str,
  piece: str,
  *,
  arguments: Mapping[str, int],
  target: float | None,
  unit: str = "s",
  processes: int = 3,
  rounds: int = 1,
) -> Pair:
  """The usual pair: `stratagem` over `tf.distribute`, same arguments."""
  return Pair(
    name=name,
    piece=piece,
    first=Side(implementation=OURS, arguments=arguments),
    second=Side(implementation=UPSTREAM, arguments=arguments),
    unit=unit,
    target=target,
    processes=processes,
    rounds=rounds,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
  """The measurements of a pair: `first[i]` and `second[i]` came in one turn."""

  pair: Pair
  first: Sequence[float]
  second: Sequence[float]

  def __post_init__(self) -> None:
    if not self.first or len(self.first) != len(self.second):
      raise ValueError(
        "Both sides must have the same number of measurements, 1 or more; "
        f"`{self.pair.name}` has {len(self.first)} and {len(self.second)}."
      )

  @property
  def medians(self) -> tuple[float, float]:
    """The median of each side."""
    return statistics.median(self.first), statistics.median(self.second)

  @property
  def ratios(self) -> list[float]:
    """First over second, turn by turn."""
    return [a / b for a, b in zip(self.first, self.second, strict=True)]

  @property
  def ratio(self) -> float:
    """The median of the turns' ratios.

    Not the ratio of the medians: two measurements of one turn were made right
    after each other, so what else the machine did then cancels out.
    """
    return statistics.median(self.ratios)

  @property
  def met(self) -> bool | None:
    """Whether the target is met; None where there is no target."""
    return None if self.pair.target is None else self.ratio <= self.pair.target
