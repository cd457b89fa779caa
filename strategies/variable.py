"""A variable with one component for each replica: what all kinds share."""

from collections.abc import Callable, Sequence
from typing import Any, TYPE_CHECKING
import weakref

import numpy as np
import tensorflow as tf

from stratagem.cross_device import resources
from stratagem.cross_device import values as values_lib
from stratagem.strategies import checkpointing
from stratagem.strategies import context
from stratagem.strategies import tracing_type

if TYPE_CHECKING:
  from stratagem.strategies import strategy as strategy_lib

# Components know their variable by this name, which Keras reads too.
_CONTAINER = "_distributed_container"


def container_of(value: Any) -> Any:
  """The distributed variable that `value` is a component of, or `value`."""
  reference = getattr(value, _CONTAINER, None)
  container = reference() if callable(reference) else None
  return value if container is None else container


def component_of(value: Any) -> Any:
  """The component of a variable that the running replica or update uses."""
  if isinstance(value, DistributedVariable):
    return value.component
  return value


class DistributedVariable(
  checkpointing.OneValueInCheckpoint,
  checkpointing.Tensor,
  tf.Variable,
  values_lib.DistributedValues,
):
  """A variable that has a component on the device of each replica.

  Within `strategy.run` it is the replica's component; elsewhere it is all of
  them. Made by `tf.Variable(...)` in a strategy's scope.

  Args:
    strategy: in whose scope it is made.
    components: the component of each replica, `tf.Variable`s of one shape.
    aggregation: how values that replicas assign become one.
  """

  _synchronization: tf.VariableSynchronization

  def __init__(
    self,
    strategy: "strategy_lib.Strategy",
    components: Sequence[tf.Variable],
    aggregation: tf.VariableAggregation,
  ) -> None:
    # `tf.Variable.__init__` would make one more variable; it isn't called.
    self._strategy = strategy
    self._components = tuple(components)
    self._aggregation = aggregation
    self._resource = resources.PerReplicaResource(
      [component.handle for component in components]
    )
    for component in components:
      setattr(component, _CONTAINER, weakref.ref(self))

  @property
  def values(  # type: ignore[override]
    self,
  ) -> tuple[tf.Variable, ...]:
    """The component of each replica."""
    return self._components

  @property
  def distribute_strategy(self) -> "strategy_lib.Strategy":
    """The strategy in whose scope the variable was made."""
    return self._strategy

  @property
  def _distribute_strategy(self) -> Any:
    return self._strategy.bridge.as_tf_strategy

  def _replica(self) -> int | None:
    """Which component is in use; None in cross-replica context."""
    mode = context.current()
    if mode is None:
      return None
    if mode.strategy is not self._strategy:
      raise RuntimeError(
        "A variable must be used under the strategy in whose scope it was "
        f"made; variable {self.name!r} was made under "
        f"{self._strategy!r}, and {mode.strategy!r} is in force. Make it, and "
        "use it, inside the scope of the same strategy."
      )
    if mode.replica_context is not None:
      return mode.replica_context.component
    return mode.update_replica

  def _in_replica(self) -> bool:
    mode = context.current()
    return mode is not None and mode.replica_context is not None

  @property
  def primary(self) -> tf.Variable:
    """The first component."""
    return self._components[0]

  @property
  def component(self) -> tf.Variable:
    """The component in use; the first one in cross-replica context."""
    replica = self._replica()
    return self._components[0 if replica is None else replica]

  def _on_each(self, fn: Callable[[int, tf.Variable], Any]) -> list[Any]:
    """Calls `fn` for every component, on its device."""
    results = []
    for replica, component in enumerate(self._components):
      with tf.device(component.device):
        results.append(fn(replica, component))
    return results

  @property
  def name(self) -> str:
    """The name of the first component."""
    return self.primary.name

  @property
  def dtype(self) -> tf.DType:
    """The type of its elements."""
    return self.primary.dtype

  @property
  def shape(self) -> tf.TensorShape:
    """The shape of each component."""
    return self.primary.shape

  @property
  def trainable(self) -> bool:
    """Whether tapes watch it by default."""
    return self.primary.trainable

  @property
  def synchronization(self) -> tf.VariableSynchronization:
    """When the components are made one."""
    return self._synchronization

  @property
  def aggregation(self) -> tf.VariableAggregation:
    """How values that replicas assign become one."""
    return self._aggregation

  @property
  def constraint(self) -> Any:
    """What optimizers project the value with."""
    return self.primary.constraint

  @property
  def device(self) -> str:
    """The device of the component in use."""
    return self.component.device

  @property
  def handle(self) -> tf.Tensor:
    """The resource of the component in use."""
    return self.component.handle

  @property
  def op(self) -> Any:
    """The operation of the component in use; in graph mode."""
    return self.component.op

  @property
  def graph(self) -> Any:
    """The graph of the component in use."""
    return self.component.graph

  @property
  def initializer(self) -> Any:
    """Gives every component its initial value; in graph mode."""
    return tf.group(*(c.initializer for c in self._components))

  @property
  def initial_value(self) -> Any:
    """What the component in use began with; in graph mode."""
    return self.component.initial_value

  @property
  def _initializer_op(self) -> Any:
    return self.initializer

  @property
  def _shared_name(self) -> str:
    return self.primary._shared_name

  @property
  def _unique_id(self) -> str:
    return self.primary._unique_id

  @property
  def _in_graph_mode(self) -> bool:
    return self.primary._in_graph_mode

  def _should_act_as_resource_variable(self) -> None:
    """TensorFlow takes what has this attribute for a resource variable."""

  def is_initialized(self, name: str | None = None) -> tf.Tensor:
    """Whether every component has a value."""
    ready = self.primary.is_initialized()
    for component in self._components[1:]:
      ready = tf.logical_and(ready, component.is_initialized())
    return tf.identity(ready, name=name)

  def __repr__(self) -> str:
    return (
      f"<stratagem.{type(self).__name__} {self.name!r} shape={self.shape} "
      f"dtype={self.dtype.name} on {len(self._components)} replicas:\n"
      + "\n".join(f"  {r}: {c!r}" for r, c in enumerate(self._components))
      + ">"
    )

  def value(self) -> tf.Tensor:
    """The value of the component in use."""
    return self._read()

  def read_value(self) -> tf.Tensor:
    """The value of the component in use, read now."""
    return self._read()

  def _read(self) -> tf.Tensor:
    return self.component.value()

  def numpy(self) -> Any:
    """The value as an array, in eager mode.

    Raises:
      NotImplementedError: in a `tf.function`.
    """
    if not tf.executing_eagerly():
      raise NotImplementedError(
        "`numpy()` must be called in eager mode; got a call in a "
        "`tf.function`. Use the variable itself, or `read_value()`."
      )
    return self._read().numpy()

  def sparse_read(self, indices: Any, name: str | None = None) -> tf.Tensor:
    """Reads some rows."""
    return self.component.sparse_read(indices, name=name)

  def gather_nd(self, indices: Any, name: str | None = None) -> tf.Tensor:
    """Reads some elements or slices."""
    return self.component.gather_nd(indices, name=name)

  def __tf_tracing_type__(self, context: Any) -> tracing_type.VariableType:
    del context
    return tracing_type.VariableType(self)

  def _dense_var_to_tensor(
    self, dtype: Any = None, name: str | None = None, as_ref: bool = False
  ) -> tf.Tensor:
    del as_ref
    return tf.convert_to_tensor(self._read(), dtype=dtype, name=name)

  def __tf_tensor__(
    self, dtype: Any = None, name: str | None = None
  ) -> tf.Tensor:
    return tf.convert_to_tensor(self._read(), dtype=dtype, name=name)

  def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
    del copy
    return np.asarray(self.numpy(), dtype=dtype)

  def __int__(self) -> int:
    return int(self.numpy())

  def __float__(self) -> float:
    return float(self.numpy())

  def __bool__(self) -> bool:
    return bool(self._read())

  def __nonzero__(self) -> bool:
    return self.__bool__()

  def __complex__(self) -> complex:
    return complex(self.numpy())

  def assign(
    self,
    value: Any,
    use_locking: bool = False,
    name: str | None = None,
    read_value: bool = True,
  ) -> Any:
    """Gives the variable a value.

    In `strategy.run`, `value` is the replica's; how the replicas' values
    become one is the variable's aggregation. In cross-replica context a
    `PerReplica` or `Mirrored` gives each component its own.
    """
    return self._write(
      "assign",
      value,
      use_locking=use_locking,
      name=name,
      read_value=read_value,
    )

  def assign_add(
    self,
    delta: Any,
    use_locking: bool = False,
    name: str | None = None,
    read_value: bool = True,
  ) -> Any:
    """Adds to the variable. See `assign`."""
    return self._write(
      "assign_add",
      delta,
      use_locking=use_locking,
      name=name,
      read_value=read_value,
    )

  def assign_sub(
    self,
    delta: Any,
    use_locking: bool = False,
    name: str | None = None,
    read_value: bool = True,
  ) -> Any:
    """Subtracts from the variable. See `assign`."""
    return self._write(
      "assign_sub",
      delta,
      use_locking=use_locking,
      name=name,
      read_value=read_value,
    )

  def _write(self, method: str, value: Any, **kwargs: Any) -> Any:
    raise NotImplementedError

  def _write_each(
    self, method: str, value: Any, read_value: bool, **kwargs: Any
  ) -> Any:
    """Writes every component; returns what to read the result from."""

    def write(replica: int, component: tf.Variable) -> Any:
      own = values_lib.select(replica, value)
      return getattr(component, method)(own, **kwargs)

    written = self._on_each(write)
    if not read_value:
      return (
        None
        if tf.executing_eagerly()
        else tf.group(*(w for w in written if w is not None))
      )
    return self

  def _write_component(
    self, component: tf.Variable, method: str, value: Any, **kwargs: Any
  ) -> Any:
    written = getattr(component, method)(value, **kwargs)
    if isinstance(written, tf.Variable) and written is not component:
      # What a graph gives is a promise to read later; a value can leave it.
      return written.value()
    return written


def _scatter(method: str) -> Callable[..., Any]:
  def scatter(
    self: DistributedVariable,
    sparse_delta: tf.IndexedSlices,
    use_locking: bool = False,
    name: str | None = None,
  ) -> Any:
    return self._scatter(method, sparse_delta, use_locking, name)

  scatter.__name__ = method
  scatter.__doc__ = f"`tf.Variable.{method}` of the components. See `assign`."
  return scatter


SCATTERS = ("add", "sub", "mul", "div", "min", "max", "update")
for _name in SCATTERS:
  setattr(DistributedVariable, f"scatter_{_name}", _scatter(f"scatter_{_name}"))
