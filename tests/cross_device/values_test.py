"""Values with a component for each replica."""

from absl.testing import parameterized
import tensorflow as tf

from stratagem.cross_device import values
from tests import logical_devices

_WRAPPERS = (
  ("per_replica", values.per_replica, values.PerReplica),
  ("mirrored", values.mirrored, values.Mirrored),
)


def _dense():
  return tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])


def _ragged():
  return tf.ragged.constant([[1], [2, 3]]), tf.ragged.constant([[4, 5], []])


def _sparse():
  def one(value):
    return tf.SparseTensor([[0, value]], [float(value)], [2, 3])

  return one(1), one(2)


def _slices():
  def one(value):
    return tf.IndexedSlices(
      tf.constant([[float(value)]]), tf.constant([value]), tf.constant([4, 1])
    )

  return one(1), one(2)


_KINDS = (
  ("dense", _dense, tf.Tensor),
  ("ragged", _ragged, tf.RaggedTensor),
  ("sparse", _sparse, tf.SparseTensor),
  ("indexed_slices", _slices, tf.IndexedSlices),
)


def _as_dense(component):
  if isinstance(component, tf.RaggedTensor):
    return component.to_tensor(-1)
  if isinstance(component, tf.SparseTensor):
    return tf.sparse.to_dense(component)
  return tf.convert_to_tensor(component)


class _ValuesTestCase(tf.test.TestCase, parameterized.TestCase):
  def assert_same_components(self, value, components, kind):
    self.assertLen(value.values, len(components))
    for got, expected in zip(value.values, components, strict=True):
      self.assertIsInstance(got, kind)
      self.assertAllEqual(_as_dense(got), _as_dense(expected))


class ComponentsTest(_ValuesTestCase):
  @parameterized.named_parameters(*_KINDS)
  def test_are_kept(self, make, kind):
    for _, wrap, cls in _WRAPPERS:
      value = wrap(make())
      self.assertIsInstance(value, cls)
      self.assert_same_components(value, make(), kind)

  @parameterized.named_parameters(*_WRAPPERS)
  def test_are_a_tuple(self, wrap, cls):
    del cls
    self.assertIsInstance(wrap(list(_dense())).values, tuple)
    self.assertIsInstance(wrap(["a", "b"]).values, tuple)

  @parameterized.named_parameters(*_WRAPPERS)
  def test_may_be_python_objects(self, wrap, cls):
    first, second = object(), object()
    value = wrap([first, second])
    self.assertIsInstance(value, cls)
    self.assertIsInstance(value, values.DistributedValues)
    self.assertIs(value.values[0], first)
    self.assertIs(value.values[1], second)
    self.assertRegex(repr(value), r"values=\(<object")

  @parameterized.named_parameters(*_WRAPPERS)
  def test_may_be_a_tensor_and_a_python_object(self, wrap, cls):
    value = wrap([tf.constant(1), "one"])
    self.assertIsInstance(value, cls)
    self.assertEqual(value.values[1], "one")

  def test_of_different_shapes_and_types_are_kept(self):
    value = values.per_replica([tf.constant([1.0]), tf.constant([[2, 3]])])
    self.assertEqual([v.shape for v in value.values], [[1], [1, 2]])
    self.assertEqual([v.dtype for v in value.values], [tf.float32, tf.int32])

  def test_stay_on_their_devices(self):
    components = []
    for name in logical_devices.full_names(2):
      with tf.device(name):
        components.append(tf.identity(1.0))
    value = values.per_replica(components)
    self.assertEqual(
      [v.device for v in value.values], logical_devices.full_names(2)
    )

  def test_a_variable_is_kept_as_a_variable(self):
    variable = tf.Variable(1.0)
    value = values.mirrored([variable, variable])
    self.assertIs(value.values[0], variable)

  def test_per_replica_and_mirrored_are_different(self):
    for components in (_dense(), ("a", "b")):
      per_replica = values.per_replica(components)
      mirrored = values.mirrored(components)
      self.assertNotIsInstance(per_replica, values.Mirrored)
      self.assertNotIsInstance(mirrored, values.PerReplica)


