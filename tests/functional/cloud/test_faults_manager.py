"""Managers killed in the middle of bookings and deletions."""

import datetime
from typing import Any

import pytest

from tests.functional.cloud import devcloud, nova_side, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import LONG, begun, until

SLOTS, ASKED = 5, 10
#: Going on, done, and not known: the manager was killed before it took it.
_ON_DELETING_AGAIN = {202: {404, 409}, 204: {404}, 503: {204}}


@pytest.mark.slow
def test_killed_in_the_middle(admin: Person, alpha: Person, offer: Offer, records: Records) -> None:
    flavor, period = offer(slots=SLOTS), world.far()
    orphans = nova_side.orphans(admin, records)
    bookings = [begun(world.book, alpha, flavor, period) for _ in range(ASKED)]
    try:
        until("one in the making", lambda: records.rows("leases", status="CREATING"), pause=0.02)
        devcloud.stop(devcloud.MANAGERS, kill=True)
    finally:
        devcloud.start(devcloud.MANAGERS)
    answers = [booking.result(LONG) for booking in bookings]
    assert {a.status_code for a in answers} <= {200, 400, 503}, [a.text for a in answers]

    held = {r["id"]: r["status"] for r in _held(alpha, flavor)}
    assert len(held) <= SLOTS
    assert set(held.values()) <= {"ALLOCATED", "PENDING_CREATE"}
    told = {a.json()["id"] for a in answers if a.status_code == 200}
    assert told <= set(held)
    # One slot more than there are isn't sold, one that is left is.
    free = SLOTS - len(held)
    assert world.book(alpha, flavor, period, free + 1).json()["code"] == "slots_exhausted"
    if free:
        world.booked(alpha, flavor, period, free)

    half = [i for i, status in held.items() if status == "PENDING_CREATE"]
    for reservation_id in half:
        early = alpha.ask("DELETE", f"/v2/reservations/{reservation_id}/")
        assert (early.status_code, early.json()["code"]) == (409, "invalid_state")
    # Nobody makes these any more; once they are old enough they and all of theirs go.
    records.age_leases(half, datetime.timedelta(hours=1))
    until("the half made to go", lambda: not set(half) & {r["id"] for r in _held(alpha, flavor)})
    until("leftovers to go", lambda: nova_side.orphans(admin, records) <= orphans)
    for reservation_id in half:
        until("its traces to go", lambda i=reservation_id: not records.traces(i))


@pytest.mark.slow
def test_killed_while_deleting(
    admin: Person, alpha: Person, offer: Offer, records: Records
) -> None:
    flavor = offer(slots=SLOTS)
    booked = [world.booked(alpha, flavor, world.far()) for _ in range(2)]
    paths = [f"/v2/reservations/{r['id']}/" for r in booked]
    deletions = [begun(alpha.ask, "DELETE", path) for path in paths]
    try:
        until("one to be deleted", lambda: records.rows("leases", status="DELETING"), pause=0.02)
        devcloud.stop(devcloud.MANAGERS, kill=True)
    finally:
        devcloud.start(devcloud.MANAGERS)
    answers = [deletion.result(LONG) for deletion in deletions]
    assert {a.status_code for a in answers} <= set(_ON_DELETING_AGAIN), [a.text for a in answers]
    again = [alpha.ask("DELETE", path) for path in paths]
    for first, second in zip(answers, again, strict=True):
        assert second.status_code in _ON_DELETING_AGAIN[first.status_code], second.text
    # Nobody deletes these any more; once that is old enough they and all of theirs go.
    ids = [r["id"] for r in booked]
    records.age_leases(ids, datetime.timedelta(hours=1))
    for reservation_id in ids:
        until("its traces to go", lambda i=reservation_id: not records.traces(i))
        until("the rest to go", lambda i=reservation_id: not nova_side.leftovers(admin, i))


def _held(who: Person, flavor: dict[str, Any]) -> list[dict[str, Any]]:
    return who.asks("GET", f"/v2/reservations/?flavor_id={flavor['id']}")["results"]
