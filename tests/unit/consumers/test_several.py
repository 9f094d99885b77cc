"""Several reservations in one lease: of flavors of this package and of Nova, side by side."""

import json
from typing import Any

import pytest
from blazar.db import api as db_api

from tests.unit.api import identity, things
from tests.unit.api.people import Person
from tests.unit.consumers import forms
from tests.unit.consumers.site import END, NOW, START, ExactSite, body, instance
from warre_blazar.db import session, tables
from warre_blazar.domain.audit.differences import DifferenceKind
from warre_blazar.errors import exceptions
from warre_blazar.services.audit import looking
from warre_blazar.services.booking import admission

PROJECT = identity.project_id("alpha")
FURNISHED = {"flavors": ["plain"], "aggregates": ["freepool"]}


@pytest.fixture
def asked(admin: Person) -> list[dict[str, Any]]:
    """Reservations of two flavors of this package, with one of Nova's between them."""
    small = things.add_flavor(admin)
    large = things.add_flavor(admin, name="gpu.large", vcpu=8)
    return [instance(small["id"], 2), instance("plain", 3), instance(large["id"])]


def ids_of(lease: dict[str, Any]) -> list[str]:
    """The ids of a lease's reservations in the order in which they were asked for."""
    order = ["gpu.small", "plain", "gpu.large"]
    rows = lease["reservations"]
    names = [json.loads(row["resource_properties"])["name"] for row in rows]
    return [rows[names.index(name)]["id"] for name in order]


def test_lease_has_stocks_form_from_its_booking_to_its_end(site: ExactSite, asked: Any):
    made = site.book(*asked)
    assert [row["amount"] for row in made["reservations"]].count(3) == 1
    for now, status in ((NOW, "PENDING"), (START, "ACTIVE"), (END, "TERMINATED")):
        site.go_to(now)
        shown = site.lease(made["id"])
        assert forms.of_lease(shown) == []
        assert shown["status"] == status
        assert {row["resource_type"] for row in shown["reservations"]} == {"flavor:instance"}
    assert site.cloud.leftovers() == FURNISHED


def test_ours_are_listed_in_v2_and_the_others_are_not(site: ExactSite, alpha: Person, asked: Any):
    small, _, large = ids_of(site.book(*asked))
    listed = {each["id"] for each in alpha.get("reservations").json["results"]}
    assert listed == {small, large}


def test_nova_has_all_of_them_while_the_lease_runs(site: ExactSite, asked: Any):
    ids = ids_of(site.book(*asked))
    assert site.cloud.leftovers() == FURNISHED
    site.go_to(START)
    servers = []
    for reservation_id in ids:
        known = site.cloud.nova.flavors[reservation_id]
        assert known["access"] == {PROJECT}
        assert known["extra_specs"]["aggregate_instance_extra_specs:reservation"] == reservation_id
        servers.append(site.cloud.nova.boot(reservation_id, PROJECT))
    assert site.cloud.nova.flavors[ids[1]]["vcpus"] == site.cloud.nova.flavors["plain"]["vcpus"]
    offered = [p["inventories"] for p in site.cloud.placement.providers.values()]
    totals = {
        name.removeprefix("CUSTOM_RESERVATION_").lower().replace("_", "-"): inventory["total"]
        for each in offered
        for name, inventory in each.items()
        if name.startswith("CUSTOM_RESERVATION_")
    }
    assert totals == dict(zip(ids, (2, 3, 1), strict=True))
    site.go_to(END)
    assert site.cloud.nova.servers == {}
    assert site.cloud.leftovers() == FURNISHED


@pytest.mark.parametrize("moment", [NOW, START], ids=["before", "running"])
def test_deleted_lease_is_gone_with_all_that_it_had(site: ExactSite, asked: Any, moment: Any):
    made = site.book(*asked)
    site.go_to(moment)
    assert site.send("DELETE", f"/{made['id']}").status_int == 204
    assert site.send("GET").json == {"leases": []}
    assert site.cloud.leftovers() == FURNISHED


def test_one_that_does_not_fit_beside_the_others_lets_none_be_booked(
    site: ExactSite, admin: Person
):
    """Each of them would fit alone. The text of the refusal is about the one that doesn't."""
    most = 3 * 16 // 2
    flavor = things.add_flavor(admin, slots=100)
    before = site.rows()
    for asked in (
        [instance(flavor["id"], most), instance("plain")],
        [instance("plain", 3 * 16), instance(flavor["id"])],
        [instance(flavor["id"], most), instance(flavor["id"])],
    ):
        refused = site.send("POST", body=body(*asked))
        assert refused.status_int == 400
        assert refused.json["error_message"].startswith(("No capacity", "Not enough hosts"))
        assert site.rows() == before
    site.book(instance(flavor["id"], most - 1), instance("plain", 2))


def test_audit_finds_nothing_at_any_time(site: ExactSite, asked: Any):
    """Not even that the trust is unused, which v1 shows."""
    made = site.book(*asked)
    neighbors = looking.StockTypes(lambda count: 600.0 * count, are_exact=True)
    for now in (NOW, START, END):
        site.go_to(now)
        seen = looking.look(now, neighbors.patience, neighbors)
        assert seen.away == {}
        words = (made["id"], made["trust_id"], *ids_of(made))
        assert [d.text for d in seen.differences if any(w in d.text for w in words)] == []
        assert DifferenceKind.TRUSTS_UNUSED not in {d.kind for d in seen.differences}


