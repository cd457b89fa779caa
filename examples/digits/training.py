"""The model in a strategy's scope, and the custom loop's steps."""

from collections.abc import Callable, Iterable
import types
from typing import Any

import keras
import tensorflow as tf

from examples.digits import model as model_lib


class Trainer:
  """Trains and tests the model on every replica of a strategy.

  Nothing here knows whether `dist` is `stratagem` or `tf.distribute`.

  Args:
    dist: the module the strategy came from.
    strategy: where to make the variables and run the steps.
    global_batch_size: images a step over all replicas, what the loss is divided
      by. A last, smaller batch so counts for as much less.
  """

  def __init__(
    self, dist: types.ModuleType, strategy: Any, global_batch_size: int
  ) -> None:
    self._dist = dist
    self._strategy = strategy
    self._global_batch_size = global_batch_size
    with strategy.scope():
      self.model = model_lib.make_model()
      self.optimizer = model_lib.make_optimizer()
      self.optimizer.build(self.model.trainable_variables)
      self.accuracy = keras.metrics.SparseCategoricalAccuracy()
    self.train_step = self._make_train_step()
    self._test_step = self._make_test_step()

  def _make_train_step(self) -> Callable[[Any], tf.Tensor]:
    model, optimizer, accuracy = self.model, self.optimizer, self.accuracy

    def replica_step(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
      with tf.GradientTape() as tape:
        logits = model(images, training=True)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        loss = tf.nn.compute_average_loss(
          losses, global_batch_size=self._global_batch_size
        )
      gradients = tape.gradient(loss, model.trainable_variables)
      optimizer.apply_gradients(
        zip(gradients, model.trainable_variables, strict=True)
      )
      accuracy.update_state(labels, logits)
      return loss

    @tf.function
    def train_step(batch: Any) -> tf.Tensor:
      losses = self._strategy.run(replica_step, args=batch)
      return self._strategy.reduce(self._dist.ReduceOp.SUM, losses, axis=None)

    return train_step

  def _make_test_step(self) -> Callable[[Any], None]:
    def replica_step(images: tf.Tensor, labels: tf.Tensor) -> None:
      self.accuracy.update_state(labels, self.model(images, training=False))

    @tf.function
    def test_step(batch: Any) -> None:
      self._strategy.run(replica_step, args=batch)

    return test_step

  def distribute(self, dataset: tf.data.Dataset) -> Iterable[Any]:
    """The dataset's batches, each split over the replicas."""
    return self._strategy.experimental_distribute_dataset(dataset)

  def test(self, dataset: tf.data.Dataset) -> float:
    """The share of `dataset` that the model gets right."""
    self.accuracy.reset_state()
    for batch in self.distribute(dataset):
      self._test_step(batch)
    return float(self.accuracy.result())
