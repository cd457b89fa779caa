"""The strategy: what users distribute their program with."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from stratagem import input as input_lib
from stratagem.cross_device import gathering
from stratagem.cross_device import reduce_op as reduce_op_lib
from stratagem.cross_device import values as values_lib
from stratagem.strategies import axis_reduction
from stratagem.strategies import context
from stratagem.strategies import extended as extended_lib
from stratagem.strategies import inherited_autograph
from stratagem.strategies import keras_bridge
from stratagem.strategies import run_options
from stratagem.strategies import scope as scope_lib
from stratagem.strategies import value_context
from stratagem.strategies import whole_function

ReduceOp = reduce_op_lib.ReduceOp


class Strategy:
  """A way to run one program on several replicas, in step.

  The base of all strategies. Users make one of its subclasses, such as
  `sg.MirroredStrategy`.

  Args:
    extended: makes the part that distribution-aware libraries use, given
      the strategy; or that part itself.

  References:
    Mirrors `tf.distribute.Strategy` (2.21).
  """

  def __init__(
    self,
    extended: "extended_lib.StrategyExtended | Callable[[Strategy], Any]",
  ) -> None:
    if isinstance(extended, extended_lib.StrategyExtended):
      self._extended = extended
    else:
      self._extended = extended(self)
    self._bridge = keras_bridge.Bridge(self)

  @property
  def extended(self) -> extended_lib.StrategyExtended:
    """The part that distribution-aware libraries use."""
    return self._extended

  @property
  def bridge(self) -> keras_bridge.Bridge:
    """How Keras and TensorFlow see this strategy."""
    return self._bridge

  @property
  def cluster_resolver(self) -> Any:
    """The cluster's resolver; None for a strategy on one machine."""
    return None

  @property
  def num_replicas_in_sync(self) -> int:
    """How many replicas there are; gradients are summed over them."""
    return self._extended.num_replicas_in_sync

  def __repr__(self) -> str:
    devices = ", ".join(
      device.rpartition("device:")[2]
      for device in self._extended.worker_devices
    )
    return f"<stratagem.{type(self).__name__} on {devices}>"

  def __deepcopy__(self, memo: dict[int, Any]) -> "Strategy":
    # Layers hold their strategy; a copied layer has the same one.
    return self

  def scope(self) -> scope_lib.Scope:
    """Puts the strategy in force: variables are made on all replicas.

    Returns:
      A context manager, which gives the strategy.

    Raises:
      RuntimeError: on entering, if another strategy is in force.

    Example:
      >>> import stratagem as sg
      >>> with sg.MirroredStrategy(["CPU:0"]).scope():
      ...   weight = tf.Variable(1.0)

    References:
      Mirrors `tf.distribute.Strategy.scope` (2.21).
    """
    return scope_lib.Scope(self)

  def run(
    self,
    fn: Callable[..., Any],
    args: tuple[Any, ...] | list[Any] = (),
    kwargs: dict[str, Any] | None = None,
    options: run_options.RunOptions | None = None,
  ) -> Any:
    """Runs `fn` on every replica.

    As part of a `tf.function`, `fn` is traced once and the trace is run on
    every replica. In eager mode `fn` runs once for each replica. It may be
    called once or several times in either case.

    Args:
      fn: the function. A `tf.function` may be given.
      args: its positional arguments. Each `PerReplica` in them, at any
        depth, is replaced by the replica's component.
      kwargs: its keyword arguments, likewise.
      options: how to run it.

    Returns:
      The nest that `fn` returns. A leaf is a `PerReplica` with a component
      from each replica, or the value itself where all replicas returned the
      same object or there is one replica.

    Raises:
      RuntimeError: in a replica context, or under another strategy.
      ValueError: if replicas return values that are nested differently, or
        `args` isn't a tuple or list.
      TypeError: if `fn` isn't callable.

    Example:
      >>> import stratagem as sg
      >>> strategy = sg.MirroredStrategy(["CPU:0"])
      >>> strategy.run(lambda x: x + 1, args=(tf.constant(1),)).numpy()
      2

    References:
      Mirrors `tf.distribute.Strategy.run` (2.21).
    """
    run_options.check(fn, args, kwargs, options)
    self.require_cross_replica("run")
    with self.scope():
      if tf.executing_eagerly():
        return self._run_eagerly(fn, tuple(args), kwargs or {})
      fn = inherited_autograph.convert(fn)
      return self._extended.call_for_each_replica(fn, tuple(args), kwargs)

  def _run_eagerly(
    self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
  ) -> Any:
    collectives = self._extended.collectives
    try:
      if whole_function.is_function(fn) and self.num_replicas_in_sync > 1:
        return whole_function.run(self._extended, fn, args, kwargs)
      return self._extended.call_for_each_replica(fn, args, kwargs)
    except (
      tf.errors.DeadlineExceededError,
      tf.errors.CancelledError,  # What else was running, if it failed first.
    ) as error:
      message = collectives.arrivals.explain(collectives.timeout_seconds)
      if message is None:
        raise
      raise tf.errors.DeadlineExceededError(
        error.node_def, error.op, message
      ) from error

  def reduce(
    self,
    reduce_op: ReduceOp | str,
    value: Any,
    axis: int | Sequence[int] | None,
  ) -> Any:
    """Reduces a per-replica value to one tensor.

    Args:
      reduce_op: `ReduceOp.SUM`, `ReduceOp.MEAN`, or their names.
      value: what `run` returned: a `PerReplica`, or a nest of them.
      axis: None to reduce over the replicas only; else also along this axis,
        or these axes, of each component. The mean is then that of all
        elements: replicas with more of them weigh more.

    Returns:
      A tensor on the host, for each leaf of `value`.

    Raises:
      ValueError: if `reduce_op` names no reduce op, or a component has no
        such axis.
      RuntimeError: in a replica context.

    Example:
      >>> import stratagem as sg
      >>> strategy = sg.MirroredStrategy(["CPU:0"])
      >>> strategy.reduce("MEAN", tf.constant([1.0, 3.0]), axis=0).numpy()
      2.0

    References:
      Mirrors `tf.distribute.Strategy.reduce` (2.21).
    """
    op = ReduceOp.from_any(reduce_op)
    self.require_cross_replica("reduce")

    def leaf(value: Any) -> Any:
      if axis is None:
        return self._extended.reduce_to_host(op, value)
      return axis_reduction.reduce(self._extended, op, value, axis)

    return tf.nest.map_structure(leaf, value)

  def gather(self, value: Any, axis: int) -> Any:
    """Concatenates the components of a per-replica value.

    Args:
      value: a `PerReplica` of dense tensors of rank 1 or more, or a nest of
        them. Their shapes must be equal but for `axis`.
      axis: along which to concatenate.

    Returns:
      A tensor on the host, for each leaf of `value`.

    Raises:
      ValueError: if a component has no such axis.
      NotImplementedError: if a component is sparse.
      RuntimeError: in a replica context.

    References:
      Mirrors `tf.distribute.Strategy.gather` (2.21).
    """
    self.require_cross_replica("gather")
    return tf.nest.map_structure(
      lambda leaf: self._gather_leaf(leaf, axis), value
    )

  def _gather_leaf(self, leaf: Any, axis: int) -> Any:
    if not isinstance(leaf, values_lib.DistributedValues):
      # Either there is one replica, or the value is every replica's.
      if self._extended.replicates:
        gathering.check(tf.convert_to_tensor(leaf), axis)
      return tf.identity(leaf)
    components = self._extended.all_components(leaf)
    for component in components:
      gathering.check(component, axis)
    return gathering.gather(components, axis, self._extended.host_device)

  def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
    """The components of a value that this process holds.

    Args:
      value: what `run` returned, a variable, or any value.

    Returns:
      A tuple of the components, in the order of the replicas; of `value`
      alone if it isn't distributed. For a nest, a tuple of nests.

    References:
      Mirrors `tf.distribute.Strategy.experimental_local_results` (2.21).
    """
    return self._extended.local_results(value)

  def experimental_distribute_dataset(
    self,
    dataset: tf.data.Dataset,
    options: input_lib.InputOptions | None = None,
  ) -> input_lib.DistributedDataset:
    """Splits each batch of a dataset over the replicas.

    Args:
      dataset: batched by the global batch size.
      options: how to feed the replicas.

    Returns:
      An iterable of batches; in each, a `PerReplica` for every tensor of
      the dataset's element.

    Raises:
      TypeError: if `dataset` isn't a `tf.data.Dataset`.
      RuntimeError: in a replica context.

    References:
      Mirrors `tf.distribute.Strategy.experimental_distribute_dataset`.
    """
    self.require_cross_replica("experimental_distribute_dataset")
    return input_lib.distribute_dataset(
      dataset, self._extended.worker_devices, options
    )

  def distribute_datasets_from_function(
    self,
    dataset_fn: Callable[[input_lib.InputContext], tf.data.Dataset],
    options: input_lib.InputOptions | None = None,
  ) -> input_lib.DistributedDataset:
    """Feeds each replica with the batches of a dataset made for it.

    Args:
      dataset_fn: given an `InputContext`, returns a dataset batched by the
        batch size of one replica.
      options: how to feed the replicas.

    Returns:
      An iterable of batches, as of `experimental_distribute_dataset`.

    References:
      Mirrors `tf.distribute.Strategy.distribute_datasets_from_function`.
    """
    self.require_cross_replica("distribute_datasets_from_function")
    return input_lib.distribute_datasets_from_function(
      dataset_fn, self._extended.worker_devices, options
    )

  def experimental_distribute_values_from_function(
    self, value_fn: Callable[[value_context.ValueContext], Any]
  ) -> Any:
    """Makes a value with a component for each replica.

    Args:
      value_fn: given a `ValueContext`, returns the component of a replica:
        any object, or a nest.

    Returns:
      A `PerReplica` of what it returned for each replica, or a nest of them;
      the value itself where there is one replica.

    Raises:
      RuntimeError: in a replica context.

    Example:
      >>> import stratagem as sg
      >>> strategy = sg.MirroredStrategy(["CPU:0"])
      >>> strategy.experimental_distribute_values_from_function(
      ...   lambda context: context.replica_id_in_sync_group
      ... )
      0

    References:
      Mirrors
      `tf.distribute.Strategy.experimental_distribute_values_from_function`.
    """
    self.require_cross_replica("experimental_distribute_values_from_function")
    return self._extended.values_from_function(value_fn)

  def require_cross_replica(self, method: str) -> None:
    """Refuses a call of `method` in a replica, or under another strategy.

    Raises:
      RuntimeError: if this strategy's cross-replica context isn't in force,
        nor the default strategy.
    """
    mode = context.current()
    if mode is None or (mode.is_cross_replica and mode.strategy is self):
      return
    if mode.strategy is not self:
      raise RuntimeError(
        f"`Strategy.{method}` must not be called in the scope of another "
        f"strategy; got a call of {self!r} in the scope of "
        f"{mode.strategy!r}. Use one strategy throughout."
      )
    place = "in an update" if mode.replica_context is None else "in a replica"
    raise RuntimeError(
      f"`Strategy.{method}` must be called in cross-replica context, that is "
      "outside of the function given to `strategy.run`; got a call "
      f"{place}. Inside of it, use `all_reduce`, `all_gather` or "
      "`merge_call` of `sg.get_replica_context()`."
    )
