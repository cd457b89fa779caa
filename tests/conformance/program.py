"""What a conformance program is, and how one is declared."""

from collections.abc import Callable, Sequence
import dataclasses
import inspect
from typing import Any

EAGER = "eager"
FUNCTION = "function"

DEFAULT = "default"
ONE_DEVICE = "one"
MIRRORED = ("mirrored1", "mirrored2", "mirrored4")
SPREAD = (ONE_DEVICE, *MIRRORED)
EVERY = (DEFAULT, *SPREAD)
SEVERAL = ("mirrored2", "mirrored4")
# For programs that make the strategies they need.
NO_STRATEGY = (DEFAULT,)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Program:
  """A behaviour of `tf.distribute`, as a function whose result shows it.

  Attributes:
    run: The function. Its parameters are some of `dist`, `strategy`, `wrap`
      and `directory`, by name.
    strategies: The strategies it applies to.
    modes: `EAGER`, `FUNCTION` or both.
    tolerance: How far apart floating-point values may be, relatively; 0 where
      both sides do the same arithmetic.
    devices: Whether the devices of plain tensors must agree. Those of the
      components of distributed values and variables always must.
    requires: Names of `dist` that the program uses and that stratagem may
      not have yet, such as "experimental.ValueContext". Until it has them all
      the program is not run.
  """

  run: Callable[..., Any]
  strategies: Sequence[str] = SPREAD
  modes: Sequence[str] = (EAGER,)
  tolerance: float = 0.0
  devices: bool = True
  requires: Sequence[str] = ()

  def lacks(self, dist: Any) -> tuple[str, ...]:
    """Which of the names it requires `dist` does not have."""
    return tuple(name for name in self.requires if not _has(dist, name))

  @property
  def area(self) -> str:
    """The name of the module it stands in."""
    return self.run.__module__.rpartition(".")[2]

  @property
  def name(self) -> str:
    """`<area>.<function>`."""
    return f"{self.area}.{self.run.__name__}"

  @property
  def summary(self) -> str:
    """The behaviour, in one line."""
    return (inspect.getdoc(self.run) or "").partition("\n")[0]

  @property
  def wants(self) -> tuple[str, ...]:
    """The names of the function's parameters."""
    return tuple(inspect.signature(self.run).parameters)


def _has(dist: Any, name: str) -> bool:
  first, _, rest = name.partition(".")
  if not hasattr(dist, first):
    return False
  return not rest or _has(getattr(dist, first), rest)


def program(**options: Any) -> Callable[[Callable[..., Any]], Program]:
  """Declares a program.

  One that takes `wrap` runs in both modes, another in eager mode, unless
  `modes` says otherwise.

  Args:
    **options: `Program`'s attributes.

  Returns:
    The decorator, which turns the function into a `Program`.
  """

  def declare(run: Callable[..., Any]) -> Program:
    takes_wrap = "wrap" in inspect.signature(run).parameters
    modes = (EAGER, FUNCTION) if takes_wrap else (EAGER,)
    return Program(**{"run": run, "modes": modes, **options})

  return declare


@dataclasses.dataclass(frozen=True)
class Raised:
  """An error that a program expects, as its result.

  Attributes:
    error: What was raised.
    mentions: What stratagem's message must mention.
  """

  error: Exception
  mentions: tuple[str, ...]


def attempt(
  call: Callable[..., Any], *args: Any, mentions: Sequence[str] = ()
) -> Any:
  """The result of `call(*args)`, or a `Raised` that holds its error."""
  if isinstance(mentions, str):
    raise TypeError("`mentions` must be a sequence of strings, not a string.")
  try:
    return call(*args)
  except Exception as error:
    return Raised(error, tuple(mentions))
