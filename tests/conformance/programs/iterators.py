"""Iterators over distributed datasets."""

import tensorflow as tf

from tests.conformance.program import attempt
from tests.conformance.program import FUNCTION
from tests.conformance.program import program


def _iterator(strategy, rows=8, batch=4):
  data = tf.data.Dataset.range(rows).batch(batch)
  return iter(strategy.experimental_distribute_dataset(data))


def _total(strategy, batch):
  sums = strategy.run(tf.reduce_sum, args=(batch,))
  return strategy.reduce("SUM", sums, axis=None)


@program()
def next_element(strategy):
  """`next` gives one element after another."""
  iterator = _iterator(strategy)
  return next(iterator), next(iterator)


@program()
def get_next(strategy):
  """`get_next` is `next`."""
  iterator = _iterator(strategy)
  return iterator.get_next(), iterator.get_next()


@program()
def end(strategy):
  """At the end `next` raises StopIteration, `get_next` OutOfRangeError."""
  iterator = _iterator(strategy, 4)
  first = next(iterator)
  return (
    first,
    attempt(next, iterator),
    attempt(iterator.get_next),
    attempt(next, iterator),
  )


@program(modes=[FUNCTION])
def next_in_a_function(strategy, wrap):
  """A `tf.function` may ask an iterator for its next element."""
  iterator = _iterator(strategy)

  @wrap
  def step():
    return _total(strategy, next(iterator))

  return step(), step(), attempt(step)


@program(modes=[FUNCTION])
def iterator_as_argument(strategy, wrap):
  """An iterator may be a `tf.function`'s argument."""
  iterator = _iterator(strategy, 10)
  traces = []

  @wrap
  def step(iterator):
    traces.append(None)
    return _total(strategy, next(iterator))

  totals = [step(iterator) for _ in range(3)]
  return totals, len(traces)


@program(modes=[FUNCTION])
def steps_in_a_function(strategy, wrap):
  """Several steps in one call."""
  iterator = _iterator(strategy, 12)

  @wrap
  def steps(count):
    total = tf.constant(0, tf.int64)
    for _ in tf.range(count):
      total += _total(strategy, next(iterator))
    return total

  return steps(tf.constant(2)), steps(tf.constant(1))


@program()
def optional(strategy):
  """`get_next_as_optional` has a value until the end."""
  iterator = _iterator(strategy, 6)
  seen = []
  for _ in range(3):
    element = iterator.get_next_as_optional()
    has_value = bool(element.has_value())
    seen.append(has_value)
    if has_value:
      seen.append(strategy.experimental_local_results(element.get_value()))
  return seen


@program(modes=[FUNCTION])
def optional_in_a_function(strategy, wrap):
  """`get_next_as_optional` ends a loop in a `tf.function`."""
  iterator = _iterator(strategy, 10)

  @wrap
  def total_of_all():
    total = tf.constant(0, tf.int64)
    element = iterator.get_next_as_optional()
    while element.has_value():
      total += _total(strategy, element.get_value())
      element = iterator.get_next_as_optional()
    return total

  return total_of_all()


@program()
def optional_without_a_value(strategy):
  """`get_value` of an empty optional is an error."""
  iterator = _iterator(strategy, 0)
  element = iterator.get_next_as_optional()
  return attempt(element.get_value)


@program()
def two_over_one_dataset(strategy):
  """Two iterators over a dataset do not disturb each other."""
  data = tf.data.Dataset.range(8).batch(4)
  dataset = strategy.experimental_distribute_dataset(data)
  one, other = iter(dataset), iter(dataset)
  return next(one), next(one), next(other)


# Upstream hangs with more replicas than one.
@program(modes=[FUNCTION], strategies=["one", "mirrored1"])
def made_in_a_function(strategy, wrap):
  """Making an iterator inside a `tf.function`."""
  data = tf.data.Dataset.range(8).batch(4)
  dataset = strategy.experimental_distribute_dataset(data)

  @wrap
  def first():
    return _total(strategy, next(iter(dataset)))

  return attempt(first)


@program()
def is_its_own_iterator(strategy):
  """`iter` of an iterator is the iterator."""
  iterator = _iterator(strategy)
  return iter(iterator) is iterator


@program()
def saved_in_a_checkpoint(strategy, directory):
  """An iterator's position in a checkpoint."""
  iterator = _iterator(strategy, 16)
  next(iterator)

  def save_and_restore():
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    path = checkpoint.write(f"{directory}/iterator")
    skipped = next(iterator)
    checkpoint.read(path)
    return skipped, next(iterator)

  return attempt(save_and_restore)
