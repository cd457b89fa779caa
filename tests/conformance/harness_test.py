"""The harness sees a difference where there is one."""

import types

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf

from tests.conformance import comparison
from tests.conformance import devices
from tests.conformance import differences
from tests.conformance import normal_form
from tests.conformance import report
from tests.conformance import runner
from tests.conformance import sides
from tests.conformance import table
from tests.conformance.program import attempt
from tests.conformance.program import FUNCTION
from tests.conformance.program import Program
from tests.conformance.program import program


def setUpModule():
  devices.configure()


class _Sham:
  """A strategy of upstream's whose `run` gives something slightly else."""

  def __init__(self, strategy, spoil):
    self._strategy = strategy
    self._spoil = spoil

  def __getattr__(self, name):
    return getattr(self._strategy, name)

  def run(self, *args, **kwargs):
    return self._spoil(self._strategy.run(*args, **kwargs))


def _sham(spoil):
  """A `tf.distribute` whose `MirroredStrategy` is a sham."""
  upstream = sides.load(sides.UPSTREAM)
  names = {name: getattr(upstream, name) for name in dir(upstream)}
  names["MirroredStrategy"] = lambda given: _Sham(
    upstream.MirroredStrategy(given), spoil
  )
  return types.SimpleNamespace(**names)


def _fail(error):
  raise error


@program()
def _adds(strategy, wrap):
  """One and one, on each replica."""
  step = wrap(lambda: strategy.run(lambda: tf.constant(1.0) + 1.0))
  return attempt(step)


@program()
def _fails(strategy):
  """An error that should mention the replica."""

  def replica_fn():
    raise ValueError("Replica 1 went wrong.")

  return attempt(strategy.run, replica_fn, mentions=["replica", "wrong"])


@program()
def _is_broken(strategy):
  """A program that fails by itself."""
  raise KeyError("on purpose")


def _judge(tested: Program, spoil, mode="eager"):
  case = table.Case(tested, "mirrored2", mode)
  return table.judge(
    case, upstream=sides.load(sides.UPSTREAM), ours=_sham(spoil)
  )


def _map(function):
  """Spoils each component of a value per replica, where it is."""

  def spoil(part):
    with tf.device(part.device):
      return function(part)

  return lambda value: type(value)([spoil(part) for part in value.values])


def _on_first_device(value):
  with tf.device("/cpu:0"):
    return tf.identity(value)


class DetectionTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ("a_value", _map(lambda x: x + 1e-6), "has the value"),
    ("a_type", _map(lambda x: tf.cast(x, tf.float64)), "dtype"),
    ("a_shape", _map(lambda x: tf.expand_dims(x, 0)), "shape"),
    ("a_device", _map(_on_first_device), "device"),
    ("a_kind", lambda value: value.values[0], "tensor"),
    ("a_python_value", lambda value: 2.0, "float"),
    ("the_nesting", lambda value: [value], "list"),
    ("the_number_of_replicas", lambda v: type(v)(v.values[:1]), "replica 1"),
    ("an_error", lambda value: _fail(ValueError("no")), "a ValueError: no"),
  )
  def test_sees_a_difference_in(self, spoil, told):
    finding = _judge(_adds, spoil)
    self.assertIs(finding.verdict, table.Verdict.DIFFERS)
    self.assertIn(told, "".join(finding.details))

  @parameterized.parameters("eager", "function")
  def test_sees_none_where_there_is_none(self, mode):
    finding = _judge(_adds, lambda value: value, mode)
    self.assertIs(finding.verdict, table.Verdict.AGREE, finding.details)

  def test_allows_a_tolerance(self):
    rough = Program(run=_adds.run, tolerance=1e-5)
    finding = _judge(rough, _map(lambda x: x + 1e-6))
    self.assertIs(finding.verdict, table.Verdict.AGREE, finding.details)

  def test_a_program_that_fails_upstream_is_broken(self):
    finding = _judge(_is_broken, lambda value: value)
    self.assertIs(finding.verdict, table.Verdict.BROKEN)
    self.assertIn("KeyError", finding.details[0])

  def test_sees_a_failure_that_upstream_does_not_have(self):
    outcome = _judge(
      Program(run=lambda strategy: strategy.run(lambda: tf.constant(1.0))),
      lambda value: _fail(TypeError("no")),
    )
    self.assertIs(outcome.verdict, table.Verdict.DIFFERS)
    self.assertIn("TypeError: no", outcome.details[0])


class RequirementTest(parameterized.TestCase):
  def _judge(self, *names):
    needy = Program(run=_adds.run, requires=names)
    return _judge(needy, lambda value: value)

  def test_a_program_waits_for_the_name_it_requires(self):
    finding = self._judge("MirroredStrategy", "Telepathy")
    self.assertIs(finding.verdict, table.Verdict.MISSING)
    self.assertEqual(finding.details, ("stratagem has no `Telepathy`",))

  @parameterized.parameters("experimental.Telepathy", "telepathy.Sender")
  def test_a_name_may_stand_in_another(self, name):
    self.assertIs(self._judge(name).verdict, table.Verdict.MISSING)

  @parameterized.parameters("MirroredStrategy", "experimental.ValueContext")
  def test_runs_once_the_name_is_there(self, name):
    self.assertIs(self._judge(name).verdict, table.Verdict.AGREE)

  def test_upstream_has_every_name_that_a_program_requires(self):
    for tested in table.all_programs():
      self.assertEmpty(tested.lacks(tf.distribute), tested.name)


