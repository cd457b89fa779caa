"""`ReplicaContext.all_reduce`."""

import tensorflow as tf

from tests.conformance.fragments import replica_id
from tests.conformance.program import attempt
from tests.conformance.program import EVERY
from tests.conformance.program import program
from tests.conformance.program import SEVERAL


def _reduced(dist, strategy, wrap, op, make, **options):
  """What `run` gives for the reduction of `make(replica id)`."""

  @wrap
  def step():
    def replica_fn():
      value = make(replica_id(dist))
      return dist.get_replica_context().all_reduce(op, value, **options)

    return strategy.run(replica_fn)

  return step()


@program(strategies=EVERY)
def by_sum(dist, strategy, wrap):
  """SUM adds the replicas' values, on every replica."""
  op = dist.ReduceOp.SUM
  return _reduced(dist, strategy, wrap, op, lambda i: i + 1.0)


@program(strategies=EVERY)
def by_mean(dist, strategy, wrap):
  """MEAN divides the sum by the number of replicas."""
  op = dist.ReduceOp.MEAN
  return _reduced(dist, strategy, wrap, op, lambda i: [3.0 * i, i])


@program()
def by_name(dist, strategy, wrap):
  """The operation may be given by its name, in capitals or not."""
  return [
    _reduced(dist, strategy, wrap, op, lambda i: i + 1.0)
    for op in ("SUM", "sum", "MEAN", "mean")
  ]


@program()
def by_an_unknown_name(dist, strategy):
  """Another name is an error."""
  return attempt(
    _reduced,
    dist,
    strategy,
    lambda f: f,
    "median",
    lambda i: i,
    mentions=["median", "sum", "mean"],
  )


@program()
def nests(dist, strategy, wrap):
  """A nest is reduced part by part and keeps its form."""

  def make(i):
    return {"a": [i, (i + 1.0, tf.fill([2, 3], i))], "b": -i}

  return _reduced(dist, strategy, wrap, "SUM", make)


@program()
def an_empty_nest(dist, strategy):
  """An empty nest."""
  return attempt(_reduced, dist, strategy, lambda f: f, "SUM", lambda i: [])


@program()
def integers(dist, strategy, wrap):
  """Integers are summed as such."""
  types = (tf.int32, tf.int64)
  return [
    _reduced(
      dist, strategy, wrap, "SUM", lambda i, d=dtype: tf.cast([i, 1.0], d)
    )
    for dtype in types
  ]


@program()
def several_integers(dist, strategy):
  """Several int32 tensors in one nest."""

  def make(i):
    return tf.cast(i + 1.0, tf.int32), tf.cast([i, 2.0], tf.int32)

  return attempt(_reduced, dist, strategy, lambda f: f, "SUM", make)


@program()
def integers_beside_floats(dist, strategy):
  """int32 and float32 in one nest."""

  def make(i):
    return tf.cast(i + 1.0, tf.int32), i

  return attempt(_reduced, dist, strategy, lambda f: f, "SUM", make)


@program()
def mean_of_integers(dist, strategy, wrap):
  """The mean of integers."""
  return attempt(
    lambda: _reduced(
      dist, strategy, wrap, "MEAN", lambda i: tf.cast(3.0 * i, tf.int32)
    )
  )


@program()
def other_precisions(dist, strategy, wrap):
  """float16, bfloat16 and float64 are reduced in their own precision."""

  def make(i, dtype):
    return tf.cast([i + 0.5, 1.0], dtype)

  return [
    _reduced(dist, strategy, wrap, "SUM", lambda i, d=dtype: make(i, d))
    for dtype in (tf.float16, tf.bfloat16, tf.float64)
  ]


@program()
def several_precisions_at_once(dist, strategy, wrap):
  """float32 and float64 in one nest."""

  def make(i):
    return tf.fill([2], i), tf.cast([i], tf.float64)

  return attempt(lambda: _reduced(dist, strategy, wrap, "SUM", make))


@program()
def python_numbers(dist, strategy):
  """A Python number in place of a tensor."""
  return attempt(
    lambda: _reduced(dist, strategy, lambda f: f, "SUM", lambda i: 2.5)
  )


@program()
def several_in_one_step(dist, strategy, wrap):
  """Reductions one after another, of other shapes and types."""

  @wrap
  def step():
    def replica_fn():
      context = dist.get_replica_context()
      i = replica_id(dist)
      a = context.all_reduce("SUM", i)
      b = context.all_reduce("MEAN", tf.fill([3], i))
      c = context.all_reduce("SUM", a + b)
      return a, b, c

    return strategy.run(replica_fn)

  return step(), step()


@program(requires=["experimental.CommunicationOptions"])
def large(dist, strategy, wrap):
  """A value larger than a pack, beside a small one."""

  def make(i):
    return [tf.fill([100, 70], i + 1.0), i]

  return _reduced(
    dist,
    strategy,
    wrap,
    "SUM",
    make,
    options=dist.experimental.CommunicationOptions(bytes_per_pack=4096),
  )


@program()
def empty_tensors(dist, strategy, wrap):
  """A tensor with no elements."""
  return _reduced(dist, strategy, wrap, "SUM", lambda i: [tf.zeros([0, 2]), i])


@program()
def indexed_slices(dist, strategy, wrap):
  """IndexedSlices are reduced as such, and have everybody's rows."""

  @wrap
  def step():
    def replica_fn():
      i = replica_id(dist)
      given = tf.IndexedSlices(
        values=tf.fill([1, 2], i + 1.0),
        indices=tf.cast([i], tf.int64),
        dense_shape=tf.constant([4, 2], tf.int64),
      )
      got = dist.get_replica_context().all_reduce("SUM", given)
      return got.values, got.indices, tf.convert_to_tensor(got)

    return strategy.run(replica_fn)

  return step()


@program()
def mean_of_indexed_slices(dist, strategy, wrap):
  """The mean of IndexedSlices is that of what they stand for."""

  @wrap
  def step():
    def replica_fn():
      i = replica_id(dist)
      given = tf.IndexedSlices(
        values=tf.fill([2, 2], i + 1.0),
        indices=tf.constant([0, 2], tf.int64),
        dense_shape=tf.constant([4, 2], tf.int64),
      )
      got = dist.get_replica_context().all_reduce("MEAN", given)
      return tf.convert_to_tensor(got)

    return strategy.run(replica_fn)

  return step()


@program()
def gradient(dist, strategy, wrap):
  """The gradient of a reduction is the reduction of the gradients."""

  @wrap
  def step():
    def replica_fn():
      x = replica_id(dist) + 1.0
      with tf.GradientTape() as tape:
        tape.watch(x)
        total = dist.get_replica_context().all_reduce("SUM", x * x)
        loss = total * x
      return tape.gradient(loss, x)

    return strategy.run(replica_fn)

  return step()


@program(strategies=SEVERAL, requires=["ReductionToOneDevice"])
def differing_shapes(dist, strategy):
  """Values of different shapes cannot be reduced."""

  def replica_fn():
    count = dist.get_replica_context().replica_id_in_sync_group + 1
    value = tf.ones([count])
    return dist.get_replica_context().all_reduce("SUM", value)

  strategy = dist.MirroredStrategy(
    strategy.extended.worker_devices, dist.ReductionToOneDevice()
  )
  return attempt(strategy.run, replica_fn, mentions=["shape"])


@program()
def in_a_default_context(dist):
  """Outside any strategy a reduction gives the value itself."""
  context = dist.get_replica_context()
  return (
    context.all_reduce("SUM", tf.constant(2.0)),
    context.all_reduce("MEAN", {"a": tf.constant([1.0, 2.0])}),
  )
