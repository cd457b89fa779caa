"""Saving and restoring variables, to and from either implementation."""

import os

import tensorflow as tf

from tests.conformance.fragments import replica_id
from tests.conformance.program import attempt
from tests.conformance.program import program
from tests.conformance.program import SPREAD

Aggregation = tf.VariableAggregation
Synchronization = tf.VariableSynchronization


class _State(tf.Module):
  """One variable of each kind."""

  def __init__(self, value):
    super().__init__()
    self.mirrored = tf.Variable([value, 2.0 * value])
    self.own = tf.Variable(
      value,
      synchronization=Synchronization.ON_READ,
      aggregation=Aggregation.SUM,
    )
    self.mean = tf.Variable(
      value,
      synchronization=Synchronization.ON_READ,
      aggregation=Aggregation.MEAN,
    )
    self.step = tf.Variable(int(value), trainable=False)


def _state(strategy, value):
  with strategy.scope():
    return _State(value)


def _parts(strategy, variable):
  return [
    part.numpy() for part in strategy.experimental_local_results(variable)
  ]


def _all_parts(strategy, state):
  return {
    "mirrored": _parts(strategy, state.mirrored),
    "own": _parts(strategy, state.own),
    "mean": _parts(strategy, state.mean),
    "step": _parts(strategy, state.step),
  }


@program()
def save_and_restore(strategy, directory):
  """What is saved is restored into another object of the same form."""
  path = tf.train.Checkpoint(state=_state(strategy, 3.0)).write(
    os.path.join(directory, "checkpoint")
  )
  state = _state(strategy, 0.0)
  tf.train.Checkpoint(state=state).read(path).assert_consumed()
  return _all_parts(strategy, state)


@program()
def keys(strategy, directory):
  """A checkpoint has one value for each variable, under upstream's keys."""
  path = tf.train.Checkpoint(state=_state(strategy, 3.0)).write(
    os.path.join(directory, "checkpoint")
  )
  reader = tf.train.load_checkpoint(path)
  return {
    key: (shape, reader.get_tensor(key))
    for key, shape in reader.get_variable_to_shape_map().items()
    if not key.startswith("_CHECKPOINTABLE")
  }


@program()
def of_values_that_differ(dist, strategy, directory):
  """Of a variable that differs between the replicas, the aggregate is saved."""
  state = _state(strategy, 0.0)
  strategy.run(lambda: state.own.assign(replica_id(dist) + 1.0))
  strategy.run(lambda: state.mean.assign(replica_id(dist) + 1.0))
  path = tf.train.Checkpoint(state=state).write(
    os.path.join(directory, "checkpoint")
  )
  restored = _state(strategy, 0.0)
  tf.train.Checkpoint(state=restored).read(path)
  reader = tf.train.load_checkpoint(path)
  suffix = "/.ATTRIBUTES/VARIABLE_VALUE"
  saved = [reader.get_tensor(f"state/{n}{suffix}") for n in ("own", "mean")]
  return saved, _all_parts(strategy, restored)


@program()
def restored_before_the_variables_exist(strategy, directory):
  """A value waits for a variable that is made later."""
  path = tf.train.Checkpoint(state=_state(strategy, 3.0)).write(
    os.path.join(directory, "checkpoint")
  )
  late = tf.Module()
  tf.train.Checkpoint(state=late).read(path)
  with strategy.scope():
    late.mirrored = tf.Variable([0.0, 0.0])
  return _parts(strategy, late.mirrored)


@program()
def restored_without_a_strategy(strategy, directory):
  """A checkpoint of a strategy loads where there is none."""
  path = tf.train.Checkpoint(state=_state(strategy, 3.0)).write(
    os.path.join(directory, "checkpoint")
  )
  state = _State(0.0)
  tf.train.Checkpoint(state=state).read(path).assert_consumed()
  return [v.numpy() for v in (state.mirrored, state.own, state.mean)]


@program()
def saved_without_a_strategy(strategy, directory):
  """A checkpoint made without a strategy loads into one."""
  path = tf.train.Checkpoint(state=_State(8.0)).write(
    os.path.join(directory, "checkpoint")
  )
  state = _state(strategy, 0.0)
  tf.train.Checkpoint(state=state).read(path).assert_consumed()
  return _all_parts(strategy, state)


@program(strategies=SPREAD)
def saved_by_upstream(strategy, directory):
  """A checkpoint that `tf.distribute` wrote loads."""
  upstream = tf.distribute.OneDeviceStrategy("/cpu:0")
  path = tf.train.Checkpoint(state=_state(upstream, 8.0)).write(
    os.path.join(directory, "checkpoint")
  )
  state = _state(strategy, 0.0)
  tf.train.Checkpoint(state=state).read(path).assert_consumed()
  return _all_parts(strategy, state)


@program(strategies=SPREAD)
def restored_by_upstream(strategy, directory):
  """`tf.distribute` loads the checkpoint."""
  path = tf.train.Checkpoint(state=_state(strategy, 8.0)).write(
    os.path.join(directory, "checkpoint")
  )
  upstream = tf.distribute.OneDeviceStrategy("/cpu:0")
  state = _state(upstream, 0.0)
  tf.train.Checkpoint(state=state).read(path).assert_consumed()
  return _all_parts(upstream, state)


@program()
def by_a_manager(strategy, directory):
  """`CheckpointManager` saves, keeps count and restores."""
  state = _state(strategy, 3.0)
  manager = tf.train.CheckpointManager(
    tf.train.Checkpoint(state=state), directory, max_to_keep=1
  )
  manager.save()
  state.mirrored.assign([7.0, 7.0])
  manager.save()
  state.mirrored.assign([0.0, 0.0])
  manager.restore_or_initialize()
  return _parts(strategy, state.mirrored), len(manager.checkpoints)


@program()
def without_aggregation(strategy, directory):
  """A variable of each replica's own with no aggregation."""
  with strategy.scope():
    v = tf.Variable(3.0, synchronization=Synchronization.ON_READ)
  path = os.path.join(directory, "checkpoint")

  def save_and_change_and_restore():
    tf.train.Checkpoint(v=v).write(path)
    v.assign(0.0)
    tf.train.Checkpoint(v=v).read(path)
    return _parts(strategy, v)

  return attempt(save_and_change_and_restore, mentions=["aggregation"])


@program()
def saved_model(strategy, directory):
  """A SavedModel holds one variable for all replicas, and serves."""

  class Model(tf.Module):
    def __init__(self):
      super().__init__()
      self.w = tf.Variable([2.0, 3.0])

    @tf.function(input_signature=[tf.TensorSpec([2])])
    def __call__(self, x):
      return self.w * x

  with strategy.scope():
    model = Model()
  tf.saved_model.save(model, directory)
  loaded = tf.saved_model.load(directory)
  return loaded(tf.constant([1.0, 2.0])), loaded.w.numpy()


@program()
def saved_model_loaded_in_scope(strategy, directory):
  """A SavedModel loaded in scope has distributed variables."""
  model = tf.Module()
  model.w = tf.Variable([2.0, 3.0])
  model.call = tf.function(
    lambda x: model.w * x, input_signature=[tf.TensorSpec([2])]
  )
  tf.saved_model.save(model, directory)
  with strategy.scope():
    loaded = tf.saved_model.load(directory)
  ones = tf.ones([2])
  return _parts(strategy, loaded.w), strategy.run(loaded.call, args=(ones,))
