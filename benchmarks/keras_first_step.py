"""Seconds of the first step of a Keras model under a custom loop."""

from collections.abc import Iterator
import time
import types

import keras
import tensorflow as tf

from benchmarks import dense_stack


def measure(
  dist: types.ModuleType, *, replicas: int, layers: int
) -> Iterator[float]:
  """One measurement: a process has one first step."""
  strategy = dense_stack.make_strategy(dist, replicas)
  with strategy.scope():
    model = keras.Sequential(
      [keras.Input([dense_stack.WIDTH])]
      + [keras.layers.Dense(dense_stack.WIDTH, "relu") for _ in range(layers)]
    )
    optimizer = keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
  batch = dense_stack.make_batch()

  def replica_step(batch: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
      loss = tf.reduce_mean(tf.square(model(batch, training=True)))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(
      zip(gradients, model.trainable_variables, strict=True)
    )
    return loss

  @tf.function
  def step(batch: tf.Tensor) -> tf.Tensor:
    losses = strategy.run(replica_step, args=(batch,))
    return strategy.reduce(dist.ReduceOp.MEAN, losses, axis=None)

  start = time.perf_counter()
  step(batch).numpy()
  yield time.perf_counter() - start
