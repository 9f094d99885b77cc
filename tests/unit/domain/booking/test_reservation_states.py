"""The state of a reservation for every status that Blazar has."""

import itertools

import pytest
from blazar import status

from warre_blazar.domain.booking import reservation_states

BY_LEASE = {
    "CREATING": "PENDING_CREATE",
    "PENDING": "ALLOCATED",
    "STARTING": "ALLOCATED",
    "ACTIVE": "ACTIVE",
    "TERMINATING": "ACTIVE",
    "TERMINATED": "COMPLETE",
    "ERROR": "ERROR",
}
# The state of a reservation in a lease whose status doesn't decide.
BY_RESERVATION = {
    "pending": "ALLOCATED",
    "active": "ACTIVE",
    "deleted": "COMPLETE",
    "error": "ERROR",
}
IN_BETWEEN = {"UPDATING", "DELETING"}


def named(statuses):
    """Every status that one of Blazar's classes of statuses has."""
    return {v for k, v in vars(statuses).items() if k.isupper() and isinstance(v, str)}


LEASE = sorted(named(status.LeaseStatus))
RESERVATION = sorted(named(status.ReservationStatus))


def test_blazar_has_no_other_statuses():
    assert set(LEASE) == set(status.LeaseStatus.ALL) == set(BY_LEASE) | IN_BETWEEN
    assert set(RESERVATION) == set(status.ReservationStatus.ALL) == set(BY_RESERVATION)


@pytest.mark.parametrize(("lease", "reservation"), itertools.product(LEASE, RESERVATION))
def test_derive(lease, reservation):
    expected = BY_RESERVATION[reservation] if lease in IN_BETWEEN else BY_LEASE[lease]
    assert reservation_states.derive(lease, reservation) == expected


@pytest.mark.parametrize(
    ("lease", "reservation"),
    [
        pytest.param(None, None, id="neither"),
        pytest.param("UPDATING", None, id="no reservation status"),
        pytest.param("", "", id="empty"),
        pytest.param("NEW", "new", id="unknown"),
    ],
)
def test_unknown_status_is_an_error(lease, reservation):
    assert reservation_states.derive(lease, reservation) == "ERROR"


def test_live_states_are_those_of_waiting_and_running_reservations():
    assert set(reservation_states.LIVE) == {"PENDING_CREATE", "ALLOCATED", "ACTIVE"}