class ErrorTest(absltest.TestCase):
  def _differences(self, theirs, ours, mentions=()):
    return comparison.differences(
      normal_form.describe(attempt(_fail, theirs, mentions=mentions)),
      normal_form.describe(attempt(_fail, ours)),
    )

  def test_messages_need_not_be_equal(self):
    self.assertEmpty(self._differences(ValueError("a"), ValueError("b")))

  def test_sees_another_class(self):
    self.assertIn("class", self._differences(ValueError(), TypeError())[0])

  def test_a_private_class_counts_as_its_public_base(self):
    class ClusterError(RuntimeError):
      pass

    self.assertEmpty(self._differences(RuntimeError(), ClusterError()))

  def test_tensorflow_classes_are_public(self):
    error = tf.errors.InvalidArgumentError(None, None, "no")
    self.assertIs(
      normal_form.public_class(type(error)), tf.errors.InvalidArgumentError
    )

  def test_sees_that_the_message_does_not_mention_a_word(self):
    error = ValueError("Replica 1 went astray.")
    found = self._differences(ValueError(), error, mentions=["replica", "axis"])
    self.assertLen(found, 1)
    self.assertIn("does not mention 'axis'", found[0])

  def test_upstream_need_not_mention_anything(self):
    finding = _judge(_fails, lambda value: value)
    self.assertIs(finding.verdict, table.Verdict.AGREE, finding.details)


class NormalFormTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ("lists_and_tuples", [1], (1,)),
    ("orders_of_keys", {"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ("lengths", [1], [1, 1]),
    ("strings", "a", "b"),
    ("strings_and_bytes", "a", b"a"),
    ("integers_and_booleans", 1, True),
    ("none_and_nothing", None, ()),
    ("types", tf.float32, tf.float64),
    ("nan_and_zero", float("nan"), 0.0),
    ("kinds_of_numbers", 1, 1.0),
  )
  def test_tells_apart(self, one, other):
    one, other = normal_form.describe(one), normal_form.describe(other)
    self.assertNotEmpty(comparison.differences(one, other))
    self.assertEmpty(comparison.differences(one, one))
    self.assertEmpty(comparison.differences(other, other))

  def test_tells_kinds_of_variables_apart(self):
    dist = sides.load(sides.UPSTREAM)
    with dist.MirroredStrategy(["/cpu:0"]).scope():
      mirrored = normal_form.describe(tf.Variable(1.0))
    plain = normal_form.describe(tf.Variable(1.0))
    self.assertNotEmpty(comparison.differences(mirrored, plain))


class IsolationTest(absltest.TestCase):
  def test_a_strategy_set_for_good_does_not_outlive_its_run(self):
    dist = sides.load(sides.UPSTREAM)

    def leak(strategy):
      dist.experimental_set_strategy(strategy)

    def look():
      return dist.has_strategy()

    def outcome_of(function):
      return runner.run(
        Program(run=function), dist=dist, strategy="one", mode="eager"
      )

    outcome_of(leak)
    self.assertEqual(outcome_of(look).result, normal_form.describe(False))

  def test_both_sides_draw_the_same_numbers(self):
    def draw():
      return tf.random.normal([3]), tf.random.uniform([2])

    outcomes = [
      runner.run(
        Program(run=draw), dist=tf.distribute, strategy="default", mode="eager"
      ).result
      for _ in range(2)
    ]
    self.assertEmpty(comparison.differences(*outcomes))


class TableTest(absltest.TestCase):
  def test_every_program_has_a_name_of_its_own(self):
    names = [program.name for program in table.all_programs()]
    self.assertLen(set(names), len(names))

  def test_every_program_says_what_it_shows(self):
    for tested in table.all_programs():
      self.assertRegex(tested.summary, r"[.?]$", tested.name)

  def test_every_program_has_a_case(self):
    for tested in table.all_programs():
      self.assertNotEmpty(list(table.cases_of(tested)), tested.name)

  def test_a_program_in_function_mode_takes_wrap(self):
    for tested in table.all_programs():
      if FUNCTION in tested.modes:
        self.assertIn("wrap", tested.wants, tested.name)

  def test_every_listed_difference_names_a_case(self):
    names = [case.name for case in table.all_cases()]
    for difference in differences.DELIBERATE:
      self.assertTrue(
        any(difference.covers(name) for name in names),
        f"{difference} matches no case.",
      )

  def test_no_case_is_listed_twice(self):
    for case in table.all_cases():
      listed = [d for d in differences.DELIBERATE if d.covers(case.name)]
      self.assertLessEqual(len(listed), 1, case.name)


class ReportTest(absltest.TestCase):
  def _rows(self):
    return [
      report.Row.of(_judge(_adds, lambda value: value)),
      report.Row.of(_judge(_fails, lambda value: value)),
      report.Row.of(_judge(_is_broken, lambda value: value)),
    ]

  def test_says_what_it_found_in_every_format(self):
    rows = self._rows()
    for name, write in report.FORMATS.items():
      with self.subTest(name):
        self.assertIn("harness_test._adds", write(rows))
        self.assertIn("on purpose", write(rows))

  def test_counts(self):
    self.assertEqual(
      report.totals(self._rows()),
      "3 programs, 3 cases: 2 agree, 1 fails upstream.",
    )


if __name__ == "__main__":
  absltest.main()
