"""The engine that runs the function once for each replica."""

import threading
import time

from absl.testing import parameterized
import tensorflow as tf

import stratagem as sg
from tests.strategies import replication


def _replica():
  return int(sg.get_replica_context().replica_id_in_sync_group)


def _meet():
  sg.get_replica_context().merge_call(lambda strategy: None)


class WithoutMeetingTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(*replication.COUNTS)
  def test_runs_the_replicas_in_order_in_the_callers_thread(self, count):
    strategy = replication.mirrored(count)
    seen = []
    before = threading.active_count()

    def fn():
      seen.append((_replica(), threading.get_ident()))

    strategy.run(fn)
    own = threading.get_ident()
    self.assertEqual(seen, [(r, own) for r in range(count)])
    self.assertEqual(threading.active_count(), before)

  @parameterized.named_parameters(*replication.COUNTS)
  def test_runs_each_replica_on_its_device(self, count):
    strategy = replication.mirrored(count)
    result = strategy.run(lambda: tf.sqrt(4.0))
    self.assertEqual(
      [c.device for c in strategy.experimental_local_results(result)],
      list(strategy.extended.worker_devices),
    )

  @parameterized.named_parameters(*replication.COUNTS)
  def test_tells_each_replica_what_it_is(self, count):
    strategy = replication.mirrored(count)
    seen = []

    def fn():
      context = sg.get_replica_context()
      self.assertIs(context.strategy, strategy)
      self.assertEqual(context.num_replicas_in_sync, count)
      seen.append((int(context.replica_id_in_sync_group), *context.devices))

    strategy.run(fn)
    devices = strategy.extended.worker_devices
    self.assertEqual(seen, list(enumerate(devices)))

  @parameterized.named_parameters(*replication.SEVERAL)
  def test_gives_each_replica_its_component_of_the_arguments(self, count):
    strategy = replication.mirrored(count)
    value = replication.spread(strategy, lambda i: i + 1.0)

    def fn(x, nest, *, y):
      return x + nest["a"][0] + y

    result = strategy.run(fn, args=(value, {"a": [value]}), kwargs={"y": value})
    self.assertAllEqual(
      replication.components(strategy, result),
      [3.0 * (i + 1) for i in range(count)],
    )

  def test_an_error_in_a_replica_reaches_the_caller(self):
    strategy = replication.mirrored(4)
    ran = []

    def fn():
      ran.append(_replica())
      if _replica() == 2:
        raise ValueError("on purpose")

    with self.assertRaisesRegex(ValueError, "on purpose"):
      strategy.run(fn)
    self.assertEqual(ran, [0, 1, 2])
    self.assertFalse(sg.has_strategy())

  def test_run_within_run_is_an_error(self):
    strategy = replication.mirrored(2)
    for wrap in (lambda f: f, tf.function):
      with self.assertRaisesRegex(
        RuntimeError, r"`Strategy\.run` must be called in cross-replica"
      ):
        wrap(lambda: strategy.run(lambda: strategy.run(lambda: None)))()

  def test_run_may_be_called_in_merge_call(self):
    strategy = replication.mirrored(2)

    def merge_fn(s):
      return s.run(lambda: replication.replica_id() + 1)

    def fn():
      return sg.get_replica_context().merge_call(merge_fn)

    self.assertAllEqual(
      replication.components(strategy, strategy.run(fn)), [1, 2]
    )


class MeetingTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(*replication.SEVERAL)
  def test_one_replica_runs_at_a_time_and_in_order(self, count):
    strategy = replication.mirrored(count)
    seen = []

    def fn():
      for stage in range(3):
        seen.append((stage, _replica()))
        _meet()
      seen.append((3, _replica()))

    strategy.run(fn)
    by_stage = [[r for s, r in seen if s == stage] for stage in range(4)]
    # Replica 0 leads, and goes on once the others have come to the next one.
    for order in by_stage:
      self.assertCountEqual(order, range(count))
      followers = [r for r in order if r]
      self.assertEqual(followers, sorted(followers))
    again = list(seen)
    seen.clear()
    strategy.run(fn)
    self.assertEqual(seen, again)

  def test_keeps_its_threads_for_the_next_time(self):
    strategy = replication.mirrored(4)
    strategy.run(_meet)
    before = threading.active_count()
    for _ in range(5):
      strategy.run(_meet)
    self.assertEqual(threading.active_count(), before)

  def test_merges_in_the_thread_of_the_caller(self):
    strategy = replication.mirrored(2)
    idents = []

    def fn():
      sg.get_replica_context().merge_call(
        lambda s: idents.append(threading.get_ident())
      )

    strategy.run(fn)
    self.assertEqual(idents, [threading.get_ident()])

  @parameterized.named_parameters(
    ("first_before", 0, "before"),
    ("first_after", 0, "after"),
    ("last_before", 3, "before"),
    ("last_after", 3, "after"),
  )
  def test_an_error_in_a_replica_reaches_the_caller_and_ends_the_others(
    self, failing, place
  ):
    strategy = replication.mirrored(4)
    ended = []

    def fn():
      try:
        if _replica() == failing and place == "before":
          raise ValueError("on purpose")
        _meet()
        if _replica() == failing and place == "after":
          raise ValueError("on purpose")
        _meet()
      finally:
        ended.append(_replica())

    with self.assertRaisesRegex(ValueError, "on purpose"):
      strategy.run(fn)
    # Whoever began has ended.
    self.assertContainsSubset([failing], ended)
    self.assertLen(set(ended), len(ended))
    self.assertFalse(sg.has_strategy())
    before = threading.active_count()
    strategy.run(_meet)
    self.assertEqual(threading.active_count(), before)

  @parameterized.named_parameters(
    ("the_first_alone", lambda r: 1 if r == 0 else 0),
    ("all_but_the_first", lambda r: 0 if r == 0 else 1),
    ("the_last_once_less", lambda r: 1 if r == 3 else 2),
    ("the_last_once_more", lambda r: 2 if r == 3 else 1),
  )
  def test_replicas_that_meet_unevenly_are_an_error(self, times):
    strategy = replication.mirrored(4)

    def fn():
      for _ in range(times(_replica())):
        _meet()

    with self.assertRaisesRegex(
      RuntimeError,
      "All replicas must call `merge_call`.*the same number of times.*"
      r"replica \d calls one that replica \d has not",
    ):
      strategy.run(fn)
    self.assertFalse(sg.has_strategy())
    strategy.run(_meet)

  def test_several_programs_may_meet_at_once(self):
    strategies = [replication.mirrored(3) for _ in range(3)]
    results = {}

    def program(number):
      def fn():
        total = 0
        for _ in range(5):
          time.sleep(0.001)
          total += sg.get_replica_context().merge_call(lambda s: number)
        return total

      results[number] = strategies[number].run(fn)

    threads = [threading.Thread(target=program, args=(n,)) for n in range(3)]
    for thread in threads:
      thread.start()
    for thread in threads:
      thread.join()
    self.assertEqual(results, {0: 0, 1: 5, 2: 10})


class CallersStateTest(tf.test.TestCase, parameterized.TestCase):
  """What a replica's thread takes over from that of the caller."""

  def _seen_by_replicas(self, ask):
    """What `ask` gives on each replica, each in its own thread after one."""
    strategy = replication.mirrored(3)
    seen = {}

    def fn():
      before = ask()
      _meet()
      seen[_replica()] = (before, ask())

    strategy.run(fn)
    self.assertLen(seen, 3)
    return [seen[r] for r in range(3)]

  def test_the_name_scope(self):
    with tf.name_scope("outer"):
      seen = self._seen_by_replicas(tf.get_current_name_scope)
    for before, after in seen:
      self.assertStartsWith(before, "outer")
      self.assertStartsWith(after, "outer")

  def test_variable_creators(self):
    made = []

    def creator(next_creator, **kwargs):
      made.append(kwargs["name"])
      return next_creator(**kwargs)

    strategy = replication.mirrored(2)
    variables = []

    def fn():
      _meet()
      variables.append(tf.Variable(1.0, name="counted"))

    with tf.variable_creator_scope(creator):
      strategy.run(fn)
    self.assertNotEmpty(made)
    self.assertEqual({name.partition("/")[0] for name in made}, {"counted"})

  def test_the_graph_and_its_control_dependencies(self):
    strategy = replication.mirrored(2)

    @tf.function
    def step():
      graph = tf.compat.v1.get_default_graph()
      first = tf.constant(1.0, name="comes_first")
      inputs = []

      def fn():
        # Asks for the device, hence runs once for each replica.
        sg.get_replica_context().devices  # noqa: B018
        _meet()
        self.assertIs(tf.compat.v1.get_default_graph(), graph)
        inputs.append([op.name for op in tf.no_op().control_inputs])
        return tf.constant(2.0)

      with tf.control_dependencies([first]):
        result = strategy.run(fn)
      self.assertEqual(inputs, [["comes_first"]] * 2)
      return result

    self.assertAllEqual(replication.components(strategy, step()), [2.0, 2.0])

  def test_a_tape_of_each_replica_records_in_its_thread(self):
    strategy = replication.mirrored(2)
    with strategy.scope():
      v = tf.Variable(3.0)

    def fn(x):
      with tf.GradientTape() as tape:
        loss = v * v * x
        _meet()
        loss = loss * 2.0
      return tape.gradient(loss, v)

    x = replication.spread(strategy, lambda i: i + 1.0)
    self.assertAllEqual(
      replication.components(strategy, strategy.run(fn, args=(x,))),
      [12.0, 24.0],
    )

  def test_a_tape_of_the_caller_records_what_needs_no_meeting(self):
    strategy = replication.mirrored(2)
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
      tape.watch(x)
      losses = strategy.run(lambda: x * x)
      loss = strategy.reduce("SUM", losses, axis=None)
    self.assertAllEqual(tape.gradient(loss, x), 12.0)


if __name__ == "__main__":
  tf.test.main()
