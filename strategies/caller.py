"""What a replica's thread must take over from the thread that called `run`.

TensorFlow keeps the graph, the name scope, the variable creators and the
control dependencies for each thread. Most of it can be read and entered by
public means. Two things can't: the list of variable creators and the control
dependencies in force. They are attributes of `tf.Graph`, read here and
nowhere else.
"""

from collections.abc import Iterator
import contextlib
import contextvars

import tensorflow as tf

from stratagem.strategies import context


class Caller:
  """The state of the calling thread, taken when it is made."""

  def __init__(self) -> None:
    self._graph = tf.compat.v1.get_default_graph()
    self._in_graph = not tf.executing_eagerly()
    self._name_scope = tf.get_current_name_scope()
    self._creators = list(self._graph._variable_creator_stack)
    self._mode = context.current()
    self.variables = contextvars.copy_context()
    self._control_inputs: list[tf.Operation] = []
    if self._in_graph:
      # Each thread gets scopes of its own from here on.
      self._graph.switch_to_thread_local()
      self._control_inputs = self._graph._current_control_dependencies()

  @property
  def is_eager(self) -> bool:
    """Whether the thread was in eager mode."""
    return not self._in_graph

  @property
  def is_current(self) -> bool:
    """Whether operations go now where they went then."""
    if not self._in_graph:
      return tf.executing_eagerly()
    return tf.compat.v1.get_default_graph() is self._graph

  @contextlib.contextmanager
  def enter(self) -> Iterator[None]:
    """Makes the state that of the current thread."""
    with contextlib.ExitStack() as stack:
      if self._in_graph:
        stack.enter_context(self._graph.as_default())
        stack.enter_context(tf.control_dependencies(self._control_inputs))
      if self._name_scope:
        stack.enter_context(tf.name_scope(f"{self._name_scope}/"))
      graph = tf.compat.v1.get_default_graph()
      previous = graph._variable_creator_stack
      graph._variable_creator_stack = list(self._creators)
      stack.callback(setattr, graph, "_variable_creator_stack", previous)
      if self._mode is not None:
        stack.enter_context(context.enter(self._mode))
        bridge = self._mode.strategy.bridge
        stack.enter_context(bridge.enter_cross_replica())
      yield