class InTfFunctionTest(_ValuesTestCase):
  @parameterized.named_parameters(*_KINDS)
  def test_goes_in_and_out(self, make, kind):
    @tf.function
    def identity(value):
      inside.append(type(value))
      return value

    for _, wrap, cls in _WRAPPERS:
      inside = []
      self.assert_same_components(identity(wrap(make())), make(), kind)
      self.assertTrue(issubclass(inside[0], cls))

  @parameterized.named_parameters(*_KINDS)
  def test_is_made_in_it(self, make, kind):
    @tf.function
    def build():
      return {"nested": [values.per_replica(make())]}

    self.assert_same_components(build()["nested"][0], make(), kind)

  def test_is_not_traced_again_for_other_components(self):
    traces = []

    @tf.function
    def count(value):
      traces.append(value)
      return value

    for number in (1.0, 2.0, 3.0):
      count(values.per_replica([tf.constant(number), tf.constant(-number)]))
    self.assertLen(traces, 1)
    count(values.per_replica([tf.constant([1.0]), tf.constant([2.0])]))
    self.assertLen(traces, 2)

  def test_goes_through_a_loop(self):
    @tf.function
    def doubled(value, times):
      for _ in tf.range(times):
        value = values.map_distributed(
          lambda v: values.per_replica([c * 2.0 for c in v.values]), value
        )
      return value

    result = doubled(values.per_replica(_dense()), tf.constant(3))
    self.assertAllEqual(result.values[0], [8.0, 16.0])
    self.assertAllEqual(result.values[1], [24.0, 32.0])

  @parameterized.parameters(True, False)
  def test_goes_through_a_condition(self, swapped):
    @tf.function
    def swap(value, swapped):
      if swapped:
        return values.per_replica(value.values[::-1])
      return value

    result = swap(values.per_replica(_dense()), tf.constant(swapped))
    expected = _dense()[::-1] if swapped else _dense()
    self.assert_same_components(result, expected, tf.Tensor)

  def test_goes_into_a_nested_function(self):
    @tf.function
    def first(value):
      return value.values[0]

    @tf.function
    def outer(value):
      return first(value) + first(value)

    self.assertAllEqual(outer(values.per_replica(_dense())), [2.0, 4.0])


class SelectTest(tf.test.TestCase):
  def test_takes_the_component_of_one_replica_at_any_depth(self):
    nest = {
      "a": [values.per_replica(["x", "y"]), "z"],
      "b": (values.per_replica(_dense()), None),
    }
    selected = values.select(1, nest)
    self.assertEqual(selected["a"], ["y", "z"])
    self.assertAllEqual(selected["b"][0], [3.0, 4.0])
    self.assertIsNone(selected["b"][1])

  def test_leaves_composite_tensors_as_they_are(self):
    ragged = _ragged()[0]
    self.assertIs(values.select(0, [ragged])[0], ragged)

  def test_leaves_variables_as_they_are(self):
    variable = tf.Variable(1.0)
    self.assertIs(values.select(1, (variable,))[0], variable)

  def test_takes_what_is_no_nest(self):
    self.assertEqual(values.select(1, values.per_replica([3, 4])), 4)
    self.assertEqual(values.select(1, 5), 5)


class MapDistributedTest(tf.test.TestCase):
  def test_calls_the_function_for_distributed_values_alone(self):
    nest = [values.per_replica(["x", "y"]), "z", values.mirrored([1, 1])]
    self.assertEqual(
      values.map_distributed(lambda v: len(v.values), nest), [2, "z", 2]
    )


class IsLeafTest(tf.test.TestCase):
  def test_a_distributed_value_of_any_kind_is_a_leaf(self):
    self.assertTrue(values.is_leaf(values.per_replica(_dense())))
    self.assertTrue(values.is_leaf(values.mirrored(["a", "a"])))
    self.assertFalse(values.is_leaf(tf.constant(1.0)))
    self.assertFalse(values.is_leaf([1, 2]))

  def test_tf_nest_takes_a_distributed_value_for_a_leaf(self):
    for value in (values.per_replica(_dense()), values.per_replica("ab")):
      self.assertIs(tf.nest.flatten([[value]])[0], value)


if __name__ == "__main__":
  tf.test.main()
