"""What users do with a strategy, across replicas."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

import stratagem as sg
from stratagem.cross_device import values as values_lib
from tests import logical_devices
from tests.strategies import replication


class ConstructionTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(*replication.COUNTS)
  def test_has_a_replica_on_each_device(self, count):
    strategy = sg.MirroredStrategy(logical_devices.names(count))
    self.assertEqual(strategy.num_replicas_in_sync, count)
    self.assertEqual(
      list(strategy.extended.worker_devices), logical_devices.full_names(count)
    )
    self.assertEqual(
      strategy.extended.parameter_devices, strategy.extended.worker_devices
    )
    self.assertIsNone(strategy.cluster_resolver)

  def test_takes_all_cpus_where_there_is_no_gpu(self):
    strategy = sg.MirroredStrategy()
    count = len(tf.config.list_logical_devices("CPU"))
    self.assertEqual(
      list(strategy.extended.worker_devices),
      logical_devices.full_names(count),
    )

  @parameterized.named_parameters(
    ("missing", ["CPU:0", "CPU:77"], ValueError, "there is no `CPU:77`"),
    ("twice", ["CPU:0", "cpu:0"], ValueError, "each device once"),
    ("none", [], ValueError, "at least one device"),
    ("no_list", "CPU:0", ValueError, "must be a list of device names"),
  )
  def test_refuses_devices(self, devices, error, message):
    with self.assertRaisesRegex(error, message):
      sg.MirroredStrategy(devices)


class RunTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(
    ("fn", {"fn": tf.constant(1.0)}, "`fn` must be a function"),
    ("args", {"args": tf.constant(1.0)}, "`args` must be a tuple"),
    ("kwargs", {"kwargs": [1]}, "`kwargs` must be a dict"),
    ("options", {"options": 3}, "`options` must be `sg.RunOptions"),
  )
  def test_refuses_arguments(self, arguments, message):
    arguments = {"fn": lambda *args: None, **arguments}
    for count in (1, 2):
      with self.assertRaisesRegex((TypeError, ValueError), message):
        replication.mirrored(count).run(**arguments)

  def test_takes_options_of_both_libraries(self):
    strategy = replication.mirrored(2)
    for options in (sg.RunOptions(), tf.distribute.RunOptions(), None):
      self.assertEqual(strategy.run(lambda: 3, options=options), 3)

  @parameterized.named_parameters(*replication.CASES)
  def test_takes_a_list_of_arguments(self, count, wrap):
    strategy = replication.mirrored(count)
    value = replication.spread(strategy, lambda i: i + 1.0)
    result = wrap(lambda v: strategy.run(lambda x, y: x + y, [v, v]))(value)
    self.assertAllEqual(
      replication.components(strategy, result),
      [2.0 * (i + 1) for i in range(count)],
    )

  @parameterized.named_parameters(*replication.SEVERAL)
  def test_says_where_results_differ(self, count):
    strategy = replication.mirrored(count)

    def fn():
      number = int(sg.get_replica_context().replica_id_in_sync_group)
      return {"a": [1] * (2 if number == count - 1 else 1)}

    with self.assertRaisesRegex(
      ValueError, rf"at `result\['a'\]`: replica 0 .* and replica {count - 1}"
    ):
      strategy.run(fn)

  @parameterized.named_parameters(
    ("run", lambda s: s.run(lambda: None)),
    ("reduce", lambda s: s.reduce("SUM", 1.0, axis=None)),
    ("gather", lambda s: s.gather(tf.constant([1.0]), axis=0)),
    (
      "experimental_distribute_dataset",
      lambda s: s.experimental_distribute_dataset(tf.data.Dataset.range(2)),
    ),
    (
      "distribute_datasets_from_function",
      lambda s: s.distribute_datasets_from_function(lambda context: None),
    ),
    (
      "experimental_distribute_values_from_function",
      lambda s: s.experimental_distribute_values_from_function(lambda c: 1),
    ),
  )
  def test_what_is_for_cross_replica_context_is_an_error_in_a_replica(
    self, call
  ):
    for wrap in (lambda f: f, tf.function):
      for count in (1, 2):
        strategy = replication.mirrored(count)
        with self.assertRaisesRegex(
          RuntimeError,
          r"`Strategy\.\w+` must be called in cross-replica context.*in a "
          "replica",
        ):
          wrap(lambda s=strategy: s.run(lambda: call(s)))()


class ReduceTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(*replication.CASES)
  def test_reduces_over_the_replicas(self, count, wrap):
    strategy = replication.mirrored(count)
    value = replication.spread(strategy, lambda i: [i + 1.0, -1.0])
    total = count * (count + 1) / 2
    for op in ("SUM", "sum", sg.ReduceOp.SUM, tf.distribute.ReduceOp.SUM):
      result = wrap(lambda v, o=op: strategy.reduce(o, v, axis=None))(value)
      self.assertAllEqual(result, [total, -count])
    mean = wrap(lambda v: strategy.reduce("MEAN", v, axis=None))(value)
    self.assertAllClose(mean, [total / count, -1.0])
    self.assertEndsWith(mean.device, "CPU:0")

  @parameterized.named_parameters(*replication.CASES)
  def test_reduces_a_nest(self, count, wrap):
    strategy = replication.mirrored(count)
    value = replication.spread(strategy, lambda i: i + 1.0)
    result = wrap(
      lambda v: strategy.reduce("SUM", {"a": [v], "b": (v,)}, axis=None)
    )(value)
    total = count * (count + 1) / 2
    self.assertAllEqual(result["a"][0], total)
    self.assertAllEqual(result["b"][0], total)

  @parameterized.named_parameters(*replication.SEVERAL_CASES)
  def test_of_one_tensor_for_all_is_a_mean_alone(self, count, wrap):
    strategy = replication.mirrored(count)
    x = tf.constant(3.0)
    mean = wrap(lambda: strategy.reduce("MEAN", x, axis=None))()
    self.assertAllEqual(mean, 3.0)
    with self.assertRaisesRegex(
      ValueError, f"component for each of the {count} replicas"
    ):
      wrap(lambda: strategy.reduce("SUM", x, axis=None))()

  @parameterized.named_parameters(*replication.CASES)
  def test_refuses_another_reduce_op(self, count, wrap):
    strategy = replication.mirrored(count)
    value = replication.spread(strategy, lambda i: 1.0)
    with self.assertRaisesRegex(ValueError, "must be `ReduceOp.SUM`"):
      wrap(lambda v: strategy.reduce("product", v, axis=None))(value)

  def test_reduces_variables(self):
    strategy = replication.mirrored(2)
    with strategy.scope():
      v = tf.Variable(
        0.0,
        synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=tf.VariableAggregation.SUM,
      )
    strategy.run(
      lambda: v.assign(tf.cast(replication.replica_id() + 1, tf.float32))
    )
    self.assertAllEqual(strategy.reduce("SUM", v, axis=None), 3.0)


class GatherTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(*replication.CASES)
  def test_concatenates_components_of_several_sizes(self, count, wrap):
    strategy = replication.mirrored(count)
    parts = [np.full([i + 1, 2], float(i)) for i in range(count)]
    value = replication.spread(strategy, lambda i: parts[i])
    result = wrap(lambda v: strategy.gather({"a": v}, axis=0))(value)
    self.assertAllEqual(result["a"], np.concatenate(parts))
    self.assertEndsWith(result["a"].device, "CPU:0")

  @parameterized.named_parameters(*replication.CASES)
  def test_refuses_an_axis_that_is_not_there(self, count, wrap):
    strategy = replication.mirrored(count)
    for shape, message in (([2], "Its rank is 1"), ([], "Make a vector")):
      value = replication.spread(strategy, lambda i, s=shape: tf.ones(s))
      with self.assertRaisesRegex(ValueError, message):
        wrap(lambda v: strategy.gather(v, axis=1))(value)


class LocalResultsTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(*replication.COUNTS)
  def test_are_the_components_in_order(self, count):
    strategy = replication.mirrored(count)
    value = replication.spread(strategy, lambda i: i)
    local = strategy.experimental_local_results(value)
    self.assertIsInstance(local, tuple)
    self.assertAllEqual(local, list(range(count)))

  def test_of_anything_else_is_that_alone(self):
    strategy = replication.mirrored(2)
    self.assertEqual(strategy.experimental_local_results(3), (3,))
    self.assertEqual(strategy.experimental_local_results(None), (None,))

  def test_of_a_variable_are_its_components(self):
    strategy = replication.mirrored(2)
    with strategy.scope():
      v = tf.Variable(1.0)
    self.assertEqual(
      [c.device for c in strategy.experimental_local_results(v)],
      logical_devices.full_names(2),
    )


class ValuesFromFunctionTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(*replication.COUNTS)
  def test_asks_for_each_replica(self, count):
    strategy = replication.mirrored(count)
    asked = []

    def value_fn(context):
      self.assertEqual(context.num_replicas_in_sync, count)
      asked.append(context.replica_id_in_sync_group)
      return {"n": context.replica_id_in_sync_group, "same": "text"}

    value = strategy.experimental_distribute_values_from_function(value_fn)
    self.assertEqual(asked, list(range(count)))
    self.assertEqual(
      strategy.experimental_local_results(value["n"]), tuple(range(count))
    )
    if count > 1:
      self.assertIsInstance(value["same"], values_lib.PerReplica)


class ExtendedTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(*replication.CASES)
  def test_update_calls_the_function_for_each_component(self, count, wrap):
    strategy = replication.mirrored(count)
    with strategy.scope():
      v = tf.Variable(1.0)
    x = replication.spread(strategy, lambda i: i + 1.0)

    def step(value):
      return strategy.extended.update(
        v, lambda w, d, *, k: w.assign_add(d * k), (value,), {"k": 2.0}, False
      )

    result = wrap(
      lambda v: tf.nest.map_structure(tf.convert_to_tensor, step(v))
    )(x)
    expected = [1.0 + 2.0 * (i + 1) for i in range(count)]
    self.assertAllEqual(tf.nest.flatten(result), expected)
    self.assertAllEqual(replication.components(strategy, v), expected)

  def test_update_needs_a_variable_of_the_strategy(self):
    strategy = replication.mirrored(2)
    with self.assertRaisesRegex(ValueError, "made in the scope of the same"):
      strategy.extended.update(tf.Variable(1.0), lambda v: None)

  @parameterized.named_parameters(*replication.CASES)
  def test_reduce_to_puts_the_result_where_it_is_wanted(self, count, wrap):
    strategy = replication.mirrored(count)
    with strategy.scope():
      v = tf.Variable(1.0)
    x = replication.spread(strategy, lambda i: i + 1.0)

    def step(value):
      return (
        strategy.extended.reduce_to("SUM", value, v),
        strategy.extended.reduce_to("SUM", value, "CPU:1"),
        *strategy.extended.batch_reduce_to("MEAN", [(value, v), (value, v)]),
      )

    everywhere, there, *means = wrap(step)(x)
    total = count * (count + 1) / 2
    self.assertAllEqual(
      replication.components(strategy, everywhere), [total] * count
    )
    self.assertAllEqual(there, total)
    for mean in means:
      self.assertAllClose(
        replication.components(strategy, mean), [total / count] * count
      )

  def test_knows_its_variables(self):
    strategy = replication.mirrored(2)
    with strategy.scope():
      v = tf.Variable(1.0)
    extended = strategy.extended
    self.assertTrue(extended.variable_created_in_scope(v))
    self.assertFalse(extended.variable_created_in_scope(tf.Variable(1.0)))
    self.assertIs(extended.value_container(v.values[1]), v)
    with extended.colocate_vars_with(v):
      pass


if __name__ == "__main__":
  tf.test.main()
