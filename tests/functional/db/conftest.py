"""Runs every test in this directory on every kind of database.

Each test module has a database of its own, whose tables are emptied after each test.
"""

import pathlib
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from blazar.db.sqlalchemy import facade_wrapper
from oslo_config import cfg

from tests.functional.db import databases, nodes
from warre_blazar.db import session

nodes.use()


@pytest.fixture(scope="module", params=databases.KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of database."""
    return request.param


@pytest.fixture(scope="module")
def database(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sa.Engine]:
    """Blazar's engine on a new database with all tables."""
    directory: pathlib.Path = tmp_path_factory.mktemp(kind)
    try:
        with databases.made(kind, directory) as url:
            databases.fill(kind, url, directory)
            cfg.CONF.set_override("connection", url, group="database")
            yield _engine()
            _engine().dispose()
    except databases.NoServer as error:
        pytest.fail(str(error), pytrace=False)
    finally:
        facade_wrapper._clear_engine()
        cfg.CONF.clear_override("connection", group="database")


def _engine() -> sa.Engine:
    with session.writer() as db:
        return db.get_bind()


@pytest.fixture(autouse=True)
def tables(request: pytest.FixtureRequest) -> Iterator[None]:
    """Empty the tables after each test that uses the database."""
    yield
    if "database" in request.fixturenames:
        databases.empty(request.getfixturevalue("database"))
