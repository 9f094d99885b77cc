"""The explorer's site, for the tests of a module."""

import logging
from collections.abc import Iterator

import pytest

from tests.explorer.world import World


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    logging.disable(logging.CRITICAL)
    with World(tmp_path_factory.mktemp("explorer")) as made:
        yield made
    logging.disable(logging.NOTSET)
