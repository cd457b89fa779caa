"""How Keras and TensorFlow see a strategy of this library.

Both ask `tf.distribute` which strategy is in force. While one of ours is, a
thin strategy and replica context of `tf.distribute`'s own classes are put in
force too, and pass every question on. This is the only file that knows these
classes.
"""

from collections.abc import Callable
import contextlib
from typing import Any, TYPE_CHECKING
import weakref

import tensorflow as tf

if TYPE_CHECKING:
  from stratagem.strategies import replica_context as replica_context_lib
  from stratagem.strategies import strategy as strategy_lib


def foreign_strategy() -> Any | None:
  """The strategy of `tf.distribute` itself that is in force, if any."""
  if not tf.distribute.has_strategy():
    return None
  strategy = tf.distribute.get_strategy()
  return None if isinstance(strategy, _TfStrategy) else strategy


class Bridge:
  """The counterparts of one strategy in `tf.distribute`.

  Args:
    strategy: the strategy.
  """

  def __init__(self, strategy: "strategy_lib.Strategy") -> None:
    self._strategy = weakref.ref(strategy)
    self._tf_strategy: _TfStrategy | None = None
    self._spare: dict[int, list[_TfReplicaContext]] = {}

  @property
  def as_tf_strategy(self) -> Any:
    """The strategy as one of `tf.distribute`'s."""
    strategy = self._strategy()
    assert strategy is not None
    if strategy.extended.is_default:
      return tf.distribute.get_strategy()
    if self._tf_strategy is None:
      self._tf_strategy = _TfStrategy(strategy)
    return self._tf_strategy

  def enter_cross_replica(self) -> contextlib.AbstractContextManager[Any]:
    """Puts the counterpart in force, in cross-replica context."""
    return self.as_tf_strategy.scope()

  def replica_context(
    self, context: "replica_context_lib.ReplicaContext"
  ) -> Any:
    """The counterpart of a replica's context, to be entered with it."""
    if context.strategy.extended.is_default:
      return None
    try:
      spare = self._spare[context.component].pop()
    except (KeyError, IndexError):
      return _TfReplicaContext(self.as_tf_strategy, context)
    spare.serve(context)
    return spare

  def give_back(self, tf_context: Any) -> None:
    """Keeps a counterpart for the next run; it takes long to make one."""
    if tf_context is not None:
      # It must not hold what the user's function held.
      tf_context.serve(None)
      self._spare.setdefault(tf_context.component, []).append(tf_context)


class _TfExtended(tf.distribute.StrategyExtended):
  """A strategy's extended part, as `tf.distribute` knows it."""

  def __init__(
    self, tf_strategy: "_TfStrategy", strategy: "strategy_lib.Strategy"
  ) -> None:
    super().__init__(tf_strategy)
    self._ours = strategy
    # Keras's layers may not assume one device.
    self._retrace_functions_for_each_device = True

  @property
  def _num_replicas_in_sync(self) -> int:
    return self._ours.num_replicas_in_sync

  @property
  def worker_devices(self) -> tuple[str, ...]:
    return self._ours.extended.worker_devices

  @property
  def parameter_devices(self) -> tuple[str, ...]:
    return self._ours.extended.parameter_devices

  @property
  def experimental_require_static_shapes(self) -> bool:
    return False

  @property
  def should_checkpoint(self) -> bool:
    return True

  @property
  def should_save_summary(self) -> bool:
    return True

  def _use_merge_call(self) -> bool:
    # Keras then updates each replica's variables in the replica itself.
    return False

  def _get_local_replica_id(self, replica_id_in_sync_group: Any) -> Any:
    return replica_id_in_sync_group

  def _container_strategy(self) -> Any:
    return self._ours.bridge.as_tf_strategy

  def _create_variable(
    self, next_creator: Callable[..., Any], **kwargs: Any
  ) -> Any:
    # Our own creator, which comes first, asks for each component here.
    return next_creator(**kwargs)

  def variable_created_in_scope(self, v: Any) -> bool:
    return self._ours.extended.variable_created_in_scope(v)

  def value_container(self, value: Any) -> Any:
    return self._ours.extended.value_container(value)

  def colocate_vars_with(
    self, colocate_with_variable: Any
  ) -> contextlib.AbstractContextManager[Any]:
    return self._ours.extended.colocate_vars_with(colocate_with_variable)

  def update(
    self,
    var: Any,
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    group: bool = True,
  ) -> Any:
    return self._ours.extended.update(var, fn, args, kwargs, group)

  def _update(
    self,
    var: Any,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    group: bool,
  ) -> Any:
    return self.update(var, fn, args, kwargs, group)

  def _replica_ctx_update(
    self,
    var: Any,
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    group: bool = True,
  ) -> Any:
    return self.update(var, fn, args, kwargs, group)

  def _local_results(self, value: Any) -> tuple[Any, ...]:
    return self._ours.extended.local_results(value)

  def _reduce_to(
    self, reduce_op: Any, value: Any, destinations: Any, options: Any
  ) -> Any:
    return self._ours.extended.reduce_to(
      reduce_op, value, destinations, options
    )

  def _experimental_distribute_dataset(self, dataset: Any, options: Any) -> Any:
    return self._ours.experimental_distribute_dataset(dataset, options)

  def _distribute_datasets_from_function(
    self, dataset_fn: Callable[..., Any], options: Any
  ) -> Any:
    return self._ours.distribute_datasets_from_function(dataset_fn, options)


class _TfStrategy(tf.distribute.Strategy):
  """A strategy, as `tf.distribute` knows it."""

  def __init__(self, strategy: "strategy_lib.Strategy") -> None:
    self._ours = strategy
    super().__init__(_TfExtended(self, strategy))

  def __repr__(self) -> str:
    return repr(self._ours)

  def __deepcopy__(self, memo: dict[int, Any]) -> "_TfStrategy":
    return self

  def run(
    self,
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    options: Any = None,
  ) -> Any:
    return self._ours.run(fn, args, kwargs, options)

  def reduce(self, reduce_op: Any, value: Any, axis: int | None) -> Any:
    return self._ours.reduce(reduce_op, value, axis)

  def gather(self, value: Any, axis: int) -> Any:
    return self._ours.gather(value, axis)

  def experimental_distribute_values_from_function(
    self, value_fn: Callable[..., Any]
  ) -> Any:
    return self._ours.experimental_distribute_values_from_function(value_fn)


class _TfReplicaContext(tf.distribute.ReplicaContext):
  """A replica's context, as `tf.distribute` knows it."""

  def __init__(
    self, tf_strategy: Any, context: "replica_context_lib.ReplicaContext"
  ) -> None:
    super().__init__(tf_strategy, replica_id_in_sync_group=context.component)
    self.component = context.component
    self._ours: Any = context

  def serve(self, context: "replica_context_lib.ReplicaContext | None") -> None:
    """Stands for another context of the same replica, or for none."""
    self._ours = context

  @property
  def replica_id_in_sync_group(self) -> tf.Tensor:
    return self._ours.replica_id_in_sync_group

  @property
  def devices(self) -> list[str]:
    return self._ours.devices

  def merge_call(
    self,
    merge_fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
  ) -> Any:
    def merge(strategy: Any, *args: Any, **kwargs: Any) -> Any:
      return merge_fn(strategy.bridge.as_tf_strategy, *args, **kwargs)

    return self._ours.merge_call(merge, args, kwargs)

  def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
    return self._ours.all_reduce(reduce_op, value, options)

  def all_gather(self, value: Any, axis: int, options: Any = None) -> Any:
    return self._ours.all_gather(value, axis, options)
