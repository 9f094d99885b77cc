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


def test_lease_is_deleted_if_its_booking_fails_after_the_commit(
    site: Site, admin: Person, alpha: Person, monkeypatch: pytest.MonkeyPatch
):
    """The connection is lost before the manager hears of the commit."""
    flavor = things.add_flavor(admin)
    book = admission.book

    def lose(*args: Any) -> None:
        book(*args)
        assert db_api.lease_list()
        raise db_exc.DBConnectionError

    monkeypatch.setattr(admission, "book", lose)
    assert alpha.post("reservations", things.booking(flavor)).status_int == 503
    assert db_api.lease_list() == []
    monkeypatch.undo()
    things.book(alpha, flavor, instance_count=2)


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
