"""What a step gives: from the parts of all replicas to distributed values."""

from collections.abc import Callable, Sequence
import functools
from typing import Any

import tensorflow as tf

from stratagem.cross_device import values


def assemble(parts: Any, devices: Sequence[str]) -> Any:
  """Makes one nest of distributed values of the parts of all replicas.

  Args:
    parts: a tuple of the nest of each replica; or for one replica, its nest.
    devices: where to put each part; "" leaves it where it is.

  Returns:
    The structure of a part, with a `PerReplica` for each leaf and None for
    None; or for one replica, its nest.
  """
  if tf.executing_eagerly():
    # In a graph, what uses a tensor has it sent to its own device.
    parts = _on_devices(parts, devices)
  if len(devices) == 1:
    return parts
  return tf.nest.map_structure(_distributed, *parts)


def _distributed(*components: Any) -> Any:
  return None if components[0] is None else values.per_replica(components)


def _on_devices(parts: Any, devices: Sequence[str]) -> Any:
  if len(devices) == 1:
    return _on_device(parts, devices[0])
  return tuple(map(_on_device, parts, devices))


def _on_device(part: Any, device: str) -> Any:
  flat = tf.nest.flatten(part, expand_composites=True)
  tensors = [leaf for leaf in flat if leaf is not None]
  if not device or not tensors:
    return part
  copies = iter(copy_to(tensors, device))
  return tf.nest.pack_sequence_as(
    part,
    [None if leaf is None else next(copies) for leaf in flat],
    expand_composites=True,
  )


def copy_to(tensors: Sequence[tf.Tensor], device: str) -> list[tf.Tensor]:
  """Puts tensors on a device.

  Args:
    tensors: of any types.
    device: the full name.

  Returns:
    The same tensors there.
  """
  with tf.device(device):
    if tf.DeviceSpec.from_string(device).device_type == "CPU":
      return tf.raw_ops.IdentityN(input=tensors)
    # One op for all would take types that the device has no kernels for.
    return [tf.identity(tensor) for tensor in tensors]


def distributed_spec(parts_spec: Any, replicas: int) -> Any:
  """Says what `assemble` makes.

  Args:
    parts_spec: the specs of the parts of all replicas.
    replicas: how many there are.

  Returns:
    The structure of a part, with a spec of a `PerReplica` for each leaf; or
    for one replica, the spec of its part.
  """
  if replicas == 1:
    return parts_spec
  return tf.nest.map_structure(_distributed_spec, *parts_spec)


def _distributed_spec(*specs: tf.TypeSpec) -> Any:
  if not tf.nest.flatten(specs[0], expand_composites=True):
    # None has no components.
    return specs[0]
  return values.TensorPerReplica.Spec(values=specs)


class EagerReader:
  """Takes steps from an iterator with as few calls as can be.

  For elements of plain tensors, one op takes the parts of all replicas from
  the iterator, and one more puts those of a replica on its device.

  Args:
    iterator: an iterator of `tf.data`.
    devices: where to put the part of each replica; "" leaves it where it is.
  """

  def __init__(self, iterator: Any, devices: Sequence[str]) -> None:
    parts_spec = iterator.element_spec
    replicas = len(devices)
    flat = tf.nest.flatten(parts_spec)
    [self._resource] = tf.nest.flatten(iterator, expand_composites=True)
    self._structure = parts_spec if replicas == 1 else parts_spec[0]
    self._pack = _packer(self._structure)
    self._types = [spec.dtype for spec in flat]
    self._shapes = [spec.shape for spec in flat]
    self._stride = len(flat) // replicas
    self._replicas = replicas
    self._moves = [
      (slice(index * self._stride, (index + 1) * self._stride), device)
      for index, device in enumerate(devices)
      if device
    ]

  @staticmethod
  def serves(iterator: Any) -> bool:
    """Whether the elements of `iterator` are plain tensors."""
    flat = tf.nest.flatten(iterator.element_spec)
    return bool(flat) and all(type(spec) is tf.TensorSpec for spec in flat)

  def get_next(self) -> Any:
    """Takes a step.

    Returns:
      What `assemble` makes of it.

    Raises:
      tf.errors.OutOfRangeError: if there is none left.
    """
    flat = tf.raw_ops.IteratorGetNext(
      iterator=self._resource,
      output_types=self._types,
      output_shapes=self._shapes,
    )
    for where, device in self._moves:
      flat[where] = copy_to(flat[where], device)
    if self._replicas > 1:
      stride = self._stride
      flat = [values.per_replica(flat[i::stride]) for i in range(stride)]
    return self._pack(flat)


def _packer(structure: Any) -> Callable[[list[Any]], Any]:
  """What makes a nest of the list of its leaves, fast for the usual nests."""
  if not tf.nest.is_nested(structure):
    return lambda leaves: leaves[0]
  if type(structure) is tuple and not any(map(tf.nest.is_nested, structure)):
    return tuple
  return functools.partial(tf.nest.pack_sequence_as, structure)
