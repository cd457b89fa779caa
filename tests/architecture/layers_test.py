"""A lower layer never imports a higher one, not even inside a function."""

from absl.testing import absltest
from absl.testing import parameterized

from tests.architecture import source as source_lib

# From the lowest. Whatever else `stratagem` holds is the public face, which
# stands on all of them.
_LAYERS = ("_tensorflow", *source_lib.FOLDERS)
_FACE = len(_LAYERS)


def _layer(name: str) -> int:
  return _LAYERS.index(name) if name in _LAYERS else _FACE


def complaints(source: source_lib.Source) -> list[str]:
  """Each place where `source` reaches above its own layer."""
  folder, *rest = source.path.removesuffix(".py").split("/")
  own = rest[0] if folder == "stratagem" else folder
  found = {}
  for reference in source_lib.references(source):
    package, *path = reference.name.split(".")
    if package == "stratagem" and path and _layer(path[0]) > _layer(own):
      found[reference.line] = (
        f"{source.path}:{reference.line}: `{own}` must not know "
        f"`{reference.name}`, which is above it."
      )
  return list(found.values())


class LayersTest(parameterized.TestCase):
  def test_no_layer_imports_a_higher_one(self):
    found = [line for file in source_lib.library() for line in complaints(file)]
    self.assertEmpty(
      found,
      "\n".join(["The layers are " + " <- ".join(_LAYERS), *found]),
    )

  @parameterized.named_parameters(
    ("import", "import stratagem.strategies"),
    ("import_from", "from stratagem.input import dataset"),
    ("import_of_a_folder", "from stratagem import strategies"),
    ("import_in_a_function", "def f():\n  from stratagem import input"),
    ("attribute", "import stratagem as sg\nsg.strategies.mirrored"),
    ("public_face", "from stratagem import MirroredStrategy"),
    ("by_name", "importlib.import_module('stratagem.strategies.mirrored')"),
  )
  def test_reaching_up_is_noticed(self, text):
    source = source_lib.Source("cross_device/packing.py", text)
    self.assertLen(complaints(source), 1)

  @parameterized.named_parameters(
    ("lower", "from stratagem.cluster import resolver"),
    ("own", "from stratagem.cross_device import values"),
    ("tensorflow", "import tensorflow as tf\ntf.nn.relu"),
  )
  def test_reaching_down_is_allowed(self, text):
    source = source_lib.Source("cross_device/packing.py", text)
    self.assertEmpty(complaints(source))


if __name__ == "__main__":
  absltest.main()
