"""`ReplicaContext.merge_call`."""

import tensorflow as tf

from tests.conformance.fragments import kind
from tests.conformance.fragments import replica_id
from tests.conformance.program import attempt
from tests.conformance.program import EVERY
from tests.conformance.program import program
from tests.conformance.program import SEVERAL


def _merged(dist, strategy, wrap, merge_fn, make, **kwargs):
  """What `run` gives for `merge_call(merge_fn, make(replica id), kwargs)`."""

  @wrap
  def step():
    def replica_fn():
      args = make(replica_id(dist))
      return dist.get_replica_context().merge_call(merge_fn, args, kwargs)

    return strategy.run(replica_fn)

  return step()


@program(strategies=EVERY)
def reduces(dist, strategy, wrap):
  """What `merge_fn` returns is every replica's result."""

  def merge_fn(s, x):
    return s.reduce("SUM", x, axis=None)

  return _merged(dist, strategy, wrap, merge_fn, lambda i: (i + 1.0,))


@program(strategies=EVERY)
def context(dist, strategy):
  """`merge_fn` gets the strategy, once, and runs in cross-replica context."""
  seen = []

  def merge_fn(s):
    seen.append(s is dist.get_strategy())
    seen.append(dist.in_cross_replica_context())
    seen.append(dist.get_replica_context() is None)

  _merged(dist, strategy, lambda f: f, merge_fn, lambda i: ())
  return seen


@program()
def argument_kinds(dist, strategy):
  """Tensors arrive as a value per replica; what is one object, as itself."""
  seen = []

  def merge_fn(s, x, y, n, text, nothing=None):
    seen.append([kind(v) for v in (x, y["a"], n, text, nothing)])

  def make(i):
    return i, {"a": i * 2.0}, 3, "text"

  _merged(dist, strategy, lambda f: f, merge_fn, make, nothing=None)
  return seen


@program()
def without_a_result(dist, strategy, wrap):
  """A `merge_fn` that returns None gives None."""
  return _merged(dist, strategy, wrap, lambda s, x: None, lambda i: (i,))


@program()
def gives_back_its_arguments(dist, strategy, wrap):
  """A value per replica that `merge_fn` returns is unwrapped again."""

  def merge_fn(s, x):
    return {"x": x, "list": [x, 1.0]}

  return _merged(dist, strategy, wrap, merge_fn, lambda i: (i + 1.0,))


@program()
def one_tensor_for_all(dist, strategy, wrap):
  """A plain tensor that `merge_fn` returns is the same for all."""
  return _merged(dist, strategy, wrap, lambda s: tf.constant(4.0), lambda i: ())


@program()
def keyword_arguments(dist, strategy, wrap):
  """Arguments may be given by name."""

  def merge_fn(s, x, scale):
    return s.reduce("SUM", x, axis=None) * scale

  return _merged(
    dist, strategy, wrap, merge_fn, lambda i: (i + 1.0,), scale=10.0
  )


@program()
def several(dist, strategy, wrap):
  """Several calls in one step, each using what the one before gave."""

  def merge_fn(s, x):
    return s.reduce("SUM", x, axis=None)

  @wrap
  def step():
    def replica_fn():
      context = dist.get_replica_context()
      i = replica_id(dist)
      once = context.merge_call(merge_fn, (i + 1.0,))
      twice = context.merge_call(merge_fn, (once * i,))
      return once, twice, i

    return strategy.run(replica_fn)

  return step()


@program()
def reduce_to_in_it(dist, strategy, wrap):
  """`reduce_to` a variable's devices, then `update`, as optimizers do."""
  with strategy.scope():
    v = tf.Variable([1.0, 2.0])

  def merge_fn(s, gradient):
    total = s.extended.reduce_to("SUM", gradient, v)
    s.extended.update(v, lambda w, g: w.assign_sub(g), args=(total,))

  def make(i):
    return (tf.stack([i + 1.0, 0.5]),)

  _merged(dist, strategy, wrap, merge_fn, make)
  return v


