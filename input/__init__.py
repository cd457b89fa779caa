"""Splitting one tf.data pipeline over workers and replicas."""

if __name__ != "stratagem.input":
  raise ImportError(
    "This package must be imported as `stratagem.input`, and was "
    f"imported as `{__name__}`, which would make each of its classes exist "
    "twice. Write `import stratagem.input`."
  )

from stratagem.input.context import InputContext
from stratagem.input.dataset import DistributedDataset
from stratagem.input.distribution import distribute_dataset
from stratagem.input.distribution import distribute_datasets_from_function
from stratagem.input.iterator import DistributedIterator
from stratagem.input.iterator import DistributedOptional
from stratagem.input.options import InputOptions
from stratagem.input.options import InputReplicationMode

__all__ = [
  "distribute_dataset",
  "distribute_datasets_from_function",
  "DistributedDataset",
  "DistributedIterator",
  "DistributedOptional",
  "InputContext",
  "InputOptions",
  "InputReplicationMode",
]
