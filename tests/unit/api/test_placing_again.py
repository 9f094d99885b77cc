"""What the API shows and does with and without placing reservations again."""

from typing import Any

import pytest
import sqlalchemy as sa
from oslo_config import cfg
from oslo_utils import timeutils

from tests.functional.db import world
from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from tests.unit.api.things import at
from warre_blazar.db import tables
from warre_blazar.services.waits.serving import WaitServer
from warre_blazar.site_rules import conditions, wait_permits

FROM, TO = at(2, 9), at(2, 11)
SPAN = {"from": FROM, "to": TO}
START_END = {"start": FROM, "end": TO}


@pytest.fixture(autouse=True)
def moves():
    """Up to five reservations may be placed again for a booking."""
    cfg.CONF.set_override("moves_per_booking", 5, group="warre")
    yield
    cfg.CONF.clear_override("moves_per_booking", group="warre")


@pytest.fixture
def halves(site: Site, admin: Person, beta: Person) -> list[dict[str, Any]]:
    """Four reservations, each of which takes half of one of two hosts."""
    world.add_host(site.cloud, "host-2", vcpus=16, zone="az1")
    half = things.add_flavor(admin, name="half", vcpu=8, slots=4)
    return [things.book(beta, half) for _ in range(4)]


@pytest.fixture
def whole(admin: Person) -> dict[str, Any]:
    """A flavor that takes a whole host."""
    return things.add_flavor(admin, name="whole", vcpu=16, slots=2)


def host_of(site: Site, reservation: dict[str, Any]) -> str:
    query = sa.select(tables.allocations.c.compute_host_id).where(
        tables.allocations.c.reservation_id == reservation["id"]
    )
    with site.engine.connect() as db:
        return str(db.execute(query).scalar_one())


@pytest.fixture
def free_one_of_each(site: Site, beta: Person, halves):
    """A function that deletes a reservation on each host, so that both hosts are half free."""

    def free() -> None:
        for reservation in {host_of(site, each): each for each in halves}.values():
            beta.delete(f"reservations/{reservation['id']}")
        site.settle()

    return free


def ask(person: Person, path: str, **query: Any) -> Any:
    text = "&".join(f"{name}={value}" for name, value in {**SPAN, **query}.items())
    return person.get(f"{path}?{text.replace('+', '%2B')}").json


def shown(person: Person, flavor: dict[str, Any], **query: str) -> tuple[Any, Any, Any]:
    """The free slots of a flavor, the starts of its offers, and its availability by hour."""
    start, end = SPAN["from"], SPAN["to"]
    slots = person.get(
        f"flavors/{flavor['id']}/freeslots?start={start}&end={end}".replace("+", "%2B")
        + "".join(f"&{name}={value}" for name, value in query.items())
    ).json
    offered = ask(person, "offers", flavor=flavor["id"], **query)["results"]
    counted = ask(person, "availability", flavor=flavor["id"], by="hour", **query)["results"]
    return (
        [(slot["start"], slot["end"]) for slot in slots],
        [offer["start"] for offer in offered],
        [part["instances"] for each in counted for part in each["free"]],
    )


def test_query_says_whether_moves_are_shown(alpha: Person, whole, free_one_of_each):
    free_one_of_each()
    with_moves, without = shown(alpha, whole), shown(alpha, whole, placing_again="false")
    assert with_moves == shown(alpha, whole, placing_again="true")
    assert with_moves == ([(FROM, TO)], [FROM], [1, 1])
    assert without == ([], [], [])


def test_what_is_shown_can_be_booked(site: Site, alpha: Person, whole, halves, free_one_of_each):
    free_one_of_each()
    booked = things.book(alpha, whole)
    assert booked["status"] == "ALLOCATED"
    assert refusal(alpha.post("reservations", things.booking(whole))) == (400, "hosts_exhausted")


@pytest.mark.parametrize("path", ["offers", "availability", "flavors/{id}/freeslots"])
def test_query_must_be_true_or_false(alpha: Person, whole, path: str):
    refused = alpha.get(f"{path.format(id=whole['id'])}?placing_again=maybe")
    assert refusal(refused) == (422, "invalid_field")
    assert refused.json["detail"]["field"] == "placing_again"


@pytest.mark.parametrize(("allowed", "status"), [(5, "BOOKED"), (0, "WAITING")])
def test_wait_is_served_by_placing_others_again(
    site: Site, alpha: Person, whole, free_one_of_each, allowed: int, status: str
):
    cfg.CONF.set_override("moves_per_booking", allowed, group="warre")
    wait = things.add_wait(alpha, whole, hours=2, **SPAN)
    free_one_of_each()
    site.executor.beat()
    server = WaitServer(site.executor.manager_id, wait_permits.permit, conditions.of_users)
    server.look(timeutils.utcnow())
    assert alpha.get(f"waits/{wait['id']}").json["status"] == status
