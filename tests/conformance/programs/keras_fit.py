"""`Model.fit`, `evaluate` and `predict` of a model made in scope."""

import keras
import numpy as np

from tests.conformance.program import program

_TOLERANCE = 1e-4


def _data():
  random = np.random.RandomState(0)
  x = random.normal(size=[16, 3]).astype(np.float32)
  return x, x.sum(axis=1, keepdims=True)


def _model(strategy, *layers, metrics=()):
  keras.backend.clear_session()
  with strategy.scope():
    model = keras.Sequential([keras.Input([3]), *layers])
    model.add(keras.layers.Dense(1, kernel_initializer="ones", use_bias=False))
    model.compile(keras.optimizers.SGD(0.1), "mse", metrics=list(metrics))
  return model


def _fitted(model, **options):
  x, y = _data()
  history = model.fit(x, y - 1.0, shuffle=False, verbose=0, **options)
  return history.history, [np.asarray(w) for w in model.get_weights()]


@program(tolerance=_TOLERANCE)
def fit(strategy):
  """Two epochs of whole batches."""
  return _fitted(_model(strategy), batch_size=8, epochs=2)


@program(tolerance=_TOLERANCE)
def fit_with_a_partial_batch(strategy):
  """The last batch is smaller than the others."""
  return _fitted(_model(strategy), batch_size=12, epochs=1)


@program(tolerance=_TOLERANCE)
def fit_with_metrics(strategy):
  """Metrics count every replica's examples."""
  model = _model(strategy, metrics=["mae"])
  return _fitted(model, batch_size=8, epochs=1)


@program(tolerance=_TOLERANCE)
def fit_with_batch_normalization(strategy):
  """Moving statistics are updated."""
  layer = keras.layers.BatchNormalization
  keras.backend.clear_session()
  with strategy.scope():
    normalization = layer(momentum=0.5)
  return _fitted(_model(strategy, normalization), batch_size=8, epochs=1)


@program(tolerance=_TOLERANCE)
def evaluate(strategy):
  """The loss over all examples."""
  x, y = _data()
  return _model(strategy).evaluate(x, y - 1.0, batch_size=8, verbose=0)


@program(tolerance=_TOLERANCE)
def predict(strategy):
  """Predictions come in the order of the examples."""
  x, _ = _data()
  return _model(strategy).predict(x, batch_size=8, verbose=0)
