"""A reservation's state, for every state that Blazar knows."""

import pytest
from blazar import status

from warre_blazar.domain import states

_LEASE = {
    "CREATING": "PENDING_CREATE",
    "PENDING": "ALLOCATED",
    "STARTING": "ALLOCATED",
    "ACTIVE": "ACTIVE",
    "TERMINATING": "ACTIVE",
    "TERMINATED": "COMPLETE",
    "ERROR": "ERROR",
}
_RESERVATION = {
    "pending": "ALLOCATED",
    "active": "ACTIVE",
    "deleted": "COMPLETE",
    "error": "ERROR",
}


@pytest.mark.parametrize("reservation", status.ReservationStatus.ALL)
@pytest.mark.parametrize("lease", status.LeaseStatus.ALL)
def test_derived(lease: str, reservation: str) -> None:
    kept = lease in ("UPDATING", "DELETING")
    wanted = _RESERVATION[reservation] if kept else _LEASE[lease]
    assert states.derive(lease, reservation) == wanted


def test_what_nobody_knows_is_an_error() -> None:
    assert states.derive(None, None) == states.ERROR
