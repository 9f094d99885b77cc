"""The states of a reservation, derived from Blazar's own (design, decision 6)."""

PENDING_CREATE = "PENDING_CREATE"
ALLOCATED = "ALLOCATED"
ACTIVE = "ACTIVE"
COMPLETE = "COMPLETE"
ERROR = "ERROR"

#: States in which a reservation is still to be used, so counts against a quota.
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

# A lease that is UPDATING or DELETING keeps the state it came from, which its reservation tells.
_BY_RESERVATION = {
    "pending": ALLOCATED,
    "active": ACTIVE,
    "deleted": COMPLETE,
    "error": ERROR,
}

#: ``derive`` for queries: leases whose status decides, those of them with live reservations, and
#: the statuses of live reservations in the other leases.
DECISIVE_LEASES = tuple(_BY_LEASE)
LIVE_LEASES = tuple(status for status, state in _BY_LEASE.items() if state in LIVE)
LIVE_RESERVATIONS = tuple(status for status, state in _BY_RESERVATION.items() if state in LIVE)


def derive(lease_status: str | None, reservation_status: str | None) -> str:
    """The reservation's state.

    :param lease_status: ``leases.status`` of Blazar.
    :param reservation_status: ``reservations.status`` of Blazar.
    """
    return _BY_LEASE.get(lease_status or "") or _BY_RESERVATION.get(reservation_status or "", ERROR)
