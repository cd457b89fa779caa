"""Trains a small convolutional network on real digits, on several replicas.

python examples/train_digits.py                             # Two replicas.
python examples/train_digits.py --strategy=one_device
python examples/train_digits.py --replicas=4 --compare      # Beside upstream.
python examples/train_digits.py --logdir=/tmp/digits        # For TensorBoard.
python examples/train_digits.py --checkpoint_dir=/tmp/ckpt  # Stop, and go on.

It is an ordinary `tf.distribute` program, a custom loop over a Keras model, in
which `tf.distribute` is called `dist` (see `digits/training.py`). Replicas are
GPUs; where there is no GPU, logical devices of the CPU.
"""

from collections.abc import Mapping, Sequence
import sys
from typing import Any

from absl import app
from absl import flags
import keras
import tensorflow as tf

from examples.digits import comparison as comparison_lib
from examples.digits import replication
from examples.digits import session
from examples.digits import sides

_STRATEGY = flags.DEFINE_enum(
  "strategy", replication.MIRRORED, replication.STRATEGIES, "How to distribute."
)
_REPLICAS = flags.DEFINE_integer(
  "replicas",
  None,
  "How many devices to train on. By default every GPU; where there is none, 2 "
  "logical CPU devices. One for --strategy=one_device.",
  lower_bound=1,
)
_EPOCHS = flags.DEFINE_integer(
  "epochs", 15, "How often to go over the training digits.", lower_bound=1
)
_GLOBAL_BATCH_SIZE = flags.DEFINE_integer(
  "global_batch_size", 64, "Images a step over all replicas.", lower_bound=1
)
_SEED = flags.DEFINE_integer("seed", 0, "What the initial weights follow from.")
_LOGDIR = flags.DEFINE_string(
  "logdir", None, "Where TensorBoard scalars go: loss, accuracy, images/s."
)
_CHECKPOINT_DIR = flags.DEFINE_string(
  "checkpoint_dir", None, "Where each epoch is saved, and resumed from."
)
_COMPARE = flags.DEFINE_bool(
  "compare",
  False,
  "Train under stratagem and under tf.distribute, from the same weights on the "
  "same batches, and print how far the losses are apart. Fails where that is "
  f"{comparison_lib.TOLERANCE:.0e} (relative) or more.",
)
_COMPARE_ROUNDS = flags.DEFINE_integer(
  "compare_rounds", 2, "How often --compare runs each side.", lower_bound=1
)

# What --compare gives to the processes of its two sides.
_IMPLEMENTATION = flags.DEFINE_enum(
  "implementation",
  replication.OURS,
  replication.IMPLEMENTATIONS,
  "Internal: whose strategy to use.",
)
_INITIAL_WEIGHTS = flags.DEFINE_string(
  "initial_weights", None, "Internal: an .npz file to take weights from."
)
_RESULT = flags.DEFINE_string(
  "result", None, "Internal: a JSON file to write what was measured to."
)


@flags.multi_flags_validator(
  ["strategy", "replicas"],
  message="--strategy=one_device must have --replicas=1 (or no --replicas): "
  "take --strategy=mirrored for more.",
)
def _one_device_has_one_replica(values: Mapping[str, Any]) -> bool:
  one_device = values["strategy"] == replication.ONE_DEVICE
  return not one_device or values["replicas"] in (None, 1)


@flags.multi_flags_validator(
  ["replicas", "global_batch_size"],
  message="--global_batch_size must be --replicas or more: each replica takes "
  "its part of the batch.",
)
def _every_replica_has_an_image(values: Mapping[str, Any]) -> bool:
  return values["global_batch_size"] >= (values["replicas"] or 1)


@flags.multi_flags_validator(
  ["compare", "logdir", "checkpoint_dir"],
  message="--compare must be alone: it trains several times from the start, so "
  "leave out --logdir and --checkpoint_dir.",
)
def _compare_leaves_no_traces(values: Mapping[str, Any]) -> bool:
  traces = values["logdir"] or values["checkpoint_dir"]
  return not (values["compare"] and traces)


def _replicas() -> int:
  if _REPLICAS.value:
    return _REPLICAS.value
  if _STRATEGY.value == replication.ONE_DEVICE:
    return 1
  return len(tf.config.list_physical_devices("GPU")) or 2


def _train(replicas: int) -> None:
  keras.utils.set_random_seed(_SEED.value)
  record = session.run(
    session.Options(
      implementation=_IMPLEMENTATION.value,
      strategy=_STRATEGY.value,
      replicas=replicas,
      epochs=_EPOCHS.value,
      global_batch_size=_GLOBAL_BATCH_SIZE.value,
      logdir=_LOGDIR.value,
      checkpoint_dir=_CHECKPOINT_DIR.value,
      initial_weights=_INITIAL_WEIGHTS.value,
    )
  )
  print(f"Test accuracy: {record.test_accuracy:.4f}")
  if _RESULT.value:
    sides.save_record(_RESULT.value, record)


def _compare(replicas: int) -> None:
  keras.utils.set_random_seed(_SEED.value)
  comparison = sides.compare(
    [
      __file__,
      f"--strategy={_STRATEGY.value}",
      f"--replicas={replicas}",
      f"--epochs={_EPOCHS.value}",
      f"--global_batch_size={_GLOBAL_BATCH_SIZE.value}",
    ],
    rounds=_COMPARE_ROUNDS.value,
  )
  print(comparison_lib.summary(comparison))
  if not comparison.worst() < comparison_lib.TOLERANCE:
    sys.exit(
      f"The losses must be less than {comparison_lib.TOLERANCE:.0e} apart "
      f"(relative), and are {comparison.worst():.1e} apart."
    )


def main(argv: Sequence[str]) -> None:
  """Trains, or compares."""
  if len(argv) > 1:
    raise app.UsageError(f"There must be flags only, got {argv[1:]}.")
  (_compare if _COMPARE.value else _train)(_replicas())


if __name__ == "__main__":
  app.run(main)
