"""What tests of strategies share: how many replicas, in which mode."""

import itertools

import tensorflow as tf

import stratagem as sg
from tests import logical_devices

# Ample for replicas that come at all.
_TIMEOUT_SECONDS = 30.0

# For `parameterized.named_parameters(*...)`.
COUNTS = (("one_replica", 1), ("two_replicas", 2), ("four_replicas", 4))
SEVERAL = COUNTS[1:]
MODES = (("eager", lambda fn: fn), ("function", tf.function))
# The number of replicas, and how the step is run.
CASES = tuple(
  (f"{mode}_{name}", count, wrap)
  for (name, count), (mode, wrap) in itertools.product(COUNTS, MODES)
)
SEVERAL_CASES = tuple(case for case in CASES if case[1] > 1)


def mirrored(count):
  """A strategy with so many replicas, which don't wait for ever."""
  strategy = sg.MirroredStrategy(logical_devices.names(count))
  strategy.extended.collectives.timeout_seconds = _TIMEOUT_SECONDS
  return strategy


def spread(strategy, fn):
  """A value whose component on replica i is the tensor `fn(i)`."""
  return strategy.experimental_distribute_values_from_function(
    lambda context: tf.convert_to_tensor(fn(context.replica_id_in_sync_group))
  )


def components(strategy, value):
  """The components of a value as arrays."""
  return [c.numpy() for c in strategy.experimental_local_results(value)]


def replica_id():
  """The number of the replica that runs, as a tensor."""
  context = sg.get_replica_context()
  return tf.convert_to_tensor(context.replica_id_in_sync_group)
