"""Heat's API and engine beside the dev cloud, as an operator would run them."""

import configparser
import contextlib
import os
import pathlib
import subprocess
from collections.abc import Iterator
from typing import Any

import requests
import sqlalchemy as sa
from devcloud_lib import ports, programs
from openstack import exceptions as sdk_exc

from tests.functional.cloud import devcloud
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import LONG, until

_REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
_NAME, _KIND = "heat", "orchestration"


@contextlib.contextmanager
def running(directory: pathlib.Path, admin: Person) -> Iterator[None]:
    """Run Heat with our resource until the end of the context.

    :param directory: where its configuration and logs are.
    """
    port = ports.free_port()
    _register(admin, f"http://127.0.0.1:{port}/v1/%(tenant_id)s")
    configuration = _configured(directory)
    _heat(directory, "heat-manage", *configuration, "db_sync").wait(LONG)
    api = (f"--port={port}", "--host=127.0.0.1", "--", *configuration)
    started = []
    try:
        started.append(_heat(directory, "heat-engine", *configuration))
        started.append(_heat(directory, "heat-wsgi-api", *api))
        until("Heat's API", lambda: _answers(port))
        # The catalog of the present token doesn't know Heat yet.
        service: Any = Person(admin.name).cloud.orchestration
        until("Heat's engine", lambda: _is_served(service))
        yield
    finally:
        for program in started:
            program.terminate()
        for program in started:
            program.wait(LONG)


def _answers(port: int) -> bool:
    with contextlib.suppress(requests.ConnectionError):
        return requests.get(f"http://127.0.0.1:{port}/", timeout=LONG).status_code == 300
    return False


def _is_served(service: Any) -> bool:
    """Whether Heat's engine answers. Before it does, the API says 500 after a while."""
    with contextlib.suppress(sdk_exc.HttpException):
        return list(service.stacks()) == []
    return False


def _register(admin: Person, url: str) -> None:
    """Make Heat's user, and name its address in the catalog."""
    identity: Any = admin.cloud.identity
    password = os.environ["OS_PASSWORD"]
    user = identity.find_user(_NAME) or identity.create_user(name=_NAME, password=password)
    service = identity.find_project("service")
    identity.assign_project_role_to_user(service, user, identity.find_role("admin"))
    for former in identity.services(type=_KIND):
        identity.delete_service(former)
    made = identity.create_service(name=_NAME, type=_KIND)
    for interface in ("public", "internal"):
        identity.create_endpoint(
            service_id=made.id,
            interface=interface,
            url=url,
            region_id=os.environ["OS_REGION_NAME"],
        )


def _configured(directory: pathlib.Path) -> list[str]:
    """Write the configuration and make the database. Return the words that name it."""
    own = pathlib.Path(os.environ[programs.VARIABLE]) / "etc" / "heat"
    login = {
        "auth_type": "password",
        "auth_url": os.environ["OS_AUTH_URL"],
        "username": _NAME,
        "password": os.environ["OS_PASSWORD"],
        "user_domain_id": "default",
    }
    in_project = {**login, "project_name": "service", "project_domain_id": "default"}
    heat = configparser.RawConfigParser()
    heat.read_dict(
        {
            "DEFAULT": {
                "transport_url": devcloud.option("DEFAULT", "transport_url"),
                "plugin_dirs": str(_REPOSITORY / "contrib" / "heat"),
                "environment_dir": str(own / "environment.d"),
                "num_engine_workers": "1",
                "region_name_for_services": os.environ["OS_REGION_NAME"],
            },
            "database": {"connection": _database()},
            "keystone_authtoken": {**in_project, "service_type": _KIND},
            "trustee": login,
            "clients_keystone": {"auth_uri": os.environ["OS_AUTH_URL"]},
            "paste_deploy": {"api_paste_config": str(own / "api-paste.ini")},
        }
    )
    path = directory / "heat.conf"
    with path.open("w") as file:
        heat.write(file)
    return ["--config-file", str(path)]


def _database() -> str:
    """Make an empty database beside Blazar's, and return its URL."""
    blazar = sa.make_url(devcloud.database_url())
    with sa.create_engine(blazar).begin() as connection:
        connection.execute(sa.text(f"DROP DATABASE IF EXISTS {_NAME}"))
        connection.execute(sa.text(f"CREATE DATABASE {_NAME}"))
    return blazar.set(database=_NAME).render_as_string(hide_password=False)


def _heat(directory: pathlib.Path, name: str, *words: str) -> subprocess.Popen[bytes]:
    """Start one of Heat's programs, which writes what it says into a file of its name."""
    with (directory / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [programs.program(name), *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
