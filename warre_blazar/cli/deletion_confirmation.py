"""What is said and asked before a reservation's servers are deleted."""

from warre_blazar.cli import confirmation
from warre_blazar.client import Client, Reservation, errors
from warre_blazar.client.types import Document

_SHOWN = 5
#: A reservation with one of these statuses may have servers.
RUNNING = ("ACTIVE", "ERROR")
#: A reservation with one of these statuses has ended.
_OVER = ("COMPLETE",)


def ask(v2: Client, reservation: Reservation, what: str) -> None:
    """Ask whether a reservation and its servers shall be deleted.

    If the reservation has ended, the user isn't asked. Without a terminal, nobody is asked about a
    reservation that has no servers.

    :param what: a description of the reservation.
    :raises Failure: the user doesn't confirm, or there are servers and nobody can be asked.
    """
    if reservation.status in _OVER:
        return
    lost = loss(v2, reservation)
    if confirmation.on_terminal():
        warning = f" {lost}." if lost else ""
        confirmation.ask(f"{what}.{warning} Delete?", f"Not deleted: {reservation.id}")
    elif lost:
        confirmation.refuse(lost)


def loss(v2: Client, reservation: Reservation) -> str:
    """Return a sentence about the servers that go when a reservation ends, without its period.

    :returns: "" if the reservation has no servers.
    """
    names = deleted(servers(v2, reservation))
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


def servers(v2: Client, reservation: Reservation) -> list[Document] | None:
    """Return the servers in a reservation, or None if they aren't known."""
    if reservation.status not in RUNNING:
        return []
    try:
        return v2.reservations.get(reservation.id, servers=True).servers
    except errors.ClientError:
        return None


def deleted(servers: list[Document] | None) -> list[str] | None:
    """Return the names of the servers that are deleted at the end, or None if they aren't known."""
    if servers is None:
        return None
    return [str(server["name"]) for server in servers if not server["moved_out"]]


def moved_out(servers: list[Document] | None) -> list[str]:
    """Return the names of the servers that were moved out, and whose move isn't confirmed."""
    return [server["name"] or server["id"] for server in servers or () if server["moved_out"]]


def _phrase(servers: list[str] | None) -> str:
    if servers is None:
        return "The servers on it"
    names = ", ".join(servers[:_SHOWN]) + (", ..." if len(servers) > _SHOWN else "")
    return f"Its {len(servers)} server{'s' if len(servers) > 1 else ''} ({names})"
