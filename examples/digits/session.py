"""One training run from the strategy to the test accuracy."""

from collections.abc import Callable
import dataclasses
import time

import numpy as np

from examples.digits import checkpoints as checkpoints_lib
from examples.digits import data
from examples.digits import progress as progress_lib
from examples.digits import replication
from examples.digits import scalars as scalars_lib
from examples.digits import training


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
  """What to train, and where its traces go.

  Attributes:
    implementation: one of `replication.IMPLEMENTATIONS`.
    strategy: one of `replication.STRATEGIES`.
    replicas: how many devices to train on.
    epochs: how often to go over the training digits.
    global_batch_size: images a step, over all replicas.
    logdir: where TensorBoard scalars go, or None.
    checkpoint_dir: where each epoch is saved and resumed from, or None.
    initial_weights: an `.npz` file with the model's first weights, or None.
  """

  implementation: str
  strategy: str
  replicas: int
  epochs: int
  global_batch_size: int
  logdir: str | None = None
  checkpoint_dir: str | None = None
  initial_weights: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Record:
  """What a run measured.

  Attributes:
    losses: of each step, in order.
    step_seconds: of each step, in order; the first one holds the tracing.
    startup_seconds: from before the strategy is made to the first loss.
    test_accuracy: at the end.
  """

  losses: list[float]
  step_seconds: list[float]
  startup_seconds: float
  test_accuracy: float


class _Session:
  """A run under way: the trainer and what was measured so far."""

  def __init__(
    self, options: Options, clock: Callable[[], float] = time.perf_counter
  ) -> None:
    self._options = options
    self._clock = clock
    self._digits, self._test_digits = data.load()
    dist = replication.load(options.implementation)
    devices = replication.make_devices(options.implementation, options.replicas)
    self._start = clock()
    strategy = replication.make_strategy(dist, options.strategy, devices)
    self.trainer = training.Trainer(dist, strategy, options.global_batch_size)
    self.losses: list[float] = []
    self.step_seconds: list[float] = []
    self.startup_seconds = 0.0

  def step(self, batch: object) -> float:
    """Trains on one batch; its loss."""
    start = self._clock()
    loss = float(self.trainer.train_step(batch))
    now = self._clock()
    if not self.losses:
      self.startup_seconds = now - self._start
    self.losses.append(loss)
    self.step_seconds.append(now - start)
    return loss

  def epoch(self, epoch: int) -> dict[str, float]:
    """Trains on every digit once; the epoch's scalars."""
    batch_size = self._options.global_batch_size
    steps = data.count(self._digits, batch_size)
    title = f"Epoch {epoch}/{self._options.epochs}"
    progress = progress_lib.Progress(title, steps)
    self.trainer.accuracy.reset_state()
    start = self._clock()
    losses = []
    dataset = data.shuffled(self._digits, batch_size, epoch)
    for batch in self.trainer.distribute(dataset):
      losses.append(self.step(batch))
      progress.step(len(losses), f"loss {losses[-1]:.4f}")
    scalars = {
      # Each is a sum over the batch divided by the size of a full one.
      "loss": sum(losses) * batch_size / len(self._digits),
      "accuracy": float(self.trainer.accuracy.result()),
      "images_per_second": len(self._digits) / (self._clock() - start),
    }
    progress.finish(
      f"loss {scalars['loss']:.4f}  accuracy {scalars['accuracy']:.4f}  "
      f"{scalars['images_per_second']:.0f} images/s"
    )
    return scalars

  def test(self) -> float:
    """The share of the test digits that the model gets right."""
    batch_size = self._options.global_batch_size
    return self.trainer.test(data.batches(self._test_digits, batch_size))


def save_initial_weights(path: str, weights: list[np.ndarray]) -> None:
  """Writes what `Options.initial_weights` names."""
  np.savez(path, *weights)


def _load_initial_weights(path: str) -> list[np.ndarray]:
  with np.load(path) as archive:
    return [archive[name] for name in archive.files]


def run(options: Options) -> Record:
  """Trains, reports, saves and tests as `options` say."""
  session = _Session(options)
  if options.initial_weights:
    session.trainer.model.set_weights(
      _load_initial_weights(options.initial_weights)
    )
  checkpoints = checkpoints_lib.Checkpoints(
    session.trainer, options.checkpoint_dir
  )
  scalars = scalars_lib.Scalars(options.logdir)
  for epoch in range(checkpoints.resume() + 1, options.epochs + 1):
    scalars.write(epoch, session.epoch(epoch))
    checkpoints.save(epoch)
  test_accuracy = session.test()
  scalars.write(options.epochs, {"test_accuracy": test_accuracy})
  return Record(
    losses=session.losses,
    step_seconds=session.step_seconds,
    startup_seconds=session.startup_seconds,
    test_accuracy=test_accuracy,
  )
