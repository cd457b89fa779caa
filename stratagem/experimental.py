"""What `tf.distribute.experimental` has: the same names under `sg`."""

from stratagem.strategies.value_context import ValueContext

__all__ = ["ValueContext"]
