"""From one nest a replica to one nest of distributed values."""

import collections
import dataclasses

from absl.testing import parameterized
import tensorflow as tf

from stratagem.cross_device import values
from stratagem.strategies import regroup as regroup_lib

regroup = regroup_lib.regroup
_Pair = collections.namedtuple("_Pair", ["left", "right"])


@dataclasses.dataclass
class _Plain:
  number: int


class RegroupTest(tf.test.TestCase, parameterized.TestCase):
  def test_wraps_tensors(self):
    value = regroup([tf.constant(1), tf.constant(2), tf.constant(3)])
    self.assertIsInstance(value, values.PerReplica)
    self.assertAllEqual(value.values, [1, 2, 3])

  def test_wraps_python_objects_that_differ(self):
    self.assertEqual(regroup(["a", "b"]).values, ("a", "b"))
    first, second = _Plain(1), _Plain(1)
    grouped = regroup([first, second]).values
    self.assertIs(grouped[0], first)
    self.assertIs(grouped[1], second)

  @parameterized.parameters(None, 3, "text", tf.float32)
  def test_gives_what_all_have_in_common_as_it_is(self, common):
    self.assertIs(regroup([common, common]), common)

  def test_wraps_none_that_is_not_common_to_all(self):
    self.assertEqual(regroup([None, 1, None]).values, (None, 1, None))

  def test_gives_one_tensor_that_all_return_as_it_is(self):
    tensor = tf.constant(1.0)
    self.assertIs(regroup([tensor, tensor]), tensor)

  def test_wraps_even_that_when_asked(self):
    tensor = tf.constant(1.0)
    value = regroup([tensor, tensor], always_wrap=True)
    self.assertIs(value.values[1], tensor)

  def test_wraps_with_what_is_given(self):
    value = regroup([tf.constant(1.0), tf.constant(1.0)], wrap=values.mirrored)
    self.assertIsInstance(value, values.Mirrored)

  def test_gives_the_container_of_components(self):
    containers = {"a0": "a", "a1": "a", "b1": "b"}
    grouped = regroup(
      [["a0", "a0"], ["a1", "b1"]], container=lambda v: containers.get(v, v)
    )
    self.assertEqual(grouped[0], "a")
    self.assertEqual(grouped[1].values, ("a0", "b1"))

  def test_keeps_the_nest_at_any_depth(self):
    def nest(i):
      return {"a": [i, (i + 10, None)], "b": _Pair(i, {"c": i}), "d": ()}

    grouped = regroup([nest(1), nest(2)])
    self.assertEqual(list(grouped), ["a", "b", "d"])
    self.assertIsInstance(grouped["a"], list)
    self.assertEqual(grouped["a"][0].values, (1, 2))
    self.assertIsInstance(grouped["a"][1], tuple)
    self.assertEqual(grouped["a"][1][0].values, (11, 12))
    self.assertIsNone(grouped["a"][1][1])
    self.assertIsInstance(grouped["b"], _Pair)
    self.assertEqual(grouped["b"].right["c"].values, (1, 2))
    self.assertEqual(grouped["d"], ())

  @parameterized.named_parameters(
    ("ordered", collections.OrderedDict([("b", 1), ("a", 2)])),
    ("default", collections.defaultdict(int, b=1, a=2)),
  )
  def test_keeps_the_type_and_order_of_a_mapping(self, mapping):
    other = mapping.copy()
    other["b"] = 5
    grouped = regroup([mapping, other])
    self.assertIsInstance(grouped, type(mapping))
    self.assertEqual(list(grouped), ["b", "a"])
    self.assertEqual(grouped["b"].values, (1, 5))
    self.assertEqual(grouped["a"], 2)
    # What the replicas returned is left as it was.
    self.assertEqual(mapping["b"], 1)

  def test_takes_composite_tensors_and_shapes_for_leaves(self):
    ragged = [tf.ragged.constant([[1], []]), tf.ragged.constant([[], [2]])]
    self.assertIsInstance(regroup(ragged).values[1], tf.RaggedTensor)
    shapes = [tf.TensorShape([1]), tf.TensorShape([2])]
    self.assertEqual(regroup(shapes).values, tuple(shapes))

  @parameterized.named_parameters(
    ("a_shorter_list", [1, 2], [1], "", "a list of length 2.*of length 1"),
    ("other_keys", {"a": 1}, {"b": 1}, "", r"keys \['a'\].*keys \['b'\]"),
    ("a_tuple_for_a_list", [1], (1,), "", "a list.*a tuple"),
    ("a_leaf_for_a_list", [1], 1, "", "a list.*a `int`"),
    ("a_list_for_a_leaf", 1, [1], "", "a `int`.*a list"),
    (
      "deep_down",
      {"a": (0, [1, 2])},
      {"a": (0, [1])},
      r" at `result\['a'\]\[1\]`",
      "",
    ),
  )
  def test_says_where_nests_differ(self, left, right, place, shapes):
    with self.assertRaisesRegex(
      ValueError,
      f"nested alike on all replicas; they differ{place}: replica 0 returned "
      f".*{shapes}",
    ):
      regroup([left, right])

  def test_says_which_replica_differs(self):
    with self.assertRaisesRegex(ValueError, "replica 0 .* and replica 2 "):
      regroup([[1], [1], [1, 2], [1]])


if __name__ == "__main__":
  tf.test.main()
