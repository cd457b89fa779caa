"""What the function given to `strategy.run` receives."""

import collections

import tensorflow as tf

from tests.conformance.fragments import spread
from tests.conformance.program import attempt
from tests.conformance.program import EVERY
from tests.conformance.program import program
from tests.conformance.program import SEVERAL

Pair = collections.namedtuple("Pair", ["left", "right"])


@program(strategies=EVERY)
def positional_and_keyword(strategy, wrap):
  """`args` and `kwargs` are passed on as given."""

  @wrap
  def step(x):
    return strategy.run(lambda a, b, *, c: a * b + c, (x, 2.0), {"c": 1.0})

  return step(tf.constant(3.0))


@program(strategies=EVERY)
def absent(strategy, wrap):
  """Without arguments, or with None for `kwargs`, `fn` is called with none."""

  @wrap
  def step():
    first = strategy.run(lambda: tf.constant(1.0))
    return first, strategy.run(lambda: tf.constant(2.0), (), None)

  return step()


@program(strategies=EVERY)
def none_for_args(strategy):
  """None for `args` is an error."""
  return attempt(
    lambda: strategy.run(lambda: tf.constant(2.0), None), mentions=["args"]
  )


@program()
def per_replica_values(strategy, wrap):
  """A value per replica arrives as this replica's part."""
  values = spread(strategy, lambda i: tf.constant([i, 10 * i]))

  @wrap
  def step(x):
    return strategy.run(lambda a: a + 1, args=(x,))

  return step(values)


@program()
def per_replica_values_in_nests(strategy, wrap):
  """Values per replica are unwrapped however deep they are in the nest."""
  values = spread(strategy, lambda i: tf.constant(1.0 + i))

  @wrap
  def step(x):
    nest = {"a": [x, (x, 2.0)], "b": Pair(x, {"c": x})}

    def replica_fn(given, more):
      inner = given["a"][0] + given["a"][1][0] * given["a"][1][1]
      return inner + given["b"].left + given["b"].right["c"] + more["x"][0]

    return strategy.run(replica_fn, args=(nest,), kwargs={"more": {"x": [x]}})

  return step(values)


@program()
def nest_keeps_its_types(strategy):
  """Dicts, tuples, named tuples and lists arrive as what they were."""
  values = spread(strategy, lambda i: tf.constant(i))
  seen = []

  def replica_fn(*args, **kwargs):
    seen[:] = [[type(a).__name__ for a in args], sorted(kwargs)]
    seen.append(isinstance(kwargs["x"], tf.Tensor))

  nests = ([values], (values,), {"a": values}, Pair(values, 1), None, "text")
  strategy.run(replica_fn, args=nests, kwargs={"x": values, "y": 3})
  return seen


@program()
def per_replica_python_objects(strategy):
  """What is distributed need not be tensors."""
  values = spread(strategy, lambda i: f"replica {i}")
  return values, strategy.run(lambda s: s + "!", args=(values,))


@program()
def of_different_shapes(strategy, wrap):
  """A value may have another shape on each replica."""
  values = spread(strategy, lambda i: tf.ones([i + 1, 2]))

  @wrap
  def step(x):
    return strategy.run(lambda a: (a * 2.0, tf.shape(a)), args=(x,))

  return step(values)


@program(modes=["function"])
def static_shapes(strategy, wrap):
  """Inside a graph each replica knows the static shape of its own part."""
  values = spread(strategy, lambda i: tf.ones([2, 3]))

  @wrap
  def step(x):
    return strategy.run(lambda a: tf.constant(a.shape.as_list()), args=(x,))

  return step(values)


@program()
def composite_tensors(strategy, wrap):
  """Sparse and ragged tensors per replica arrive whole."""
  sparse = spread(
    strategy, lambda i: tf.SparseTensor([[i, 0]], [1.0 + i], [4, 2])
  )
  ragged = spread(strategy, lambda i: tf.ragged.constant([[1.0 + i], []]))

  @wrap
  def step(s, r):
    def replica_fn(s, r):
      return tf.sparse.to_dense(s), r.to_tensor()

    return strategy.run(replica_fn, args=(s, r))

  return step(sparse, ragged)


