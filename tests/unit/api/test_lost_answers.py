"""A database whose answer is lost, or which refuses a write: the user is told what has happened."""

import functools
from collections.abc import Callable
from typing import Any

import pytest
from blazar.db import api as db_api
from oslo_db import exception as db_exc

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from tests.unit.api.things import at
from warre_blazar.db.booking import reservations

LONGER = {"end": at(2, 12)}


@pytest.fixture
def flavor(admin: Person) -> dict:
    return things.add_flavor(admin)


class Faults:
    """Replaces functions that write, so that they fail once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch

    def _once(
        self, module: Any, name: str, instead: Callable[..., Any], values: Any = None
    ) -> None:
        write = getattr(module, name)
        calls: list[Any] = []

        @functools.wraps(write)
        def once(*args: Any, **kwargs: Any) -> Any:
            if (values is None or values == args[-1]) and not calls:
                calls.append(args)
                return instead(write, *args, **kwargs)
            return write(*args, **kwargs)

        self._patch.setattr(module, name, once)

    def after(self, module: Any, name: str, values: Any = None) -> None:
        """Lose the connection after a write, whose values may have to be these."""

        def lose(write: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
            write(*args, **kwargs)
            raise db_exc.DBConnectionError

        self._once(module, name, lose, values)

    def before(self, module: Any, name: str, error: Exception, values: Any = None) -> None:
        """Fail before a write, whose values may have to be these."""

        def fail(*_: Any, **__: Any) -> None:
            raise error

        self._once(module, name, fail, values)

    def with_deleted_lease(self, name: str, lease_id: str) -> None:
        """Let somebody delete a lease before one of Blazar's writes."""

        def delete(write: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            db_api.lease_destroy(lease_id)
            return write(*args, **kwargs)

        self._once(db_api, name, delete)


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    return Faults(monkeypatch)


#: The last write of a booking.
BOOKED = {"status": "PENDING"}


def test_booking_whose_last_answer_is_lost_is_booked(alpha: Person, flavor, faults: Faults):
    faults.after(db_api, "lease_update", BOOKED)
    booked = things.book(alpha, flavor)
    assert booked["status"] == "ALLOCATED"
    assert alpha.get("reservations").json["total"] == 1
    assert alpha.patch(f"reservations/{booked['id']}", LONGER).status_int == 200


def test_booking_that_the_database_has_not_written_is_not_booked(
    site: Site, alpha: Person, flavor, faults: Faults
):
    faults.before(db_api, "event_create", db_exc.DBConnectionError())
    answer = alpha.post("reservations", things.booking(flavor))
    assert refusal(answer) == (503, "service_unavailable")
    assert site.cloud.keystone.trusts == {}


def test_deletion_whose_last_answer_is_lost_is_done(alpha: Person, flavor, faults: Faults):
    booked = things.book(alpha, flavor)
    faults.after(db_api, "lease_destroy")
    assert alpha.delete(f"reservations/{booked['id']}").status_int == 204
    assert db_api.lease_get(booked["lease_id"]) is None


@pytest.mark.parametrize("write", ["event_update", "lease_update"])
def test_change_of_a_reservation_that_is_deleted_meanwhile_finds_nothing(
    alpha: Person, flavor, faults: Faults, write
):
    booked = things.book(alpha, flavor)
    faults.with_deleted_lease(write, booked["lease_id"])
    answer = alpha.patch(f"reservations/{booked['id']}", LONGER)
    assert refusal(answer) == (404, "reservation_not_found")


def test_foreign_key_that_another_request_breaks_is_no_outage(
    alpha: Person, flavor, faults: Faults
):
    booked = things.book(alpha, flavor)
    faults.before(db_api, "event_update", db_exc.DBReferenceError("table", "key", "id", "other"))
    answer = alpha.patch(f"reservations/{booked['id']}", LONGER)
    assert refusal(answer) == (409, "conflict")
    assert alpha.get(f"reservations/{booked['id']}").json == booked


def test_name_is_written_in_spite_of_a_deadlock(alpha: Person, flavor, faults: Faults):
    booked = things.book(alpha, flavor)
    faults.before(reservations, "set_values", db_exc.DBDeadlock())
    changed = alpha.patch(f"reservations/{booked['id']}", {**LONGER, "name": "course"})
    assert (changed.status_int, changed.json["name"]) == (200, "course")
