"""devstack/plugin.sh against a real Keystone, Nova and MariaDB, with the real programs.

The package and its programs are installed as devstack does it, with the constraints of a release.
The tests have a region and a database of their own, so that they don't touch what other tests use.
They make the region's user and endpoint as Blazar's devstack plugin does.
"""

import configparser
import importlib.metadata
import json
import os
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import openstack
import pytest
import sqlalchemy as sa
from openstack.connection import Connection
from packaging.utils import canonicalize_name

from tests.fakes.devstack import Devstack
from tests.functional.cloud import devcloud
from warre_blazar.db import migration

REGION, USER, DATABASE = "devstack", "devstack-blazar", "devstack"
#: What stands for pip: it installs with uv, which takes seconds.
_PIP = """#!{python}
import sys
from pathlib import Path
sys.path.insert(0, "{tools}")
from devcloud_lib.installer import Installer
installer = Installer(Path("{home}") / "uv", Path("{venv}") / "pip.log")
if sys.argv[1] == "install":
    installer.install(Path("{venv}"), *sys.argv[2:])
else:
    installer.uninstall(Path("{venv}"), sys.argv[-1])
"""


@pytest.fixture(scope="module")
def login() -> dict[str, Any]:
    """The operator's login, with system scope."""
    names = ("auth_url", "username", "password", "user_domain_id")
    return {**{n: os.environ[f"OS_{n.upper()}"] for n in names}, "system_scope": "all"}


@pytest.fixture
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
    project = identity.find_project("service", domain_id="default")
    identity.assign_project_role_to_user(project, user, identity.find_role("admin"))
    identity.create_endpoint(
        service_id=service.id, interface="public", url="http://127.0.0.1/v1", region_id=REGION
    )
    reservations = {each.id for each in identity.services() if "reservation" in each.type}
    for each in list(identity.endpoints(region_id=os.environ["OS_REGION_NAME"])):
        if each.service_id not in reservations:
            # The region has the cloud's other services.
            identity.create_endpoint(
                service_id=each.service_id,
                interface=each.interface,
                url=each.url,
                region_id=REGION,
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


@pytest.fixture
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


@pytest.fixture(
    params=[False, pytest.param(True, marks=pytest.mark.whole)],
    ids=["after Blazar's", "before Blazar's"],
)
def stack(
    tmp_path: pathlib.Path,
    keystone: Connection,
    login: dict[str, Any],
    database: str,
    request: pytest.FixtureRequest,
) -> Devstack:
    """A devstack whose local.conf enables our plugin after or before Blazar's."""
    clouds = tmp_path / "clouds.yaml"
    entry = {"auth": login, "region_name": os.environ["OS_REGION_NAME"]}
    clouds.write_text(json.dumps({"clouds": {"devstack-system-admin": entry}}))
    made = Devstack(
        tmp_path,
        _stock_conf(database),
        BLAZAR_USER_NAME=USER,
        REGION_NAME=REGION,
        KEYSTONE_SERVICE_URI=login["auth_url"],
        OS_CLIENT_CONFIG_FILE=str(clouds),
    )
    made.ours_first = request.param
    constraints = f"{made.variables['REQUIREMENTS_DIR']}/upper-constraints.txt"
    programs = devcloud.environment(made.venv.parent, "-c", constraints, "pymysql")
    made.variables["BLAZAR_BIN_DIR"] = str(programs)
    made.variables["PATH"] = os.pathsep.join([str(made.bin), str(programs), os.environ["PATH"]])
    tools = pathlib.Path(__file__).parents[3] / "tools"
    values = {"python": sys.executable, "tools": tools, "home": devcloud.home(), "venv": made.venv}
    made.script("pip", _PIP.format(**values), programs)
    # Nothing serves the API in this region.
    made.program("curl")
    return made


def _stock_conf(database: str) -> str:
    """The dev cloud's blazar.conf, without what this package adds to it."""
    theirs = devcloud.home() / "etc" / "blazar" / "blazar.conf"
    parser = configparser.RawConfigParser(default_section="")
    parser.read(theirs)
    parser["database"]["connection"] = database
    parser["DEFAULT"]["os_region_name"] = REGION
    parser["keystone_authtoken"].update({"username": USER, "password": "secret"})
    parser["manager"]["plugins"] = "physical.host.plugin"
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
    roles = [r for r in identity.role_assignments(user_id=user.id) if "system" in r.scope]
    return {
        "endpoints": sorted((e.url, e.id) for e in identity.endpoints(region_id=REGION)),
        "limits": sorted((r.resource_name, r.default_limit, r.id) for r in _registered(keystone)),
        "roles": [r.role["id"] for r in roles],
    }


def constrained(stack: Devstack) -> set[str]:
    """The installed packages that the constraints name.

    A package with another version than that of the constraints fails the test.
    """
    path = pathlib.Path(stack.variables["REQUIREMENTS_DIR"]) / "upper-constraints.txt"
    lines = (line.partition(";")[0].split("===") for line in path.read_text().splitlines())
    pins = {canonicalize_name(name): version.strip() for name, version in lines}
    (packages,) = stack.venv.glob("lib/python*/site-packages")
    installed = {
        canonicalize_name(each.metadata["Name"]): each.version
        for each in importlib.metadata.distributions(path=[str(packages)])
    }
    found = installed.keys() & pins.keys() - {"pip", "setuptools"}
    assert {name: installed[name] for name in found} == {name: pins[name] for name in found}
    return found


def test_stack_and_clean_can_each_run_twice(stack: Devstack, keystone: Connection, database: str):
    # The script ends with this package's upgrade check on these limits, Nova and tables.
    said = ran(stack, "stack")
    assert "Upgrade Check Results" in said
    assert constrained(stack) >= {"oslo-db", "python-openstackclient", "sqlalchemy"}
    made, text = entries(keystone), stack.conf.read_text()
    assert [limit[:2] for limit in made["limits"]] == [("hours", 1000), ("reservation", 10)]
    assert "http://127.0.0.1/reservation/v2/warre" in [url for url, _ in made["endpoints"]]
    assert len(made["roles"]) == 1
    assert migration.revision_of(database) == migration.head()
    plugins = "physical.host.plugin,virtual.instance.plugin,flavor.instance.plugin"
    assert f"blazar-m reads {plugins},flavor.slot.plugin" in stack.calls()
    ran(stack, "stack")
    assert entries(keystone) == made
    assert stack.conf.read_text() == text
    for _ in range(2):
        # unstack.sh with openrc's credentials, then clean.sh without Keystone and database.
        ran(stack, "clean")
        # The next stack.sh makes Keystone anew.
        assert entries(keystone) == made
        assert "flavor.slot.plugin" not in stack.conf.read_text()
        assert not list(stack.venv.glob("bin/warre-blazar-*"))
    # The tables stay. Blazar's plugin or clean.sh deletes Blazar's whole database.
    assert migration.revision_of(database) == migration.head()
