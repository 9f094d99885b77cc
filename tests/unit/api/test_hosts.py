"""/hosts: which hosts can be booked, how full they are, and who is on them."""

import pytest
import sqlalchemy as sa

from tests.functional.db import world
from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import NOW, Site
from warre_blazar.db import session
from warre_blazar.db.tables import compute_hosts, host_generations
from warre_blazar.domain.hosts.host_marks import Drain
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
            values = {"host_id": host["id"], "generation": 1, "abandoned": True}
            db.execute(sa.insert(host_generations).values(**values))
    (host,) = listed(admin)
    assert host["state"] == state


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
