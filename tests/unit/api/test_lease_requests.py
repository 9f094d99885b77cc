"""What is left of a booking that fails on its way through the manager."""

from typing import Any

import pytest
from blazar.db import api as db_api
from oslo_db import exception as db_exc

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from warre_blazar.api.controllers import base
from warre_blazar.errors import exceptions
from warre_blazar.plugins import lease_requests
from warre_blazar.services.booking import admission


def test_booking_that_is_refused_while_it_is_written_leaves_nothing(
    site: Site, admin: Person, alpha: Person, monkeypatch: pytest.MonkeyPatch
):
    flavor = things.add_flavor(admin)
    before = site.rows()

    def refuse(*_: Any) -> None:
        raise exceptions.SlotsExhausted(1, 0, 2)

    monkeypatch.setattr(admission.instance_reservations, "insert", lambda *_, **__: refuse())
    answer = alpha.post("reservations", things.booking(flavor))
    assert refusal(answer) == (400, "slots_exhausted")
    assert site.rows() == before


@pytest.fixture
def lost_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection is lost before the manager hears of the commit."""
    book = admission.book

    def lose(*args: Any) -> None:
        book(*args)
        assert db_api.lease_list()
        raise db_exc.DBConnectionError

    monkeypatch.setattr(admission, "book", lose)


@pytest.mark.usefixtures("lost_answer")
def test_booking_stands_if_the_connection_is_lost_after_the_commit(
    site: Site, admin: Person, alpha: Person
):
    booked = things.book(alpha, things.add_flavor(admin))
    assert alpha.get(f"reservations/{booked['id']}").json["status"] == "ALLOCATED"
    assert [each["status"] for each in db_api.lease_list()] == ["PENDING"]


@pytest.mark.usefixtures("lost_answer")
def test_booking_stands_if_the_manager_cannot_read_what_it_has_committed(
    site: Site, admin: Person, alpha: Person, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: Any) -> None:
        raise db_exc.DBConnectionError

    monkeypatch.setattr(lease_requests.api, "reservation_get", fail)
    booked = things.book(alpha, things.add_flavor(admin))
    assert booked["status"] == "ALLOCATED"
    assert [each["status"] for each in db_api.lease_list()] == ["PENDING"]


def test_lease_of_another_request_with_the_same_id_stays(
    admin: Person, alpha: Person, monkeypatch: pytest.MonkeyPatch
):
    flavor = things.add_flavor(admin)
    things.book(alpha, flavor)
    (lease,) = db_api.lease_list()
    monkeypatch.setattr(base.uuidutils, "generate_uuid", lambda: lease["id"])
    answer = alpha.post("reservations", things.booking(flavor))
    assert answer.status_int == 409
    assert [each["status"] for each in db_api.lease_list()] == ["PENDING"]
