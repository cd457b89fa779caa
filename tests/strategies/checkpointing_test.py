"""Distributed variables in checkpoints and SavedModels."""

import os

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

import stratagem as sg
from tests import logical_devices
from tests.strategies import replication

_ON_READ = tf.VariableSynchronization.ON_READ
_Aggregation = tf.VariableAggregation


class _Model(tf.Module):
  """A mirrored variable, and two that are synchronized on read."""

  def __init__(self, start=0.0):
    super().__init__()
    self.weight = tf.Variable([start, start])
    self.total = tf.Variable(
      start, synchronization=_ON_READ, aggregation=_Aggregation.SUM
    )
    self.mean = tf.Variable(
      start, synchronization=_ON_READ, aggregation=_Aggregation.MEAN
    )

  def assign(self):
    self.weight.assign([1.0, 2.0])
    self.total.assign(8.0)
    self.mean.assign(3.0)

  def read(self):
    return [self.weight.numpy(), self.total.numpy(), self.mean.numpy()]


_EXPECTED = ([1.0, 2.0], 8.0, 3.0)


def _plain():
  return _Model()


def _ours(count):
  def make():
    with replication.mirrored(count).scope():
      return _Model()

  return make


def _theirs():
  strategy = tf.distribute.MirroredStrategy(logical_devices.names(2))
  with strategy.scope():
    return _Model()


_MAKERS = (
  ("plain", _plain),
  ("ours_on_1", _ours(1)),
  ("ours_on_2", _ours(2)),
  ("ours_on_4", _ours(4)),
  ("tf_distribute", _theirs),
)


class CheckpointTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(
    *(
      (f"{writer}_to_{reader}", write, read)
      for writer, write in _MAKERS
      for reader, read in _MAKERS
      if "ours" in writer + reader
    )
  )
  def test_is_read_whoever_wrote_it(self, write, read):
    model = write()
    model.assign()
    path = tf.train.Checkpoint(model=model).save(
      os.path.join(self.get_temp_dir(), "checkpoint")
    )
    restored = read()
    tf.train.Checkpoint(model=restored).restore(path).assert_consumed()
    for got, expected in zip(restored.read(), _EXPECTED, strict=True):
      self.assertAllClose(got, expected)

  @parameterized.named_parameters(*replication.COUNTS)
  def test_is_restored_to_every_component(self, count):
    strategy = replication.mirrored(count)
    with strategy.scope():
      model = _Model()
    model.assign()
    checkpoint = tf.train.Checkpoint(model=model)
    path = checkpoint.save(os.path.join(self.get_temp_dir(), "checkpoint"))
    model.weight.assign([0.0, 0.0])
    model.total.assign(0.0)
    model.mean.assign(0.0)
    checkpoint.restore(path).assert_consumed()
    self.assertAllClose(
      replication.components(strategy, model.weight), [[1.0, 2.0]] * count
    )
    self.assertAllClose(
      replication.components(strategy, model.total), [8.0 / count] * count
    )
    self.assertAllClose(
      replication.components(strategy, model.mean), [3.0] * count
    )

  @parameterized.named_parameters(*replication.COUNTS)
  def test_is_restored_to_variables_that_are_made_later(self, count):
    model = _Model()
    model.assign()
    path = tf.train.Checkpoint(model=model).save(
      os.path.join(self.get_temp_dir(), "checkpoint")
    )
    later = tf.Module()
    status = tf.train.Checkpoint(model=later).restore(path)
    strategy = replication.mirrored(count)
    with strategy.scope():
      later.weight = tf.Variable([0.0, 0.0])
    status.assert_existing_objects_matched()
    self.assertAllClose(
      replication.components(strategy, later.weight), [[1.0, 2.0]] * count
    )

  def test_holds_one_value_of_each_variable(self):
    with replication.mirrored(4).scope():
      model = _Model()
    model.assign()
    path = tf.train.Checkpoint(model=model).write(
      os.path.join(self.get_temp_dir(), "checkpoint")
    )
    reader = tf.train.load_checkpoint(path)
    suffix = "/.ATTRIBUTES/VARIABLE_VALUE"
    names = [n for n in reader.get_variable_to_shape_map() if suffix in n]
    self.assertCountEqual(
      names, [f"model/{n}{suffix}" for n in ("weight", "total", "mean")]
    )
    self.assertAllClose(reader.get_tensor(f"model/total{suffix}"), 8.0)

  def test_holds_the_first_component_where_there_is_no_aggregation(self):
    strategy = replication.mirrored(2)
    with strategy.scope():
      v = tf.Variable(0.0, synchronization=_ON_READ)
    strategy.run(
      lambda: v.assign(tf.cast(replication.replica_id(), tf.float32) + 5.0)
    )
    path = tf.train.Checkpoint(v=v).write(
      os.path.join(self.get_temp_dir(), "checkpoint")
    )
    reader = tf.train.load_checkpoint(path)
    self.assertAllClose(reader.get_tensor("v/.ATTRIBUTES/VARIABLE_VALUE"), 5.0)

  def test_is_written_and_read_in_scope(self):
    strategy = replication.mirrored(2)
    with strategy.scope():
      model = _Model()
      model.assign()
      manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(model=model), self.get_temp_dir(), max_to_keep=1
      )
      manager.save()
      model.weight.assign([9.0, 9.0])
      manager.restore_or_initialize()
    self.assertAllClose(model.weight, [1.0, 2.0])


class SavedModelTest(tf.test.TestCase, parameterized.TestCase):
  def _saved(self, count):
    """A saved module that multiplies by its weight and counts its calls."""
    with replication.mirrored(count).scope():
      module = tf.Module()
      module.weight = tf.Variable([2.0, 3.0], name="weight")
      module.calls = tf.Variable(
        0.0, synchronization=_ON_READ, aggregation=_Aggregation.SUM
      )

    @tf.function(input_signature=[tf.TensorSpec([])])
    def multiply(x):
      return module.weight * x

    module.multiply = multiply
    module.calls.assign(6.0)
    path = os.path.join(self.get_temp_dir(), f"saved_{count}")
    tf.saved_model.save(module, path)
    return path

  @parameterized.named_parameters(*replication.COUNTS)
  def test_is_loaded_without_a_strategy(self, count):
    loaded = tf.saved_model.load(self._saved(count))
    self.assertAllEqual(loaded.multiply(tf.constant(2.0)), [4.0, 6.0])
    self.assertAllEqual(loaded.weight, [2.0, 3.0])
    self.assertAllClose(loaded.calls, 6.0)
    self.assertNotIsInstance(loaded.weight, sg.DistributedValues)
    loaded.weight.assign([1.0, 1.0])
    self.assertAllEqual(loaded.multiply(tf.constant(2.0)), [2.0, 2.0])

  @parameterized.named_parameters(*replication.COUNTS)
  def test_is_loaded_into_a_strategy(self, count):
    path = self._saved(2)
    strategy = replication.mirrored(count)
    with strategy.scope():
      loaded = tf.saved_model.load(path)
    self.assertLen(strategy.experimental_local_results(loaded.weight), count)
    self.assertAllEqual(
      replication.components(strategy, loaded.weight), [[2.0, 3.0]] * count
    )
    x = replication.spread(strategy, lambda i: i + 1.0)
    result = strategy.run(loaded.multiply, args=(x,))
    self.assertAllClose(
      replication.components(strategy, result),
      np.outer(np.arange(count) + 1.0, [2.0, 3.0]),
    )


if __name__ == "__main__":
  tf.test.main()
