"""stratagem: an independent implementation of TensorFlow's `tf.distribute`."""

from stratagem import _tensorflow as _tensorflow  # First: it may refuse.

__all__: list[str] = []
