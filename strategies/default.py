"""The strategy that is in force where there is none."""

from collections.abc import Callable, Iterator
import contextlib
import functools
from typing import Any

from stratagem import input as input_lib
from stratagem.strategies import context
from stratagem.strategies import extended as extended_lib
from stratagem.strategies import replica_context as replica_context_lib
from stratagem.strategies import scope as scope_lib
from stratagem.strategies import strategy as strategy_lib

_NO_DEVICES = (
  "`StrategyExtended.{}` needs a strategy, which names devices; none is in "
  "force. Use it inside `with strategy.scope():`."
)


class DefaultExtended(extended_lib.StrategyExtended):
  """One replica, wherever operations are placed."""

  is_default = True
  replicates = False

  def __init__(self, strategy: strategy_lib.Strategy) -> None:
    # The empty name leaves operations where they would be placed anyway.
    super().__init__(strategy, ("",))

  @property
  def worker_devices(self) -> tuple[str, ...]:
    """Not known: there is no strategy that names devices."""
    raise RuntimeError(_NO_DEVICES.format("worker_devices"))

  @property
  def parameter_devices(self) -> tuple[str, ...]:
    """Not known: there is no strategy that names devices."""
    raise RuntimeError(_NO_DEVICES.format("parameter_devices"))

  @property
  def host_device(self) -> str:
    """See `StrategyExtended.host_device`."""
    return ""

  @contextlib.contextmanager
  def enter_cross_replica(self) -> Iterator[None]:
    """See `StrategyExtended.enter_cross_replica`."""
    with context.enter(context.Mode(self._container_strategy)):
      yield

  def call_for_each_replica(
    self,
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
  ) -> Any:
    """Calls `fn`."""
    with DefaultReplicaContext(self._container_strategy, 0):
      return fn(*args, **(kwargs or {}))

  def variable_created_in_scope(self, v: Any) -> bool:
    """Whether `v` belongs to no strategy."""
    return getattr(v, "distribute_strategy", None) is None


class DefaultReplicaContext(replica_context_lib.ReplicaContext):
  """The one replica there is without a strategy."""

  @property
  def devices(self) -> list[str]:
    """The empty name: wherever operations are placed."""
    return [""]


class DefaultStrategy(strategy_lib.Strategy):
  """What `sg.get_strategy()` gives outside of any strategy's scope.

  It runs functions once, where they are called. Libraries that ask for the
  strategy in force need not care whether there is one.

  References:
    Mirrors the default strategy of `tf.distribute` (2.21).
  """

  def __init__(self) -> None:
    super().__init__(DefaultExtended)

  def __repr__(self) -> str:
    return "<stratagem.DefaultStrategy>"

  def scope(self) -> scope_lib.Scope:
    """A scope that changes nothing."""
    return _DefaultScope(self)

  def experimental_distribute_dataset(
    self, dataset: Any, options: input_lib.InputOptions | None = None
  ) -> Any:
    """Gives the dataset as it is."""
    del options
    return dataset

  def distribute_datasets_from_function(
    self,
    dataset_fn: Callable[[input_lib.InputContext], Any],
    options: input_lib.InputOptions | None = None,
  ) -> Any:
    """Gives the dataset that the function makes."""
    del options
    return dataset_fn(input_lib.InputContext())


class _DefaultScope(scope_lib.Scope):
  """Changes nothing, but must not hide a strategy in force."""

  def __enter__(self) -> strategy_lib.Strategy:
    self._check(context.current())
    return self._strategy

  def __exit__(self, *exception: Any) -> None:
    pass


@functools.cache
def default_strategy() -> strategy_lib.Strategy:
  """The default strategy: one for the process."""
  return DefaultStrategy()


@functools.cache
def default_replica_context() -> replica_context_lib.ReplicaContext:
  """The context of the default strategy's replica."""
  return DefaultReplicaContext(default_strategy(), 0)
