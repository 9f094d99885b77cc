"""devstack/plugin.sh against a real Keystone, Nova and MariaDB, with the real programs.

The tests have a region and a database of their own, so that they don't touch what other tests use.
They make the region's user and endpoint as Blazar's devstack plugin does. The client is
python-openstackclient 10.2.1, which is in devstack's constraints.
"""

import configparser
import json
import os
import pathlib
import subprocess
from collections.abc import Iterator
from typing import Any

import openstack
import pytest
import sqlalchemy as sa
from openstack.connection import Connection

from tests.fakes.devstack import Devstack
from tests.functional.cloud import devcloud
from warre_blazar.db import migration

CLIENT = "python-openstackclient==10.2.1"
REGION, USER, DATABASE = "devstack", "devstack-blazar", "devstack"
_OURS = {
    "flavor.slot.plugin",
    "warre",
    "flavors",
    "StrictLeaseFilter",
    "FlavorMaxLengthFilter",
    "ProjectQuotaFilter",
}


@pytest.fixture(scope="module")
def login() -> dict[str, Any]:
    """The operator's login, with system scope."""
    names = ("auth_url", "username", "password", "user_domain_id")
    return {**{n: os.environ[f"OS_{n.upper()}"] for n in names}, "system_scope": "all"}


@pytest.fixture(scope="module")
def keystone(login: dict[str, Any]) -> Iterator[Connection]:
    """The real Keystone, with what Blazar's devstack plugin puts there before ours runs."""
    cloud = openstack.connect(
        auth=login,
        region_name=os.environ["OS_REGION_NAME"],
        load_envvars=False,
        load_yaml_config=False,
    )
    identity = cloud.identity
    if not identity.find_region(REGION):
        identity.create_region(id=REGION)
    service = next(identity.services(type="reservation"))
    user = identity.create_user(name=USER, password="secret", domain_id="default")
    identity.create_endpoint(
        service_id=service.id, interface="public", url="http://127.0.0.1/v1", region_id=REGION
    )
    yield cloud
    for limit in _registered(cloud):
        identity.delete_registered_limit(limit)
    for endpoint in list(identity.endpoints(region_id=REGION)):
        identity.delete_endpoint(endpoint)
    identity.delete_user(user)
    identity.delete_region(REGION)


def _registered(keystone: Connection) -> list[Any]:
    return [r for r in keystone.identity.registered_limits() if r.region_id == REGION]


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """The URL of an empty database for Blazar's tables."""
    theirs = sa.make_url(devcloud.database_url())
    engine = sa.create_engine(theirs)
    with engine.begin() as db:
        db.execute(sa.text(f"DROP DATABASE IF EXISTS {DATABASE}"))
        db.execute(sa.text(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8"))
    yield theirs.set(database=DATABASE).render_as_string(hide_password=False)
    with engine.begin() as db:
        db.execute(sa.text(f"DROP DATABASE {DATABASE}"))
    engine.dispose()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The directory of the program ``openstack`` of ``CLIENT``."""
    return devcloud.environment(tmp_path_factory.mktemp("client"), CLIENT)


@pytest.fixture(scope="module")
def stack(
    tmp_path_factory: pytest.TempPathFactory,
    client: pathlib.Path,
    keystone: Connection,
    login: dict[str, Any],
    database: str,
) -> Devstack:
    directory = tmp_path_factory.mktemp("devstack")
    clouds = directory / "clouds.yaml"
    entry = {"auth": login, "region_name": os.environ["OS_REGION_NAME"]}
    clouds.write_text(json.dumps({"clouds": {"devstack-system-admin": entry}}))
    programs = devcloud.home() / "venv" / "bin"
    made = Devstack(
        directory,
        _stock_conf(database),
        BLAZAR_BIN_DIR=str(programs),
        BLAZAR_USER_NAME=USER,
        REGION_NAME=REGION,
        KEYSTONE_SERVICE_URI=login["auth_url"],
        OS_CLIENT_CONFIG_FILE=str(clouds),
        PATH=f"{client}{os.pathsep}{os.environ['PATH']}",
    )
    command = [programs / "blazar-db-manage", "--config-file", made.conf, "upgrade", "head"]
    subprocess.run(command, check=True, capture_output=True)
    return made


def _stock_conf(database: str) -> str:
    """The dev cloud's blazar.conf, without what this package adds to it."""
    theirs = devcloud.home() / "etc" / "blazar" / "blazar.conf"
    parser = configparser.RawConfigParser(default_section="")
    parser.read(theirs)
    parser["database"]["connection"] = database
    parser["manager"]["plugins"] = "physical.host.plugin"
    parser["api"]["api_v2_controllers"] = "oshosts,leases"
    parser.remove_section("enforcement")
    parser.remove_section("oslo_limit")
    lines = [
        f"[{name}]\n" + "".join(f"{option} = {value}\n" for option, value in section.items())
        for name, section in parser.items()
        if name
    ]
    return "\n".join(lines)


def ran(stack: Devstack, script: str) -> str:
    done = stack.run(script)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def entries(keystone: Connection) -> dict[str, Any]:
    """What the plugin has put into Keystone for this region."""
    identity = keystone.identity
    user = identity.find_user(USER, domain_id="default")
    roles = identity.role_assignments(user_id=user.id, scope_system=True)
    return {
        "endpoints": sorted((e.url, e.id) for e in identity.endpoints(region_id=REGION)),
        "limits": sorted((r.resource_name, r.default_limit, r.id) for r in _registered(keystone)),
        "roles": [r.role["id"] for r in roles],
    }


def test_stack_and_clean_can_each_run_twice(stack: Devstack, keystone: Connection, database: str):
    # The script ends with this package's upgrade check on these limits, Nova and tables.
    said = ran(stack, "stack")
    assert "Upgrade Check Results" in said
    made, text = entries(keystone), stack.conf.read_text()
    assert [limit[:2] for limit in made["limits"]] == [("hours", 1000), ("reservation", 10)]
    assert "http://127.0.0.1/reservation/v2/warre" in [url for url, _ in made["endpoints"]]
    assert len(made["roles"]) == 1
    assert migration.revision_of(database) == migration.head()
    ran(stack, "stack")
    assert entries(keystone) == made
    assert stack.conf.read_text() == text
    stack.calls()
    for _ in range(2):
        # unstack.sh with openrc's credentials, then clean.sh without Keystone and database.
        ran(stack, "clean")
        # The next stack.sh makes Keystone anew.
        assert entries(keystone) == made
        assert _OURS.isdisjoint(stack.conf.read_text().replace(",", " ").split())
        uninstalled = [call for call in stack.calls() if "uninstall" in call]
        assert uninstalled == [f"{stack.venv}/bin/pip uninstall -y warre-blazar"]
    # The tables stay. Blazar's plugin or clean.sh deletes Blazar's whole database.
    assert migration.revision_of(database) == migration.head()
