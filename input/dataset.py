"""A dataset of which each step feeds all replicas."""

from collections.abc import Callable
from typing import Any, Tuple  # noqa: UP035

import tensorflow as tf

from stratagem.cross_device import interfaces
from stratagem.input import element as element_lib
from stratagem.input import iterator as iterator_lib


class DistributedDataset(tf.experimental.ExtensionType, interfaces.Dataset):
  """A dataset of which each step feeds all replicas.

  Made by `strategy.experimental_distribute_dataset` and
  `strategy.distribute_datasets_from_function`. Each `iter` of it, or `for`
  loop over it, begins anew, in Python and in a `tf.function`, to which it may
  be an argument.

  References:
    Mirrors `tf.distribute.DistributedDataset` (2.21).
  """

  _steps: tf.data.Dataset
  _source: tf.data.Dataset
  _host: str
  _devices: Tuple[str, ...]  # noqa: UP006

  @property
  def element_spec(self) -> Any:
    """The type of a step."""
    return element_lib.distributed_spec(
      self._steps.element_spec, len(self._devices)
    )

  @property
  def cardinality(self) -> int:
    """How many elements the dataset has that was given.

    For `distribute_datasets_from_function` these are elements of one replica
    each, so more than there are steps. `tf.data.UNKNOWN_CARDINALITY` in a
    `tf.function`.
    """
    if not tf.executing_eagerly():
      return tf.data.UNKNOWN_CARDINALITY
    with tf.device(self._host):
      return int(self._source.cardinality())

  def __iter__(self) -> iterator_lib.DistributedIterator:
    with tf.device(self._host):
      return iterator_lib.DistributedIterator(iter(self._steps), self._devices)

  def reduce(
    self, initial_state: Any, reduce_func: Callable[[Any, Any], Any]
  ) -> Any:
    """Goes through all steps, carrying a state along.

    Args:
      initial_state: a nest of tensors, or of what converts to tensors.
      reduce_func: given the state and a step, returns the new state.

    Returns:
      The last state.

    Example:
      >>> import stratagem as sg
      >>> strategy = sg.MirroredStrategy(sg.make_logical_cpus(1))
      >>> dataset = tf.data.Dataset.range(4).batch(2)
      >>> distributed = strategy.experimental_distribute_dataset(dataset)
      >>> int(distributed.reduce(0, lambda count, step: count + 1))
      2
    """
    state = tf.nest.map_structure(_as_tensor, initial_state)
    if tf.executing_eagerly():
      for step in self:
        state = reduce_func(state, step)
      return state
    return _reduce_in_graph(iter(self), state, reduce_func)

  # Two datasets are equal if they are one.
  def __eq__(self, other: object) -> bool:
    return self is other

  def __hash__(self) -> int:
    return id(self)


def _as_tensor(leaf: Any) -> Any:
  return leaf if tf.is_tensor(leaf) else tf.convert_to_tensor(leaf)


def _reduce_in_graph(
  iterator: iterator_lib.DistributedIterator,
  state: Any,
  reduce_func: Callable[[Any, Any], Any],
) -> Any:
  def body(
    upcoming: iterator_lib.DistributedOptional, state: Any
  ) -> tuple[iterator_lib.DistributedOptional, Any]:
    state = reduce_func(state, upcoming.get_value())
    return iterator.get_next_as_optional(), state

  _, state = tf.while_loop(
    lambda upcoming, _: upcoming.has_value(),
    body,
    (iterator.get_next_as_optional(), state),
    parallel_iterations=1,
  )
  return state
