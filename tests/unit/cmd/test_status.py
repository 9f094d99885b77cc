"""``warre-blazar-status upgrade check``: all is well, then each thing that can be wrong."""

import importlib.metadata
import pathlib
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from blazar.db.sqlalchemy import facade_wrapper
from oslo_config import fixture as config_fixture
from oslo_upgradecheck import upgradecheck

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar import compat, enforcement, exceptions
from warre_blazar.clients import limits
from warre_blazar.cmd import status
from warre_blazar.db import migration, models

SUCCESS, WARNING, FAILURE = (
    upgradecheck.Code.SUCCESS,
    upgradecheck.Code.WARNING,
    upgradecheck.Code.FAILURE,
)
CHECKS = {name: check if callable(check) else None for name, check in status.Checks._upgrade_checks}


def outcome(name: str) -> tuple[upgradecheck.Code, str]:
    """How a check ends, and what it says."""
    found = CHECKS[name](status.Checks())
    return found.code, found.details or ""


@pytest.fixture
def url(conf: config_fixture.Config, tmp_path: pathlib.Path) -> Iterator[str]:
    """Blazar's database, with our tables at their newest."""
    made = f"sqlite:///{tmp_path / 'blazar.sqlite'}"
    engine = sa.create_engine(made)
    models.metadata.create_all(engine)
    with engine.begin() as db:
        db.execute(sa.text(f"CREATE TABLE {migration.VERSION_TABLE} (version_num VARCHAR(32))"))
        db.execute(sa.text(f"INSERT INTO {migration.VERSION_TABLE} VALUES ('{migration.head()}')"))
    engine.dispose()
    conf.config(connection=made, group="database")
    facade_wrapper._clear_engine()
    yield made
    facade_wrapper._clear_engine()


@pytest.fixture
def healthy(
    url: str, cloud: Cloud, conf: config_fixture.Config, monkeypatch: pytest.MonkeyPatch
) -> config_fixture.Config:
    """A Blazar that is set up as it should be, with a host and a flavor for it."""
    monkeypatch.setattr(compat, "TESTED", (compat.version("blazar")[0],))
    conf.config(plugins=["physical.host.plugin", "flavor.slot.plugin"], group="manager")
    conf.config(enabled_filters=enforcement.FILTERS, group="enforcement")
    names = ["flavors", "flavorprojects", "reservations", "maintenancewindows", "limits"]
    conf.config(api_v2_controllers=["leases", *names], group="api")
    monkeypatch.setattr(limits, "of_project", lambda _: {"reservation": 1, "hours": 1})
    world.add_host(cloud, "cmp1", vcpus=8, properties={"gpu": "a100"})
    cloud.nova.aggregates[1] = aggregate(1, "freepool", "cmp1")
    world.add_flavor(name="fits", vcpu=2, slots=4, properties='["==", "$gpu", "a100"]')
    return conf


def aggregate(number: int, name: str, *hosts: str, **metadata: str) -> dict[str, object]:
    return {"id": number, "name": name, "hosts": list(hosts), "metadata": metadata}


@pytest.mark.parametrize("name", [name for name, check in CHECKS.items() if check])
def test_all_is_well(healthy, name):
    assert outcome(name) == (SUCCESS, "")


def test_all_together(healthy, capsys):
    assert status.Checks().check() == SUCCESS
    shown = capsys.readouterr().out
    assert all(f"Check: {name} " in shown for name in CHECKS)


def test_blazar_that_was_not_tested(healthy, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "99.1.0")
    code, text = outcome("Blazar's version")
    assert code == WARNING
    assert "99.1.0" in text


def test_no_database_is_named(conf):
    conf.config(connection=None, group="database")
    assert outcome("Tables") == (FAILURE, "[database] connection is not set.")


@pytest.mark.parametrize("statement", ["DELETE FROM {}", "UPDATE {} SET version_num = '0001'"])
def test_tables_are_not_at_their_newest(url, statement):
    with sa.create_engine(url).begin() as db:
        db.execute(sa.text(statement.format(migration.VERSION_TABLE)))
    code, text = outcome("Tables")
    assert code == FAILURE
    assert "warre-blazar-manage db upgrade" in text


