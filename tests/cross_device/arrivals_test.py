"""Who is missing when a collective waits."""

import subprocess
import sys
import textwrap

import tensorflow as tf

from stratagem.cross_device import arrivals
from tests import logical_devices

logical_devices.configure()

# A collective that times out is the last one of its process.
_PROGRAM = textwrap.dedent("""
  import tensorflow as tf
  import stratagem as sg
  from stratagem.cross_device import collectives

  collectives.WARN_SECONDS = 1.0
  strategy = sg.MirroredStrategy(sg.make_logical_cpus(3))
  strategy.extended.collectives.timeout_seconds = 6.0

  @tf.function
  def step(value):
    replica = sg.get_replica_context()
    return tf.cond(
      replica.replica_id_in_sync_group != 1,
      lambda: replica.all_reduce("sum", value),
      lambda: value,
    )

  try:
    strategy.run(step, (tf.ones([3]),))
  except tf.errors.DeadlineExceededError as error:
    print("RAISED", error.message)
""")


class LateTest(tf.test.TestCase):
  def test_those_who_have_come_less_often_are_late(self):
    self.assertEqual(arrivals.late([3, 2, 3, 1]), [1, 3])

  def test_nobody_is_late_where_all_are_in_step(self):
    self.assertEqual(arrivals.late([2, 2]), [])


class ArrivalsTest(tf.test.TestCase):
  def test_counts_each_member(self):
    counted = arrivals.Arrivals(2, warn_seconds=None)
    counted.count(0)
    counted.count(0)
    counted.count(1)
    self.assertEqual(counted.read(), [2, 1])

  def test_explains_nothing_where_nobody_is_missing(self):
    counted = arrivals.Arrivals(2, warn_seconds=None)
    self.assertIsNone(counted.explain(1.0))

  def test_names_who_is_missing(self):
    counted = arrivals.Arrivals(3, warn_seconds=None)
    counted.count(1)
    self.assertRegex(
      counted.explain(2.5), r"waited 2\.5 s .*replicas \[0, 2\] did not come"
    )


class PartnerNeverArrivesTest(tf.test.TestCase):
  def test_the_log_and_the_error_name_the_replica_that_did_not_come(self):
    done = subprocess.run(
      [sys.executable, "-c", _PROGRAM],
      capture_output=True,
      text=True,
      timeout=120,
      check=False,
    )
    self.assertRegex(done.stdout, r"RAISED .*replica 1 did not come to it")
    self.assertRegex(done.stderr, r"Those that have not come: \[1\]")


if __name__ == "__main__":
  tf.test.main()
