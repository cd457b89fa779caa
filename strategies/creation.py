"""Making distributed variables."""

from collections.abc import Callable
from typing import Any, TYPE_CHECKING

import tensorflow as tf

from stratagem.strategies import mirrored_variable
from stratagem.strategies import sync_on_read_variable
from stratagem.strategies import variable

if TYPE_CHECKING:
  from stratagem.strategies import extended as extended_lib

_Synchronization = tf.VariableSynchronization


def create(
  extended: "extended_lib.StrategyExtended",
  next_creator: Callable[..., Any],
  kwargs: dict[str, Any],
) -> variable.DistributedVariable:
  """Makes a variable with a component on each replica's device.

  Args:
    extended: in whose strategy's scope it is made.
    next_creator: makes an ordinary variable.
    kwargs: what `tf.Variable` was called with.

  Returns:
    A mirrored variable, or with the synchronization ON_READ one that each
    replica has for itself. All components start with one value.

  Raises:
    ValueError: if the synchronization is NONE, or it or the aggregation isn't
      a member of its enum.
  """
  kwargs = dict(kwargs)
  kind = _kind(kwargs)
  aggregation = kwargs.pop("aggregation", None) or tf.VariableAggregation.NONE
  _check_member(aggregation, tf.VariableAggregation, "aggregation", kwargs)
  # TensorFlow may pass the member of its first version's enum.
  aggregation = tf.VariableAggregation[aggregation.name]
  if _can_leave_graph(kwargs.get("initial_value")):
    # Not a part of the function being traced, which is one for all.
    with tf.init_scope():
      components = _components(extended, next_creator, kwargs)
  else:
    components = _components(extended, next_creator, kwargs)
  return kind(extended.container_strategy, components, aggregation)


def _check_member(
  value: Any, choices: Any, what: str, kwargs: dict[str, Any]
) -> None:
  members = [getattr(choices, name) for name in dir(choices) if name.isupper()]
  if value not in members:
    raise ValueError(
      f"`{what}` must be a `tf.{choices.__name__}`; got {value!r} for "
      f"variable {kwargs.get('name')!r}."
    )


def _kind(kwargs: dict[str, Any]) -> type[variable.DistributedVariable]:
  """Which class is asked for. Settles `synchronization` and `trainable`."""
  synchronization = kwargs.pop("synchronization", None)
  name = kwargs.get("name")
  if synchronization is not None:
    _check_member(synchronization, _Synchronization, "synchronization", kwargs)
  if synchronization is _Synchronization.NONE:
    raise ValueError(
      "A variable made in a strategy's scope must say when its components "
      "are synchronized; got VariableSynchronization.NONE for variable "
      f"{name!r}. Leave `synchronization` out, or use ON_WRITE or ON_READ."
    )
  if synchronization is not _Synchronization.ON_READ:
    return mirrored_variable.MirroredVariable
  if kwargs.get("trainable") is None:
    kwargs["trainable"] = False
  return sync_on_read_variable.SyncOnReadVariable


def _can_leave_graph(initial_value: Any) -> bool:
  """Whether the initial value isn't computed by the graph being traced."""
  tensors = tf.nest.flatten(initial_value)
  return not any(
    isinstance(t, tf.Tensor) and hasattr(t, "graph") and not _is_eager(t)
    for t in tensors
  )


def _is_eager(tensor: tf.Tensor) -> bool:
  return hasattr(tensor, "numpy")


def _components(
  extended: "extended_lib.StrategyExtended",
  next_creator: Callable[..., Any],
  kwargs: dict[str, Any],
) -> list[tf.Variable]:
  components: list[tf.Variable] = []
  for replica, device in enumerate(extended.worker_devices):
    own = dict(kwargs)
    if replica:
      first = components[0]
      name = kwargs.get("name") or "Variable"
      own["name"] = f"{name}/replica_{replica}"
      if tf.executing_eagerly():
        # Whatever the first one drew at random, all start with it.
        own["initial_value"] = _copy_of(first)
    with tf.device(device):
      components.append(next_creator(**own))
  return components


def _copy_of(component: tf.Variable) -> Callable[[], tf.Tensor]:
  return lambda: tf.identity(component.read_value())
