"""Which implementation, which strategy, on which devices."""

import importlib
import types
from typing import Any

import tensorflow as tf

OURS = "stratagem"
UPSTREAM = "tf.distribute"
IMPLEMENTATIONS = (OURS, UPSTREAM)

ONE_DEVICE = "one_device"
MIRRORED = "mirrored"
STRATEGIES = (ONE_DEVICE, MIRRORED)


def load(implementation: str) -> types.ModuleType:
  """`stratagem` or `tf.distribute`, under whose names the rest is written."""
  if implementation == UPSTREAM:
    return tf.distribute
  return importlib.import_module(implementation)


def gpu_names(replicas: int, gpus: int) -> list[str]:
  """The first `replicas` of a machine's `gpus` GPUs; none where it has none.

  Raises:
    ValueError: there are GPUs, and fewer than `replicas`.
  """
  if 0 < gpus < replicas:
    raise ValueError(
      f"There must be a GPU for each of --replicas={replicas}, found {gpus}. "
      f"Ask for {gpus} or fewer, or hide the GPUs with CUDA_VISIBLE_DEVICES=-1 "
      "to run on the CPU."
    )
  return [f"GPU:{index}" for index in range(min(replicas, gpus))]


def make_devices(implementation: str, replicas: int) -> list[str]:
  """The first GPUs; where there is no GPU, logical devices of one CPU."""
  gpus = gpu_names(replicas, len(tf.config.list_physical_devices("GPU")))
  if gpus:
    return gpus
  if implementation == OURS:
    return load(OURS).make_logical_cpus(replicas)
  tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0],
    [tf.config.LogicalDeviceConfiguration()] * replicas,
  )
  return [f"CPU:{index}" for index in range(replicas)]


def make_strategy(dist: types.ModuleType, kind: str, devices: list[str]) -> Any:
  """The strategy called `kind` over `devices`."""
  if kind == ONE_DEVICE:
    return dist.OneDeviceStrategy(devices[0])
  return dist.MirroredStrategy(devices)
