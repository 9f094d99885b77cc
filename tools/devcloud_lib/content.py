"""Fills a new cloud with users, service catalog, limits and a few resources."""

import json
import subprocess
from pathlib import Path
from typing import Any

from devcloud_lib.console import Failure
from devcloud_lib.layout import PASSWORD, REGION, Layout
from devcloud_lib.stamps import digest

_INSIDE = Path(__file__).resolve().parent / "inside"
SERVICE_USERS = ("nova", "placement", "glance", "neutron", "blazar")
USERS = ("alpha", "beta")


def identity(layout: Layout) -> str:
    """Make users, catalog and limits in Keystone. Return what to print about it."""
    users = [_user(name, "service", "admin", "service") for name in SERVICE_USERS]
    users += [_user(name, name, "member", "reader") for name in USERS]
    wanted = {
        **_login(layout),
        "projects": ["service", *USERS],
        "users": users,
        "catalog": _catalog(layout),
        # Larger ones than "warre-blazar-manage setup" registers.
        "limits": [
            {"service": "reservation", "resource": "reservation", "limit": 1000},
            {"service": "reservation", "resource": "hours", "limit": 100000},
        ],
    }
    made = _run_inside(layout, "identity", wanted, layout.state("identity.json"))
    return "users, catalog and limits made" if made else ""


def _user(name: str, project: str, *roles: str) -> dict[str, Any]:
    return {
        "name": name,
        "email": f"{name}@example.org",
        "project": project,
        "roles": list(roles),
    }


def resources(layout: Layout) -> str:
    """Make the aggregates, network and image. Return what to print about it."""
    wanted = {
        **_login(layout),
        "aggregate": "freepool",
        "zone": "az1",
        "zone_host": computes(layout)[-1],
        "network": "shared",
        "cidr": "10.20.0.0/16",
        "image": "tiny",
    }
    made = _run_inside(layout, "resources", wanted, layout.state("resources.json"))
    return "aggregates freepool and az1, network shared and image tiny made" if made else ""


def tempest_content(layout: Layout, leave_zones: bool) -> dict[str, str]:
    """Make a flavor for Tempest. Return the ids of flavor and image by option.

    :param leave_zones: whether all hosts leave their availability zones.
    """
    wanted = {**_login(layout), "image": "tiny", "leave_zones": leave_zones}
    output = layout.state("tempest.json")
    _run_inside(layout, "tempest_content", wanted, output)
    return dict(json.loads(output.read_text()))


def computes(layout: Layout) -> list[str]:
    """Return the names of the compute hosts."""
    return [f"cmp{number}" for number in range(1, layout.settings.computes + 1)]


def register_hosts(layout: Layout) -> None:
    """Register all compute hosts in Blazar. Hosts that it has already stay as they are."""
    wanted = {**_login(layout), "hosts": computes(layout)}
    command = [str(layout.venv / "bin" / "python"), str(_INSIDE / "hosts.py")]
    subprocess.run(command, input=json.dumps(wanted), text=True, check=True)


def has_hosts(layout: Layout) -> bool:
    """Return whether any host is registered in Blazar."""
    command = [str(layout.venv / "bin" / "python"), str(_INSIDE / "host_count.py")]
    login = json.dumps(_login(layout))
    done = subprocess.run(command, input=login, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"can't ask Blazar for its hosts:\n{done.stderr}")
    return int(done.stdout) > 0


def _login(layout: Layout) -> dict[str, Any]:
    return {"auth_url": layout.auth_url, "password": PASSWORD, "region": REGION}


def _catalog(layout: Layout) -> list[dict[str, str]]:
    entries = (
        ("compute", "nova", layout.url("nova", "/v2.1")),
        ("placement", "placement", layout.url("placement")),
        ("network", "neutron", layout.url("neutron")),
        ("image", "glance", layout.url("glance")),
        ("reservation", "blazar", layout.url("blazar", "/v1")),
        # The service type that an unmodified python-warreclient looks for.
        ("nectar-reservation", "warre", layout.url("blazar", "/v2/warre")),
    )
    return [{"type": type_, "name": name, "url": url} for type_, name, url in entries]


def _run_inside(layout: Layout, script: str, wanted: dict[str, Any], output: Path) -> bool:
    """Run a script of inside/ unless it has run with this input before. Return whether it ran."""
    text = json.dumps(wanted, sort_keys=True)
    stamp = digest(text, _INSIDE / f"{script}.py")
    if layout.stamps.current(script, stamp) and output.exists():
        return False
    done = subprocess.run(
        [layout.program("python"), str(_INSIDE / f"{script}.py")],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    layout.log(script).write_text(done.stderr)
    if done.returncode != 0:
        raise Failure(f"{script}.py ended with status {done.returncode}", layout.log(script))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(done.stdout)
    layout.stamps.set(script, stamp)
    return True
