"""Keras layers, optimizers and metrics in a custom training loop."""

import keras
import numpy as np
import tensorflow as tf

from tests.conformance.fragments import replica_id
from tests.conformance.fragments import spread
from tests.conformance.program import program

# Keras's own arithmetic is fused differently in a graph of another shape.
_TOLERANCE = 1e-5


def _inputs(strategy):
  """`[2, 3]` numbers on each replica."""
  rows = np.arange(24, dtype=np.float32).reshape([4, 2, 3]) / 10.0
  return spread(strategy, lambda i: tf.constant(rows[i]))


def _dense():
  return keras.layers.Dense(
    2, kernel_initializer="ones", bias_initializer="zeros"
  )


def _weights(model):
  return [np.asarray(w) for w in model.get_weights()]


def _trained(strategy, wrap, make_optimizer, steps=2):
  """The weights, and the losses, after a few steps of a Dense layer."""
  keras.backend.clear_session()
  with strategy.scope():
    model = keras.Sequential([keras.Input([3]), _dense()])
    optimizer = make_optimizer()
    optimizer.build(model.trainable_variables)

  @wrap
  def step(x):
    def replica_fn(x):
      with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x, training=True) ** 2.0)
      gradients = tape.gradient(loss, model.trainable_variables)
      optimizer.apply_gradients(
        zip(gradients, model.trainable_variables, strict=True)
      )
      return loss

    losses = strategy.run(replica_fn, args=(x,))
    return strategy.reduce("MEAN", losses, axis=None)

  losses = [step(_inputs(strategy)) for _ in range(steps)]
  return losses, _weights(model), np.asarray(optimizer.iterations)


@program(tolerance=_TOLERANCE)
def stochastic_gradient_descent(strategy, wrap):
  """SGD: `apply_gradients` reduces over the replicas by itself."""
  return _trained(strategy, wrap, lambda: keras.optimizers.SGD(0.1))


@program(tolerance=_TOLERANCE)
def momentum(strategy, wrap):
  """SGD with momentum: slot variables stay in step."""
  return _trained(
    strategy, wrap, lambda: keras.optimizers.SGD(0.05, momentum=0.9)
  )


@program(tolerance=_TOLERANCE)
def adam(strategy, wrap):
  """Adam, three steps."""
  return _trained(strategy, wrap, lambda: keras.optimizers.Adam(0.1), steps=3)


@program(tolerance=_TOLERANCE)
def clipped_gradients(strategy, wrap):
  """Gradients clipped by their common norm."""
  return _trained(
    strategy, wrap, lambda: keras.optimizers.SGD(0.1, global_clipnorm=0.5)
  )


@program(tolerance=_TOLERANCE)
def batch_normalization(dist, strategy, wrap):
  """Moving statistics are the mean of the replicas'."""
  keras.backend.clear_session()
  with strategy.scope():
    layer = keras.layers.BatchNormalization(momentum=0.5)
    layer.build([None, 3])

  @wrap
  def step(x):
    return strategy.run(lambda x: layer(x, training=True), args=(x,))

  outputs = step(_inputs(strategy))
  return outputs, _weights(layer)


@program(tolerance=_TOLERANCE)
def batch_normalization_in_inference(strategy, wrap):
  """In inference the statistics are used and not moved."""
  keras.backend.clear_session()
  with strategy.scope():
    layer = keras.layers.BatchNormalization()
    layer.build([None, 3])

  @wrap
  def step(x):
    return strategy.run(lambda x: layer(x, training=False), args=(x,))

  return step(_inputs(strategy)), _weights(layer)


@program(tolerance=_TOLERANCE)
def embedding(dist, strategy, wrap):
  """The gradient of an Embedding reaches the rows that were looked up."""
  keras.backend.clear_session()
  with strategy.scope():
    layer = keras.layers.Embedding(5, 2, embeddings_initializer="ones")
    layer.build([None])
    optimizer = keras.optimizers.SGD(0.5)
    optimizer.build(layer.trainable_variables)

  @wrap
  def step(rows):
    def replica_fn(rows):
      with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(rows) ** 2.0)
      gradients = tape.gradient(loss, layer.trainable_variables)
      optimizer.apply_gradients(
        zip(gradients, layer.trainable_variables, strict=True)
      )

    strategy.run(replica_fn, args=(rows,))

  step(spread(strategy, lambda i: tf.constant([i, 4])))
  return _weights(layer)


@program(tolerance=_TOLERANCE)
def without_dropout(strategy, wrap):
  """Dropout does nothing outside training."""
  layer = keras.layers.Dropout(0.5)

  @wrap
  def step(x):
    return strategy.run(lambda x: layer(x, training=False), args=(x,))

  return step(_inputs(strategy))


@program(tolerance=_TOLERANCE)
def mean_metric(dist, strategy, wrap):
  """A metric updated by the replicas counts them all."""
  keras.backend.clear_session()
  with strategy.scope():
    metric = keras.metrics.Mean()

  @wrap
  def step():
    strategy.run(lambda: metric.update_state(replica_id(dist) + 1.0))

  step()
  step()
  before = np.asarray(metric.result())
  metric.reset_state()
  return before, np.asarray(metric.result())


@program(tolerance=_TOLERANCE)
def accuracy_metric(dist, strategy, wrap):
  """A metric of labels and predictions."""
  keras.backend.clear_session()
  with strategy.scope():
    metric = keras.metrics.SparseCategoricalAccuracy()
  labels = spread(strategy, lambda i: tf.constant([i % 2, 1]))
  scores = spread(strategy, lambda i: tf.constant([[0.9, 0.1], [0.2, 0.8]]))

  @wrap
  def step(labels, scores):
    strategy.run(metric.update_state, args=(labels, scores))

  step(labels, scores)
  return np.asarray(metric.result())


@program(tolerance=_TOLERANCE)
def layers_made_in_scope(strategy):
  """A layer's weights, made in scope, are on every device."""
  keras.backend.clear_session()
  with strategy.scope():
    layer = _dense()
    layer.build([None, 3])
  return [
    [
      (part.device, part.numpy())
      for part in strategy.experimental_local_results(weight.value)
    ]
    for weight in layer.weights
  ]


@program(tolerance=_TOLERANCE)
def forward(strategy, wrap):
  """A forward pass gives each replica's own outputs."""
  keras.backend.clear_session()
  with strategy.scope():
    model = keras.Sequential(
      [keras.Input([3]), _dense(), keras.layers.ReLU(), _dense()]
    )

  @wrap
  def step(x):
    return strategy.run(model, args=(x,))

  return step(_inputs(strategy))


@program(tolerance=_TOLERANCE)
def set_and_get_weights(strategy):
  """Weights are set on every device, and read back."""
  keras.backend.clear_session()
  with strategy.scope():
    layer = _dense()
    layer.build([None, 3])
  layer.set_weights([np.full([3, 2], 2.0), np.array([1.0, 0.5])])
  parts = strategy.experimental_local_results(layer.weights[0].value)
  return _weights(layer), [part.numpy() for part in parts]
