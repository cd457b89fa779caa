"""stratagem: an independent implementation of TensorFlow's `tf.distribute`."""

from stratagem import _tensorflow as _tensorflow  # First: it may refuse.
from stratagem import experimental
from stratagem.cluster.logical_cpus import make_logical_cpus
from stratagem.cross_device.reduce_op import ReduceOp
from stratagem.cross_device.values import DistributedValues
from stratagem.cross_device.values import Mirrored
from stratagem.cross_device.values import PerReplica
from stratagem.input import DistributedDataset
from stratagem.input import DistributedIterator
from stratagem.input import InputContext
from stratagem.input import InputOptions
from stratagem.input import InputReplicationMode
from stratagem.strategies import inherited_autograph as _inherited_autograph
from stratagem.strategies.current import experimental_set_strategy
from stratagem.strategies.current import get_replica_context
from stratagem.strategies.current import get_strategy
from stratagem.strategies.current import has_strategy
from stratagem.strategies.current import in_cross_replica_context
from stratagem.strategies.extended import StrategyExtended
from stratagem.strategies.mirrored import MirroredStrategy
from stratagem.strategies.one_device import OneDeviceStrategy
from stratagem.strategies.replica_context import ReplicaContext
from stratagem.strategies.run_options import RunOptions
from stratagem.strategies.strategy import Strategy
from stratagem.strategies.value_context import ValueContext

# What users make or are given,
__all__ = [
  "Strategy",
  "MirroredStrategy",
  "OneDeviceStrategy",
  "ReplicaContext",
  "StrategyExtended",
  "RunOptions",
  "ReduceOp",
  # values,
  "DistributedValues",
  "Mirrored",
  "PerReplica",
  "ValueContext",
  # input,
  "DistributedDataset",
  "DistributedIterator",
  "InputContext",
  "InputOptions",
  "InputReplicationMode",
  # what is in force,
  "experimental_set_strategy",
  "get_replica_context",
  "get_strategy",
  "has_strategy",
  "in_cross_replica_context",
  # and devices to try it on.
  "make_logical_cpus",
  # What upstream has as experimental.
  "experimental",
]

_inherited_autograph.leave_alone(__name__)
