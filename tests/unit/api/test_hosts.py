"""/hosts: which hosts can be booked, how full they are, and who is on them."""

import pytest
import sqlalchemy as sa

from tests.functional.db import world
from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import NOW, Site
from warre_blazar.db import generations, session
from warre_blazar.db.tables import compute_hosts
from warre_blazar.domain.audit.differences import Difference, DifferenceKind
from warre_blazar.domain.hosts.host_marks import Drain
from warre_blazar.services.audit import looking
from warre_blazar.services.moves import drained_hosts

DRAIN = Drain("root", NOW, "new fans")


def listed(person: Person, query: str = "") -> list[dict]:
    return things.made(person.get(f"hosts{query}"))["results"]


def test_host_with_its_use_and_its_reservations(admin: Person, alpha: Person):
    flavor = things.add_flavor(admin)
    booked = things.book(alpha, flavor, instance_count=2)
    things.book(alpha, flavor, start=things.at(20), end=things.at(21))
    (host,) = listed(admin)
    assert (host["name"], host["state"], host["draining"]) == ("host-1", "bookable", None)
    (held,) = host["reservations"]
    assert held == {
        "id": booked["id"],
        "resource_type": "flavor:slot",
        "flavor": {"id": flavor["id"], "name": flavor["name"]},
        "project_id": alpha.project_id,
        "user_id": alpha.user_id,
        "status": "ALLOCATED",
        "instance_count": 2,
        "start": booked["start"],
        "end": booked["end"],
    }
    amounts = {r["resource_class"]: (r["used_now"], r["used_peak"]) for r in host["resources"]}
    assert amounts == {"VCPU": (0, 4), "MEMORY_MB": (0, 4096), "DISK_GB": (0, 40)}


def test_other_time(admin: Person, alpha: Person):
    flavor = things.add_flavor(admin)
    things.book(alpha, flavor, start=things.at(20), end=things.at(21))
    query = f"?start={things.at(19)}&end={things.at(22)}".replace("+", "%2B")
    (host,) = listed(admin, query)
    assert len(host["reservations"]) == 1
    assert max(r["used_peak"] for r in host["resources"]) > 0
    assert refusal(admin.get(f"hosts?start={things.at(2)[:10]}&end={things.at(1)[:10]}")) == (
        422,
        "invalid_field",
    )


def test_drained_host_says_who_and_why(admin: Person):
    drained_hosts.drain("host-1", DRAIN, world.conditions(), NOW)
    (host,) = listed(admin)
    assert host["state"] == "draining"
    assert host["draining"] == {
        "by": "root",
        "at": "2100-01-01T12:00:00+00:00",
        "reason": "new fans",
    }
    drained_hosts.resume("host-1")
    (host,) = listed(admin)
    assert (host["state"], host["draining"]) == ("bookable", None)


@pytest.mark.parametrize(
    ("column", "state"), [("reservable", "failed"), ("abandoned", "abandoned")]
)
def test_failed_host(admin: Person, column: str, state: str):
    (host,) = listed(admin)
    with session.writer() as db:
        if column == "reservable":
            db.execute(sa.update(compute_hosts).values(reservable=False))
        else:
            generations.outdate_host(db, host["id"], abandoned=True)
    (host,) = listed(admin)
    assert host["state"] == state


def offer(site: Site) -> None:
    """Let Placement say what the site's host has."""
    provider = site.cloud.placement.named("host-1")
    assert provider is not None
    provider["inventories"]["VCPU"] = {"total": 9, "reserved": 0, "allocation_ratio": 1.0}


def test_who_has_taken_room_of_a_host(site: Site, admin: Person):
    offer(site)
    nova = site.cloud.nova
    site.cloud.add_host("other", inventories={"VCPU": {"total": 4}})
    moved, forced, spot = (
        nova.boot(nova.make_flavor(name, specs), "beta", name, host="host-1")
        for name, specs in (
            ("moved", {}),
            ("forced", {}),
            ("spot", {"blazar:preemptible": "true"}),
        )
    )
    migration = nova.move(moved, "other")
    (host,) = listed(admin, "?host=host-1")
    assert listed(admin, f"?host={host['id']}") == [host]
    taken = {each["consumer_id"]: each for each in host["room_taken"]}
    assert {consumer: each["needs"] for consumer, each in taken.items()} == {
        migration: "--fix",
        spot: "--fix --yes",
        forced: "a person",
    }
    left = taken[migration]
    assert (left["kind"], left["server_id"], left["server_name"]) == ("migration", moved, "moved")
    assert (left["project_id"], left["resources"]) == ("beta", {"VCPU": 1})
    (found,) = (d for d in audited() if d.subject == f"host-1 {migration}")
    assert (left["text"], left["remedy"]) == (found.text, found.rule.remedy)
    assert len(audited()) == len(taken)


