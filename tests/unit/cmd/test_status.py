"""``warre-blazar-status upgrade check``: a healthy site, and each thing that can be wrong."""

import importlib.metadata
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from blazar.db.sqlalchemy import facade_wrapper
from oslo_config import fixture as config_fixture
from oslo_upgradecheck import upgradecheck

from tests.fakes.blazar import Blazar
from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.unit.cmd.test_nova_options import SUITABLE
from warre_blazar import compat, enforcement
from warre_blazar.cmd import status
from warre_blazar.db import migration, session, tables
from warre_blazar.domain.running import backing_names
from warre_blazar.errors import exceptions
from warre_blazar.openstack import keystone, limits
from warre_blazar.services.hosts import host_refresh
from warre_blazar.site_rules import conditions

SUCCESS, WARNING, FAILURE = (
    upgradecheck.Code.SUCCESS,
    upgradecheck.Code.WARNING,
    upgradecheck.Code.FAILURE,
)
RESERVATION = "1b2acbb4-7844-414e-94f5-62035a7650e4"
CHECKS = {name: check if callable(check) else None for name, check in status.Checks._upgrade_checks}


def outcome(name: str) -> tuple[upgradecheck.Code, str]:
    """The code and the text of a check's result."""
    found = CHECKS[name](status.Checks())
    return found.code, found.details or ""


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A file with Blazar's database, with our tables at the newest revision."""
    path = tmp_path_factory.mktemp("empty") / "blazar.sqlite"
    engine = sa.create_engine(f"sqlite:///{path}")
    tables.metadata.create_all(engine)
    with engine.begin() as db:
        db.execute(sa.text(f"CREATE TABLE {migration.VERSION_TABLE} (version_num VARCHAR(32))"))
        db.execute(sa.text(f"INSERT INTO {migration.VERSION_TABLE} VALUES ('{migration.head()}')"))
    engine.dispose()
    return path


@pytest.fixture
def url(conf: config_fixture.Config, empty: pathlib.Path, tmp_path: pathlib.Path) -> Iterator[str]:
    """The URL of a copy of that database."""
    made = f"sqlite:///{shutil.copy(empty, tmp_path)}"
    conf.config(connection=made, group="database")
    facade_wrapper._clear_engine()
    yield made
    facade_wrapper._clear_engine()


@pytest.fixture
def api(cloud: Cloud) -> Iterator[Blazar]:
    """The public endpoint, which serves the installed version."""
    served = Blazar(f"{importlib.metadata.version('warre-blazar')}; threads=16")
    cloud.keystone.endpoints["reservation"] = served.endpoint
    yield served
    served.stop()


@pytest.fixture
def healthy(
    url: str,
    cloud: Cloud,
    api: Blazar,
    conf: config_fixture.Config,
    monkeypatch: pytest.MonkeyPatch,
) -> config_fixture.Config:
    """A Blazar that is set up well, with a host and a flavor that fits on it."""
    monkeypatch.setattr(compat, "TESTED", (compat.version("blazar")[0],))
    conf.config(plugins=["physical.host.plugin", "flavor.slot.plugin"], group="manager")
    monkeypatch.setattr(limits, "of_project", lambda _: {"reservation": 1, "hours": 1})
    world.add_host(cloud, "cmp1", vcpus=8, properties={"gpu": "a100"})
    cloud.nova.aggregates[1] = aggregate(1, "freepool", "cmp1")
    world.add_flavor(name="fits", vcpu=2, slots=4, properties='["==", "$gpu", "a100"]')
    return conf


def aggregate(number: int, name: str, *hosts: str, **metadata: str) -> dict[str, object]:
    return {"id": number, "name": name, "hosts": list(hosts), "metadata": metadata}


@pytest.mark.parametrize("name", [name for name, check in CHECKS.items() if check])
def test_check_succeeds_on_a_healthy_site(healthy, name):
    assert outcome(name)[0] == SUCCESS


def test_all_checks_succeed_on_a_healthy_site(healthy, capsys):
    assert status.Checks().check() == SUCCESS
    shown = capsys.readouterr().out
    assert all(f"Check: {name} " in shown for name in CHECKS)


def test_untested_version_of_blazar_is_a_warning(healthy, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "99.1.0")
    code, text = outcome("Blazar's version")
    assert code == WARNING
    assert "99.1.0" in text


def test_missing_database_url_is_a_failure(conf):
    conf.config(connection=None, group="database")
    assert outcome("Tables") == (FAILURE, "[database] connection is not set.")


