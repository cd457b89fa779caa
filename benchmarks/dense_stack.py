"""The program most pairs run: dense layers of 64x64, gradients all-reduced."""

import types
from typing import Any

import tensorflow as tf

WIDTH = 64
PER_REPLICA_BATCH = 16
LEARNING_RATE = 0.01


def make_strategy(dist: types.ModuleType, replicas: int) -> Any:
  """A `MirroredStrategy` over `replicas` logical devices of one CPU.

  `dist` is `tf.distribute` or `stratagem`; nothing else differs.
  """
  cpu = tf.config.list_physical_devices("CPU")[0]
  tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration()] * replicas
  )
  return dist.MirroredStrategy([f"/cpu:{i}" for i in range(replicas)])


def make_weights(strategy: Any, layers: int) -> list[tf.Variable]:
  """One `[WIDTH, WIDTH]` variable a layer, made in the strategy's scope."""
  initial = tf.random.stateless_normal(
    [layers, WIDTH, WIDTH], seed=(1, 2), stddev=WIDTH**-0.5
  )
  with strategy.scope():
    return [tf.Variable(initial[i], name=f"w{i}") for i in range(layers)]


def make_batch() -> tf.Tensor:
  """What every replica is given, `[PER_REPLICA_BATCH, WIDTH]`."""
  return tf.random.stateless_normal([PER_REPLICA_BATCH, WIDTH], seed=(3, 4))


def make_step(
  dist: types.ModuleType, strategy: Any, weights: list[tf.Variable]
) -> Any:
  """A training step of the stack as a `tf.function` from batch to mean loss."""

  def replica_step(batch: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
      hidden = batch
      for weight in weights:
        hidden = tf.tanh(tf.matmul(hidden, weight))
      loss = tf.reduce_mean(tf.square(hidden))
    gradients = tape.gradient(loss, weights)
    context = dist.get_replica_context()
    gradients = context.all_reduce(dist.ReduceOp.SUM, gradients)
    for weight, gradient in zip(weights, gradients, strict=True):
      weight.assign_sub(LEARNING_RATE * gradient)
    return loss

  @tf.function
  def step(batch: tf.Tensor) -> tf.Tensor:
    losses = strategy.run(replica_step, args=(batch,))
    return strategy.reduce(dist.ReduceOp.MEAN, losses, axis=None)

  return step
