"""Outages of Placement, Keystone, the message bus and the database: errors, and recovery."""

import os
import time
from collections.abc import Callable
from typing import Any

import pytest
import requests
from oslo_utils import timeutils

from tests.functional.cloud import devcloud, nova_side, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person, newcomer
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import LONG, begun, until

NOTES = "warre_backings"


def _refused(answer: requests.Response) -> bool:
    """Whether a response is an error, but not an unexpected one (500)."""
    return answer.status_code >= 400 and answer.status_code != 500


def _works_again(who: Person, flavor: dict[str, Any]) -> None:
    """Wait until a booking succeeds, and delete its reservation."""

    def probe() -> dict[str, Any] | None:
        answer = world.book(who, flavor, world.far())
        # Services that have lost their database may answer with errors for a moment.
        return answer.json() if answer.status_code == 200 else None

    made = until("a booking to succeed", probe, 2 * LONG)
    until("ALLOCATED", lambda: world.show(who, made)["status"] == "ALLOCATED")
    who.asks("DELETE", f"/v2/reservations/{made['id']}/", want=204)


def test_booking_and_deleting_work_without_placement(
    alpha: Person, offer: Offer, records: Records, clean: Callable[[], None]
) -> None:
    flavor, period = offer(slots=3), world.far()
    kept = world.booked(alpha, flavor, period)
    with devcloud.away("placement"):
        body = world.lease_body(period, world.slot(flavor))
        assert alpha.ask("POST", "/v1/leases", body).status_code == 201
        made = world.booked(alpha, flavor, period)
        for booked in (kept, made):
            alpha.asks("DELETE", f"/v2/reservations/{booked['id']}/", want=204)
            assert not records.rows(NOTES, reservation_id=booked["id"])
    clean()


def test_booking_without_keystone_is_refused(
    admin: Person, alpha: Person, offer: Offer, records: Records
) -> None:
    flavor, period = offer(), world.far()
    # The project's limits are in no cache. The user's token is, in each process of the API.
    somebody, user, project = newcomer(admin, world.unique("functional"))
    for _ in range(20):
        somebody.asks("GET", "/v2/flavors/")
    before = records.dump()
    with devcloud.away("keystone"):
        assert world.book(somebody, flavor, period).status_code == 503
        assert records.dump() == before
    _works_again(alpha, flavor)
    admin.cloud.identity.delete_user(user)
    admin.cloud.identity.delete_project(project)


@pytest.mark.parametrize("service", ["rabbitmq", "mariadb"])
def test_outage_during_bookings_loses_and_oversells_nothing(
    admin: Person, alpha: Person, offer: Offer, records: Records, service: str
) -> None:
    flavor, period = offer(slots=3), world.far()
    during = [begun(world.book, alpha, flavor, period) for _ in range(4)]
    with devcloud.away(service):
        during.append(begun(world.book, alpha, flavor, period))
    back = timeutils.utcnow()
    answers = [booking.result(LONG) for booking in during]
    _works_again(alpha, offer())
    nova_side.computes_report(admin, back)

    def settled() -> list[dict[str, Any]] | None:
        """The flavor's reservations, if none of them is being created any more."""
        shown = alpha.asks("GET", f"/v2/reservations/?flavor_id={flavor['id']}")["results"]
        return shown if all(r["status"] == "ALLOCATED" for r in shown) else None

    until("nothing to be half made", lambda: settled() is not None)
    held = settled()
    assert sum(r["instance_count"] for r in held) <= 3
    for answer in answers:
        assert answer.status_code == 200 or _refused(answer), answer.text
    # Every reservation that was reported as booked exists.
    told = {a.json()["id"] for a in answers if a.status_code == 200}
    assert told <= {r["id"] for r in held}


@pytest.mark.whole
def test_starts_while_keystone_refuses_the_service_user_are_opened_later(
    admin: Person, alpha: Person, offer: Offer, records: Records
) -> None:
    """For how long Keystone refuses it is in WARRE_REFUSED_SECONDS."""
    flavor = offer(slots=5)
    starting = [world.booked(alpha, flavor, world.far()) for _ in range(5)]
    identity = admin.cloud.identity
    user = identity.find_user("blazar", ignore_missing=False)
    identity.update_user(user, is_enabled=False)
    try:
        # Services go on with the tokens that they know. A new manager has to log in.
        devcloud.restart(devcloud.MANAGERS)
        records.start_now([r["lease_id"] for r in starting], ahead=8)
        making = ["making"] * len(starting)
        until("the starts", lambda: [records.phase(r) for r in starting] == making)
        time.sleep(float(os.environ.get("WARRE_REFUSED_SECONDS", "20")))
        assert [records.phase(r) for r in starting] == making
    finally:
        identity.update_user(user, is_enabled=True)
    for reservation in starting:
        until("an open reservation", lambda r=reservation: records.phase(r) == "open", 2 * LONG)
        shown = world.show(alpha, reservation)
        assert (shown["status"], shown["status_reason"]) == ("ACTIVE", None)
