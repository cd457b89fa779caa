"""To import stratagem takes what it declares, and no more."""

import ast
from collections.abc import Iterator
import sys

from absl.testing import absltest
from absl.testing import parameterized

from tests.architecture import source as source_lib

_DECLARED = frozenset({"absl", "numpy", "stratagem", "tensorflow"})


def complaints(source: source_lib.Source) -> list[str]:
  """Each import of `source` itself of what may not be installed.

  An import inside a function is free: it costs only those who call it.
  """
  return [
    f"{source.path}:{line}: `{root}` is not among the dependencies in "
    "pyproject.toml; import it in the function that needs it."
    for line, root in _imported_on_import(source.tree)
    if root not in _DECLARED and root not in sys.stdlib_module_names
  ]


def _imported_on_import(node: ast.AST) -> Iterator[tuple[int, str]]:
  """The line and the top-level package of each import outside functions."""
  match node:
    case ast.Import(names=names):
      for alias in names:
        yield node.lineno, alias.name.split(".")[0]
    case ast.ImportFrom(module=str(module)):
      yield node.lineno, module.split(".")[0]
    case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
      return
  for child in ast.iter_child_nodes(node):
    yield from _imported_on_import(child)


class DependenciesTest(parameterized.TestCase):
  def test_importing_the_library_takes_declared_dependencies_only(self):
    found = [line for file in source_lib.library() for line in complaints(file)]
    self.assertEmpty(found, "\n".join(found))

  @parameterized.named_parameters(
    ("undeclared", "import requests.adapters", 1),
    ("undeclared_from", "from google.cloud import storage", 1),
    ("undeclared_in_a_class", "class A:\n  import requests", 1),
    ("undeclared_in_a_function", "def f():\n  import requests", 0),
    ("declared", "import tensorflow as tf\nfrom absl import flags", 0),
    ("standard", "import os.path\nfrom concurrent import futures", 0),
    ("tests", "from tests import architecture", 1),
  )
  def test_an_undeclared_import_is_noticed(self, text, count):
    source = source_lib.Source("cluster/a.py", text)
    self.assertLen(complaints(source), count)


if __name__ == "__main__":
  absltest.main()