@program()
def batch_reduce_to_in_it(dist, strategy, wrap):
  """`batch_reduce_to` several variables at once."""
  with strategy.scope():
    v = tf.Variable(1.0)
    w = tf.Variable([2.0, 3.0])

  def merge_fn(s, g, h):
    sums = s.extended.batch_reduce_to("MEAN", [(g, v), (h, w)])
    for variable, total in zip((v, w), sums, strict=True):
      s.extended.update(
        variable, lambda x, t: x.assign_add(t), args=(total,), group=True
      )

  def make(i):
    return i + 1.0, tf.stack([i, 2.0])

  _merged(dist, strategy, wrap, merge_fn, make)
  return v, w


@program()
def assigns_in_it(dist, strategy, wrap):
  """`merge_fn` may assign to a variable, from cross-replica context."""
  with strategy.scope():
    v = tf.Variable(0.0)

  def merge_fn(s, x):
    v.assign(s.reduce("SUM", x, axis=None))

  _merged(dist, strategy, wrap, merge_fn, lambda i: (i + 1.0,))
  return v


@program()
def local_results_in_it(dist, strategy, wrap):
  """`merge_fn` can look at each replica's value."""

  def merge_fn(s, x):
    return tf.stack(s.experimental_local_results(x))

  return _merged(dist, strategy, wrap, merge_fn, lambda i: (i + 1.0,))


@program()
def error_in_it(dist, strategy):
  """An error in `merge_fn` reaches the caller."""

  def merge_fn(s, x):
    raise ValueError("on purpose")

  return attempt(
    _merged,
    dist,
    strategy,
    lambda f: f,
    merge_fn,
    lambda i: (i,),
    mentions=["on purpose"],
  )


@program()
def in_cross_replica_context(dist, strategy):
  """A replica context kept from a `run` that is over is of no use."""
  kept = []
  strategy.run(lambda: kept.append(dist.get_replica_context()))
  with strategy.scope():
    return attempt(
      lambda: kept[0].merge_call(lambda s: tf.constant(1.0)),
      mentions=["replica context"],
    )


@program()
def in_another_merge_call(dist, strategy):
  """`merge_fn` has no replica context, so it cannot call `merge_call`."""

  def merge_fn(s):
    return dist.get_replica_context().merge_call(lambda s: None)

  return attempt(_merged, dist, strategy, lambda f: f, merge_fn, lambda i: ())


@program(strategies=SEVERAL)
def not_on_every_replica(dist, strategy):
  """`merge_call` on some replicas only is an error."""

  def replica_fn():
    context = dist.get_replica_context()
    if context.replica_id_in_sync_group == 0:
      return context.merge_call(lambda s: tf.constant(1.0))
    return tf.constant(2.0)

  return attempt(strategy.run, replica_fn, mentions=["merge_call"])


@program()
def in_a_loop(dist, strategy):
  """`merge_call` in a graph loop that belongs to the replica."""

  @tf.function
  def step():
    def replica_fn():
      context = dist.get_replica_context()
      x = replica_id(dist)
      for _ in tf.range(2):
        x += context.merge_call(
          lambda s, y: s.reduce("SUM", y, axis=None), args=(x,)
        )
      return x

    return strategy.run(replica_fn)

  return attempt(step, mentions=["merge_call"])


@program()
def outside_any_strategy(dist):
  """The default replica context calls `merge_fn` with the default strategy."""

  def merge_fn(s, x):
    return x * 2.0, s is dist.get_strategy(), dist.in_cross_replica_context()

  return dist.get_replica_context().merge_call(merge_fn, (tf.constant(1.0),))


@program()
def does_not_forward_python_numbers(dist, strategy):
  """Numbers that differ between replicas arrive as a value per replica."""
  seen = []

  def merge_fn(s, n):
    seen.append(s.experimental_local_results(n))

  def replica_fn():
    context = dist.get_replica_context()
    n = int(context.replica_id_in_sync_group)
    return context.merge_call(merge_fn, (n,))

  strategy.run(replica_fn)
  return seen[0]
