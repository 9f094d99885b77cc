"""The servers in a reservation."""

from warre_blazar.client import Client, Reservation
from warre_blazar.client.types import Document

#: A reservation with one of these statuses may have servers.
_RUNNING = ("ACTIVE", "ERROR")


def of(api: Client, reservation: Reservation) -> list[Document] | None:
    """Return the servers in a reservation, whatever their status is. None: they aren't known.

    Servers in ERROR are deleted at the end too, so they count. A reservation in ERROR may have
    servers from the time before it failed.
    """
    if reservation.status not in _RUNNING:
        return []
    return api.reservations.get(reservation.id, servers=True).servers


def deleted(api: Client, reservation: Reservation) -> list[Document] | None:
    """Return those that are deleted when the reservation ends. None: they aren't known."""
    found = of(api, reservation)
    return found and _inside(found)


def places_left(reservation: Reservation, found: list[Document] | None) -> int:
    """How many further servers a reservation can have, as far as that is known.

    :param found: what ``of`` returns. Of a reservation that another project shares, it has only the
        own project's servers.
    """
    taken = 0 if found is None or reservation.shared else len(_inside(found))
    return max(0, reservation.instance_count - taken)


def _inside(found: list[Document]) -> list[Document]:
    return [server for server in found if not server["moved_out"]]
