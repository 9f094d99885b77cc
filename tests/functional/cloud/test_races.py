"""Many bookings at the same time over HTTP: exactly as many succeed as there is room for."""

import collections
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.functional.cloud import devcloud, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import at_once

#: How many instances there is room for, and how many bookings are requested.
HELD, ASKED = 5, 40
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "slots run out": ({"slots": HELD}, "slots_exhausted"),
    "hosts run out": (
        {
            "slots": 100,
            "memory_mb": world.HOST_MEMORY_MB // HELD,
            "properties": world.on_host("cmp3"),
        },
        "hosts_exhausted",
    ),
}


@pytest.fixture(scope="module", autouse=True)
def _two_managers() -> Iterator[None]:
    with devcloud.two_managers():
        yield


@pytest.mark.parametrize("case", CASES)
def test_bookings_at_once_get_exactly_what_there_is(
    alpha: Person,
    offer: Offer,
    records: Records,
    clean: Callable[[], None],
    case: str,
) -> None:
    terms, code = CASES[case]
    flavor, period = offer(**terms), world.far()
    leases = len(records.rows("leases"))
    answers = at_once([lambda: world.book(alpha, flavor, period)] * ASKED)

    outcomes = collections.Counter((a.status_code, a.json().get("code")) for a in answers)
    assert outcomes == {(200, None): HELD, (400, code): ASKED - HELD}
    held = [a.json()["id"] for a in answers if a.status_code == 200]
    assert len(set(held)) == HELD
    in_tables = {r["id"] for r in records.rows("warre_reservations", flavor_id=flavor["id"])}
    assert in_tables == set(held)
    assert sum(len(records.rows("computehost_allocations", reservation_id=i)) for i in held) == HELD
    assert len(records.rows("leases")) == leases + HELD
    clean()