def test_quota_is_that_of_all_together(site: ExactSite, asked: Any):
    site.cloud.keystone.limits[PROJECT, "reservation"] = 1
    refused = site.send("POST", body=body(*asked))
    assert refused.status_int == 400
    assert refused.json["error_message"].startswith("Quota exceeded")
    site.cloud.keystone.limits[PROJECT, "reservation"] = 2
    site.book(*asked)


def test_nobody_sees_claims_of_a_lease_that_is_refused(
    site: ExactSite, asked: Any, monkeypatch: pytest.MonkeyPatch
):
    claim, claimed = admission.claim, []

    def refuse_second(request: Any, db: Any, reservation_id: str, quota: Any) -> str:
        if claimed:
            raise exceptions.HostsExhausted(1, 0, 3)
        claimed.append(claim(request, db, reservation_id, quota))
        return str(claimed[0])

    def destroy(lease_id: str) -> None:
        """Blazar deletes a refused lease. Look before."""
        with session.reader() as db:
            found.append(db.query(tables.backings).count() + db.query(tables.allocations).count())
        stock(lease_id)

    stock, found = db_api.lease_destroy, []
    monkeypatch.setattr(admission, "claim", refuse_second)
    monkeypatch.setattr(db_api, "lease_destroy", destroy)
    assert site.send("POST", body=body(*asked)).status_int == 400
    assert (len(claimed), found) == (1, [0])


def test_lost_race_is_run_again_as_a_whole(
    site: ExactSite, asked: Any, monkeypatch: pytest.MonkeyPatch
):
    claim, calls = admission.claim, []

    def lose_once(request: Any, db: Any, reservation_id: str, quota: Any) -> str:
        calls.append(request.flavor)
        if len(calls) == 2:
            raise session.LostRace
        return claim(request, db, reservation_id, quota)

    monkeypatch.setattr(admission, "claim", lose_once)
    made = site.book(*asked)
    first, _, last = asked
    assert calls == [first["flavor_id"], last["flavor_id"]] * 2
    assert len(made["reservations"]) == 3


def test_lease_of_all_three_is_extended_or_stays(site: ExactSite, admin: Person, asked: Any):
    made = site.book(*asked)
    path = f"/{made['id']}"
    for now in (NOW, START):
        site.go_to(now)
        hours = 19 if now is NOW else 20
        longer = site.send("PUT", path, {"end_date": f"2100-01-03 {hours}:00"})
        assert longer.status_int == 200, longer
        assert longer.json["lease"]["end_date"] == f"2100-01-03T{hours}:00:00.000000"
    dates = {"start_date": "2100-01-03 20:00", "end_date": "2100-01-03 23:00"}
    site.book(instance(things.add_flavor(admin, name="all", vcpu=16, slots=9)["id"], 3), **dates)
    refused = site.send("PUT", path, {"end_date": "2100-01-03 21:00"})
    assert refused.status_int in (400, 409)
    shown = site.lease(made["id"])
    assert (shown["status"], shown["end_date"][:13]) == ("ACTIVE", "2100-01-03T20")
    assert {row["status"] for row in shown["reservations"]} == {"active"}


def test_count_of_one_of_several_stays(site: ExactSite, asked: Any):
    made = site.book(*asked)
    for reservation_id in ids_of(made):
        asked_for = {"reservations": [{"id": reservation_id, "amount": 1}]}
        refused = site.send("PUT", f"/{made['id']}", asked_for)
        assert refused.status_int in ((200,) if reservation_id == ids_of(made)[2] else (400, 409))
    shown = site.lease(made["id"])
    assert shown["status"] == "PENDING"
    assert sorted(row["amount"] for row in shown["reservations"]) == [1, 2, 3]


@pytest.mark.parametrize("other", ["flavor:slot", "virtual:instance", "physical:host"])
def test_other_types_beside_ours_are_refused(site: ExactSite, asked: Any, other: str):
    values: dict[str, dict[str, Any]] = {
        "flavor:slot": {"flavor_id": asked[0]["flavor_id"], "amount": 1},
        "virtual:instance": {
            **{"amount": 1, "vcpus": 1, "memory_mb": 512, "disk_gb": 5},
            **{"affinity": None, "resource_properties": ""},
        },
        "physical:host": {
            **{"min": 1, "max": 1},
            **{"hypervisor_properties": "", "resource_properties": ""},
        },
    }
    before = site.rows()
    refused = site.send("POST", body=body(*asked, {"resource_type": other, **values[other]}))
    assert refused.status_int == 400
    assert "make two leases" in refused.json["error_message"]
    assert site.rows() == before


def test_several_of_nova_stay_as_they_are(site: ExactSite):
    made = site.book(instance("plain"), instance("plain", 2))
    assert all(row["aggregate_id"] for row in made["reservations"])
    for now, status in ((START, "ACTIVE"), (END, "TERMINATED")):
        site.go_to(now)
        assert site.lease(made["id"])["status"] == status


def test_nova_flavor_is_read_with_the_users_own_rights(site: ExactSite, asked: Any):
    """A private flavor of another project is none for the user."""
    hidden = {**site.cloud.nova.flavors["plain"], "id": "hidden", "name": "hidden"}
    site.cloud.nova.flavors["hidden"] = hidden
    site.cloud.nova.fail(match="GET /v2.1/flavors/hidden", status=404)
    refused = site.send("POST", body=body(*asked, instance("hidden")))
    assert (refused.status_int, refused.json["error_message"]) == (
        400,
        "Flavor hidden does not exist",
    )