@pytest.mark.parametrize("column", ["reservable", "abandoned"])
def test_failed_host_shows_the_servers_that_are_left(site: Site, admin: Person, column: str):
    offer(site)
    nova = site.cloud.nova
    left = nova.boot(nova.make_flavor("moved", {}), "beta", host="host-1")
    with session.writer() as db:
        if column == "reservable":
            db.execute(sa.update(compute_hosts).values(reservable=False))
        else:
            generations.outdate_host(db, listed(admin)[0]["id"], abandoned=True)
    (host,) = listed(admin, "?host=host-1")
    assert [each["server_id"] for each in host["room_taken"]] == [left]
    # An audit says what keeps a host that works from being booked.
    assert len(audited()) == (1 if column == "abandoned" else 0)


def test_host_on_which_nova_boots_nothing(site: Site, admin: Person):
    def shown() -> str | None:
        (host,) = listed(admin, "?host=host-1")
        return host["compute_service"]

    assert shown() == "up"
    site.cloud.nova.services["host-1"] = {"state": "down", "forced_down": True}
    assert shown() == "forced down"
    site.cloud.nova.fail(status=503)
    assert shown() is None


def audited() -> list[Difference]:
    found = looking.look(NOW, lambda _: 0.0, looking.StockTypes(lambda _: 0.0, True)).differences
    return [each for each in found if each.kind is DifferenceKind.ROOM_TAKEN]


def test_server_of_a_reservation_that_is_there_takes_no_room(
    site: Site, admin: Person, alpha: Person
):
    offer(site)
    start = things.at(0, 12, 1)
    booked = things.book(alpha, things.add_flavor(admin), start=start, end=things.at(1))
    site.set_time(things.moment(0, 12, 1))
    site.run_events()
    site.cloud.nova.boot(booked["compute_flavor"], alpha.project_id, host="host-1")
    (host,) = listed(admin, "?host=host-1")
    assert host["room_taken"] == []


@pytest.mark.parametrize("service", ["nova", "placement"])
def test_host_is_shown_while_nobody_knows_who_has_taken_room(
    site: Site, admin: Person, service: str
):
    offer(site)
    site.cloud.nova.boot(site.cloud.nova.make_flavor("m1"), "beta", host="host-1")
    getattr(site.cloud, service).fail(status=503)
    (host,) = listed(admin, "?host=host-1")
    assert (host["name"], host["room_taken"]) == ("host-1", None)


def test_list_of_all_hosts_asks_neither_nova_nor_placement(site: Site, admin: Person):
    for service in (site.cloud.nova, site.cloud.placement):
        service.requests.clear()
    (host,) = listed(admin)
    assert "room_taken" not in host
    assert site.cloud.nova.requests + site.cloud.placement.requests == []


def test_unknown_host(admin: Person):
    assert refusal(admin.get("hosts?host=nowhere")) == (422, "invalid_field")


def test_pages(admin: Person):
    page = admin.get("hosts?limit=1&page=2").json
    assert (page["results"], page["total"]) == ([], 1)


def test_members_get_no_hosts(alpha: Person):
    assert refusal(alpha.get("hosts")) == (403, "forbidden")


def test_refusal_says_that_the_only_matching_host_is_closed(
    site: Site, admin: Person, alpha: Person
):
    flavor = things.add_flavor(admin)
    drained_hosts.drain("host-1", DRAIN, world.conditions(), NOW)
    answer = alpha.post("reservations", things.booking(flavor))
    assert refusal(answer) == (409, "no_host_matches")
    closed = (
        "No host matches this flavor: the only host that does is closed for bookings now, because "
        "of a failure or the operator's work; book another flavor, or ask the operator when this "
        "ends"
    )
    assert answer.json["error_message"] == closed
    assert answer.json["detail"]["closed"] == 1
    reason = alpha.get(f"flavors/{flavor['id']}/freeslots?reason=true").json["reason"]
    assert (reason["code"], reason["message"]) == ("no_host_matches", closed)
