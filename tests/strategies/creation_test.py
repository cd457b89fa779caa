"""Making distributed variables."""

from absl.testing import parameterized
import tensorflow as tf

import stratagem as sg
from stratagem.strategies import mirrored_variable
from stratagem.strategies import sync_on_read_variable
from tests.strategies import replication

_Synchronization = tf.VariableSynchronization


class CreationTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(*replication.SEVERAL)
  def test_synchronization_says_of_which_kind(self, count):
    with replication.mirrored(count).scope():
      for synchronization in (
        _Synchronization.AUTO,
        _Synchronization.ON_WRITE,
      ):
        v = tf.Variable(1.0, synchronization=synchronization)
        self.assertIsInstance(v, mirrored_variable.MirroredVariable)
        self.assertTrue(v.trainable)
      v = tf.Variable(1.0, synchronization=_Synchronization.ON_READ)
      self.assertIsInstance(v, sync_on_read_variable.SyncOnReadVariable)
      self.assertFalse(v.trainable)

  @parameterized.named_parameters(*replication.SEVERAL)
  def test_refuses_no_synchronization(self, count):
    with (
      replication.mirrored(count).scope(),
      self.assertRaisesRegex(
        ValueError, "got VariableSynchronization.NONE for variable 'w'"
      ),
    ):
      tf.Variable(1.0, synchronization=_Synchronization.NONE, name="w")

  @parameterized.named_parameters(*replication.SEVERAL)
  def test_what_is_synchronized_on_read_may_be_trained(self, count):
    with replication.mirrored(count).scope():
      v = tf.Variable(
        1.0, synchronization=_Synchronization.ON_READ, trainable=True
      )
    self.assertTrue(v.trainable)

  @parameterized.named_parameters(*replication.COUNTS)
  def test_all_components_start_with_one_random_value(self, count):
    strategy = replication.mirrored(count)
    calls = []

    def draw():
      calls.append(1)
      return tf.random.uniform([3])

    with strategy.scope():
      v = tf.Variable(draw)
    first, *others = replication.components(strategy, v)
    for other in others:
      self.assertAllEqual(other, first)
    self.assertLen(calls, 1)

  @parameterized.named_parameters(
    ("number", 2.0),
    ("list", [2.0, 3.0]),
    ("callable", lambda: tf.constant([2.0, 3.0])),
    ("eager_tensor", tf.ones([2])),
  )
  def test_takes_initial_values_of_all_kinds(self, initial_value):
    strategy = replication.mirrored(2)
    expected = initial_value() if callable(initial_value) else initial_value
    with strategy.scope():
      v = tf.Variable(initial_value)
    for component in replication.components(strategy, v):
      self.assertAllEqual(component, expected)

  def test_names_components_after_the_first(self):
    with replication.mirrored(2).scope():
      v = tf.Variable(1.0, name="weight")
    self.assertEqual(
      [c.name for c in v.values], ["weight:0", "weight/replica_1:0"]
    )

  def test_keeps_the_name_scope(self):
    with replication.mirrored(2).scope(), tf.name_scope("layer"):
      v = tf.Variable(1.0, name="weight")
    self.assertEqual(v.name, "layer/weight:0")
    self.assertEqual(v.values[1].name, "layer/weight/replica_1:0")

  def test_asks_the_users_creators_too(self):
    seen = []

    def creator(next_creator, **kwargs):
      seen.append(kwargs["name"])
      kwargs["trainable"] = False
      return next_creator(**kwargs)

    with (
      replication.mirrored(2).scope(),
      tf.variable_creator_scope(creator),
    ):
      v = tf.Variable(1.0, name="weight")
    self.assertEqual(seen, ["weight"])
    self.assertFalse(v.trainable)
    self.assertLen(v.values, 2)

  @parameterized.named_parameters(
    *(
      (f"{kind}_{case}", *rest, initial_value)
      for kind, initial_value in (
        ("callable", lambda: lambda: tf.constant([1.0, 2.0])),
        ("tensor", lambda: tf.constant([1.0, 2.0])),
        ("list", lambda: [1.0, 2.0]),
        ("computed", lambda: tf.sqrt(tf.constant([1.0, 4.0]))),
      )
      for case, *rest in replication.CASES
    )
  )
  def test_within_a_replica_makes_one_variable_for_all(
    self, count, wrap, initial_value
  ):
    strategy = replication.mirrored(count)
    made = []

    def fn():
      if not made:
        made.append(tf.Variable(initial_value()))
      return made[-1] + 1.0

    step = wrap(lambda: strategy.run(fn))
    for _ in range(2):
      for component in replication.components(strategy, step()):
        self.assertAllEqual(component, [2.0, 3.0])
    self.assertLen(made, 1)

  @parameterized.named_parameters(*replication.SEVERAL_CASES)
  def test_within_merge_call_makes_a_mirrored_variable(self, count, wrap):
    strategy = replication.mirrored(count)
    made = []

    def merge_fn(s):
      if not made:
        made.append(tf.Variable(4.0))
      return s.experimental_local_results(made[0])[0].read_value()

    def step():
      return strategy.run(lambda: sg.get_replica_context().merge_call(merge_fn))

    wrap(step)()
    self.assertLen(made, 1)
    self.assertLen(made[0].values, count)

  def test_a_tf_function_may_make_variables_in_scope_once(self):
    strategy = replication.mirrored(2)
    made = []

    @tf.function
    def step():
      with strategy.scope():
        if not made:
          made.append(tf.Variable(lambda: tf.random.uniform([])))
      return strategy.run(lambda: made[0].read_value())

    first, second = replication.components(strategy, step())
    self.assertEqual(first, second)
    self.assertAllEqual(
      replication.components(strategy, step()), [first, first]
    )


if __name__ == "__main__":
  tf.test.main()
