"""AutoGraph goes through this library without rewriting it.

The function that a user gives to `strategy.run` inside a `tf.function` is
rewritten by AutoGraph if the `tf.function` asks for it, as upstream does.
This library's own code is not. TensorFlow has no public way to do either:
`tf.__internal__.autograph`, which Keras uses too, and the mark by which
AutoGraph knows its own functions are named here and nowhere else.
"""

from collections.abc import Callable
import inspect
import sys
from types import FunctionType
from typing import Any

import tensorflow as tf

_autograph = tf.__internal__.autograph
_MARK = "autograph_info__"


def convert(fn: Callable[..., Any], always: bool = False) -> Callable[..., Any]:
  """`fn`, rewritten when it is called if the caller is rewritten too.

  Args:
    fn: the user's function.
    always: rewrite it whatever the caller is.

  Returns:
    A function to call in place of `fn`.
  """
  return _autograph.tf_convert(
    fn, _autograph.control_status_ctx(), convert_by_default=always
  )


def function(fn: Callable[..., Any]) -> Any:
  """A `tf.function` of `fn` in which what `fn` converts is rewritten."""
  _mark(fn)
  return tf.function(fn)


def leave_alone(package: str) -> None:
  """Marks every function of a package as not to be rewritten."""
  for name, module in list(sys.modules.items()):
    if name == package or name.startswith(f"{package}."):
      for member in vars(module).values():
        if getattr(member, "__module__", None) == name:
          _mark(member)


def _mark(member: Any) -> None:
  if isinstance(member, FunctionType):
    setattr(member, _MARK, {})
  elif inspect.isclass(member):
    for attribute in vars(member).values():
      function = getattr(attribute, "__func__", attribute)
      if isinstance(function, FunctionType):
        setattr(function, _MARK, {})
