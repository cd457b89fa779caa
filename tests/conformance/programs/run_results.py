"""How `strategy.run` puts the replicas' results together."""

import collections

import tensorflow as tf

from tests.conformance.fragments import replica_id
from tests.conformance.program import attempt
from tests.conformance.program import EVERY
from tests.conformance.program import program
from tests.conformance.program import SEVERAL

Pair = collections.namedtuple("Pair", ["left", "right"])


@program(strategies=EVERY)
def tensors(dist, strategy, wrap):
  """Tensors become one value per replica, on the replica's device."""

  @wrap
  def step():
    return strategy.run(lambda: replica_id(dist) + 1.0)

  return step()


@program(strategies=EVERY)
def equal_tensors(strategy, wrap):
  """Tensors that happen to be equal are a value per replica all the same."""

  @wrap
  def step():
    return strategy.run(lambda: tf.constant(7.0))

  return step()


@program(strategies=EVERY)
def nothing(strategy, wrap):
  """None stays None, alone and inside a nest."""

  @wrap
  def step():
    return strategy.run(lambda: None), strategy.run(lambda: (None, [None]))

  return step()


@program(strategies=EVERY)
def nests(dist, strategy, wrap):
  """Dicts, lists, tuples and named tuples keep nesting and type."""

  @wrap
  def step():
    def replica_fn():
      x = replica_id(dist)
      return {"b": [x, (x + 1.0,)], "a": Pair(x, {"c": x * 2.0})}

    return strategy.run(replica_fn)

  return step()


@program()
def ordered_dicts(dist, strategy, wrap):
  """An ordered dict stays one, in its order; an empty nest stays empty."""

  @wrap
  def step():
    def replica_fn():
      x = replica_id(dist)
      pairs = [("z", x), ("a", x + 1.0)]
      return collections.OrderedDict(pairs), [], (), {}

    return strategy.run(replica_fn)

  return step()


@program(strategies=EVERY)
def python_values(strategy):
  """Equal Python values come back as they are."""
  return strategy.run(lambda: (1, 2.5, True, "text", b"bytes"))


@program(strategies=EVERY)
def python_values_of_a_function(strategy, wrap):
  """Python numbers and strings leave a `tf.function` as tensors."""

  @wrap
  def step():
    return strategy.run(lambda: {"int": 1, "float": 2.5, "bool": True})

  return step()


@program()
def differing_python_values(dist, strategy):
  """Python values that differ are one per replica."""

  def replica_fn():
    i = int(dist.get_replica_context().replica_id_in_sync_group)
    return i, f"replica {i}", 0.5 * i, i == 0

  return strategy.run(replica_fn)


@program(strategies=SEVERAL)
def python_value_here_tensor_there(dist, strategy):
  """A Python value on one replica and a tensor on another."""

  def replica_fn():
    first = int(dist.get_replica_context().replica_id_in_sync_group) == 0
    return 1.0 if first else tf.constant(2.0)

  return attempt(strategy.run, replica_fn)


@program()
def one_object(strategy):
  """The same object on every replica comes back as that object."""
  thing = object()
  shared = tf.constant(3.0)
  result = strategy.run(lambda: (thing, shared))
  return result[0] is thing, result[1]


@program()
def a_closed_over_tensor(strategy, wrap):
  """A tensor of the caller, returned untouched."""

  @wrap
  def step(x):
    return strategy.run(lambda: x)

  return step(tf.constant(3.0))


@program()
def strings(dist, strategy, wrap):
  """String tensors are regrouped like others."""

  @wrap
  def step():
    return strategy.run(lambda: tf.strings.as_string(replica_id(dist)))

  return step()


@program()
def different_shapes(dist, strategy, wrap):
  """The replicas' results may have different shapes."""

  @wrap
  def step():
    def replica_fn():
      i = dist.get_replica_context().replica_id_in_sync_group
      return tf.range(i + 1)

    return strategy.run(replica_fn)

  return step()


@program()
def composite_tensors(dist, strategy, wrap):
  """Sparse tensors, ragged tensors and IndexedSlices come back whole."""

  @wrap
  def step():
    def replica_fn():
      x = replica_id(dist) + 1.0
      return (
        tf.SparseTensor([[0, 1]], [x], [2, 2]),
        tf.RaggedTensor.from_row_lengths([x, x], [2, 0]),
        tf.IndexedSlices(
          values=tf.reshape(x, [1, 1]),
          indices=tf.constant([1]),
          dense_shape=tf.constant([4, 1]),
        ),
      )

    return strategy.run(replica_fn)

  return step()


@program()
def variables(strategy):
  """A variable comes back as the variable itself."""
  with strategy.scope():
    v = tf.Variable(1.0)
  return strategy.run(lambda: v) is v


@program()
def variables_in_nests(strategy):
  """A variable in a nest comes back as the variable itself."""
  with strategy.scope():
    v = tf.Variable(1.0)
    w = tf.Variable(
      2.0,
      synchronization=tf.VariableSynchronization.ON_READ,
      aggregation=tf.VariableAggregation.SUM,
    )
  result = strategy.run(lambda: {"v": v, "w": [w]})
  return result["v"] is v, result["w"][0] is w


@program()
def a_variable_leaves_a_function(strategy, wrap):
  """A variable returned through a `tf.function`."""
  with strategy.scope():
    v = tf.Variable(1.0)

  @wrap
  def step():
    return strategy.run(lambda: v)

  return step()


@program()
def types_shapes_and_specs(strategy):
  """Types and shapes, being equal, come back as they are."""
  return strategy.run(
    lambda: (tf.float32, tf.TensorShape([1, 2]), tf.TensorSpec([3]))
  )


@program(strategies=SEVERAL)
def differing_nests(dist, strategy):
  """Nests that differ between the replicas are an error."""

  def replica_fn():
    first = int(dist.get_replica_context().replica_id_in_sync_group) == 0
    x = tf.constant(1.0)
    return [x] if first else [x, x]

  return attempt(strategy.run, replica_fn, mentions=["replica"])


@program(strategies=SEVERAL)
def differing_keys(dist, strategy):
  """Dicts with other keys on another replica are an error."""

  def replica_fn():
    first = int(dist.get_replica_context().replica_id_in_sync_group) == 0
    return {"a" if first else "b": tf.constant(1.0)}

  return attempt(strategy.run, replica_fn, mentions=["replica"])


@program(strategies=SEVERAL)
def a_list_here_a_tuple_there(dist, strategy):
  """A list on one replica and a tuple on another are an error."""

  def replica_fn():
    first = int(dist.get_replica_context().replica_id_in_sync_group) == 0
    x = tf.constant(1.0)
    return [x] if first else (x,)

  return attempt(strategy.run, replica_fn, mentions=["replica"])


@program(strategies=SEVERAL)
def none_here_a_tensor_there(dist, strategy):
  """None on one replica and a tensor on another."""

  def replica_fn():
    first = int(dist.get_replica_context().replica_id_in_sync_group) == 0
    return None if first else tf.constant(1.0)

  return attempt(strategy.run, replica_fn)
