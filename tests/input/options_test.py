"""Options are checked when they are made."""

from absl.testing import parameterized
import tensorflow as tf

from stratagem.input import options as options_lib

_Options = options_lib.InputOptions
_Mode = options_lib.InputReplicationMode


class InputOptionsTest(tf.test.TestCase, parameterized.TestCase):
  def test_defaults_are_those_of_upstream(self):
    ours, theirs = _Options(), tf.distribute.InputOptions()
    for name in theirs._fields:
      expected = getattr(theirs, name)
      if name == "experimental_replication_mode":
        expected = _Mode.from_any(expected)
      self.assertEqual(getattr(ours, name), expected, name)

  def test_positions_are_those_of_upstream(self):
    options = _Options(False, _Mode.PER_REPLICA, True, 3)
    self.assertEqual(options.experimental_per_replica_buffer_size, 3)
    self.assertTrue(options.experimental_place_dataset_on_device)

  def test_options_of_tf_distribute_serve(self):
    theirs = tf.distribute.InputOptions(
      experimental_replication_mode=(
        tf.distribute.InputReplicationMode.PER_REPLICA
      ),
      experimental_per_replica_buffer_size=2,
    )
    options = _Options.from_any(theirs)
    self.assertEqual(options.experimental_replication_mode, _Mode.PER_REPLICA)
    self.assertEqual(options.experimental_per_replica_buffer_size, 2)

  @parameterized.parameters("PER_REPLICA", "per_replica", _Mode.PER_REPLICA)
  def test_a_mode_may_be_named(self, mode):
    options = _Options(experimental_replication_mode=mode)
    self.assertEqual(options.experimental_replication_mode, _Mode.PER_REPLICA)

  @parameterized.parameters("PER_HOST", 1, None)
  def test_an_unknown_mode_is_refused(self, mode):
    with self.assertRaisesRegex(ValueError, "PER_WORKER.*PER_REPLICA.*got"):
      _Options(experimental_replication_mode=mode)

  def test_a_buffer_size_is_a_number(self):
    with self.assertRaisesRegex(TypeError, "must be an int; got '2'"):
      _Options(experimental_per_replica_buffer_size="2")
    with self.assertRaisesRegex(ValueError, "must be 0 or more.*got -2"):
      _Options(experimental_per_replica_buffer_size=-2)
    _Options(experimental_per_replica_buffer_size=tf.data.AUTOTUNE)

  def test_other_options_are_refused(self):
    with self.assertRaisesRegex(TypeError, "must be an `sg.InputOptions`"):
      _Options.from_any(42)


if __name__ == "__main__":
  tf.test.main()
