"""Derives a reservation's state from two statuses in Blazar: the lease's and the reservation's."""

from collections.abc import Collection

PENDING_CREATE = "PENDING_CREATE"
ALLOCATED = "ALLOCATED"
ACTIVE = "ACTIVE"
COMPLETE = "COMPLETE"
ERROR = "ERROR"

#: The states in which a reservation waits or runs, and therefore counts against quotas.
LIVE = (PENDING_CREATE, ALLOCATED, ACTIVE)

_BY_LEASE = {
    "CREATING": PENDING_CREATE,
    "PENDING": ALLOCATED,
    "STARTING": ALLOCATED,
    "ACTIVE": ACTIVE,
    "TERMINATING": ACTIVE,
    "TERMINATED": COMPLETE,
    "ERROR": ERROR,
}

# A reservation keeps its state while its lease is UPDATING or DELETING. While the lease has one of
# these statuses, the state is derived from Blazar's status of the reservation.
_BY_RESERVATION = {
    "pending": ALLOCATED,
    "active": ACTIVE,
    "deleted": COMPLETE,
    "error": ERROR,
}

# The following tuples express the rules of ``derive`` for database queries.
#: The lease statuses that decide the state of the lease's reservations.
DECISIVE_LEASES = tuple(_BY_LEASE)
#: The lease statuses that make the lease's reservations live.
LIVE_LEASES = tuple(status for status, state in _BY_LEASE.items() if state in LIVE)
#: If the lease's status doesn't decide the state, a reservation with one of these reservation
#: statuses is live.
LIVE_RESERVATIONS = tuple(status for status, state in _BY_RESERVATION.items() if state in LIVE)

#: The state of the record of a reservation that was deleted. It is derived from the record, and
#: no reservation in Blazar's tables has it.
DELETED = "DELETED"

#: Every state of a reservation that is there.
ALL = (PENDING_CREATE, ALLOCATED, ACTIVE, COMPLETE, ERROR)

#: The lease statuses that don't decide the state of the lease's reservations.
PASSING_LEASES = ("UPDATING", "DELETING")
#: The reservation statuses from which a state can be derived if the lease's status doesn't decide
#: the state. Any other reservation status then gives ERROR.
KNOWN_RESERVATIONS = tuple(_BY_RESERVATION)


def sources(wanted: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Blazar's statuses from which one of the wanted states is derived.

    :returns: a tuple of lease statuses, and a tuple of reservation statuses. A reservation's status
        counts only if the lease's status doesn't decide the state.
    """
    return (
        tuple(status for status, state in _BY_LEASE.items() if state in wanted),
        tuple(status for status, state in _BY_RESERVATION.items() if state in wanted),
    )


def derive(lease_status: str | None, reservation_status: str | None) -> str:
    """The state of a reservation.

    :param lease_status: ``leases.status`` in Blazar's table.
    :param reservation_status: ``reservations.status`` in Blazar's table.
    :returns: one of ``ALL``; ERROR if neither status gives a state.
    """
    return _BY_LEASE.get(lease_status or "") or _BY_RESERVATION.get(reservation_status or "", ERROR)
