"""A file past 400 lines is two files that have not met yet."""

from absl.testing import absltest

from tests.architecture import source as source_lib

_LONGEST = 400


def complaints(source: source_lib.Source) -> list[str]:
  """What is to be said of the length of `source`, if anything."""
  length = len(source.text.splitlines())
  if length <= _LONGEST:
    return []
  return [f"{source.path} has {length} lines, and may have {_LONGEST}."]


class FileLengthTest(absltest.TestCase):
  def test_no_library_file_is_too_long(self):
    found = [line for file in source_lib.library() for line in complaints(file)]
    self.assertEmpty(found, "\n".join(found))

  def test_a_line_too_many_is_noticed(self):
    for length, count in ((_LONGEST, 0), (_LONGEST + 1, 1)):
      source = source_lib.Source("input/a.py", "pass\n" * length)
      self.assertLen(complaints(source), count)


if __name__ == "__main__":
  absltest.main()