@pytest.mark.parametrize("name", ["Tables", "Freepool and hosts", "Slots", "Properties"])
def test_the_database_is_not_there(healthy, name):
    healthy.config(connection="sqlite:////nowhere/at/all", group="database")
    facade_wrapper._clear_engine()
    code, text = outcome(name)
    assert code == FAILURE
    assert "database" in text


def test_the_plugin_is_not_enabled(healthy):
    healthy.config(plugins=["physical.host.plugin"], group="manager")
    code, text = outcome("Plugin and filters")
    assert code == FAILURE
    assert "flavor.slot.plugin" in text
    assert enforcement.FILTERS[0] in text
    healthy.config(enabled_filters=[], group="enforcement")
    assert outcome("Plugin and filters") == (FAILURE, "[manager] plugins lacks flavor.slot.plugin.")


@pytest.mark.parametrize("left_out", enforcement.FILTERS)
def test_a_filter_is_not_enabled(healthy, left_out):
    others = [name for name in enforcement.FILTERS if name != left_out]
    healthy.config(enabled_filters=others, group="enforcement")
    expected = f"[enforcement] enabled_filters lacks {left_out}."
    assert outcome("Plugin and filters") == (WARNING, expected)


def test_controllers_are_not_enabled(healthy):
    healthy.config(api_v2_controllers=["flavors", "reservations", "limits"], group="api")
    expected = "[api] api_v2_controllers lacks flavorprojects, maintenancewindows."
    assert outcome("Controllers") == (FAILURE, expected)


def test_limits_are_not_registered(healthy, monkeypatch):
    def of_project(_project_id: str) -> None:
        raise exceptions.LimitsNotRegistered("hours")

    monkeypatch.setattr(limits, "of_project", of_project)
    code, text = outcome("Limits")
    assert code == FAILURE
    assert "hours" in text


def test_no_freepool(healthy, cloud):
    cloud.nova.aggregates[1]["name"] = "another"
    code, text = outcome("Freepool and hosts")
    assert code == FAILURE
    assert "freepool" in text


def test_nova_is_away(healthy, cloud):
    cloud.nova.stop()
    code, text = outcome("Freepool and hosts")
    assert code == FAILURE
    assert "Nova" in text


def test_no_hosts(healthy):
    db_api.host_update(db_api.host_list()[0]["id"], {"reservable": False})
    code, text = outcome("Freepool and hosts")
    assert code == WARNING
    assert "host create" in text


def test_a_host_in_no_aggregate_of_blazars(healthy, cloud):
    world.add_host(cloud, "cmp2")
    world.add_host(cloud, "cmp3")
    cloud.nova.aggregates[2] = aggregate(2, "zone", "cmp2", "cmp3")
    # Lent out whole.
    cloud.nova.aggregates[3] = aggregate(3, "reserved", "cmp3", **{"blazar:owner": "somebody"})
    code, text = outcome("Freepool and hosts")
    assert code == WARNING
    assert "cmp2" in text
    assert "cmp3" not in text


def test_more_slots_than_the_hosts_hold(healthy):
    made = [world.add_flavor(name=f"big{n}", vcpu=2, slots=5) for n in range(7)]
    world.add_flavor(name="withdrawn", vcpu=2, slots=99, active=False)
    code, text = outcome("Slots")
    assert code == WARNING
    assert f"big0 ({made[0].id}) has 5, its hosts hold 4; big1" in text
    assert text.endswith("and 2 more.")
    assert "fits" not in text
    assert "withdrawn" not in text


def test_properties_that_no_host_has(healthy):
    lost = world.add_flavor(name="lost", properties='["==", "$gpu", "h100"]')
    elsewhere = world.add_flavor(name="elsewhere", availability_zone="mars")
    code, text = outcome("Properties")
    assert code == WARNING
    assert f"lost ({lost.id})" in text
    assert f"elsewhere ({elsewhere.id})" in text
    assert "fits" not in text
    # That is said once.
    assert outcome("Slots") == (SUCCESS, "")
