"""Which strategy and which context is the current one."""

import threading

import tensorflow as tf

from tests.conformance.program import attempt
from tests.conformance.program import EVERY
from tests.conformance.program import NO_STRATEGY
from tests.conformance.program import program


def _where(dist, strategy=None):
  context = dist.get_replica_context()
  return {
    "has strategy": dist.has_strategy(),
    "cross-replica": dist.in_cross_replica_context(),
    "replica context": context is not None,
    "replicas": dist.get_strategy().num_replicas_in_sync,
    "the one": dist.get_strategy() is strategy,
  }


@program(strategies=NO_STRATEGY)
def outside_any_scope(dist):
  """Outside any scope the default strategy is current, in replica context."""
  return _where(dist), _where(dist, dist.get_strategy())


@program(strategies=NO_STRATEGY)
def default_strategy_is_one_object(dist):
  """`get_strategy()` outside any scope gives the same object each time."""
  context = dist.get_replica_context()
  return (
    dist.get_strategy() is dist.get_strategy(),
    context.strategy is dist.get_strategy(),
    context.num_replicas_in_sync,
  )


@program()
def inside_scope(dist, strategy):
  """A scope makes its strategy current, in cross-replica context."""
  with strategy.scope():
    inside = _where(dist, strategy)
  return inside, _where(dist, strategy)


@program()
def scope_gives_its_strategy(strategy):
  """`with strategy.scope() as s` binds the strategy."""
  with strategy.scope() as given:
    return given is strategy


@program(strategies=NO_STRATEGY)
def of_the_default_strategy(dist):
  """The default strategy's scope may be entered; nothing changes inside."""
  with dist.get_strategy().scope():
    return _where(dist)


@program()
def of_the_default_strategy_within(dist, strategy):
  """The default strategy's scope inside another strategy's is an error."""
  default = dist.get_strategy()

  def enter():
    with strategy.scope(), default.scope():
      return _where(dist)

  return attempt(enter), _where(dist)


@program()
def inside_run(dist, strategy, wrap):
  """Inside `run` the strategy is current, in replica context."""
  seen = []

  @wrap
  def step():
    strategy.run(lambda: seen.append(_where(dist, strategy)))

  step()
  return seen[0], _where(dist, strategy)


@program()
def run_inside_scope(dist, strategy, wrap):
  """`run` from inside the scope goes back to cross-replica context after."""
  seen = []

  @wrap
  def step():
    strategy.run(lambda: seen.append(_where(dist, strategy)))
    seen.append(_where(dist, strategy))

  with strategy.scope():
    step()
  return seen[0], seen[-1]


@program()
def entered_twice(dist, strategy):
  """A scope may be entered again inside itself."""
  with strategy.scope(), strategy.scope():
    inner = _where(dist, strategy)
  return inner, _where(dist, strategy)


@program()
def entered_in_replica_context(strategy):
  """A scope may be entered inside its own `run`, in replica context."""

  def replica_fn():
    with strategy.scope():
      return 1

  return attempt(strategy.run, replica_fn)


@program()
def of_another_strategy_within(dist, strategy):
  """A scope of another strategy inside a scope is an error."""
  other = dist.OneDeviceStrategy("/cpu:1")

  def enter_both():
    with strategy.scope(), other.scope():
      return "entered"

  return attempt(enter_both, mentions=["OneDeviceStrategy", "scope"]), _where(
    dist
  )


@program()
def left_by_an_error(dist, strategy):
  """An error that leaves the scope ends it."""

  def fail():
    with strategy.scope():
      raise KeyError("on purpose")

  return attempt(fail), _where(dist, strategy)


@program()
def set_for_good(dist, strategy):
  """`experimental_set_strategy` makes a strategy current until unset."""
  dist.experimental_set_strategy(strategy)
  set_now = _where(dist, strategy)
  dist.experimental_set_strategy(None)
  return set_now, _where(dist, strategy)


@program()
def set_inside_scope(dist, strategy):
  """`experimental_set_strategy` inside a scope is an error."""
  with strategy.scope():
    return attempt(dist.experimental_set_strategy, strategy, mentions=["scope"])


@program()
def set_and_scope_of_another(dist, strategy):
  """A scope of another strategy is an error while one is set for good."""
  dist.experimental_set_strategy(strategy)

  def enter():
    with dist.OneDeviceStrategy("/cpu:1").scope():
      return "entered"

  outcome = attempt(enter)
  dist.experimental_set_strategy(None)
  return outcome, _where(dist)


@program()
def scope_in_another_thread(dist, strategy):
  """A scope holds in its own thread only."""
  seen = []
  with strategy.scope():
    thread = threading.Thread(target=lambda: seen.append(_where(dist)))
    thread.start()
    thread.join()
  return seen


@program()
def scope_in_another_graph(dist, strategy):
  """A scope holds in the graph in which it was entered."""
  with strategy.scope(), tf.Graph().as_default():
    return _where(dist, strategy)


@program()
def traced_in_scope(dist, strategy):
  """A `tf.function` traced in a scope sees its strategy."""
  seen = []

  @tf.function
  def trace():
    seen.append(_where(dist, strategy))

  with strategy.scope():
    trace()
  return seen


@program()
def entered_in_a_function(dist, strategy):
  """A scope may be entered inside a `tf.function`."""
  seen = []

  @tf.function
  def trace():
    with strategy.scope():
      seen.append(_where(dist, strategy))
    seen.append(_where(dist, strategy))

  trace()
  return seen


@program()
def function_called_in_and_out(dist, strategy):
  """A `tf.function` is traced again for another current strategy."""

  @tf.function
  def replicas():
    return dist.get_strategy().num_replicas_in_sync

  before = replicas()
  with strategy.scope():
    within = replicas()
  return before, within, replicas()


@program()
def device_in_scope(strategy):
  """Operations in a scope, outside `run`, go to the strategy's first worker."""
  with strategy.scope():
    return tf.constant(1.0)


@program(strategies=EVERY)
def knows_its_variables(dist, strategy):
  """`variable_created_in_scope` tells its variables from others'."""
  before = tf.Variable(1.0)
  with strategy.scope():
    within = tf.Variable(1.0)
  created = strategy.extended.variable_created_in_scope
  return created(before), created(within)
