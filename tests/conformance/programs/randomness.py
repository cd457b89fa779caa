"""Random numbers in replicas."""

import tensorflow as tf

from tests.conformance.fragments import replica_id
from tests.conformance.program import attempt
from tests.conformance.program import program


def _distinct(strategy, values):
  parts = strategy.experimental_local_results(values)
  return len({tuple(part.numpy().ravel()) for part in parts})


@program()
def seeded(strategy, wrap):
  """With a global seed the replicas' numbers differ from each other."""
  tf.random.set_seed(3)

  @wrap
  def step():
    return strategy.run(lambda: tf.random.normal([4]))

  return _distinct(strategy, step())


@program()
def seeded_twice(strategy, wrap):
  """With a global seed another run gives the same numbers."""

  def numbers():
    tf.random.set_seed(3)
    step = wrap(lambda: strategy.run(lambda: tf.random.normal([4])))
    return [
      part.numpy().tolist()
      for part in strategy.experimental_local_results(step())
    ]

  return numbers() == numbers()


@program()
def not_seeded(strategy, wrap):
  """Without a seed the replicas' numbers differ, from step to step too."""
  tf.random.set_seed(None)

  @wrap
  def step():
    return strategy.run(lambda: tf.random.uniform([4]))

  first, second = step(), step()
  parts = [
    strategy.experimental_local_results(values) for values in (first, second)
  ]
  same = [bool(tf.reduce_all(a == b)) for a, b in zip(*parts, strict=True)]
  return _distinct(strategy, first), any(same)


@program()
def with_a_seed_of_its_own(strategy, wrap):
  """An operation's own seed gives every replica the same numbers, or not."""
  tf.random.set_seed(3)

  @wrap
  def step():
    return strategy.run(lambda: tf.random.uniform([4], seed=5))

  return _distinct(strategy, step())


@program()
def stateless(dist, strategy, wrap):
  """Stateless numbers depend on the seed alone."""

  @wrap
  def step():
    def replica_fn():
      seed = tf.stack([tf.cast(replica_id(dist), tf.int32), 1])
      return tf.random.stateless_uniform([2], seed)

    return strategy.run(replica_fn)

  return step()


@program()
def generator_made_in_scope(strategy, wrap):
  """A generator made in scope has a stream for each replica."""
  with strategy.scope():
    generator = tf.random.Generator.from_seed(7)

  @wrap
  def step():
    return strategy.run(lambda: generator.normal([3]))

  first = attempt(step)
  second = attempt(step)
  return _distinct(strategy, first), first, second


@program()
def generator_made_outside(strategy):
  """A generator made outside the scope."""
  generator = tf.random.Generator.from_seed(7)
  return attempt(
    lambda: _distinct(strategy, strategy.run(lambda: generator.normal([3])))
  )


@program()
def dropout(strategy, wrap):
  """Dropout drops other elements on each replica."""
  tf.random.set_seed(3)

  @wrap
  def step():
    return strategy.run(lambda: tf.nn.dropout(tf.ones([64]), 0.5))

  return _distinct(strategy, step())
