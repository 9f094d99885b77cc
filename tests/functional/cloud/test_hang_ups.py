"""SIGHUP restarts the process of a manager in the middle of bookings."""

import collections
import time
from collections.abc import Callable
from concurrent import futures

import requests

from tests.functional.cloud import devcloud, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import LONG, begun, until

#: How many instances there is room for, and how many bookings are requested.
HELD, ASKED = 13, 20
_TIMES = 4


def test_bookings_during_hang_ups_are_booked_or_refused(
    alpha: Person, offer: Offer, records: Records, clean: Callable[[], None]
) -> None:
    flavor, period = offer(slots=HELD), world.far()
    before = {row["id"] for row in records.rows("leases")}

    bookings: list[futures.Future[requests.Response]] = []

    def in_the_middle() -> bool:
        making = records.rows("leases", status="CREATING")
        return bool(making) or all(each.done() for each in bookings)

    def begin() -> None:
        bookings.append(begun(world.book, alpha, flavor, period))

    for number in range(_TIMES):
        begin()
        begin()
        until("a lease to be half made", in_the_middle, pause=0.02)
        print(f"hang-up {number}: {sum(not each.done() for each in bookings)} under way")
        restart = begun(devcloud.hang_up)
        # These reach the manager while it stops, while it is away, or while it starts.
        for _ in range(ASKED // _TIMES - 2):
            begin()
            time.sleep(0.5)
        restart.result(LONG)
    answers = [each.result(LONG) for each in bookings]

    outcomes = collections.Counter((a.status_code, a.json().get("code")) for a in answers)
    assert outcomes == {(200, None): HELD, (400, "slots_exhausted"): ASKED - HELD}
    held = {a.json()["lease_id"] for a in answers if a.status_code == 200}
    assert {row["id"] for row in records.rows("leases")} - before == held
    clean()
