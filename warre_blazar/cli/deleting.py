"""Asking before servers are deleted."""

import sys
from typing import Any

from keystoneauth1 import exceptions as ksa

from warre_blazar.cli.failures import Failure
from warre_blazar.client import Reservation

_TIMEOUT = 60
_SHOWN = 5


def on_terminal() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(session: Any, reservation: Reservation) -> None:
    """Ask whether a reservation's servers may go.

    :raises Failure: they may not.
    """
    servers = _servers(session, reservation) if reservation.status == "ACTIVE" else []
    if servers == []:
        return
    print(
        f"Reservation {reservation.id} of {reservation.flavor.name} is ACTIVE. "
        f"{_named(servers)} will be deleted for good. Delete? [y/N] ",
        end="",
        file=sys.stderr,
        flush=True,
    )
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Failure(f"Not deleted: {reservation.id}. With --yes nothing is asked")


def _servers(session: Any, reservation: Reservation) -> list[str] | None:
    """Names of its servers; None when Nova doesn't say."""
    try:
        answer = session.get(
            "/servers",
            params={"flavor": reservation.compute_flavor},
            endpoint_filter={"service_type": "compute"},
            timeout=_TIMEOUT,
        )
        return [server["name"] for server in answer.json()["servers"]]
    except (ksa.ClientException, ValueError, KeyError):
        return None


def _named(servers: list[str] | None) -> str:
    if servers is None:
        return "The servers on it"
    names = ", ".join(servers[:_SHOWN]) + (", ..." if len(servers) > _SHOWN else "")
    return f"Its {len(servers)} server{'s' if len(servers) > 1 else ''} ({names})"
