"""The project's Python files, read and never run."""

import ast
from collections.abc import Iterator
import dataclasses
import functools
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("cluster", "cross_device", "input", "strategies")

_MODULE_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)+")


@dataclasses.dataclass(frozen=True)
class Source:
  """One file.

  Attributes:
    path: where it stands, seen from the root of the checkout, with `/`.
    text: what it says.
  """

  path: str
  text: str

  @functools.cached_property
  def tree(self) -> ast.Module:
    return ast.parse(self.text, self.path)


@dataclasses.dataclass(frozen=True)
class Reference:
  """A name that a file imports, uses or spells out in a string.

  Attributes:
    line: the line it stands on.
    name: the whole name, as `tensorflow.distribute.Strategy`, whatever the
      file calls it.
  """

  line: int
  name: str


def library() -> list[Source]:
  """All that stratagem ships, each file once."""
  return _read("stratagem", *FOLDERS)


def programs() -> list[Source]:
  """What stands beside the library and uses it."""
  return _read("examples", "benchmarks")


def references(source: Source) -> Iterator[Reference]:
  """Every dotted name in `source`, import aliases resolved."""
  aliases = _aliases(source.tree)
  for node in ast.walk(source.tree):
    if isinstance(node, ast.Import | ast.ImportFrom):
      for imported in _imported(node):
        yield Reference(node.lineno, imported)
    elif isinstance(node, ast.expr) and (name := resolve(node, aliases)):
      yield Reference(node.lineno, name)


def base_classes(source: Source) -> Iterator[Reference]:
  """Every class that one in `source` is derived from, aliases resolved."""
  aliases = _aliases(source.tree)
  for node in ast.walk(source.tree):
    if isinstance(node, ast.ClassDef):
      for base in node.bases:
        if name := resolve(base, aliases):
          yield Reference(base.lineno, name)


def resolve(node: ast.expr, aliases: dict[str, str]) -> str | None:
  """The whole name that `node` stands for, or None where it is no name."""
  match node:
    case ast.Name(id=name):
      return aliases.get(name)
    case (
      ast.Attribute(value=owner, attr=name)
      | ast.Call(
        func=ast.Name(id="getattr"),
        args=[owner, ast.Constant(value=str(name)), *_],
      )
    ):
      whole = resolve(owner, aliases)
      return f"{whole}.{name}" if whole else None
    case ast.Constant(value=str(text)) if _MODULE_NAME.fullmatch(text):
      # For `importlib.import_module`, `sys.modules` and their like.
      return text
    case (
      ast.Call(args=[ast.Constant() as name, *_])
      | ast.Subscript(slice=ast.Constant() as name)
    ):
      return resolve(name, aliases)
  return None


def _read(*folders: str) -> list[Source]:
  # os.walk does not follow links, so the four linked folders come once.
  return [
    Source(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
    for folder in folders
    for parent, _, names in os.walk(ROOT / folder)
    for path in sorted(pathlib.Path(parent, name) for name in names)
    if path.suffix == ".py"
  ]


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
  prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
  return [prefix + alias.name for alias in node.names]


def _aliases(tree: ast.Module) -> dict[str, str]:
  """What each name bound by an import or a plain assignment stands for."""
  aliases = {}
  for node in ast.walk(tree):
    match node:
      case ast.Import(names=names):
        for alias in names:
          root = alias.name.split(".")[0]
          aliases[alias.asname or root] = alias.name if alias.asname else root
      case ast.ImportFrom(module=str(module), names=names, level=0):
        for alias in names:
          aliases[alias.asname or alias.name] = f"{module}.{alias.name}"
  for node in ast.walk(tree):
    match node:
      case ast.Assign(targets=[ast.Name(id=target)], value=value):
        if name := resolve(value, aliases):
          aliases.setdefault(target, name)
  return aliases
