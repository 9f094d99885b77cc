"""PUT /v1/leases/ID with a new amount for a reservation of flavor:slot, with Blazar's manager."""

from typing import Any

import pytest
from blazar.db import api as db_api

from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.wsgi import sending
from tests.unit.wsgi.whole import WholeSite


@pytest.fixture
def flavor(admin: Person) -> dict[str, Any]:
    return things.add_flavor(admin, slots=4)


def make(site: WholeSite, *reservations: Any, **changes: Any) -> dict[str, Any]:
    answer = sending.send(site.app, "POST", "/v1/leases", sending.lease(*reservations, **changes))
    assert answer.status_int == 201, answer
    return answer.json["lease"]


def change(site: WholeSite, lease: dict[str, Any], **body: Any) -> Any:
    return sending.send(site.app, "PUT", f"/v1/leases/{lease['id']}", body)


def counts(alpha: Person) -> list[int]:
    return [r["instance_count"] for r in alpha.get("reservations").json["results"]]


@pytest.mark.parametrize("amount", [1, 4, "3"])
def test_amount_is_changed(site: WholeSite, alpha: Person, flavor, amount: int | str):
    lease = make(site, sending.slot(flavor, amount=2))
    (reservation,) = lease["reservations"]
    answer = change(site, lease, reservations=[{"id": reservation["id"], "amount": amount}])
    assert answer.status_int == 200, answer
    assert counts(alpha) == [int(amount)]
    assert db_api.lease_get(lease["id"])["status"] == "PENDING"


def test_amount_is_changed_together_with_dates(site: WholeSite, alpha: Person, flavor):
    lease = make(site, sending.slot(flavor, amount=2))
    (reservation,) = lease["reservations"]
    asked = [{"id": reservation["id"], "amount": 3}]
    answer = change(
        site,
        lease,
        reservations=asked,
        start_date="2100-01-03 10:00",
        end_date="2100-01-03 13:00",
    )
    assert answer.status_int == 200, answer
    (now,) = alpha.get("reservations").json["results"]
    assert (now["instance_count"], now["start"]) == (3, things.at(2, 10))


#: Changes that are refused, and the number of reservations in the lease.
REFUSED = {
    "too many": ([{"amount": 5}], 1),
    "first of two": ([{"amount": 1}, {}], 2),
    "second of two": ([{}, {"amount": 1}], 2),
    "both": ([{"amount": 1}, {"amount": 1}], 2),
    "one and a flavor": ([{"amount": 1}, {"flavor_id": "nope"}], 2),
}


@pytest.mark.parametrize("case", [pytest.param(c, id=c.replace(" ", "-")) for c in REFUSED])
def test_refused_change_leaves_everything_unchanged(
    site: WholeSite, alpha: Person, flavor, case: str
):
    asked, number = REFUSED[case]
    lease = make(site, *(sending.slot(flavor, amount=2) for _ in range(number)))
    before, listed = site.rows(), alpha.get("reservations").json
    reservations = [
        {"id": known["id"], **values}
        for known, values in zip(lease["reservations"], asked, strict=True)
    ]
    answer = change(site, lease, reservations=reservations)
    assert answer.status_int in (400, 409), answer
    said = answer.json["error_message"]
    assert "lease of one reservation" in said or "No capacity" in said or "can't be" in said
    # Blazar sets the lease's status and resets it, and we write the promise: here the same time.
    # A promise changes the generations of the hosts.
    written = {"leases", "warre_reservations", "warre_hosts"}
    after = site.rows()
    assert all(after[table] == before[table] for table in before.keys() - written)
    assert alpha.get("reservations").json == listed
    assert db_api.lease_get(lease["id"])["status"] == "PENDING"


def test_unchanged_amounts_of_several_reservations_are_accepted(
    site: WholeSite, alpha: Person, flavor
):
    lease = make(site, sending.slot(flavor, amount=2), sending.slot(flavor, amount=1))
    ids = {r["id"]: r["instance_count"] for r in alpha.get("reservations").json["results"]}
    named = [{"id": i, "amount": n} for i, n in ids.items()]
    answer = change(site, lease, reservations=named, end_date="2100-01-03 12:00")
    assert answer.status_int == 200, answer
    assert sorted(counts(alpha)) == [1, 2]
