"""Packing many small tensors in few large ones."""

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf

from stratagem.cross_device import packing

_DTYPES = (tf.float32, tf.float16, tf.int32)
_SIZES = st.integers(0, 4096)
_SHAPES = st.lists(st.integers(0, 4), max_size=3).map(tf.TensorShape)
_UNKNOWN = st.sampled_from([tf.TensorShape(None), tf.TensorShape([None, 2])])


@st.composite
def _tensors(draw, shapes):
  """The shape and dtype of each of several tensors."""
  drawn = draw(
    st.lists(st.tuples(shapes, st.sampled_from(_DTYPES)), max_size=12)
  )
  return [shape for shape, _ in drawn], [dtype for _, dtype in drawn]


def _bytes(shape, dtype):
  return shape.num_elements() * dtype.size


class PlanTest(tf.test.TestCase, parameterized.TestCase):
  def test_of_nothing_is_empty(self):
    self.assertEqual(packing.plan([], []), [])

  def test_refuses_fewer_dtypes_than_shapes(self):
    with self.assertRaisesRegex(ValueError, "shorter"):
      packing.plan([tf.TensorShape([])], [])

  def test_packs_what_is_small(self):
    shapes = [tf.TensorShape(s) for s in ([2, 3], [], [4])]
    self.assertEqual(
      packing.plan(shapes, [tf.float32] * 3),
      [packing.Pack(members=(0, 1, 2), sizes=(6, 1, 4))],
    )

  def test_leaves_alone_what_is_large(self):
    shapes = [tf.TensorShape(s) for s in ([2], [100], [3])]
    packs = packing.plan(shapes, [tf.float32] * 3, alone_bytes=400)
    self.assertCountEqual(
      [(p.members, p.sizes) for p in packs], [((0, 2), (2, 3)), ((1,), ())]
    )

  def test_leaves_alone_what_has_an_unknown_shape(self):
    shapes = [tf.TensorShape(None), tf.TensorShape([None, 3])]
    self.assertEqual(
      packing.plan(shapes, [tf.float32] * 2),
      [
        packing.Pack(members=(0,), sizes=()),
        packing.Pack(members=(1,), sizes=()),
      ],
    )

  def test_closes_a_pack_that_is_full(self):
    shapes = [tf.TensorShape([25])] * 5
    packs = packing.plan(shapes, [tf.float32] * 5, pack_bytes=200)
    self.assertEqual([p.members for p in packs], [(0, 1), (2, 3), (4,)])

  def test_a_pack_of_one_is_not_copied(self):
    self.assertEqual(
      packing.plan([tf.TensorShape([7])], [tf.float32]),
      [packing.Pack(members=(0,), sizes=())],
    )

  @hypothesis.given(_tensors(st.one_of(_SHAPES, _UNKNOWN)), _SIZES, _SIZES)
  @hypothesis.settings(deadline=None)
  def test_holds_every_position_once(self, tensors, alone_bytes, pack_bytes):
    shapes, dtypes = tensors
    packs = packing.plan(shapes, dtypes, alone_bytes, pack_bytes)
    members = [m for p in packs for m in p.members]
    self.assertCountEqual(members, range(len(shapes)))

  @hypothesis.given(_tensors(st.one_of(_SHAPES, _UNKNOWN)), _SIZES, _SIZES)
  @hypothesis.settings(deadline=None)
  def test_mixes_no_dtypes(self, tensors, alone_bytes, pack_bytes):
    shapes, dtypes = tensors
    for p in packing.plan(shapes, dtypes, alone_bytes, pack_bytes):
      self.assertLen({dtypes[m] for m in p.members}, 1)

  @hypothesis.given(_tensors(st.one_of(_SHAPES, _UNKNOWN)), _SIZES, _SIZES)
  @hypothesis.settings(deadline=None)
  def test_says_the_sizes_of_what_travels_together(
    self, tensors, alone_bytes, pack_bytes
  ):
    shapes, dtypes = tensors
    for p in packing.plan(shapes, dtypes, alone_bytes, pack_bytes):
      own = [shapes[m] for m in p.members]
      if len(own) == 1:
        self.assertEqual(p.sizes, ())
      elif p.flat:
        self.assertEqual(p.sizes, tuple(s.num_elements() for s in own))
      else:
        # Side by side along the first axis, the only one that differs.
        self.assertEqual(p.sizes, tuple(s[0] for s in own))
        self.assertLen({tuple(s[1:]) for s in own}, 1)

  @hypothesis.given(_tensors(_SHAPES), _SIZES, _SIZES)
  @hypothesis.settings(deadline=None)
  def test_keeps_order_and_limits_within_a_pack(
    self, tensors, alone_bytes, pack_bytes
  ):
    shapes, dtypes = tensors
    for p in packing.plan(shapes, dtypes, alone_bytes, pack_bytes):
      if not p.sizes:
        continue
      sizes = [_bytes(shapes[m], dtypes[m]) for m in p.members]
      self.assertEqual(list(p.members), sorted(p.members))
      self.assertLess(max(sizes), alone_bytes)
      # Without its last member the pack was not full.
      self.assertLess(sum(sizes[:-1]), pack_bytes)


