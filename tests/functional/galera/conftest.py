"""Tests on three nodes of a Galera cluster, which ``tools/test galera`` starts."""

import os

import pytest

from tests.functional.db.conftest import database, tables

__all__ = ["database", "tables"]


@pytest.fixture(scope="session")
def kind() -> str:
    """The kind of database."""
    if "WARRE_TEST_GALERA_URLS" not in os.environ:
        pytest.fail("run these tests by 'tools/test galera', which starts a cluster", pytrace=False)
    return "mariadb"
