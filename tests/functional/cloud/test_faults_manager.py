"""Managers killed in the middle of deletions and bookings."""

import dataclasses
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import Any

import pytest
import requests

from tests.functional.cloud import devcloud, nova_side, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import LONG, begun, until

#: The slots of the flavor, and how many bookings are requested at once.
SLOTS, ASKED = 5, 10
#: The statuses that a second deletion may get, by the status of the first one. 202: the deletion
#: was under way; 204: it was done; 503: the manager was killed before it took the request.
_ON_DELETING_AGAIN = {202: {202, 204, 404, 409}, 204: {404}, 503: {202, 204}}


@dataclasses.dataclass
class Killed:
    """The requests that were under way when the managers were killed, and their responses."""

    flavor: dict[str, Any]
    period: world.Period
    bookings: list[requests.Response]
    deleted: list[dict[str, Any]]
    deletions: list[requests.Response]
    orphans_before: set[tuple[str, str]]


@pytest.fixture(scope="module")
def killed(admin: Person, alpha: Person, shared_offer: Offer, records: Records) -> Killed:
    """Kill the managers in the middle of deletions, and then in the middle of bookings.

    A request that gets no answer waits for a minute, so all requests wait at the same time.
    """
    flavor, period = shared_offer(slots=SLOTS), world.far()
    other = shared_offer(slots=SLOTS)
    # A manager waits until the servers are deleted, so it can be killed meanwhile.
    deleted = [world.booked_now(alpha, other) for _ in range(2)]
    for reservation in deleted:
        world.becomes(alpha, reservation, "ACTIVE")
        server = alpha.boots(reservation["compute_flavor"], "functional-killed")
        until("a server", lambda s=server: alpha.server_settles(s))
    orphans = nova_side.orphans(admin, records)
    # The API has four processes. The two deletions leave two of them free for bookings.
    delete = [lambda r=r: alpha.ask("DELETE", _path(r)) for r in deleted]
    deletions = _kill_in(delete, lambda: _leases(records, "DELETING"))
    book = [lambda: world.book(alpha, flavor, period)] * ASKED
    bookings = _kill_in(book, lambda: _leases(records, "CREATING"))
    booked, gone = ([job.result(LONG) for job in jobs] for jobs in (bookings, deletions))
    return Killed(flavor, period, booked, deleted, gone, orphans)


def _kill_in(
    jobs: Sequence[Callable[[], requests.Response]], leases: Callable[[], set[str]]
) -> list[futures.Future[requests.Response]]:
    """Start jobs, and kill the managers as soon as ``leases`` returns a new lease."""
    before = leases()
    under_way = [begun(job) for job in jobs]
    try:
        until(
            "a lease to be half made or deleted",
            lambda: leases() - before or all(job.done() for job in under_way),
            pause=0.02,
        )
        devcloud.stop(devcloud.MANAGERS, kill=True)
        print(f"{sum(not job.done() for job in under_way)} of {len(under_way)} were under way")
    finally:
        devcloud.start(devcloud.MANAGERS)
    return under_way


def _leases(records: Records, status: str) -> set[str]:
    return {row["id"] for row in records.rows("leases", status=status)}


def _path(reservation: dict[str, Any]) -> str:
    return f"/v2/reservations/{reservation['id']}/"


@pytest.mark.whole
def test_bookings_under_a_killed_manager_are_kept_or_removed(
    admin: Person, alpha: Person, records: Records, killed: Killed
) -> None:
    answers, flavor, period = killed.bookings, killed.flavor, killed.period
    assert {a.status_code for a in answers} <= {200, 400, 503}, [a.text for a in answers]

    held = {r["id"]: r["status"] for r in _held(alpha, flavor)}
    assert len(held) <= SLOTS
    assert set(held.values()) <= {"ALLOCATED", "PENDING_CREATE"}
    booked = [a.json() for a in answers if a.status_code == 200]
    assert {r["id"] for r in booked if r["status"] == "ALLOCATED"} <= set(held)

    half = [i for i, status in held.items() if status == "PENDING_CREATE"]
    for reservation_id in half:
        early = alpha.ask("DELETE", f"/v2/reservations/{reservation_id}/")
        # 404: it is gone already.
        assert early.status_code == 404 or early.json()["code"] == "invalid_state", early.text
    # No manager finishes these leases, nor those that have no reservation yet. When they have been
    # unchanged for longer than any work takes, they are removed with everything that they have.
    until("the half made leases to go", lambda: not _leases(records, "CREATING"))
    until(
        "their reservations to go", lambda: not set(half) & {r["id"] for r in _held(alpha, flavor)}
    )
    # All free slots can be booked, and not one more.
    free = SLOTS - len(_held(alpha, flavor))
    assert world.book(alpha, flavor, period, free + 1).json()["code"] == "slots_exhausted"
    if free:
        world.booked(alpha, flavor, period, free)
    until("leftovers to go", lambda: nova_side.orphans(admin, records) <= killed.orphans_before)
    for reservation_id in half:
        until("its traces to go", lambda i=reservation_id: not records.traces(i))


def test_deletions_under_a_killed_manager_are_finished(
    admin: Person, alpha: Person, records: Records, killed: Killed
) -> None:
    answers = killed.deletions
    assert {a.status_code for a in answers} <= set(_ON_DELETING_AGAIN), [a.text for a in answers]
    again = [alpha.ask("DELETE", _path(r)) for r in killed.deleted]
    for first, second in zip(answers, again, strict=True):
        assert second.status_code in _ON_DELETING_AGAIN[first.status_code], second.text
    # No manager finishes these deletions at first. After a while another one does.
    for reservation_id in (r["id"] for r in killed.deleted):
        until("its traces to go", lambda i=reservation_id: not records.traces(i))
        until("the rest to go", lambda i=reservation_id: not nova_side.leftovers(admin, i))


@pytest.mark.whole
def test_starts_that_a_killed_manager_had_claimed_are_executed(
    alpha: Person, offer: Offer, records: Records
) -> None:
    flavor, period = offer(slots=SLOTS), world.far()
    booked = [world.booked(alpha, flavor, period) for _ in range(SLOTS)]
    leases = {r["lease_id"] for r in booked}
    records.start_now(leases)
    try:
        until(
            "one to start",
            lambda: leases & (_leases(records, "STARTING") | _leases(records, "ACTIVE")),
            pause=0.02,
        )
        devcloud.stop(devcloud.MANAGERS, kill=True)
    finally:
        devcloud.start(devcloud.MANAGERS)
    for reservation in booked:
        world.becomes(alpha, reservation, "ACTIVE")


def _held(who: Person, flavor: dict[str, Any]) -> list[dict[str, Any]]:
    return who.asks("GET", f"/v2/reservations/?flavor_id={flavor['id']}")["results"]
