"""Runs every test in this directory on every kind of database, or on one of them.

There is one database of each kind, whose tables are emptied after each test.
"""

import collections
import pathlib
import zlib
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from oslo_config import cfg
from oslo_config import fixture as config_fixture
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from tests.functional.db import databases, kept_beside_fresh, nodes
from tests.functional.db.fake_clock import FakeClock
from tests.functional.db.warre_scene import run, scene, warre  # noqa: F401 - fixtures
from warre_blazar import timer
from warre_blazar.db.hosts import kept_hosts
from warre_blazar.plugins import change_records, outdated_hosts
from warre_blazar.site_rules import conditions

nodes.use()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--one-kind",
        action="store_true",
        help="run each test of the database on one kind of database, except those with the mark"
        " every_kind",
    )


# Before pytest leaves out tests for its option -k, which may name a kind.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests that would find little more than others.

    Of a test with the mark ``same_logic``, only the first seed runs on servers, which take longer
    than SQLite.
    """
    left_out = {item for item in items if _finds_nothing_more(item)}
    if config.getoption("--one-kind"):
        left_out |= _on_other_kinds([item for item in items if item not in left_out])
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def _finds_nothing_more(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function) or not item.get_closest_marker("same_logic"):
        return False
    chosen = item.callspec.params
    return chosen["kind"] != "sqlite" and chosen["seed"] > 0


def _on_other_kinds(items: list[pytest.Item]) -> set[pytest.Item]:
    """All but one of the items that differ only by their kind of database.

    A test always gets the same kind. The tests of a module get different ones, so that most
    statements run on each kind. Tests with the mark ``same_logic`` get SQLite, where they take
    the least time.
    """
    alike = collections.defaultdict(list)
    for item in items:
        names = getattr(item, "fixturenames", ())
        if "kind" in names and not item.get_closest_marker("every_kind"):
            alike[item.nodeid.replace(item.callspec.params["kind"], "")].append(item)
    kept = {_kept(name, same) for name, same in alike.items()}
    return {item for same in alike.values() for item in same} - kept


def _kept(name: str, same: list[pytest.Item]) -> pytest.Item:
    """The one that runs of tests that differ only by their kind of database.

    :param name: what is the same in their names.
    """
    if same[0].get_closest_marker("same_logic"):
        same = [item for item in same if item.callspec.params["kind"] == "sqlite"] or same
    return same[zlib.crc32(name.encode()) % len(same)]


@pytest.fixture(scope="session", params=databases.KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of database."""
    return request.param


@pytest.fixture(scope="session")
def database(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sa.Engine]:
    """Blazar's engine on a new database with all tables."""
    directory: pathlib.Path = tmp_path_factory.mktemp(kind)
    # Nobody needs a test's rows after a crash, so SQLite doesn't wait for the disk.
    options = {"sqlite_synchronous": False}
    try:
        with databases.made(kind, directory) as options["connection"]:
            databases.fill(kind, options["connection"], directory)
            for name, value in options.items():
                cfg.CONF.set_override(name, value, group="database")
            with databases.connected() as engine:
                yield engine
    except databases.NoServer as error:
        pytest.fail(str(error), pytrace=False)
    finally:
        for name in options:
            cfg.CONF.clear_override(name, group="database")


@pytest.fixture
def stride(request: pytest.FixtureRequest) -> int:
    """The distance between two moments of a job at which a test does something else.

    1: the test tries all moments. The short form tries every third.
    """
    return 3 if request.config.getoption("--one-kind") else 1


@pytest.fixture(autouse=True)
def filters(conf: config_fixture.Config) -> None:
    """Enable only the filter that no site can do without, so that quotas aren't enforced."""
    conf.config(enabled_filters=[conditions.STRICT_FILTER], group="enforcement")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The clock by which the package waits. Waiting takes no real time."""
    made = FakeClock()
    monkeypatch.setattr(timer, "clock", made)
    return made


@pytest.fixture(autouse=True)
def real_time() -> Iterator[None]:
    """End a time that a test has set, so that the next test sees the real one."""
    yield
    timeutils.clear_time_override()


@pytest.fixture(autouse=True)
def recording() -> Iterator[None]:
    """Record nothing any more after a test that records what Blazar's code does.

    The rows of past reservations would stay in the tables of the next tests.
    """
    yield
    for listener in (change_records._record, change_records._record_deletions):
        if sa.event.contains(Session, "before_flush", listener):
            sa.event.remove(Session, "before_flush", listener)


@pytest.fixture(autouse=True)
def kept(request: pytest.FixtureRequest, tables: None) -> Iterator[None]:
    """Compare what is kept of the hosts with the tables, after each transaction of the test.

    As in a manager, what Blazar's code writes changes generations. The short form compares after
    every tenth transaction that writes, and at the end of a test.
    """
    kept_hosts.forget()
    outdated_hosts.register()
    if "database" not in request.fixturenames or request.node.get_closest_marker("uncompared"):
        yield
        return
    each = 10 if request.config.getoption("--one-kind") else 1
    with kept_beside_fresh.compared(request.getfixturevalue("database"), each) as differences:
        yield
    assert not differences


@pytest.fixture(autouse=True)
def tables(request: pytest.FixtureRequest) -> Iterator[None]:
    """Empty the tables after each test that uses the database."""
    yield
    if "database" in request.fixturenames:
        databases.empty(request.getfixturevalue("database"))