@program()
def plain_tensors(strategy, wrap):
  """A plain tensor arrives the same on every replica."""

  @wrap
  def step(x):
    return strategy.run(lambda a: a + 1.0, args=(x,))

  return step(tf.constant([1.0, 2.0]))


@program()
def closed_over(strategy, wrap):
  """A tensor that `fn` closes over is the same on every replica."""
  outer = tf.constant(5.0)

  @wrap
  def step(x):
    doubled = 2.0 * x
    return strategy.run(lambda: doubled + outer)

  return step(tf.constant(1.0))


@program()
def variables(strategy, wrap):
  """A variable may be an argument; each replica gets its own component."""
  with strategy.scope():
    v = tf.Variable(2.0, aggregation=tf.VariableAggregation.MEAN)

  @wrap
  def step():
    def replica_fn(w):
      w.assign_add(1.0)
      return w * 2.0

    return strategy.run(replica_fn, args=(v,))

  return step(), v


@program()
def functions(strategy, wrap):
  """`fn` may itself be a `tf.function`."""
  values = spread(strategy, lambda i: tf.constant(1.0 + i))
  square = tf.function(lambda x: x * x)

  @wrap
  def step(x):
    return strategy.run(square, args=(x,))

  return step(values), step(values)


@program()
def functions_with_variables(strategy, wrap):
  """A `tf.function` that updates a variable does so on every replica."""
  with strategy.scope():
    v = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)

  @tf.function
  def replica_fn(x):
    v.assign_add(x)
    return v.read_value()

  @wrap
  def step(x):
    return strategy.run(replica_fn, args=(x,))

  values = spread(strategy, lambda i: tf.constant(1.0 + i))
  return step(values), step(values), v


@program()
def function_called_by_the_replica(strategy, dist, wrap):
  """A `tf.function` that `fn` calls sees its replica's id and variable."""
  with strategy.scope():
    v = tf.Variable(
      0.0,
      synchronization=tf.VariableSynchronization.ON_READ,
      aggregation=tf.VariableAggregation.SUM,
    )

  @tf.function
  def inner():
    context = dist.get_replica_context()
    v.assign_add(tf.cast(context.replica_id_in_sync_group + 1, tf.float32))
    return v.read_value()

  @wrap
  def step():
    return strategy.run(lambda: inner() * 10.0)

  return step(), step(), v


@program()
def bound_methods(strategy, wrap):
  """`fn` may be a bound method, decorated or not."""

  class Model(tf.Module):
    def __init__(self):
      self.w = tf.Variable(3.0)

    def plain(self, x):
      return self.w * x

    @tf.function
    def traced(self, x):
      return self.w + x

  with strategy.scope():
    model = Model()

  @wrap
  def step(x):
    first = strategy.run(model.plain, args=(x,))
    return first, strategy.run(model.traced, args=(x,))

  return step(tf.constant(2.0))


@program()
def args_of_a_wrong_kind(strategy):
  """A single value for `args`, in place of a tuple."""
  return attempt(
    lambda: strategy.run(lambda x: x, args=tf.constant(1.0)),
    mentions=["args"],
  )


@program(strategies=SEVERAL)
def too_few_values(dist, strategy):
  """A value with fewer parts than there are replicas cannot be an argument."""
  fewer = dist.MirroredStrategy(["/cpu:0", "/cpu:1"])
  values = spread(fewer, lambda i: tf.constant(1.0 + i))
  return attempt(
    lambda: strategy.run(lambda x: x + 1.0, args=(values,)),
    mentions=["replica"],
  )


@program()
def options(dist, strategy, wrap):
  """`options` changes nothing about the result."""

  @wrap
  def step(x):
    given = dist.RunOptions(experimental_enable_dynamic_batch_size=False)
    return strategy.run(lambda a: a + 1.0, args=(x,), options=given)

  return step(tf.constant(1.0))
