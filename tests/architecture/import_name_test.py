"""Each folder has one name, so that each class exists once."""

import importlib
import os
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

from tests.architecture import source as source_lib


class ImportNameTest(parameterized.TestCase):
  @parameterized.parameters(*source_lib.FOLDERS)
  def test_a_folder_refuses_its_bare_name(self, folder):
    path = [str(source_lib.ROOT), *sys.path]
    message = (
      f"must be imported as `stratagem.{folder}`, and was imported as "
      f"`{folder}`.*Write `import stratagem.{folder}`"
    )
    with (
      mock.patch.object(sys, "path", path),
      self.assertRaisesRegex(ImportError, message),
    ):
      importlib.import_module(folder)

  @parameterized.parameters(*source_lib.FOLDERS)
  def test_a_link_is_relative(self, folder):
    link = source_lib.ROOT / "stratagem" / folder
    self.assertEqual(os.readlink(link), f"../{folder}")


if __name__ == "__main__":
  absltest.main()
