"""The notebook, run from top to bottom in a kernel of its own."""

import functools
import os
import pathlib
import sys
import tempfile
from unittest import mock

from absl.testing import absltest
from jupyter_client import kernelspec
from jupyter_client import manager
import nbclient
import nbformat

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_NOTEBOOK = _ROOT / "colab" / "tour.ipynb"
_CELL_DEADLINE_SECONDS = 240
_HOMES = (
  "IPYTHONDIR",
  "JUPYTER_CONFIG_DIR",
  "JUPYTER_DATA_DIR",
  "JUPYTER_RUNTIME_DIR",
)
_BADGE = (
  "https://colab.research.google.com/github/stratagem-dev/stratagem/blob/main/"
  "colab/tour.ipynb"
)


def read() -> nbformat.NotebookNode:
  return nbformat.read(_NOTEBOOK, as_version=4)


class _ThisInterpreter(manager.AsyncKernelManager):
  """Starts the Python that runs the test; no kernel need be installed."""

  @property
  def kernel_spec(self) -> kernelspec.KernelSpec:
    return kernelspec.KernelSpec(
      argv=[
        sys.executable,
        "-m",
        "ipykernel_launcher",
        "-f",
        "{connection_file}",
      ],
      display_name="This interpreter",
      language="python",
    )


@functools.cache
def run() -> str:
  """Runs every cell; everything that they printed."""
  notebook = read()
  with (
    tempfile.TemporaryDirectory() as directory,
    # Neither Jupyter nor IPython writes to the user's home.
    mock.patch.dict(os.environ, dict.fromkeys(_HOMES, directory)),
  ):
    nbclient.NotebookClient(
      notebook,
      timeout=_CELL_DEADLINE_SECONDS,
      kernel_manager_class=_ThisInterpreter,
      resources={"metadata": {"path": str(_ROOT)}},
    ).execute()
  return "".join(
    output.text
    for cell in notebook.cells
    if cell.cell_type == "code"
    for output in cell.outputs
    if output.output_type == "stream" and output.name == "stdout"
  )


class TourTest(absltest.TestCase):
  def test_it_trains_to_96_percent_on_the_test_digits(self):
    self.assertRegex(run(), r"Test accuracy: (0\.9[6-9]\d*|1\.0000)\n")

  def test_it_makes_a_strategy_over_this_machines_devices(self):
    self.assertRegex(run(), r"MirroredStrategy: \d+ replicas\n")

  def test_keras_own_loop_learns(self):
    self.assertRegex(run(), r"epoch 3: loss 0\.\d+\n")

  def test_its_losses_are_those_of_tf_distribute(self):
    self.assertRegex(
      run(),
      r"Losses over 345 steps: at most (0\.0e\+00|\d\.\de-(0[6-9]|[1-9]\d))",
    )

  def test_its_errors_say_what_to_do(self):
    self.assertIn("there is no `GPU:99`", run().replace("`GPU:0`, ", ""))
    self.assertRegex(run(), r"restart the notebook's runtime")

  def test_it_writes_for_tensorboard(self):
    self.assertIn("1 event file in ", run())


class NotebookTest(absltest.TestCase):
  def test_it_is_committed_without_outputs(self):
    for cell in read().cells:
      if cell.cell_type == "code":
        self.assertEqual(cell.outputs, [])
        self.assertIsNone(cell.execution_count)

  def test_it_opens_in_colab_by_its_badge(self):
    self.assertIn(f"({_BADGE})", read().cells[0].source)


if __name__ == "__main__":
  absltest.main()
