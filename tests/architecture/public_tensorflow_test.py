"""Only the public API of TensorFlow and Keras is used."""

import re

from absl.testing import absltest
from absl.testing import parameterized

from tests.architecture import source as source_lib

# Folders of the installed package that are no part of its documented API, and
# every name that begins with an underscore (`tf._api`, `tf.__internal__`) but
# for the likes of `tf.__version__` and `tf.Variable.__init__`.
_PRIVATE = re.compile(
  r"tensorflow\.(python|compiler|core|dtensor|include|tools|tsl|xla)\b"
  r"|(tensorflow|keras|tf_keras)\.(.*\.)?(_(?!_)|__internal__)"
  r"|(tensorflow\.)?(keras|tf_keras)\.src\b"
)


# What has no public way at all, each in the one file that gives its reason.
_OPENINGS = {
  "strategies/checkpointing.py": "tensorflow.__internal__.types.Tensor",
  "strategies/inherited_autograph.py": "tensorflow.__internal__.autograph",
}


def complaints(source: source_lib.Source) -> list[str]:
  """Each place where `source` uses what is not public."""
  found = {
    reference.line: (
      f"{source.path}:{reference.line}: `{reference.name}` is private."
    )
    for reference in source_lib.references(source)
    if _PRIVATE.match(reference.name)
    and not _is_opening(source.path, reference.name)
  }
  return list(found.values())


def _is_opening(path: str, name: str) -> bool:
  opening = _OPENINGS.get(path)
  return opening is not None and (
    opening == name
    or opening.startswith(f"{name}.")
    or name.startswith(f"{opening}.")
  )


class PublicTensorFlowTest(parameterized.TestCase):
  def test_nothing_private_is_used(self):
    files = source_lib.library() + source_lib.programs()
    found = [line for file in files for line in complaints(file)]
    self.assertEmpty(found, "\n".join(found))

  @parameterized.named_parameters(
    ("import", "import tensorflow.python"),
    ("import_as", "import tensorflow.python.framework.ops as ops"),
    ("import_from", "from tensorflow.python.eager import context"),
    ("import_from_tensorflow", "from tensorflow import python"),
    ("import_in_a_function", "def f():\n  import tensorflow.core.protobuf"),
    ("compiler", "from tensorflow.compiler.xla import xla_data_pb2"),
    ("keras", "from keras.src import backend"),
    ("keras_attribute", "import keras\nkeras.src.backend"),
    ("attribute", "import tensorflow as tf\ntf.python.eager"),
    ("attribute_of_an_alias", "import tensorflow as t\nv1 = t\nv1.python"),
    ("internal", "import tensorflow as tf\ntf.__internal__.dispatch"),
    ("underscore", "import tensorflow as tf\ntf.Variable._make"),
    ("getattr", "import tensorflow as tf\ngetattr(tf, 'python')"),
    ("by_name", "importlib.import_module('tensorflow.python.eager')"),
    ("by_name_in_a_variable", "name = 'tensorflow.python.eager.context'"),
    ("loaded_module", "sys.modules['tensorflow.python']"),
  )
  def test_private_use_is_noticed(self, text):
    source = source_lib.Source("input/a.py", text)
    self.assertLen(complaints(source), 1)

  @parameterized.named_parameters(
    ("public", "import tensorflow as tf\ntf.raw_ops.CollectiveReduceV2"),
    ("core_of_ours", "import tensorflow as tf\nself.core.python"),
    ("version", "import tensorflow as tf\ntf.__version__"),
    ("prose", "'''As tensorflow.python.distribute does.'''"),
  )
  def test_public_use_is_allowed(self, text):
    source = source_lib.Source("input/a.py", text)
    self.assertEmpty(complaints(source))


if __name__ == "__main__":
  absltest.main()
