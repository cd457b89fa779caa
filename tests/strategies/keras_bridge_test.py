"""Keras on our strategies: N replicas do as one does."""

from absl.testing import parameterized
import keras
import numpy as np
import tensorflow as tf

import stratagem as sg
from stratagem.strategies import engine
from tests.strategies import replication

_BATCH = 16
_STEPS = 3


def _dense():
  return keras.Sequential(
    [
      keras.layers.Input([4]),
      keras.layers.Dense(8, activation="tanh"),
      keras.layers.Dense(1),
    ]
  )


def _batch_norm():
  return keras.Sequential(
    [
      keras.layers.Input([4]),
      # A bias would be of no effect, and its gradient noise.
      keras.layers.Dense(8, use_bias=False),
      keras.layers.BatchNormalization(synchronized=True),
      keras.layers.Dense(1),
    ]
  )


def _embedding():
  return keras.Sequential(
    [
      keras.layers.Input([4]),
      keras.layers.Rescaling(3.0),
      keras.layers.Embedding(10, 3),
      keras.layers.Flatten(),
      keras.layers.Dense(1),
    ]
  )


_MODELS = (
  ("dense", _dense),
  ("batch_norm", _batch_norm),
  ("embedding", _embedding),
)
_OPTIMIZERS = (
  ("sgd", lambda: keras.optimizers.SGD(0.1, momentum=0.9)),
  ("adam", lambda: keras.optimizers.Adam(0.01)),
)


def _batches():
  rng = np.random.default_rng(0)
  for _ in range(_STEPS):
    x = rng.uniform(0.0, 3.0, [_BATCH, 4]).astype(np.float32)
    yield x, x.sum(axis=1, keepdims=True)


def _trained(count, wrap, make_model, make_optimizer):
  """The losses and the weights of a model trained on `count` replicas."""
  strategy = replication.mirrored(count)
  keras.utils.set_random_seed(1)
  tf.random.set_seed(None)
  with strategy.scope():
    model = make_model()
    optimizer = make_optimizer()
    optimizer.build(model.trainable_variables)

  def replica_fn(x, y):
    with tf.GradientTape() as tape:
      error = model(x, training=True) - y
      loss = tf.reduce_sum(error * error) / _BATCH
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(
      zip(gradients, model.trainable_variables, strict=True)
    )
    return loss

  def step(x, y):
    losses = strategy.run(replica_fn, args=(x, y))
    return strategy.reduce("SUM", losses, axis=None)

  step = wrap(step)
  losses = []
  for batch in _batches():
    shares = [np.split(part, count) for part in batch]
    values = [
      replication.spread(strategy, lambda i, s=share: s[i]) for share in shares
    ]
    losses.append(step(*values).numpy())
  weights = [replication.components(strategy, v.value) for v in model.weights]
  return strategy, losses, weights


class CustomLoopTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(
    *(
      (f"{model}_{optimizer}_{count}_replicas", make, make_optimizer, count)
      for model, make in _MODELS
      for optimizer, make_optimizer in _OPTIMIZERS
      for count in (2, 4)
    )
  )
  def test_several_replicas_train_as_one(self, make, make_optimizer, count):
    _, losses, weights = _trained(1, tf.function, make, make_optimizer)
    strategy, got_losses, got_weights = _trained(
      count, tf.function, make, make_optimizer
    )
    self.assertAllClose(got_losses, losses, rtol=1e-4, atol=1e-4)
    for got, expected in zip(got_weights, weights, strict=True):
      for component in got:
        self.assertAllClose(component, expected[0], rtol=1e-3, atol=1e-3)
        # Replicas are in step to the last bit.
        self.assertAllEqual(component, got[0])
    last = strategy.extended.last_run
    self.assertIs(last.engine, engine.Engine.TRACE_ONCE, last.reason)

  def test_replicas_train_as_one_in_eager_mode(self):
    make_optimizer = _OPTIMIZERS[1][1]
    _, losses, weights = _trained(1, tf.function, _dense, make_optimizer)
    _, got_losses, got_weights = _trained(
      2, lambda f: f, _dense, make_optimizer
    )
    self.assertAllClose(got_losses, losses, rtol=1e-4, atol=1e-4)
    for got, expected in zip(got_weights, weights, strict=True):
      for component in got:
        self.assertAllClose(component, expected[0], rtol=1e-3, atol=1e-3)

  def test_dropout_drops_other_units_each_time(self):
    strategy = replication.mirrored(2)
    with strategy.scope():
      layer = keras.layers.Dropout(0.5)

    @tf.function
    def step():
      return strategy.run(lambda: layer(tf.ones([100]), training=True))

    first = replication.components(strategy, step())
    second = replication.components(strategy, step())
    for before, after in zip(first, second, strict=True):
      self.assertNotAllEqual(before, after)
      for kept in (before, after):
        self.assertBetween(np.count_nonzero(kept), 20, 80)

  def test_a_metric_is_that_of_all_replicas(self):
    for wrap in (lambda f: f, tf.function):
      strategy = replication.mirrored(4)
      with strategy.scope():
        metric = keras.metrics.Mean()

      def step(x, strategy=strategy, metric=metric):
        strategy.run(metric.update_state, args=(x,))

      wrap(step)(replication.spread(strategy, lambda i: [i, i + 2.0]))
      self.assertAllClose(metric.result(), 2.5)
      metric.reset_state()
      self.assertAllClose(metric.result(), 0.0)

  @parameterized.named_parameters(*replication.COUNTS)
  def test_fit_trains(self, count):
    strategy = replication.mirrored(count)
    keras.utils.set_random_seed(1)
    tf.random.set_seed(None)
    with strategy.scope():
      model = _dense()
      model.compile(keras.optimizers.SGD(0.01), "mse")
    x, y = next(_batches())
    history = model.fit(
      x, y, batch_size=_BATCH, epochs=3, shuffle=False, verbose=0
    ).history["loss"]
    self.assertLess(history[-1], history[0])
    with replication.mirrored(1).scope():
      keras.utils.set_random_seed(1)
      tf.random.set_seed(None)
      alone = _dense()
      alone.compile(keras.optimizers.SGD(0.01), "mse")
    expected = alone.fit(
      x, y, batch_size=_BATCH, epochs=3, shuffle=False, verbose=0
    ).history["loss"]
    self.assertAllClose(history, expected, rtol=1e-4, atol=1e-4)


class WhatTfDistributeSaysTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(*replication.CASES)
  def test_in_run_it_knows_the_replica(self, count, wrap):
    strategy = replication.mirrored(count)
    seen = []

    def fn():
      context = tf.distribute.get_replica_context()
      seen.append(
        [
          context.num_replicas_in_sync,
          tf.distribute.in_cross_replica_context(),
          tf.distribute.get_strategy().num_replicas_in_sync,
        ]
      )
      return tf.convert_to_tensor(context.replica_id_in_sync_group)

    result = wrap(lambda: strategy.run(fn))()
    self.assertAllEqual(
      replication.components(strategy, result), list(range(count))
    )
    for answer in seen:
      self.assertEqual(answer, [count, False, count])
    self.assertFalse(tf.distribute.has_strategy())

  @parameterized.named_parameters(*replication.CASES)
  def test_its_replica_context_reduces_gathers_and_merges(self, count, wrap):
    strategy = replication.mirrored(count)
    seen = []

    def merge_fn(theirs, x):
      seen.append(
        (
          isinstance(theirs, tf.distribute.Strategy),
          tf.distribute.in_cross_replica_context(),
        )
      )
      return theirs.reduce("SUM", x, axis=None)

    def fn(x):
      context = tf.distribute.get_replica_context()
      return (
        context.all_reduce(tf.distribute.ReduceOp.SUM, x),
        tf.reduce_sum(context.all_gather(x[tf.newaxis], axis=0)),
        context.merge_call(merge_fn, args=(x,)),
      )

    x = replication.spread(strategy, lambda i: i + 1.0)
    results = wrap(lambda v: strategy.run(fn, args=(v,)))(x)
    total = count * (count + 1) / 2
    for result in results:
      for component in replication.components(strategy, result):
        self.assertAllEqual(component, total)
    self.assertEqual(seen, [(True, True)])

  def test_its_strategy_runs_and_reduces(self):
    strategy = replication.mirrored(2)
    with strategy.scope():
      theirs = tf.distribute.get_strategy()
      result = theirs.run(lambda: tf.constant(2.0))
      self.assertIsInstance(result, sg.DistributedValues)
      self.assertAllEqual(theirs.reduce("SUM", result, axis=None), 4.0)
      self.assertLen(theirs.experimental_local_results(result), 2)
      v = tf.Variable(1.0)
      self.assertTrue(theirs.extended.variable_created_in_scope(v))
      self.assertIs(theirs.extended.value_container(v.values[1]), v)

  def test_in_a_thread_of_a_replica_it_knows_that_replica(self):
    strategy = replication.mirrored(3)
    seen = []

    def fn():
      sg.get_replica_context().merge_call(lambda s: None)
      context = tf.distribute.get_replica_context()
      seen.append(int(context.replica_id_in_sync_group))

    strategy.run(fn)
    self.assertCountEqual(seen, [0, 1, 2])


if __name__ == "__main__":
  tf.test.main()
