"""What a strategy offers to those who write variables, optimizers, layers."""

from collections.abc import Callable, Iterable, Iterator
import contextlib
from typing import Any, TYPE_CHECKING
import weakref

import tensorflow as tf

from stratagem.cluster import devices as devices_lib
from stratagem.cross_device import collectives as collectives_lib
from stratagem.cross_device import gathering
from stratagem.cross_device import reduce_op as reduce_op_lib
from stratagem.cross_device import reduction
from stratagem.cross_device import values as values_lib
from stratagem.strategies import context
from stratagem.strategies import creation
from stratagem.strategies import engine
from stratagem.strategies import regroup as regroup_lib
from stratagem.strategies import value_context
from stratagem.strategies import variable as variable_lib

if TYPE_CHECKING:
  from stratagem.strategies import strategy as strategy_lib


class StrategyExtended:
  """The part of a strategy that distribution-aware libraries use.

  Users reach it as `strategy.extended`, seldom.

  Args:
    container_strategy: the strategy it belongs to.
    devices: the full name of each replica's device.

  References:
    Mirrors `tf.distribute.StrategyExtended` (2.21).
  """

  is_default = False
  # Whether values and variables have a component for each replica. Not so
  # for the strategies that know but one device.
  replicates = True

  def __init__(
    self, container_strategy: "strategy_lib.Strategy", devices: Iterable[str]
  ) -> None:
    self._container_strategy = container_strategy
    self._devices = tuple(devices)
    self.last_run: engine.Report | None = None
    # What runs a `tf.function` on all replicas, by that function.
    self.whole_functions: weakref.WeakKeyDictionary[Any, Any] = (
      weakref.WeakKeyDictionary()
    )
    # Whether functions called by replicas in eager mode hold collectives.
    self.joins_collectives = False
    self.collectives = collectives_lib.Collectives(self._devices)

  @property
  def container_strategy(self) -> "strategy_lib.Strategy":
    """The strategy this belongs to."""
    return self._container_strategy

  @property
  def num_replicas_in_sync(self) -> int:
    """How many replicas there are."""
    return len(self._devices)

  @property
  def worker_devices(self) -> tuple[str, ...]:
    """The full name of each replica's device."""
    return self._devices

  @property
  def replica_devices(self) -> tuple[str, ...]:
    """Where each replica computes; the empty name for anywhere."""
    return self._devices

  @property
  def parameter_devices(self) -> tuple[str, ...]:
    """The full names of the devices that hold variables."""
    return self._devices

  @contextlib.contextmanager
  def enter_cross_replica(self) -> Iterator[None]:
    """Puts the strategy in force, in cross-replica context."""
    with contextlib.ExitStack() as stack:
      mode = context.Mode(self._container_strategy)
      stack.enter_context(context.enter(mode))
      stack.enter_context(self._container_strategy.bridge.enter_cross_replica())
      stack.enter_context(tf.variable_creator_scope(self.create_variable))
      yield

  @property
  def experimental_require_static_shapes(self) -> bool:
    """Whether shapes must be known when functions are traced: on TPU."""
    return False

  def call_for_each_replica(
    self,
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
  ) -> Any:
    """Runs `fn` on every replica. See `Strategy.run`."""
    return engine.run(self, fn, tuple(args), dict(kwargs or {}))

  def create_variable(
    self, next_creator: Callable[..., Any], **kwargs: Any
  ) -> Any:
    """Makes one variable with a component on each replica's device."""
    return creation.create(self, next_creator, kwargs)

  def value_container(self, value: Any) -> Any:
    """The distributed variable that `value` is a component of, or `value`.

    References:
      Mirrors `tf.distribute.StrategyExtended.value_container` (2.21).
    """
    return variable_lib.container_of(value)

  def variable_created_in_scope(self, v: Any) -> bool:
    """Whether `v` was made in this strategy's scope.

    References:
      Mirrors `tf.distribute.StrategyExtended.variable_created_in_scope`.
    """
    return getattr(v, "distribute_strategy", None) is self._container_strategy

  @contextlib.contextmanager
  def colocate_vars_with(self, colocate_with_variable: Any) -> Iterator[None]:
    """Makes variables on the devices of another variable.

    Every variable of this strategy has a component on each of its devices,
    so there is nothing to do.

    Raises:
      ValueError: if the variable wasn't made by this strategy.
    """
    self._require_own(colocate_with_variable, "colocate_vars_with")
    yield

  def _require_own(self, variable: Any, method: str) -> None:
    if not self.variable_created_in_scope(self.value_container(variable)):
      raise ValueError(
        f"`StrategyExtended.{method}` needs a variable that was made in the "
        "scope of the same strategy; got "
        f"{getattr(variable, 'name', variable)!r}, which was not. Make it "
        "inside `with strategy.scope():`."
      )

  def update(
    self,
    var: Any,
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    group: bool = True,
  ) -> Any:
    """Runs `fn(component, *args, **kwargs)` for each component of `var`.

    Args:
      var: a variable of this strategy.
      fn: updates one component. In it, no replica context is in force.
      args: its positional arguments; distributed values are replaced by
        the part that belongs to the component.
      kwargs: its keyword arguments, likewise.
      group: whether to return one operation for all, not the results.

    Returns:
      With `group`, an operation in graph mode. Without it, what `fn`
      returned, with a tuple for each leaf: the results of all components.

    Raises:
      ValueError: if `var` isn't a variable of this strategy.

    References:
      Mirrors `tf.distribute.StrategyExtended.update` (2.21).
    """
    kwargs = dict(kwargs or {})
    var = self.value_container(var)
    self._require_own(var, "update")
    mode = context.current()
    if mode is not None and mode.replica_context is not None:
      # A replica updates its own component, with values of its own.
      return fn(variable_lib.component_of(var), *args, **kwargs)
    with (
      self.container_strategy.scope()
      if mode is None
      else contextlib.nullcontext()
    ):
      results = self._update_each(var, fn, (tuple(args), kwargs))
    if group:
      return tf.group(*tf.nest.flatten(results, expand_composites=True))
    regrouped = regroup_lib.regroup(results, container=self.value_container)
    return tf.nest.map_structure(self.local_results, regrouped)

  def _update_each(
    self, var: Any, fn: Callable[..., Any], arguments: Any
  ) -> list[Any]:
    results = []
    for replica, component in enumerate(self._components(var)):
      args, kwargs = values_lib.select(replica, arguments)
      mode = context.Mode(self._container_strategy, update_replica=replica)
      with context.enter(mode), tf.device(component.device):
        results.append(fn(component, *args, **kwargs))
    return results

  def _components(self, var: Any) -> tuple[Any, ...]:
    return getattr(var, "values", (var,))

  @property
  def host_device(self) -> str:
    """Where results for the user are computed."""
    return "/device:CPU:0"

  def reduce_to_host(self, op: reduce_op_lib.ReduceOp, value: Any) -> Any:
    """Reduces one value over the replicas, to one tensor for the user."""
    if not isinstance(value, values_lib.DistributedValues):
      return self._reduce_plain(op, value)
    return reduction.reduce(op, self.local_results(value), self.host_device)

  def values_from_function(
    self, value_fn: Callable[[value_context.ValueContext], Any]
  ) -> Any:
    """See `Strategy.experimental_distribute_values_from_function`."""
    size = self.num_replicas_in_sync
    values = [
      value_fn(value_context.ValueContext(r, size)) for r in range(size)
    ]
    return regroup_lib.regroup(values, always_wrap=self.replicates)

  def local_results(self, value: Any) -> tuple[Any, ...]:
    """The components of one value, as a tuple."""
    if isinstance(value, values_lib.DistributedValues):
      return tuple(value.values)
    if tf.nest.is_nested(value):
      size = self.num_replicas_in_sync
      return tuple(values_lib.select(r, value) for r in range(size))
    return (value,)

  def all_reduce_leaves(
    self, op: reduce_op_lib.ReduceOp, leaves: list[Any], options: Any
  ) -> list[Any]:
    """Reduces each `PerReplica` and gives every replica the result."""
    del options  # One process: no network to configure.
    size = self.num_replicas_in_sync
    results = []
    for position, leaf in enumerate(leaves):
      # Each device has its share of the work.
      device = self._devices[position % size]
      components = self.all_components(leaf)
      total = reduction.reduce(op, components, device)
      results.append(self.to_all(total))
    return results

  def all_gather_leaves(
    self, leaves: list[Any], axis: int, options: Any
  ) -> list[Any]:
    """Concatenates each `PerReplica` and gives every replica the result."""
    del options
    size = self.num_replicas_in_sync
    return [
      self.to_all(
        gathering.gather(
          self.all_components(leaf), axis, self._devices[position % size]
        )
      )
      for position, leaf in enumerate(leaves)
    ]

  def all_components(self, leaf: Any) -> tuple[Any, ...]:
    """One component a replica; a tensor is the same on each."""
    if isinstance(leaf, values_lib.DistributedValues):
      return tuple(leaf.values)
    return (leaf,) * self.num_replicas_in_sync

  def to_all(self, value: Any) -> Any:
    """`value` on every replica's device."""
    if self.num_replicas_in_sync == 1:
      return value
    if tf.executing_eagerly():
      return values_lib.mirrored(reduction.broadcast(value, self._devices))
    # In a graph the transfer is made where the value is used.
    return values_lib.mirrored((value,) * self.num_replicas_in_sync)

  def reduce_to(
    self,
    reduce_op: "reduce_op_lib.ReduceOp | str",
    value: Any,
    destinations: Any,
    options: Any = None,
  ) -> Any:
    """Reduces a per-replica value to the devices of `destinations`.

    Args:
      reduce_op: `ReduceOp.SUM`, `ReduceOp.MEAN`, or their names.
      value: a `PerReplica`, or a value that is the same on all replicas.
      destinations: a variable, a distributed value, or a device name: where
        the result is to be.
      options: `CommunicationOptions` for this call.

    Returns:
      The result on one device, or a `Mirrored` where there are several.

    References:
      Mirrors `tf.distribute.StrategyExtended.reduce_to` (2.21).
    """
    del options
    self.container_strategy.require_cross_replica("extended.reduce_to")
    op = reduce_op_lib.ReduceOp.from_any(reduce_op)
    devices = self._destination_devices(destinations)
    if not isinstance(value, values_lib.DistributedValues):
      return self._reduce_plain(op, value)
    total = reduction.reduce(op, self.local_results(value), devices[0])
    copies = reduction.broadcast(total, devices)
    return copies[0] if len(copies) == 1 else values_lib.mirrored(copies)

  def _reduce_plain(self, op: reduce_op_lib.ReduceOp, value: Any) -> Any:
    """A value that isn't distributed stands for itself on each replica."""
    if value is None:
      raise ValueError(
        "`reduce` needs a value to reduce; got `None`. Leave it out of what "
        "is reduced."
      )
    if op is reduce_op_lib.ReduceOp.MEAN or self.num_replicas_in_sync == 1:
      return value
    if isinstance(value, int | float) and value == 0:
      return value
    raise ValueError(
      "`reduce` with `ReduceOp.SUM` needs a value with a component for each "
      f"of the {self.num_replicas_in_sync} replicas; got {value!r}, which is "
      "the same for all. Pass what `strategy.run` returned, or use "
      "`ReduceOp.MEAN`."
    )

  def _destination_devices(self, destinations: Any) -> tuple[str, ...]:
    if isinstance(destinations, str):
      return (devices_lib.canonical(destinations),)
    if isinstance(destinations, values_lib.DistributedValues):
      return tuple(c.device for c in destinations.values)
    device = getattr(destinations, "device", None)
    return (device,) if device else self._devices

  def batch_reduce_to(
    self,
    reduce_op: "reduce_op_lib.ReduceOp | str",
    value_destination_pairs: Iterable[tuple[Any, Any]],
    options: Any = None,
  ) -> list[Any]:
    """Reduces several per-replica values. See `reduce_to`.

    References:
      Mirrors `tf.distribute.StrategyExtended.batch_reduce_to` (2.21).
    """
    return [
      self.reduce_to(reduce_op, value, destinations, options)
      for value, destinations in value_destination_pairs
    ]
