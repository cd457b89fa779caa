"""Several logical devices on one CPU, to try replicas without a GPU."""

import tensorflow as tf


def make_logical_cpus(count: int) -> list[str]:
  """Splits the CPU into `count` logical devices, `CPU:0` and up.

  Replicas on logical CPU devices run the same program as replicas on GPUs,
  which serves to develop and to test. Call it before anything else uses
  TensorFlow's devices. Calling it again for as many or fewer is fine.

  Args:
    count: how many devices there must be, at least 1.

  Returns:
    Their names, for `sg.MirroredStrategy(devices)`.

  Raises:
    ValueError: if `count` is less than 1.
    RuntimeError: if TensorFlow has already set up its devices, with fewer
      CPUs.

  Example:
    >>> import stratagem as sg
    >>> strategy = sg.MirroredStrategy(sg.make_logical_cpus(1))
    >>> strategy.num_replicas_in_sync
    1
  """
  if count < 1:
    raise ValueError(f"`count` must be at least 1; got {count}.")
  cpu = tf.config.list_physical_devices("CPU")[0]
  made = tf.config.get_logical_device_configuration(cpu)
  if len(made or ()) < count:
    _configure(cpu, count)
  return [f"CPU:{index}" for index in range(count)]


def _configure(cpu: tf.config.PhysicalDevice, count: int) -> None:
  configuration = [tf.config.LogicalDeviceConfiguration()] * count
  try:
    tf.config.set_logical_device_configuration(cpu, configuration)
  except RuntimeError as error:
    # TensorFlow is up. Enough devices may be there all the same.
    present = len(tf.config.list_logical_devices("CPU"))
    if present >= count:
      return
    raise RuntimeError(
      f"`make_logical_cpus({count})` must come before TensorFlow sets up its "
      f"devices; they are set up, with {present} logical CPU. Move the call "
      "to the start of the program, or restart the notebook's runtime and "
      "run it first."
    ) from error
