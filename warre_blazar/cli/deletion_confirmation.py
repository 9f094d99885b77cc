"""What is said and asked before a reservation's servers are deleted."""

from typing import Any

from keystoneauth1 import exceptions as ksa

from warre_blazar.cli import confirmation, times
from warre_blazar.client import Reservation

_SHOWN = 5
#: A reservation with one of these statuses may have servers.
RUNNING = ("ACTIVE", "ERROR")
#: A reservation with one of these statuses has ended.
_OVER = ("COMPLETE",)


def ask(session: Any, reservation: Reservation, what: str) -> None:
    """Ask whether a reservation and its servers shall be deleted.

    If the reservation has ended, the user isn't asked. Without a terminal, nobody is asked about a
    reservation that has no servers.

    :param what: a description of the reservation.
    :raises Failure: the user doesn't confirm, or there are servers and nobody can be asked.
    """
    if reservation.status in _OVER:
        return
    lost = loss(session, reservation)
    if confirmation.on_terminal():
        warning = f" {lost}." if lost else ""
        confirmation.ask(f"{what}.{warning} Delete?", f"Not deleted: {reservation.id}")
    elif lost:
        confirmation.refuse(lost)


def loss(session: Any, reservation: Reservation) -> str:
    """Return a sentence about the servers that go when a reservation ends, without its period.

    :returns: "" if the reservation has no servers.
    """
    names = servers(session, reservation)
    return "" if names == [] else loss_of(names)


def loss_of(names: list[str] | None, will: str = "will") -> str:
    """Return a clause that says that servers go. If their names aren't known, they are None."""
    return f"{_phrase(names)} {will} be deleted for good"


def saving(before_end: str | None) -> str:
    """Return a sentence about the snapshots that are made of servers before the end, or "".

    :param before_end: what is done with the servers before the end.
    """
    if before_end != "snapshot":
        return ""
    return " Before the end, a snapshot is made of each server."


def servers(session: Any, reservation: Reservation) -> list[str] | None:
    """Return the names of a reservation's servers, or None if Nova doesn't answer."""
    if reservation.status not in RUNNING:
        return []
    query = {"flavor": reservation.compute_flavor}
    try:
        if session.get_project_id() not in (None, reservation.project_id):
            # An operator works on a reservation of another project.
            query["all_tenants"] = "1"
        answer = session.get(
            "/servers",
            params=query,
            endpoint_filter={"service_type": "compute"},
            timeout=times.REQUEST_TIMEOUT,
        )
        return [server["name"] for server in answer.json()["servers"]]
    except (ksa.ClientException, ValueError, KeyError):
        return None


def _phrase(servers: list[str] | None) -> str:
    if servers is None:
        return "The servers on it"
    names = ", ".join(servers[:_SHOWN]) + (", ..." if len(servers) > _SHOWN else "")
    return f"Its {len(servers)} server{'s' if len(servers) > 1 else ''} ({names})"
