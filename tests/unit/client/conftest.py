"""Fixtures for tests of the client."""

from collections.abc import Iterator

import pytest

from tests.unit.cli.fake_api import Api


@pytest.fixture
def api() -> Iterator[Api]:
    """The fake API."""
    fake = Api()
    yield fake
    fake.stop()
