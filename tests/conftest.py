"""What pytest should know of all tests."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
  """Drops `tf.test.TestCase.test_session`, which is no test but looks so."""
  items[:] = [item for item in items if item.name != "test_session"]
