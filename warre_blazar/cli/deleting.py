"""Asking before a reservation is deleted, and its servers with it."""

from typing import Any

from keystoneauth1 import exceptions as ksa

from warre_blazar.cli import asking
from warre_blazar.client import Reservation

_TIMEOUT = 60
_SHOWN = 5
_RUNS = ("ACTIVE", "ERROR")
_OVER = ("COMPLETE",)


def ask(session: Any, reservation: Reservation, what: str) -> None:
    """Ask whether a reservation may go, and the servers that are on it.

    A reservation that is over can be deleted without a question.

    :param what: the reservation, for people.
    :raises Failure: it may not.
    """
    if reservation.status in _OVER:
        return
    servers = running(session, reservation)
    gone = f" {servers} will be deleted for good." if servers else ""
    asking.ask(f"{what}.{gone} Delete?", f"Not deleted: {reservation.id}")


def running(session: Any, reservation: Reservation) -> str:
    """The servers on a reservation, for people; nothing if there are none."""
    found = _servers(session, reservation) if reservation.status in _RUNS else []
    return "" if found == [] else _named(found)


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
