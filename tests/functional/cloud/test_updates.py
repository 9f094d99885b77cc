"""Changes of a reservation's time by an update of its lease over v1."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.functional.cloud import world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person

pytestmark = pytest.mark.together


def _update(who: Person, made: dict[str, Any], period: world.Period) -> Any:
    return who.ask("PUT", f"/v1/leases/{made['lease_id']}", period.v1)


def _lease(who: Person, made: dict[str, Any]) -> dict[str, Any]:
    found = who.asks("GET", f"/v1/leases/{made['lease_id']}")["lease"]
    return {key: found[key] for key in ("status", "start_date", "end_date")}


@pytest.mark.parametrize("started", [False, True], ids=["pending", "active"])
def test_lease_can_be_extended_and_shortened_within_the_terms(
    alpha: Person, beta: Person, offer: Offer, started: bool
) -> None:
    flavor = offer(slots=1)
    if started:
        mine = world.becomes(alpha, world.booked_now(alpha, flavor, hours=2), "ACTIVE")
    else:
        mine = world.booked(alpha, flavor, world.far(2))
    period = world.Period.of(mine)
    status = _lease(alpha, mine)["status"]
    assert status == ("ACTIVE" if started else "PENDING")
    world.booked(beta, flavor, period.moved(start=4, end=4))

    extended = _update(alpha, mine, period.moved(end=1))
    assert extended.status_code == 200, extended.text
    assert world.show(alpha, mine)["end"] == period.moved(end=1).v2["end"]

    before = _lease(alpha, mine)
    for refused in (
        _update(alpha, mine, period.moved(end=4)),  # another's
        _update(alpha, mine, period.moved(end=100)),  # longer than the flavor allows
    ):
        assert 400 <= refused.status_code < 500, refused.text
        assert refused.json()["error_message"]
        assert _lease(alpha, mine) == before == before | {"status": status}

    shortened = _update(alpha, mine, period.moved(end=-1))
    assert shortened.status_code == 200, shortened.text
    assert _lease(alpha, mine)["status"] == status
    # The time that was given up can be booked, and the time that was kept can't.
    world.booked(beta, flavor, period.moved(start=1, end=1))
    kept = world.book(beta, flavor, period.moved(start=0.5, end=-1))
    assert kept.json()["code"] == "slots_exhausted"


def test_change_of_affinity_flavor_or_unknown_field_is_refused(alpha: Person, offer: Offer) -> None:
    flavor, other = offer(), offer()
    mine = world.booked(alpha, flavor, world.far())
    path = f"/v1/leases/{mine['lease_id']}"
    before = _lease(alpha, mine)
    for change in ({"affinity": True}, {"flavor_id": other["id"]}, {"shoe_size": 44}):
        body = {"reservations": [{"id": mine["id"], **change}]}
        refused = alpha.ask("PUT", path, body)
        assert 400 <= refused.status_code < 500, refused.text
        assert next(iter(change)) in refused.json()["error_message"]
        assert _lease(alpha, mine) == before
    assert world.show(alpha, mine)["instance_count"] == 1


def test_start_of_a_waiting_lease_can_be_moved(
    alpha: Person, beta: Person, offer: Offer, lease: Callable
) -> None:
    flavor, period = offer(slots=1), world.far()
    mine = world.booked(alpha, flavor, period)
    moved = _update(alpha, mine, period.moved(start=1, end=1))
    assert moved.status_code == 200, moved.text
    world.booked(beta, flavor, period)
    assert _update(alpha, mine, period).status_code == 400
    assert world.Period.of(world.show(alpha, mine)) == period.moved(start=1, end=1)