@pytest.mark.parametrize("statement", ["DELETE FROM {}", "UPDATE {} SET version_num = '0000'"])
def test_old_tables_are_a_failure(url, statement):
    with sa.create_engine(url).begin() as db:
        db.execute(sa.text(statement.format(migration.VERSION_TABLE)))
    code, text = outcome("Tables")
    assert code == FAILURE
    advice = "warre-blazar-manage db upgrade" if statement.startswith("UPDATE") else "manage setup"
    assert advice in text


def test_newer_tables_of_the_series_succeed(url):
    with sa.create_engine(url).begin() as db:
        newer = f"{migration.head()[:2]}99"
        db.execute(sa.text(f"UPDATE {migration.VERSION_TABLE} SET version_num = '{newer}'"))
    assert outcome("Tables")[0] == SUCCESS


@pytest.mark.parametrize("name", ["Tables", "Freepool and hosts", "Slots", "Properties", "Devices"])
def test_missing_database_is_a_failure(healthy, name):
    healthy.config(connection="sqlite:////nowhere/at/all", group="database")
    facade_wrapper._clear_engine()
    code, text = outcome(name)
    assert code == FAILURE
    assert "database" in text


@pytest.fixture
def two_regions(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keystone's catalog has Nova and Placement in another region too."""
    catalog = keystone.service_catalog()
    for service in catalog:
        service["endpoints"] += [{**each, "region": "RegionTwo"} for each in service["endpoints"]]
    monkeypatch.setattr(keystone, "service_catalog", lambda: catalog)


@pytest.mark.usefixtures("two_regions")
def test_several_regions_and_none_chosen_is_a_failure(healthy):
    assert outcome("Region") == (SUCCESS, "")
    healthy.config(os_region_name=None)
    code, text = outcome("Region")
    assert code == FAILURE
    assert "os_region_name isn't set" in text
    assert "RegionOne, RegionTwo" in text


def test_region_without_nova_is_a_failure(healthy):
    healthy.config(os_region_name="RegionThree")
    code, text = outcome("Region")
    assert code == FAILURE
    assert "no endpoint of compute and placement in this region" in text


def test_hosts_whose_ids_are_others_in_nova_are_a_failure(healthy, cloud: Cloud):
    cloud.nova.hypervisors["cmp1"] = "9f8a0a1c-64d0-4b1f-9d27-4f4c2f9e6c11"
    code, text = outcome("Ids of hosts")
    assert code == FAILURE
    assert "cmp1 as" in text
    assert "nova_client_version was changed" in text


def test_version_of_nova_without_sizes_of_hosts_is_a_failure(healthy):
    healthy.config(nova_client_version="2.88", group="nova")
    code, text = outcome("Ids of hosts")
    assert code == FAILURE
    assert "2.88" in text


def test_disabled_plugin_is_a_failure(healthy):
    healthy.config(plugins=["physical.host.plugin"], group="manager")
    assert outcome("Plugin and filters") == (FAILURE, "[manager] plugins lacks flavor.slot.plugin.")
    healthy.config(enabled_filters=enforcement.FILTERS, group="enforcement")
    code, text = outcome("Plugin and filters")
    assert code == FAILURE
    assert enforcement.FILTERS[0] in text


def test_disabled_v1_is_a_failure(healthy):
    healthy.config(enable_v1_api=False)
    code, text = outcome("Plugin and filters")
    assert code == FAILURE
    assert "enable_v1_api" in text
    assert "set it to true" in text


@pytest.mark.parametrize("left_out", ["FlavorMaxLengthFilter", "ProjectQuotaFilter"])
def test_filter_that_a_site_has_left_out_is_a_warning(healthy, left_out):
    others = [name for name in enforcement.FILTERS if name != left_out]
    healthy.config(enabled_filters=others, group="enforcement")
    code, text = outcome("Plugin and filters")
    assert code == WARNING
    assert text.startswith(f"[enforcement] enabled_filters lacks {left_out}.")


@pytest.mark.parametrize(
    "named",
    [
        enforcement.FILTERS,
        ["MaxLeaseDurationFilter"],
        ["FlavorMaxLengthFilter", "ProjectQuotaFilter"],
    ],
)
def test_filters_that_follow_from_the_plugin_are_fine(healthy, named):
    healthy.config(enabled_filters=named, group="enforcement")
    assert outcome("Plugin and filters") == (SUCCESS, "")


def test_unregistered_limits_are_a_failure(healthy, monkeypatch):
    def of_project(_project_id: str) -> None:
        raise exceptions.LimitsNotRegistered("hours")

    monkeypatch.setattr(limits, "of_project", of_project)
    code, text = outcome("Limits")
    assert code == FAILURE
    assert "hours" in text
    assert text.endswith("run warre-blazar-manage setup.")


@pytest.mark.parametrize(
    ("served", "said"),
    [
        (None, "answers with 401 and without the header X-Warre-Blazar"),
        ("something else", "answers with 401 and without the header X-Warre-Blazar"),
        ("0.0.1; threads=16", "serves version 0.0.1, and "),
        ("{installed}; threads=1", "has one thread"),
    ],
)
def test_api_that_is_not_served_as_it_should_be_is_a_warning(
    healthy, api: Blazar, served: str | None, said: str
):
    installed = importlib.metadata.version("warre-blazar")
    api.served = served and served.format(installed=installed)
    code, text = outcome("API")
    assert code == WARNING
    assert said in text
    assert f"{api.url}/reservation/" in text


def test_api_that_is_served_as_it_should_be_is_told(healthy, api: Blazar):
    code, text = outcome("API")
    assert code == SUCCESS
    assert text.endswith("with 16 threads in each process.")
    api.served = importlib.metadata.version("warre-blazar")
    code, text = outcome("API")
    assert code == SUCCESS
    assert text.endswith("with an unknown number of threads in each process.")


def test_api_that_cannot_be_reached_is_a_warning(healthy, api: Blazar):
    api.stop()
    code, text = outcome("API")
    assert code == WARNING
    assert f"{api.url}/reservation/ can't be reached from here" in text


def test_catalog_without_blazar_is_a_failure(healthy, cloud: Cloud):
    del cloud.keystone.endpoints["reservation"]
    assert outcome("API")[0] == FAILURE


@pytest.mark.parametrize(("path", "code"), [(None, FAILURE), ("/var/lib/blazar", SUCCESS)])
def test_queue_manager_without_a_directory_for_locks_is_a_failure(healthy, path, code):
    assert outcome("Messaging")[0] == SUCCESS
    healthy.config(use_queue_manager=True, group="oslo_messaging_rabbit")
    healthy.config(lock_path=path, group="oslo_concurrency")
    assert outcome("Messaging")[0] == code


def test_files_of_nova_are_checked_if_they_are_named(healthy, tmp_path, monkeypatch):
    assert "--nova-conf" in outcome("Nova's options")[1]
    path = tmp_path / "nova.conf"
    monkeypatch.setattr(type(healthy.conf), "nova_conf", [str(path)], raising=False)
    assert outcome("Nova's options")[0] == FAILURE  # There is no such file.
    path.write_text(SUITABLE)
    assert outcome("Nova's options") == (SUCCESS, "")
    path.write_text(f"{SUITABLE}[DEFAULT]\ndefault_schedule_zone = az1\n")
    code, text = outcome("Nova's options")
    assert code == WARNING
    assert "[DEFAULT] default_schedule_zone is az1" in text


def test_files_of_nova_are_named_before_the_command(tmp_path: pathlib.Path):
    path = tmp_path / "blazar.conf"
    path.write_text("")
    words = ["--config-file", str(path), "--nova-conf", "/nowhere/1", "--nova-conf", "/nowhere/2"]
    command = [sys.executable, "-m", "warre_blazar.cmd.status", *words, "upgrade", "check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == FAILURE
    assert re.search("--nova-conf.*nowhere/1.*nowhere/2", done.stdout, re.DOTALL)


def test_missing_freepool_is_a_failure(healthy, cloud):
    cloud.nova.aggregates[1]["name"] = "another"
    code, text = outcome("Freepool and hosts")
    assert code == FAILURE
    assert "freepool" in text


def test_unavailable_nova_is_a_failure(healthy, cloud):
    cloud.nova.stop()
    code, text = outcome("Freepool and hosts")
    assert code == FAILURE
    assert "Nova" in text


def test_missing_hosts_are_a_warning(healthy):
    db_api.host_update(db_api.host_list()[0]["id"], {"reservable": False})
    code, text = outcome("Freepool and hosts")
    assert code == WARNING
    assert "host create" in text


def test_host_outside_blazars_aggregates_is_a_warning(healthy, cloud):
    world.add_host(cloud, "cmp2")
    world.add_host(cloud, "cmp3")
    cloud.nova.aggregates[2] = aggregate(2, "zone", "cmp2", "cmp3")
    # This host is reserved as a whole.
    zone = {"availability_zone": "blazar_reserved", "blazar:owner": "somebody"}
    cloud.nova.aggregates[3] = aggregate(3, "reserved", "cmp3", **zone)
    # An aggregate of a reservation of instances doesn't replace the freepool.
    ours = {
        **backing_names.aggregate_metadata(RESERVATION, "p", world.add_flavor().shape),
        "blazar:owner": "p",
    }
    cloud.nova.aggregates[4] = aggregate(4, RESERVATION, "cmp2", **ours)
    code, text = outcome("Freepool and hosts")
    assert code == WARNING
    assert "cmp2" in text
    assert "cmp3" not in text


def test_more_slots_than_hosts_hold_is_a_warning(healthy):
    made = [world.add_flavor(name=f"big{n}", vcpu=2, slots=5) for n in range(7)]
    world.add_flavor(name="withdrawn", vcpu=2, slots=99, active=False)
    code, text = outcome("Slots")
    assert code == WARNING
    assert f"big0 ({made[0].id}) has 5, its hosts hold 4; big1" in text
    assert text.endswith("and 2 more.")
    assert "fits" not in text
    assert "withdrawn" not in text


def test_flavor_without_matching_host_is_a_warning(healthy):
    lost = world.add_flavor(name="lost", properties='["==", "$gpu", "h100"]')
    elsewhere = world.add_flavor(name="elsewhere", availability_zone="mars")
    code, text = outcome("Properties")
    assert code == WARNING
    assert f"lost ({lost.id})" in text
    assert f"elsewhere ({elsewhere.id})" in text
    assert "fits" not in text
    # Only one check reports these flavors.
    assert outcome("Slots") == (SUCCESS, "")


def test_overbooked_host_is_a_warning(healthy, cloud):
    span = world.hours(1, 2)
    world.book(world.request(world.add_flavor(vcpu=2, slots=3), span, 3))
    assert outcome("Room on hosts") == (SUCCESS, "")
    cloud.placement.change("cmp1", VCPU=4, MEMORY_MB=65536, DISK_GB=1000)
    host_refresh.refresh()
    code, text = outcome("Room on hosts")
    assert code == WARNING
    assert f"cmp1 has 4 of VCPU, 6 are booked at {span.start}" in text


@pytest.fixture
def with_alias(healthy: config_fixture.Config, cloud: Cloud) -> config_fixture.Config:
    """A flavor whose GPU is counted in Placement by an alias."""
    cloud.add_elsewhere(classes=["CUSTOM_GPU"])
    healthy.config(pci_alias=['{"name": "gpu", "resource_class": "GPU"}'], group="warre")
    healthy.config(pci_in_placement=True, group="warre")
    specs = {"pci_passthrough:alias": "gpu:1"}
    world.add_flavor(conditions.device_rules(), name="gpus", slots=1, extra_specs=specs)
    return healthy


def test_devices_that_are_counted_as_configured_are_fine(with_alias):
    assert outcome("Devices") == (SUCCESS, "")


def test_devices_that_are_counted_otherwise_than_configured_are_a_warning(with_alias):
    with_alias.config(pci_alias=['{"name": "gpu", "resource_class": "A100"}'], group="warre")
    code, text = outcome("Devices")
    assert code == WARNING
    assert "otherwise than configured: gpus (" in text
    assert text.endswith("Run warre-blazar-manage flavor recount.")


def test_devices_that_are_not_counted_are_a_warning(with_alias):
    with_alias.config(pci_alias=[], group="warre")
    code, text = outcome("Devices")
    assert code == WARNING
    assert "gpus (" in text
    assert "[warre] pci_alias has no line for gpu" in text
    assert "fits" not in text


def test_flavor_whose_devices_were_never_counted_is_a_warning(with_alias):
    with session.writer() as db:
        db.execute(tables.flavors.update().values(device_groups=None))
    code, text = outcome("Devices")
    assert code == WARNING
    assert "otherwise than configured: gpus (" in text
    assert text.endswith("Run warre-blazar-manage flavor recount.")


def test_malformed_option_on_devices_is_a_failure(healthy):
    healthy.config(pci_alias=["{"], group="warre")
    code, text = outcome("Devices")
    assert code == FAILURE
    assert text == "[warre] pci_alias is set to a value that can't be used: '{': expected JSON"


def test_cyborg_that_is_away_is_named(healthy, cloud):
    cloud.install_cyborg(fpga=[{"resources:FPGA": "1"}])
    world.add_flavor(name="fpgas", extra_specs={"accel:device_profile": "fpga"})
    assert outcome("Devices") == (SUCCESS, "")
    cloud.cyborg.stop()
    code, text = outcome("Devices")
    assert code == WARNING
    assert "fpgas (" in text
    assert "Cyborg is not available" in text
