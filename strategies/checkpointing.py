"""How a distributed variable stands in checkpoints and SavedModels.

These methods of `tf.Variable` are no public API. TensorFlow calls them on
every object that is saved, and there is no other way to say that several
components are one value. They are named here and nowhere else.
"""

from typing import Any

import tensorflow as tf

# The key under which TensorFlow keeps the value of any variable, so that
# checkpoints of distributed and of ordinary variables are alike.
_VALUE_KEY = "VARIABLE_VALUE"


# What `tf.is_tensor` and tapes take for a tensor, variables among it; Keras
# derives its variables from it too.
Tensor = tf.__internal__.types.Tensor


class OneValueInCheckpoint:
  """A mix-in for a variable whose components are saved as one value."""

  values: tuple[tf.Variable, ...]

  def checkpoint_value(self) -> tf.Tensor:
    """What a checkpoint holds."""
    return self.values[0].read_value()

  def restore(self, value: tf.Tensor) -> Any:
    """Gives every component the value that a checkpoint held."""
    written = []
    for component in self.values:
      with tf.device(component.device):
        written.append(component.assign(tf.identity(value), read_value=False))
    return tf.group(*(w for w in written if w is not None))

  def _serialize_to_tensors(self) -> dict[str, tf.Tensor]:
    with tf.device("cpu:0"):
      return {_VALUE_KEY: tf.identity(self.checkpoint_value())}

  def _restore_from_tensors(self, restored: dict[str, tf.Tensor]) -> Any:
    return self.restore(restored[_VALUE_KEY])

  def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
    # An empty answer sends TensorFlow to `_serialize_to_tensors`.
    return {}

  def _copy_trackable_to_cpu(self, object_map: dict[Any, Any]) -> None:
    if self not in object_map:
      with tf.device("cpu:0"):
        copy = tf.Variable(
          self.checkpoint_value(),
          trainable=self.trainable,  # type: ignore[attr-defined]
          name=self._shared_name,  # type: ignore[attr-defined]
        )
      object_map[self] = copy
    else:
      object_map[self].assign(self.checkpoint_value())

  def _export_to_saved_model_graph(
    self, object_map: Any, tensor_map: Any, options: Any, **kwargs: Any
  ) -> list[Any]:
    """Exports the first component, which stands for the others too."""
    first = self.values[0]
    exported = first._export_to_saved_model_graph(
      object_map=object_map,
      tensor_map=tensor_map,
      options=options,
      **kwargs,
    )
    object_map[self] = object_map[first]
    for component in self.values:
      object_map[component] = object_map[first]
      tensor_map[component.handle] = tensor_map[first.handle]
      exported.append(component.handle)
    return exported

  def _write_object_proto(self, proto: Any, options: Any) -> None:
    self.values[0]._write_object_proto(proto, options)
