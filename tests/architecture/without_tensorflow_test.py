"""Without TensorFlow, or with an old one, the import says what to install."""

import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized

from tests.architecture import source as source_lib

_ABSENT = "sys.modules['tensorflow'] = None"
_OLD = "sys.modules['tensorflow'] = types.SimpleNamespace(__version__='2.15.1')"


class WithoutTensorFlowTest(parameterized.TestCase):
  @parameterized.named_parameters(
    (
      "absent",
      _ABSENT,
      r"ImportError: .*no module named `tensorflow` was found.*"
      r"'stratagem\[cpu\]'.*'stratagem\[cuda\]'.*'stratagem\[tpu\]'",
    ),
    (
      "too_old",
      _OLD,
      r"ImportError: .*needs TensorFlow 2\.16 or newer, and found 2\.15\.1.*"
      r"'stratagem\[cpu\]'",
    ),
  )
  def test_the_import_says_what_to_install(self, tensorflow, message):
    program = f"import sys, types\n{tensorflow}\nimport stratagem.strategies\n"
    outcome = subprocess.run(
      [sys.executable, "-c", program],
      cwd=source_lib.ROOT,
      capture_output=True,
      text=True,
      timeout=60,
      check=False,
    )
    self.assertNotEqual(outcome.returncode, 0)
    self.assertRegex(outcome.stderr, message)


if __name__ == "__main__":
  absltest.main()
