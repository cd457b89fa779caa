"""The public face changes only on purpose."""

import difflib
import enum
import pathlib
import types

from absl.testing import absltest

import stratagem
from tests.architecture import public_api

_FROZEN = pathlib.Path(__file__).with_name("public_api.txt")
_ACCEPT = (
  "The public face is not what tests/architecture/public_api.txt says. Where "
  "that is meant, note it in CHANGELOG.md and write the file anew:\n"
  "  .venv/bin/python -m tests.architecture.public_api "
  "> tests/architecture/public_api.txt\n"
)


class _Colour(enum.Enum):
  RED = "red"


class _Base:
  def inherited(self):
    pass


class _Shape(_Base):
  limit = 3

  def __init__(self, sides, *, colour=_Colour.RED, key=len, also=()):
    pass

  @property
  def area(self):
    pass

  @classmethod
  def square(cls, side: int = 1) -> None:
    pass

  def _hidden(self):
    pass


class PublicApiTest(absltest.TestCase):
  def test_the_public_face_is_as_frozen(self):
    frozen = _FROZEN.read_text("utf-8").splitlines()
    current = list(public_api.describe(stratagem))
    difference = difflib.unified_diff(frozen, current, "frozen", "current")
    self.assertEqual(frozen, current, "\n".join([_ACCEPT, *difference]))

  def test_every_public_name_is_described(self):
    module = types.ModuleType("shapes")
    module.nested = types.ModuleType("shapes.nested")
    module.nested.VERSION = "1"
    module.nested.__all__ = ["VERSION"]
    module.Shape = _Shape
    module.Colour = _Colour
    module.draw = lambda shape, *shapes, **options: None
    module.__all__ = ["draw", "Colour", "Shape", "nested"]
    self.assertEqual(
      list(public_api.describe(module)),
      [
        "shapes.Colour",
        "  RED = 'red'",
        "shapes.Shape(sides, *, colour=_Colour.RED, key=len, also=())",
        "  area: property",
        "  inherited(self)",
        "  limit: int",
        "  square(cls, side=1): classmethod",
        "shapes.draw(shape, *shapes, **options)",
        "shapes.nested.VERSION: str",
      ],
    )


if __name__ == "__main__":
  absltest.main()
