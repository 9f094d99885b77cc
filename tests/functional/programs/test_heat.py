"""``contrib/heat`` in a real Heat beside the dev cloud, through Heat's API."""

import datetime
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.functional.cloud import world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import LONG, until
from tests.functional.programs import heat_services

#: Gives the user's stack a booking and perhaps a server. Returns the stack when Heat is done.
Stack = Callable[..., Any]


@pytest.fixture(scope="module")
def heat(admin: Person, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Heat's services, which start once."""
    with heat_services.running(tmp_path_factory.mktemp("heat"), admin):
        yield


@pytest.fixture
def stack(heat: None, alpha: Person) -> Iterator[Stack]:
    # The catalog of the user's present token doesn't know Heat yet.
    service: Any = Person(alpha.name).cloud.orchestration
    name = world.unique("stack")

    def done() -> Any:
        found = service.find_stack(name)
        return found if not found.status.endswith("IN_PROGRESS") else None

    def give(**words: Any) -> Any:
        wanted = {"template": _template(**words), "timeout_mins": 10}
        if there := service.find_stack(name):
            service.update_stack(there, **wanted)
        else:
            service.create_stack(name=name, **wanted)
        return until("the stack", done, LONG)

    yield give
    service.delete_stack(service.find_stack(name))
    until("the stack to go", lambda: service.find_stack(name) is None, LONG)
    assert _booked(alpha) == []
    assert list(alpha.cloud.compute.servers()) == []


def _template(*, with_server: bool = False, **booking: Any) -> dict[str, Any]:
    room = {"type": "OS::WarreBlazar::Reservation", "properties": booking}
    server = {
        "type": "OS::Nova::Server",
        "properties": {
            "flavor": {"get_attr": ["room", "compute_flavor"]},
            "image": "tiny",
            "networks": [{"network": "shared"}],
            "user_data_format": "RAW",
        },
    }
    resources = {"room": room, **({"server": server} if with_server else {})}
    return {"heat_template_version": "2021-04-16", "resources": resources}


def _booked(who: Person) -> list[Any]:
    """The reservations of the user's project that aren't over."""
    results = who.asks("GET", "/v2/reservations/")["results"]
    return [each for each in results if each["status"] != "COMPLETE"]


def test_stack_books_boots_and_extends(alpha: Person, offer: Offer, stack: Stack):
    """A refused extension changes nothing."""
    start = world.now() + datetime.timedelta(minutes=2)
    booking = {"flavor_id": offer()["id"], "start": start.isoformat(), "wait_for_active": True}

    def until_hour(hours: int) -> dict[str, Any]:
        end = start + datetime.timedelta(hours=hours)
        return {**booking, "end": end.isoformat(), "with_server": True}

    made = stack(**until_hour(1))
    assert made.status == "CREATE_COMPLETE", made.status_reason
    (reservation,), (server,) = _booked(alpha), alpha.cloud.compute.servers()
    assert (reservation["status"], server.status) == ("ACTIVE", "ACTIVE")
    assert reservation["id"] in server.flavor["original_name"]
    longer = stack(**until_hour(2))
    assert longer.status == "UPDATE_COMPLETE", longer.status_reason
    (extended,) = _booked(alpha)
    assert (extended["id"], extended["start"]) == (reservation["id"], reservation["start"])
    assert extended["end"] > reservation["end"]
    refused = stack(**until_hour(48))
    assert refused.status == "UPDATE_FAILED"
    assert "Reservation is too long, max allowed is 24 hours" in refused.status_reason
    assert _booked(alpha) == [extended]
    assert [each.id for each in alpha.cloud.compute.servers()] == [server.id]
    assert stack(**until_hour(2)).status == "UPDATE_COMPLETE"


def test_refused_booking_says_why(offer: Offer, stack: Stack):
    span = world.far(hours=48)
    refused = stack(flavor_id=offer()["id"], start=span.start.isoformat(), end=span.end.isoformat())
    assert refused.status == "CREATE_FAILED"
    assert "Reservation is too long, max allowed is 24 hours" in refused.status_reason
