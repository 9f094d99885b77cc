"""A manager that takes longer than the API waits: the user can always find what is made then."""

import threading
from collections.abc import Iterator

import pytest
from blazar import exceptions as blazar_exc
from blazar.db import api as db_api
from blazar.utils import trusts

from tests.unit.api import bus, things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from tests.unit.api.things import at
from warre_blazar.domain.running import backing_names
from warre_blazar.plugins import lease_requests
from warre_blazar.services.running import backing


@pytest.fixture
def flavor(site: Site, admin: Person, alpha: Person) -> Iterator[dict]:
    """A flavor that was booked and freed again, so that each service has logged in to the others.

    During the test, the API's patience ends as soon as the manager waits for a request that hangs.
    """
    made = things.add_flavor(admin)
    booked = things.book(alpha, made)
    assert alpha.delete(f"reservations/{booked['id']}").status_int == 204
    for service in site.cloud.services:
        service.on_hang = bus.give_up
    yield made
    for service in site.cloud.services:
        service.on_hang = service.ignore
    site.cloud.mend()
    site.settle()


@pytest.fixture
def go(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The manager does nothing with a lease until this is set, and the API gives up waiting."""
    yield from bus.held(monkeypatch, trusts, "create_ctx_from_trust")


@pytest.fixture
def go_on(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The manager doesn't finish a booking that it has written until this is set.

    As one of the release before, it writes the lease first.
    """
    monkeypatch.setattr(lease_requests, "RESOURCE_TYPE", "none")
    yield from bus.held(monkeypatch, db_api, "event_create")


def test_booking_that_takes_long_is_answered_as_pending(site: Site, alpha: Person, flavor, go_on):
    booked = things.book(alpha, flavor)
    path = f"reservations/{booked['id']}"
    assert (booked["status"], booked["compute_flavor"]) == ("PENDING_CREATE", None)
    assert alpha.get(path).json == booked
    assert alpha.get("limits").json["absolute"]["totalReservationsUsed"] == 1
    go_on.set()
    site.settle()
    made = alpha.get(path).json
    assert made["status"] == "ALLOCATED"
    assert made == {**booked, "status": made["status"], "compute_flavor": made["compute_flavor"]}
    assert made["compute_flavor"] == backing_names.nova_flavor_id(made["id"])


def test_pending_booking_that_fails_is_not_found(
    site: Site, alpha: Person, flavor, go_on, monkeypatch: pytest.MonkeyPatch
):
    booked = things.book(alpha, flavor)
    assert booked["status"] == "PENDING_CREATE"

    def fail(*_: object) -> None:
        raise blazar_exc.BlazarException

    monkeypatch.setattr(db_api.IMPL, "event_create", fail)
    go_on.set()
    site.settle()
    refused = alpha.get(f"reservations/{booked['id']}")
    assert refusal(refused) == (404, "reservation_not_found")
    assert site.cloud.is_clean()


def test_booking_that_does_not_appear_in_time_is_no_answer(site: Site, alpha: Person, flavor, go):
    answer = alpha.post("reservations", things.booking(flavor))
    assert refusal(answer) == (503, "no_answer")
    assert answer.json["error_message"] == (
        "The reservation manager didn't answer in time, but perhaps your reservation was booked: "
        "look before you try again"
    )
    assert answer.json["detail"]["lease_name"].startswith("reservation-")
    assert int(answer.headers["Retry-After"]) > 0
    assert alpha.get("reservations").json["total"] == 0
    go.set()
    site.settle()
    assert alpha.get("reservations").json["total"] == 1


def test_booking_without_manager_is_no_answer(site: Site, alpha: Person, flavor):
    with site.without_manager():
        answer = alpha.post("reservations", things.booking(flavor))
        assert refusal(answer) == (503, "no_answer")
        assert alpha.get("reservations").json["total"] == 0


def test_change_and_deletion_without_manager_are_no_answer(site: Site, alpha: Person, flavor):
    """No manager has the request, so the answer doesn't say that it is going on."""
    booked = things.book(alpha, flavor)
    path = f"reservations/{booked['id']}"
    with site.without_manager():
        for answer in (alpha.patch(path, {"end": at(2, 12)}), alpha.delete(path)):
            assert refusal(answer) == (503, "no_answer")
            assert booked["id"] in answer.json["error_message"]
    site.settle()
    assert alpha.get(path).json == booked
    assert alpha.delete(path).status_int == 204


def test_deletion_that_takes_long_is_accepted(site: Site, alpha: Person, flavor):
    booked = things.book(alpha, flavor)
    backing.make_planned(booked["id"])
    path = f"reservations/{booked['id']}"
    site.cloud.nova.fail(hang=True, match="DELETE")
    assert alpha.delete(path).status_int == 202
    assert alpha.get(path).json == booked
    site.cloud.mend()
    site.settle()
    assert refusal(alpha.get(path)) == (404, "reservation_not_found")
    assert site.cloud.is_clean()


def test_change_that_takes_long_is_accepted(site: Site, alpha: Person, flavor, go):
    """The answer shows the reservation before the change, which is made later."""
    go.set()
    booked = things.book(alpha, flavor)
    go.clear()
    path = f"reservations/{booked['id']}"
    answer = alpha.patch(path, {"end": at(2, 12)})
    assert (answer.status_int, answer.json) == (202, booked)
    go.set()
    site.settle()
    assert alpha.get(path).json == {**booked, "end": at(2, 12)}
