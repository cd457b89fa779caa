"""Going through a distributed dataset, a step at a time."""

from typing import Any, Tuple, TYPE_CHECKING  # noqa: UP035
import weakref

import tensorflow as tf

from stratagem.cross_device import interfaces
from stratagem.input import element as element_lib

if TYPE_CHECKING:
  _Iterator = Any
  _Optional = Any
else:
  # The classes that `iter(dataset)` and `get_next_as_optional` return.
  _Iterator = tf.data.IteratorSpec(tf.TensorSpec([])).value_type
  _Optional = tf.OptionalSpec(tf.TensorSpec([])).value_type


class DistributedOptional(tf.experimental.ExtensionType):
  """The next step of a distributed dataset, if there is one.

  May be carried through the loops of a `tf.function`.

  References:
    Stands for the `tf.experimental.Optional` which
    `tf.distribute.DistributedIterator.get_next_as_optional` (2.21) returns.
  """

  _optional: _Optional
  _devices: Tuple[str, ...]  # noqa: UP006

  @property
  def element_spec(self) -> Any:
    """The type of the value."""
    return element_lib.distributed_spec(
      self._optional.element_spec, len(self._devices)
    )

  def has_value(self, name: str | None = None) -> tf.Tensor:
    """Whether there is a value, as a bool scalar."""
    return self._optional.has_value(name)

  def get_value(self, name: str | None = None) -> Any:
    """The value, which there must be: see `DistributedIterator.get_next`."""
    return element_lib.assemble(self._optional.get_value(name), self._devices)


class DistributedIterator(tf.experimental.ExtensionType, interfaces.Iterator):
  """Goes through a distributed dataset, a step at a time.

  Made by `iter(distributed_dataset)`. Serves in Python, as a closure of a
  `tf.function`, and as an argument of one, which is then traced once for all
  iterators of its kind.

  References:
    Mirrors `tf.distribute.DistributedIterator` (2.21).
  """

  _iterator: _Iterator
  _devices: Tuple[str, ...]  # noqa: UP006

  @property
  def element_spec(self) -> Any:
    """The type of a step."""
    return element_lib.distributed_spec(
      self._iterator.element_spec, len(self._devices)
    )

  def __iter__(self) -> "DistributedIterator":
    return self

  def __next__(self) -> Any:
    try:
      return self.get_next()
    except tf.errors.OutOfRangeError:
      # No traceback of the op: the end is no error.
      raise StopIteration from None

  def next(self) -> Any:
    """Takes the next step: `next(iterator)` for those who call a method."""
    return self.__next__()

  def get_next(self, name: str | None = None) -> Any:
    """Takes the next step.

    Args:
      name: has no effect.

    Returns:
      The structure of the dataset's element, with a `PerReplica` for each
      tensor, whose components are `[per_replica_batch, ...]`; or with plain
      tensors if there is one replica.

    Raises:
      tf.errors.OutOfRangeError: if there is none left. In a `tf.function`, it
        is raised when that runs.
    """
    del name
    if tf.executing_eagerly():
      reader = _reader(self)
      if reader is not None:
        return reader.get_next()
    return element_lib.assemble(self._iterator.get_next(), self._devices)

  def get_next_as_optional(self) -> DistributedOptional:
    """Takes the next step, if there is one.

    Returns:
      An object with `has_value()` and `get_value()`.
    """
    return DistributedOptional(
      self._iterator.get_next_as_optional(), self._devices
    )

  # Two iterators are equal if they are one.
  def __eq__(self, other: object) -> bool:
    return self is other

  def __hash__(self) -> int:
    return id(self)


# An extension type has no room for what is no part of its type.
_readers: weakref.WeakKeyDictionary[
  DistributedIterator, element_lib.EagerReader | None
] = weakref.WeakKeyDictionary()


def _reader(iterator: DistributedIterator) -> element_lib.EagerReader | None:
  """What reads the iterator fast, or None if it can't be."""
  if iterator not in _readers:
    source = iterator._iterator
    _readers[iterator] = (
      element_lib.EagerReader(source, iterator._devices)
      if element_lib.EagerReader.serves(source)
      else None
    )
  return _readers[iterator]
