"""Names of devices: read, completed, checked against what this machine has."""

from collections import Counter
from collections.abc import Callable, Sequence

import tensorflow as tf

# What stands in front of a device on a machine that is not in a cluster.
_LOCAL_TASK = "/job:localhost/replica:0/task:0"


def list_local(device_type: str | None = None) -> list[str]:
  """The full names of this process's logical devices.

  Args:
    device_type: "CPU", "GPU", "TPU", or None for all.

  Returns:
    Names such as "/job:localhost/replica:0/task:0/device:CPU:0".
  """
  devices = tf.config.list_logical_devices(device_type)
  return [canonical(device.name) for device in devices]


def canonical(name: str) -> str:
  """Completes a device name by what it leaves out.

  Args:
    name: in any form TensorFlow reads: "GPU:1", "/gpu:1", "/device:GPU:1",
      "/job:worker/task:1/device:GPU:1".

  Returns:
    The full name: job, replica, task, type and index.

  Raises:
    ValueError: if `name` isn't a device name.

  Example:
    >>> canonical("cpu:1")
    '/job:localhost/replica:0/task:0/device:CPU:1'
  """
  text = name if name.startswith("/") or not name else f"/{name}"
  try:
    spec = tf.DeviceSpec.from_string(text)
  except ValueError as error:
    raise ValueError(_not_a_device(name)) from error
  if spec.device_type is None:
    raise ValueError(_not_a_device(name))
  full = tf.DeviceSpec(
    job=spec.job or "localhost",
    replica=spec.replica or 0,
    task=spec.task or 0,
    device_type=spec.device_type.upper(),
    device_index=spec.device_index or 0,
  )
  return full.to_string()


def _not_a_device(name: object) -> str:
  return (
    "A device must be named by its type and index, such as `GPU:0`; got "
    f"{name!r}."
  )


def type_of(name: str) -> str:
  """The type of a device in capitals, such as "GPU"."""
  return tf.DeviceSpec.from_string(name).device_type


def resolve(
  devices: Sequence[str],
  available: Callable[[], list[str]] = list_local,
) -> tuple[str, ...]:
  """Completes and checks the devices that a strategy was given.

  Args:
    devices: names of devices, one a replica, all of one type.
    available: lists the full names of the devices there are.

  Returns:
    Their full names in the same order.

  Raises:
    ValueError: if `devices` isn't a sequence of names, or there is no device,
      a device twice, devices of several types, or one that this machine
      doesn't have.
  """
  given: object = devices
  if (
    isinstance(given, str)
    or not isinstance(given, Sequence)
    or not all(isinstance(device, str) for device in given)
  ):
    raise ValueError(
      "`devices` must be a list of device names such as `['GPU:0', 'GPU:1']`; "
      f"got {devices!r}."
    )
  names = tuple(canonical(device) for device in devices)
  if not names:
    raise ValueError(
      "`devices` must name at least one device; got an empty list. Leave "
      "`devices` out to use all GPUs, or the CPU where there is none."
    )
  repeated = [name for name, count in Counter(names).items() if count > 1]
  if repeated:
    raise ValueError(
      "`devices` must name each device once; got "
      f"{_short(repeated)} more than once in {list(devices)!r}."
    )
  types = sorted({type_of(name) for name in names})
  if len(types) > 1:
    raise ValueError(
      "`devices` must all be of one type; got "
      f"{' and '.join(types)} in {list(devices)!r}. Use one type, or put "
      "variables elsewhere with `CentralStorageStrategy`."
    )
  _check_available(names, available())
  return names


def _check_available(names: tuple[str, ...], available: list[str]) -> None:
  missing = [name for name in names if name not in available]
  # Devices of other tasks are not ours to list.
  missing = [name for name in missing if name.startswith(_LOCAL_TASK)]
  if not missing:
    return
  message = (
    f"`devices` must be devices of this machine; there is no "
    f"{_short(missing)}. It has {_short(available)}."
  )
  if type_of(missing[0]) == "CPU":
    message += (
      " To split the CPU into several logical devices, call "
      f"`sg.make_logical_cpus({len(names)})` before anything else uses "
      "TensorFlow."
    )
  raise ValueError(message)


def _short(names: Sequence[str]) -> str:
  return ", ".join(f"`{name.rpartition('device:')[2]}`" for name in names)