class PackTest(tf.test.TestCase, parameterized.TestCase):
  @hypothesis.given(_tensors(_SHAPES), _SIZES, _SIZES)
  @hypothesis.settings(deadline=None, max_examples=50)
  def test_unpack_gives_back_what_was_packed(
    self, tensors, alone_bytes, pack_bytes
  ):
    shapes, dtypes = tensors
    rng = np.random.default_rng(0)
    given = [
      tf.constant(rng.integers(0, 100, shape.as_list()), dtype)
      for shape, dtype in zip(shapes, dtypes, strict=True)
    ]
    packs = packing.plan(shapes, dtypes, alone_bytes, pack_bytes)
    packed = packing.pack(packs, given)
    self.assertLen(packed, len(packs))
    unpacked = packing.unpack(packs, packed, shapes)
    self.assertLen(unpacked, len(given))
    for got, expected in zip(unpacked, given, strict=True):
      self.assertEqual(got.dtype, expected.dtype)
      self.assertEqual(got.shape, expected.shape)
      self.assertAllEqual(got, expected)

  def test_a_pack_is_one_vector(self):
    tensors = [tf.constant([[1, 2], [3, 4]]), tf.constant(5)]
    packs = packing.plan([t.shape for t in tensors], [tf.int32] * 2)
    (vector,) = packing.pack(packs, tensors)
    self.assertAllEqual(vector, [1, 2, 3, 4, 5])

  def test_tensors_alike_but_for_the_first_axis_are_side_by_side(self):
    tensors = [tf.constant([[1, 2], [3, 4]]), tf.constant([[5, 6]])]
    packs = packing.plan([t.shape for t in tensors], [tf.int32] * 2)
    (whole,) = packing.pack(packs, tensors)
    self.assertAllEqual(whole, [[1, 2], [3, 4], [5, 6]])

  def test_works_in_a_tf_function_where_a_shape_is_unknown(self):
    @tf.function(
      input_signature=[
        tf.TensorSpec([None]),
        tf.TensorSpec([2]),
        tf.TensorSpec([]),
      ]
    )
    def round_trip(*tensors):
      shapes = [t.shape for t in tensors]
      packs = packing.plan(shapes, [t.dtype for t in tensors])
      self.assertLen(packs, 2)
      return packing.unpack(packs, packing.pack(packs, tensors), shapes)

    given = [tf.ones([3]), tf.constant([1.0, 2.0]), tf.constant(3.0)]
    for got, expected in zip(round_trip(*given), given, strict=True):
      self.assertAllEqual(got, expected)

  def test_lets_gradients_through(self):
    x, y = tf.constant([1.0, 2.0]), tf.constant(3.0)
    shapes = [x.shape, y.shape]
    packs = packing.plan(shapes, [tf.float32] * 2)
    with tf.GradientTape() as tape:
      tape.watch([x, y])
      a, b = packing.unpack(packs, packing.pack(packs, [x, y]), shapes)
      total = tf.reduce_sum(a * a) + 5.0 * b
    dx, dy = tape.gradient(total, [x, y])
    self.assertAllEqual(dx, [2.0, 4.0])
    self.assertAllEqual(dy, 5.0)


if __name__ == "__main__":
  tf.test.main()
