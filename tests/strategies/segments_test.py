"""A traced function cut where the replicas meet."""

from absl.testing import parameterized
import tensorflow as tf

from stratagem.strategies import segments


class _Cutter:
  """Makes cuts while a function is traced.

  A cut gives back what it is given: the placeholder of the result stands for
  the value itself.
  """

  def __init__(self):
    self.cuts = []
    self.inputs = []

  def cut(self, *values):
    graph = tf.compat.v1.get_default_graph()
    position = len(graph.get_operations())
    results = tuple(tf.compat.v1.placeholder(v.dtype, v.shape) for v in values)
    self.cuts.append(segments.Cut(position, results))
    self.inputs.append(values)
    return results[0] if len(results) == 1 else results


def _split(fn, *specs, attributes=None):
  """Traces `fn(cutter, *args)` and cuts it; returns all there is to know."""
  cutter = _Cutter()
  body = tf.function(
    lambda *args: fn(cutter, *args), autograph=False
  ).get_concrete_function(*specs)
  wanted = [*body.outputs, *(t for inputs in cutter.inputs for t in inputs)]
  return body, cutter, segments.split(body, cutter.cuts, wanted, attributes)


def _run(body, cutter, parts, *args):
  """Runs the segments one after the other; returns the body's outputs."""
  own = body.inputs[: len(args)]
  known = {t.name: a for t, a in zip(own, args, strict=True)}
  for stage, part in enumerate(parts):
    values = tf.nest.flatten(
      part.function(*(known[t.name] for t in part.inputs))
    )
    known.update(
      {t.name: v for t, v in zip(part.outputs, values, strict=False)}
    )
    if stage < len(cutter.cuts):
      results, inputs = cutter.cuts[stage].results, cutter.inputs[stage]
      for result, value in zip(results, inputs, strict=True):
        known[result.name] = known[value.name]
  return [known[t.name] for t in body.outputs]


def _uncut(fn, *args):
  """What `fn` gives where a cut does nothing."""

  class Through:
    def cut(self, *values):
      return values[0] if len(values) == 1 else values

  return tf.nest.flatten(fn(Through(), *args))


def _types(part):
  """How many operations of each type the function of a segment has."""
  counts = {}
  for operation in part.function.graph.get_operations():
    counts[operation.type] = counts.get(operation.type, 0) + 1
  return counts


def _one_cut(cutter, x):
  return tf.sqrt(cutter.cut(tf.square(x)) + 1.0)


def _two_cuts(cutter, x):
  y = cutter.cut(x + 1.0)
  z = cutter.cut(y * 2.0)
  return z - 3.0


def _lives_long(cutter, x):
  early = tf.exp(x)
  y = cutter.cut(x + 1.0)
  y = cutter.cut(y * 2.0)
  y = cutter.cut(y * 3.0)
  return early * y, early + x


def _nothing_between(cutter, x):
  return cutter.cut(cutter.cut(x + 1.0))


def _cut_of_an_argument(cutter, x):
  return cutter.cut(x) * 2.0


def _constants(cutter, x):
  weight = tf.constant([1.0, 2.0])
  return cutter.cut(x * weight) * weight


def _several_results(cutter, x):
  mean, total = cutter.cut(tf.reduce_mean(x), tf.reduce_sum(x))
  return (x - mean) / total


def _several_outputs_of_one_operation(cutter, x):
  left, right = tf.split(x, 2)
  middle = cutter.cut(left)
  return middle + right, left


def _loop_and_condition(cutter, x):
  x = tf.while_loop(
    lambda i, _: i < 3, lambda i, y: (i + 1, y * 2.0), [0, cutter.cut(x)]
  )[1]
  x = cutter.cut(x)
  return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x + 1.0, lambda: x - 1.0)


def _unused(cutter, x):
  cutter.cut(x * 5.0)
  return x + 1.0


_FUNCTIONS = (
  ("one_cut", _one_cut),
  ("two_cuts", _two_cuts),
  ("a_value_that_lives_across_cuts", _lives_long),
  ("nothing_between_cuts", _nothing_between),
  ("a_cut_of_an_argument", _cut_of_an_argument),
  ("constants", _constants),
  ("several_results", _several_results),
  ("several_outputs_of_one_operation", _several_outputs_of_one_operation),
  ("loop_and_condition", _loop_and_condition),
  ("an_unused_result", _unused),
  ("no_cut", lambda cutter, x: x * 2.0),
)


class SplitTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(*_FUNCTIONS)
  def test_gives_the_results_of_the_uncut_function(self, fn):
    for attributes in (None, {"_noinline": True}):
      body, cutter, parts = _split(
        fn, tf.TensorSpec([2]), attributes=attributes
      )
      self.assertLen(parts, len(cutter.cuts) + 1)
      for x in (tf.constant([1.0, 2.0]), tf.constant([-3.0, 0.5])):
        results = _run(body, cutter, parts, x)
        for got, expected in zip(results, _uncut(fn, x), strict=True):
          self.assertAllEqual(got, expected)

  @parameterized.named_parameters(*_FUNCTIONS)
  def test_works_within_a_function_too(self, fn):
    @tf.function
    def whole(x):
      return _run(*_split(fn, tf.TensorSpec([2])), x)

    x = tf.constant([1.0, 2.0])
    for got, expected in zip(whole(x), _uncut(fn, x), strict=True):
      self.assertAllClose(got, expected)

  def test_an_operation_is_in_one_segment(self):
    _, _, parts = _split(_one_cut, tf.TensorSpec([2]))
    before, after = (_types(part) for part in parts)
    self.assertEqual(before.get("Square"), 1)
    self.assertNotIn("Sqrt", before)
    self.assertEqual(after.get("Sqrt"), 1)
    self.assertNotIn("Square", after)

  def test_a_constant_is_made_again_and_not_passed_along(self):
    _, _, (before, after) = _split(_constants, tf.TensorSpec([2]))
    self.assertEqual(_types(before)["Const"], 1)
    self.assertEqual(_types(after)["Const"], 1)
    # What it takes is the result of the merge alone.
    self.assertLen(after.inputs, 1)
    self.assertLen(before.outputs, 1)

  def test_only_what_is_used_later_is_passed_along(self):
    _, _, parts = _split(_lives_long, tf.TensorSpec([2]))
    # The exponential and what is merged.
    self.assertLen(parts[0].outputs, 2)
    self.assertLen(parts[1].inputs, 1)
    # The merge's result, the exponential and the argument.
    self.assertLen(parts[3].inputs, 3)

  def test_stateful_operations_keep_their_order(self):
    v = tf.Variable(1.0)

    def fn(cutter, x):
      v.assign_add(x)
      first = cutter.cut(v.read_value())
      v.assign(v * 10.0)
      second = cutter.cut(v.read_value() + first)
      v.assign_sub(second)
      return first, second, v.read_value()

    body, cutter, parts = _split(fn, tf.TensorSpec([]))
    results = _run(body, cutter, parts, tf.constant(2.0))
    self.assertAllEqual(results, [3.0, 33.0, -3.0])
    self.assertAllEqual(v, -3.0)

  def test_stateful_operations_that_nothing_uses_are_run(self):
    v, w = tf.Variable(0.0), tf.Variable(0.0)

    def fn(cutter, x):
      v.assign_add(1.0)
      y = cutter.cut(x)
      w.assign_add(y)
      return x

    body, cutter, parts = _split(fn, tf.TensorSpec([]))
    _run(body, cutter, parts, tf.constant(2.0))
    self.assertAllEqual([v, w], [1.0, 2.0])

  def test_each_segment_captures_what_it_uses(self):
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    constant = tf.constant(5.0)

    def fn(cutter, x):
      return cutter.cut(x * v) * w + constant

    body, cutter, parts = _split(fn, tf.TensorSpec([]))
    self.assertAllEqual(_run(body, cutter, parts, tf.constant(1.0)), [11.0])
    captured = [part.function.captured_inputs for part in parts]
    self.assertLen(captured[0], 1)
    self.assertIs(captured[0][0], v.handle)
    self.assertLen(captured[1], 2)
    self.assertIs(captured[1][0], w.handle)

  def test_keeps_the_attributes_asked_for(self):
    _, _, parts = _split(
      _one_cut, tf.TensorSpec([2]), attributes={"_noinline": True}
    )
    for part in parts:
      attributes = part.function.function_def.attr
      self.assertTrue(attributes["_noinline"].b)

  def test_keeps_functions_that_the_body_calls(self):
    @tf.function
    def inner(x):
      return x * 3.0

    def fn(cutter, x):
      return inner(cutter.cut(inner(x)))

    body, cutter, parts = _split(fn, tf.TensorSpec([]))
    self.assertAllEqual(_run(body, cutter, parts, tf.constant(1.0)), [9.0])

  def test_keeps_the_gradients_taken_in_the_body(self):
    v = tf.Variable([1.0, 2.0])

    def fn(cutter, x):
      with tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * v * x)
      gradient = cutter.cut(tape.gradient(loss, v))
      v.assign_sub(gradient)
      return gradient

    body, cutter, parts = _split(fn, tf.TensorSpec([]))
    self.assertAllEqual(
      _run(body, cutter, parts, tf.constant(2.0)), [[4.0, 8.0]]
    )
    self.assertAllEqual(v, [-3.0, -6.0])

  def test_passes_shapes_that_are_known_in_part(self):
    def fn(cutter, x):
      return cutter.cut(x[1:]) * 2.0

    body, cutter, parts = _split(fn, tf.TensorSpec([None]))
    self.assertAllEqual(
      _run(body, cutter, parts, tf.constant([1.0, 2.0, 3.0])), [[4.0, 6.0]]
    )


if __name__ == "__main__":
  tf.test.main()
