"""Only named files derive classes from those of tf.distribute.

The Keras bridge does, and `cross_device/interfaces.py` names the classes
without behaviour by which AutoGraph and Keras know ours.
"""

import re

from absl.testing import absltest
from absl.testing import parameterized

from tests.architecture import source as source_lib

_BRIDGE = "strategies/keras_bridge.py"
_UPSTREAM = re.compile(r"tensorflow\.(compat\.v[12]\.)?distribute\.")


def complaints(source: source_lib.Source) -> list[str]:
  """Each class in `source` that is derived from one of tf.distribute's."""
  if source.path == _BRIDGE:
    return []
  return [
    f"{source.path}:{base.line}: `{base.name}` must be subclassed in "
    f"{_BRIDGE} alone."
    for base in source_lib.base_classes(source)
    if _UPSTREAM.match(base.name)
  ]


class KerasBridgeTest(parameterized.TestCase):
  def test_no_other_file_subclasses_tf_distribute(self):
    files = source_lib.library() + source_lib.programs()
    found = [line for file in files for line in complaints(file)]
    self.assertEmpty(found, "\n".join(found))

  @parameterized.named_parameters(
    ("plain", "import tensorflow as tf", "tf.distribute.Strategy"),
    ("v1", "import tensorflow as tf", "tf.compat.v1.distribute.Strategy"),
    ("module", "from tensorflow import distribute", "distribute.Strategy"),
    ("name", "from tensorflow.distribute import Strategy as S", "S"),
    ("variable", "import tensorflow as tf\nS = tf.distribute.Strategy", "S"),
  )
  def test_a_subclass_is_noticed(self, preamble, base):
    text = f"{preamble}\nclass Ours({base}):\n  pass\n"
    self.assertLen(complaints(source_lib.Source("strategies/a.py", text)), 1)
    self.assertEmpty(complaints(source_lib.Source(_BRIDGE, text)))


if __name__ == "__main__":
  absltest.main()
