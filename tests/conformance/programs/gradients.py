"""Gradients of and through distributed variables."""

import tensorflow as tf

from tests.conformance.fragments import replica_id
from tests.conformance.fragments import spread
from tests.conformance.program import attempt
from tests.conformance.program import program


@program()
def of_a_variable(dist, strategy, wrap):
  """A tape inside `fn` gives each replica its own gradient."""
  with strategy.scope():
    w = tf.Variable([1.0, 2.0])

  @wrap
  def step():
    def replica_fn():
      x = replica_id(dist) + 1.0
      with tf.GradientTape() as tape:
        loss = tf.reduce_sum(x * w * w)
      return loss, tape.gradient(loss, w)

    return strategy.run(replica_fn)

  return step()


@program()
def of_several(strategy, wrap):
  """A nest of variables gives a nest of gradients; None where unused."""
  with strategy.scope():
    w = tf.Variable([[1.0], [2.0]])
    b = tf.Variable([0.5])
    unused = tf.Variable(1.0)

  @wrap
  def step(x):
    def replica_fn(x):
      with tf.GradientTape() as tape:
        loss = tf.reduce_sum((x @ w + b) ** 2.0)
      return tape.gradient(loss, {"w": w, "rest": [b, unused]})

    return strategy.run(replica_fn, args=(x,))

  return step(spread(strategy, lambda i: tf.constant([[1.0 + i, 2.0]])))


@program()
def watched_by_themselves(strategy):
  """A tape knows which variables it has watched."""
  with strategy.scope():
    w = tf.Variable(1.0)
    frozen = tf.Variable(1.0, trainable=False)

  def replica_fn():
    with tf.GradientTape() as tape:
      _ = w * frozen
    watched = tape.watched_variables()
    return len(watched), [v.name for v in watched]

  return strategy.run(replica_fn)


@program()
def watched_by_hand(strategy, wrap):
  """A variable that is not trainable has a gradient if watched."""
  with strategy.scope():
    w = tf.Variable(3.0, trainable=False)

  @wrap
  def step():
    def replica_fn():
      with tf.GradientTape() as without:
        y = w * w
      with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(w)
        z = w * w
      return without.gradient(y, w), tape.gradient(z, w)

    return strategy.run(replica_fn)

  return step()


@program()
def outside_run(strategy):
  """A tape in cross-replica context, over a mirrored variable."""
  with strategy.scope():
    w = tf.Variable(3.0)
    with tf.GradientTape() as tape:
      y = w * w
  return attempt(tape.gradient, y, w)


@program()
def of_second_order(strategy, wrap):
  """A tape around a tape."""
  with strategy.scope():
    w = tf.Variable(2.0)

  @wrap
  def step():
    def replica_fn():
      with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
          y = w**3.0
        first = inner.gradient(y, w)
      return first, outer.gradient(first, w)

    return strategy.run(replica_fn)

  return step()


@program()
def of_gathered_rows(strategy, wrap):
  """The gradient of gathered rows is IndexedSlices."""
  with strategy.scope():
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

  @wrap
  def step(rows):
    def replica_fn(rows):
      with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.gather(w, rows) ** 2.0)
      gradient = tape.gradient(loss, w)
      return (
        gradient.values,
        gradient.indices,
        tf.convert_to_tensor(gradient),
      )

    return strategy.run(replica_fn, args=(rows,))

  return step(spread(strategy, lambda i: tf.constant([i % 3, 0])))


@program()
def of_a_function_that_reads(strategy, wrap):
  """Through a `tf.function` that reads the variable."""
  with strategy.scope():
    w = tf.Variable([2.0, 3.0])

  @tf.function
  def forward(x):
    return tf.reduce_sum(w * w * x)

  @wrap
  def step(x):
    def replica_fn(x):
      with tf.GradientTape() as tape:
        loss = forward(x)
      return tape.gradient(loss, w)

    return strategy.run(replica_fn, args=(x,))

  return step(spread(strategy, lambda i: tf.constant([1.0 + i, 1.0])))


@program()
def summed_and_applied(dist, strategy, wrap):
  """Gradients reduced over the replicas and applied by hand."""
  with strategy.scope():
    w = tf.Variable([4.0, 2.0], aggregation=tf.VariableAggregation.MEAN)

  @wrap
  def step():
    def replica_fn():
      x = replica_id(dist) + 1.0
      with tf.GradientTape() as tape:
        loss = tf.reduce_sum(x * w * w)
      gradient = tape.gradient(loss, w)
      total = dist.get_replica_context().all_reduce("SUM", gradient)
      w.assign_sub(0.25 * total)
      return loss

    return strategy.run(replica_fn)

  return step(), step(), w


@program()
def with_respect_to_an_argument(strategy, wrap):
  """The gradient with respect to what `fn` was given."""
  with strategy.scope():
    w = tf.Variable(3.0)

  @wrap
  def step(x):
    def replica_fn(x):
      with tf.GradientTape() as tape:
        tape.watch(x)
        y = w * x * x
      return tape.gradient(y, x)

    return strategy.run(replica_fn, args=(x,))

  return step(spread(strategy, lambda i: tf.constant(1.0 + i)))


@program()
def custom(strategy, wrap):
  """A custom gradient, over a variable."""
  with strategy.scope():
    w = tf.Variable(3.0)

  @tf.custom_gradient
  def clipped(x):
    return x * x, lambda upstream: tf.minimum(upstream * 2.0 * x, 1.0)

  @wrap
  def step():
    def replica_fn():
      with tf.GradientTape() as tape:
        y = clipped(tf.convert_to_tensor(w))
      return tape.gradient(y, w)

    return strategy.run(replica_fn)

  return step()


@program()
def stopped(strategy, wrap):
  """`stop_gradient` stops it; unused variables' gradients can be zeros."""
  with strategy.scope():
    w = tf.Variable(3.0)

  @wrap
  def step():
    def replica_fn():
      with tf.GradientTape(persistent=True) as tape:
        y = tf.stop_gradient(w) * 2.0
      zero = tf.UnconnectedGradients.ZERO
      return tape.gradient(y, w), tape.gradient(
        y, w, unconnected_gradients=zero
      )

    return strategy.run(replica_fn)

  return step()
