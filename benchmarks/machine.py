"""The machine a measurement was made on."""

from collections.abc import Mapping
import datetime
import importlib.metadata
import os
import pathlib
import platform

_TENSORFLOWS = ("tensorflow", "tensorflow-cpu", "tensorflow-tpu")


def cpu_model(cpuinfo: str) -> str | None:
  """The model's name in the text of a `/proc/cpuinfo`, if it has one."""
  for line in cpuinfo.splitlines():
    key, _, value = line.partition(":")
    if key.strip() == "model name":
      return value.strip()
  return None


def _read(path: str) -> str:
  file = pathlib.Path(path)
  return file.read_text() if file.exists() else ""


def _tensorflow_version() -> str:
  """Without importing it, which takes seconds and memory."""
  for name in _TENSORFLOWS:
    try:
      return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
      continue
  return "unknown"


def describe(now: datetime.datetime) -> Mapping[str, str]:
  """CPU, cores, memory, versions and the date, as the report prints them."""
  pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
  cpu = cpu_model(_read("/proc/cpuinfo")) or platform.processor()
  return {
    "CPU": cpu or platform.machine(),
    "cores": str(os.cpu_count()),
    "memory": f"{pages / 2**30:.1f} GiB",
    "system": platform.system() + " " + platform.release(),
    "Python": platform.python_version(),
    "TensorFlow": _tensorflow_version(),
    "date": now.strftime("%Y-%m-%d %H:%M"),
  }
