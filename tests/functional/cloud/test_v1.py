"""Blazar's v1 API: a plain lease with resource type flavor:slot books by the same rules."""

import datetime
from collections.abc import Callable
from typing import Any

import pytest
import requests

from tests.functional.cloud import devcloud, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import at_once


def test_a_lease_books(alpha: Person, beta: Person, offer: Offer, lease: Callable) -> None:
    flavor, period = offer(), world.far()
    answer = lease(alpha, world.lease_body(period, world.slot(flavor, 2)))
    assert answer.status_code == 201, answer.text
    made = answer.json()["lease"]
    reservation = made["reservations"][0]
    assert made["status"] == "PENDING"
    assert (reservation["resource_type"], reservation["amount"]) == ("flavor:slot", 2)

    shown = alpha.asks("GET", f"/v2/reservations/{reservation['id']}/")
    assert shown["lease_id"] == made["id"]
    assert (shown["instance_count"], shown["status"]) == (2, "ALLOCATED")
    assert shown["flavor"]["id"] == flavor["id"]
    assert alpha.asks("GET", f"/v1/leases/{made['id']}")["lease"]["id"] == made["id"]
    listed = [{x["id"] for x in p.asks("GET", "/v1/leases")["leases"]} for p in (alpha, beta)]
    assert made["id"] in listed[0] - listed[1]

    # One slot is left, by v1 and by v2.
    assert world.book(beta, flavor, period, 2).json()["code"] == "slots_exhausted"
    world.booked(beta, flavor, period, 1)

    assert made["name"] in devcloud.run("blazar", "lease-list", user="alpha")
    told = devcloud.run("blazar", "lease-show", made["id"], user="alpha")
    assert made["id"] in told
    assert "flavor:slot" in told


def test_flavor_by_name_and_amount_as_text(alpha: Person, offer: Offer, lease: Callable) -> None:
    # The blazar CLI sends amounts as text.
    flavor = offer()
    named = {"resource_type": "flavor:slot", "flavor_id": flavor["name"], "amount": "2"}
    answer = lease(alpha, world.lease_body(world.far(), named))
    assert answer.status_code == 201, answer.text
    assert answer.json()["lease"]["reservations"][0]["amount"] == 2


class Refusal:
    """A request that must be refused, as changes of a good one, and the expected error."""

    def __init__(
        self,
        words: str,
        status: int = 400,
        flavor: str = "usual",
        hours: float = 1,
        **changes: Any,
    ) -> None:
        self.words, self.status, self.flavor, self.hours = words, status, flavor, hours
        self.changes = changes

    def body(self, flavors: dict[str, dict[str, Any]], period: world.Period) -> dict[str, Any]:
        wanted = world.slot(flavors[self.flavor]) | self.changes
        wanted = {key: value for key, value in wanted.items() if value is not _ABSENT}
        return world.lease_body(period.moved(end=self.hours - 1), wanted)


_ABSENT = object()
REFUSALS = {
    "unknown flavor": Refusal("no-such-flavor does not exist", 404, flavor_id="no-such-flavor"),
    "slots exhausted": Refusal("at most 3 of 3 slots", amount=4),
    "hosts exhausted": Refusal("matching hosts have room for", flavor="huge", amount=4),
    "no host matches": Refusal("No host matches this flavor", 409, flavor="nowhere"),
    "too long": Refusal("max allowed is 24 hours", hours=25),
    "inactive": Refusal("not available", flavor="inactive"),
    "private": Refusal("does not exist", 404, flavor="private"),
    "before the flavor's start": Refusal("before flavor start", flavor="later"),
    "after the flavor's end": Refusal("after flavor end", flavor="earlier"),
    "end before start": Refusal("End date must be later", hours=-1),
    "amount 0": Refusal("amount", amount=0),
    "amount negative": Refusal("amount", amount=-1),
    "amount a word": Refusal("amount", amount="x"),
    "amount a fraction": Refusal("amount", amount=1.5),
    "amount true": Refusal("amount", amount=True),
    "amount huge": Refusal("amount", amount=2**31),
    "amount null": Refusal("amount", amount=None),
    "amount missing": Refusal("amount", amount=_ABSENT),
    "affinity a word": Refusal("affinity", affinity="together"),
    "unknown field": Refusal("shoe_size", shoe_size=44),
    "flavor_id missing": Refusal("flavor_id", flavor_id=_ABSENT),
    "flavor_id a number": Refusal("Flavor 7 does not exist", 404, flavor_id=7),
    "flavor_id empty": Refusal("flavor_id", flavor_id=""),
}

#: The responses by name, and the database before and after all requests.
Refused = tuple[dict[str, requests.Response], Any, Any]


@pytest.fixture(scope="module")
def refused(alpha: Person, records: Records, shared_offer: Offer) -> Refused:
    """Send all requests, four at a time, because Blazar's logins take a second each."""
    period = world.far()
    day = datetime.timedelta(days=1)
    flavors = {
        "usual": shared_offer(),
        "huge": shared_offer(slots=100, memory_mb=world.HOST_MEMORY_MB),
        "nowhere": shared_offer(properties=world.on_host("no-such-host")),
        "inactive": shared_offer(active=False),
        "private": shared_offer(is_public=False),
        "later": shared_offer(start=(period.start + day).isoformat()),
        "earlier": shared_offer(end=(period.start - day).isoformat()),
    }
    before = records.dump()
    bodies = [refusal.body(flavors, period) for refusal in REFUSALS.values()]
    answers = at_once([lambda b=b: alpha.ask("POST", "/v1/leases", b) for b in bodies], 4)
    return dict(zip(REFUSALS, answers, strict=True)), before, records.dump()


@pytest.mark.parametrize("name", REFUSALS)
def test_bad_lease_is_refused_with_a_reason(refused: Refused, name: str) -> None:
    refusal, answer = REFUSALS[name], refused[0][name]
    assert answer.status_code == refusal.status, answer.text
    document = answer.json()
    assert document["error_code"] == refusal.status
    assert refusal.words in document["error_message"]


def test_refusals_write_nothing(refused: Refused) -> None:
    assert refused[1] == refused[2]
