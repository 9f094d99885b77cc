"""``warre-blazar-manage setup`` with a fake Keystone, on a database that is at the newest revision.

``tests/functional/db/test_migrations.py`` runs it on a database without this package's tables.
"""

import configparser
import pathlib
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from tests.fakes.cloud import Cloud
from warre_blazar.cmd import manage
from warre_blazar.db import migration
from warre_blazar.openstack import caches

Setup = Callable[[], tuple[int, list[str], str]]


@pytest.fixture
def url(tmp_path: pathlib.Path) -> Iterator[str]:
    """A database that only says that it is at the newest revision."""
    made = f"sqlite:///{tmp_path / 'blazar.sqlite'}"
    engine = sa.create_engine(made)
    with engine.begin() as db:
        db.execute(sa.text(f"CREATE TABLE {migration.VERSION_TABLE} (version_num VARCHAR(32))"))
        db.execute(sa.text(f"INSERT INTO {migration.VERSION_TABLE} VALUES ('{migration.head()}')"))
    engine.dispose()
    return made


@pytest.fixture
def setup(cloud: Cloud, url: str, tmp_path: pathlib.Path, capsys) -> Setup:
    """Runs the command. Returns the exit status, the lines of its output, and its error."""
    parser = configparser.RawConfigParser()
    parser["database"] = {"connection": url}
    parser["oslo_limit"] = cloud.keystone.limit_options()
    path = tmp_path / "blazar.conf"
    with path.open("w") as file:
        parser.write(file)

    def run() -> tuple[int, list[str], str]:
        caches.forget()
        capsys.readouterr()
        status = manage.main(["--config-file", str(path), "setup"])
        told = capsys.readouterr()
        return status, told.out.splitlines(), told.err

    return run


def test_what_is_missing_in_keystone_is_made_once(cloud: Cloud, setup: Setup):
    cloud.keystone.registered = {}
    cloud.keystone.system_roles = []
    tables = f"Tables: at the newest revision {migration.head()}"
    assert setup() == (
        0,
        [
            tables,
            "Role: user blazar got the role reader on the system",
            "Limit reservation: registered as 10",
            "Limit hours: registered as 1000",
        ],
        "",
    )
    assert cloud.keystone.system_roles == ["reader"]
    assert cloud.keystone.registered == {"reservation": 10, "hours": 1000}
    assert setup() == (
        0,
        [
            tables,
            "Role: user blazar has a role on the system",
            "Limit reservation: is 10",
            "Limit hours: is 1000",
        ],
        "",
    )
    assert cloud.keystone.system_roles == ["reader"]


def test_registered_limit_stays(cloud: Cloud, setup: Setup):
    cloud.keystone.registered = {"reservation": -1}
    assert setup()[1][-2:] == ["Limit reservation: is -1", "Limit hours: registered as 1000"]
    assert cloud.keystone.registered == {"reservation": -1, "hours": 1000}


def test_service_user_that_may_give_no_role_is_told_the_command(cloud: Cloud, setup: Setup):
    cloud.keystone.system_roles = []
    cloud.keystone.fail(match="PUT /v3/system", status=403)
    status, lines, error = setup()
    assert (status, len(lines)) == (1, 1)
    assert "'openstack role add --user user-blazar --system all reader' as an administ" in error
    cloud.mend()
    cloud.keystone.system_roles = ["reader"]
    assert setup()[0] == 0


def test_service_user_that_may_register_no_limit_is_told_the_role(cloud: Cloud, setup: Setup):
    cloud.keystone.registered = {}
    cloud.keystone.fail(match="POST /v3/registered_limits", status=403)
    status, lines, error = setup()
    assert (status, len(lines)) == (1, 2)
    assert "user blazar, who needs the role admin" in error


def test_wrong_password_is_told(cloud: Cloud, setup: Setup):
    cloud.keystone.password = "another"
    status, _, error = setup()
    assert status == 1
    assert "Keystone refused: the login in [oslo_limit]" in error
    assert "Correct the user" in error
    assert not any("system" in line for line in cloud.keystone.requests)


def test_keystone_that_is_away_is_told(cloud: Cloud, setup: Setup):
    cloud.keystone.stop()
    status, _, error = setup()
    assert status == 1
    assert "Keystone is not available" in error


@pytest.mark.parametrize("url", ["", "sqlite:////nowhere/at/all"])
def test_database_that_cannot_be_used_is_told(cloud: Cloud, setup: Setup):
    status, lines, error = setup()
    assert (status, lines) == (1, [])
    assert "database" in error
    assert not cloud.keystone.requests
