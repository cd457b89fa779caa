"""The wheel holds the library, all of it, and works where it is installed."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

from absl.testing import absltest

from tests.architecture import source as source_lib

_IMPORT_ALL = """
import pathlib, pkgutil, sys, stratagem
for module in pkgutil.walk_packages(stratagem.__path__, "stratagem."):
  __import__(module.name)
for name, module in sorted(sys.modules.items()):
  if name.split(".")[0] == "stratagem":
    print(pathlib.Path(module.__file__).resolve())
"""


class WheelTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    scratch = pathlib.Path(tempfile.mkdtemp())
    cls.addClassCleanup(shutil.rmtree, scratch)
    cls._scratch = scratch
    cls._wheel = _build(_copy_of_the_checkout(scratch / "checkout"))
    cls._site = _install(cls._wheel, scratch / "venv")

  def test_it_holds_the_library_and_nothing_else(self):
    with zipfile.ZipFile(self._wheel) as wheel:
      held = [name for name in wheel.namelist() if ".dist-info/" not in name]
    linked = [
      source.path
      if source.path.startswith("stratagem/")
      else f"stratagem/{source.path}"
      for source in source_lib.library()
    ]
    self.assertCountEqual(
      held,
      [*linked, "stratagem/py.typed"],
      "Packages are listed by hand in pyproject.toml: is one missing there?",
    )

  def test_every_module_imports_from_another_directory(self):
    elsewhere = self._scratch / "elsewhere"
    elsewhere.mkdir()
    outcome = subprocess.run(
      [self._scratch / "venv/bin/python", "-c", _IMPORT_ALL],
      cwd=elsewhere,
      env=_without_python_path(),
      capture_output=True,
      text=True,
      timeout=300,
      check=False,
    )
    self.assertEqual(outcome.returncode, 0, outcome.stderr)
    imported = [pathlib.Path(line) for line in outcome.stdout.splitlines()]
    installed = (self._site / "stratagem").rglob("*.py")
    self.assertCountEqual(imported, [path.resolve() for path in installed])

  def test_it_carries_the_licence_and_says_what_it_needs(self):
    with zipfile.ZipFile(self._wheel) as wheel:
      [licence] = [n for n in wheel.namelist() if n.endswith("/LICENSE")]
      [metadata] = [n for n in wheel.namelist() if n.endswith("/METADATA")]
      self.assertIn(b"Apache License", wheel.read(licence))
      lines = wheel.read(metadata).decode().splitlines()
    required = [line for line in lines if line.startswith("Requires-Dist: ")]
    self.assertCountEqual(
      [line for line in required if "extra ==" not in line],
      ["Requires-Dist: absl-py", "Requires-Dist: numpy"],
    )


def _copy_of_the_checkout(target: pathlib.Path) -> pathlib.Path:
  """What a build reads, without what earlier builds may have left there."""
  target.mkdir()
  for path in source_lib.ROOT.iterdir():
    if path.is_file():
      shutil.copy(path, target)
  for folder in ("stratagem", *source_lib.FOLDERS):
    shutil.copytree(
      source_lib.ROOT / folder,
      target / folder,
      symlinks=True,
      ignore=shutil.ignore_patterns("__pycache__"),
    )
  return target


def _build(checkout: pathlib.Path) -> pathlib.Path:
  """Builds a source distribution, and from that the wheel, offline."""
  _run(sys.executable, "-m", "build", "--no-isolation", checkout)
  [wheel] = checkout.glob("dist/*.whl")
  return wheel


def _install(wheel: pathlib.Path, venv: pathlib.Path) -> pathlib.Path:
  """Installs `wheel` in a fresh environment that borrows our TensorFlow.

  A directory named in a .pth file is searched last, and .pth files in it are
  not read: so the editable install of stratagem there is not seen.
  """
  _run(sys.executable, "-m", "venv", "--without-pip", venv)
  python = venv / "bin/python"
  pip = (sys.executable, "-m", "pip", "--python", python)
  _run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel)
  [site] = venv.glob("lib/python*/site-packages")
  borrowed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
  (site / "borrowed.pth").write_text("\n".join(borrowed), "utf-8")
  return site


def _run(*command: str | pathlib.Path) -> None:
  outcome = subprocess.run(
    command,
    env=_without_python_path(),
    stdout=subprocess.PIPE,
    stderr=subprocess.STDOUT,
    text=True,
    timeout=300,
    check=False,
  )
  if outcome.returncode:
    raise AssertionError(f"{command} failed:\n{outcome.stdout}")


def _without_python_path() -> dict[str, str]:
  return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}


if __name__ == "__main__":
  absltest.main()
