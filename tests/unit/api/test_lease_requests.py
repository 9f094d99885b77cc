"""What is left of a booking that fails on its way through the manager."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from blazar.db.sqlalchemy import api
from oslo_db import exception as db_exc
from sqlalchemy.orm import Session

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from warre_blazar import texts
from warre_blazar.api.controllers import base
from warre_blazar.db import tables
from warre_blazar.db.running import deletions
from warre_blazar.errors import exceptions
from warre_blazar.openstack import manager
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


def test_booking_is_refused_at_once_if_the_manager_cannot_ask_a_service(
    site: Site, admin: Person, alpha: Person, monkeypatch: pytest.MonkeyPatch
):
    flavor = things.add_flavor(admin)

    def fail(*_: Any) -> None:
        raise exceptions.ServiceUnavailable("Keystone", texts.services.SAID(said="no answer"))

    monkeypatch.setattr(admission, "check", fail)
    began = site.clock.now()
    answer = alpha.post("reservations", things.booking(flavor))
    assert refusal(answer) == (503, "service_unavailable")
    # Nothing waits for a lease that might have been made in spite of the error.
    assert site.clock.now() == began


@contextlib.contextmanager
def written(site: Site) -> Iterator[list[list[str]]]:
    """The statements that change rows, by transaction."""
    found: list[list[str]] = [[]]

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(("INSERT", "UPDATE", "DELETE")):
            found[-1].append(statement)

    def end(_connection: Any) -> None:
        if found[-1]:
            found.append([])

    hooks = {"before_cursor_execute": note, "commit": end, "rollback": end}
    for name, hook in hooks.items():
        sa.event.listen(site.engine, name, hook)
    yield found
    for name, hook in hooks.items():
        sa.event.remove(site.engine, name, hook)
    found.pop()


def test_reservation_that_has_not_begun_is_deleted_in_one_transaction(
    site: Site, admin: Person, alpha: Person
):
    flavor = things.add_flavor(admin)
    booked = things.book(alpha, flavor, instance_count=2)
    with written(site) as transactions:
        assert alpha.delete(f"reservations/{booked['id']}").status_int == 204
    assert len(transactions) == 1
    assert alpha.get(f"reservations/{booked['id']}").status_int == 404
    assert site.cloud.is_clean()
    assert things.book(alpha, flavor, instance_count=2)["status"] == "ALLOCATED"


@pytest.mark.parametrize("status", ["UPDATING", "STARTING"])
def test_lease_that_somebody_works_on_is_not_deleted_whole(
    site: Site, admin: Person, alpha: Person, status: str, monkeypatch: pytest.MonkeyPatch
):
    """Then Blazar's rules of statuses decide, step by step."""
    booked = things.book(alpha, things.add_flavor(admin))
    lock = deletions.leases.lock

    def locked(db: Session, lease_id: str) -> Any:
        table = tables.leases
        db.execute(table.update().where(table.c.id == lease_id).values(status=status))
        return lock(db, lease_id)

    monkeypatch.setattr(deletions.leases, "lock", locked)
    with written(site) as transactions:
        assert alpha.delete(f"reservations/{booked['id']}").status_int == 204
    assert len(transactions) > 1


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


def test_reservation_of_another_request_with_the_same_id_is_not_taken_for_the_own(
    alpha: Person, admin: Person, monkeypatch: pytest.MonkeyPatch
):
    """With the credits filter, a lease's id decides about the ids of its reservations."""
    flavor = things.add_flavor(admin)
    booked = things.book(alpha, flavor)
    create = api.reservation_create
    monkeypatch.setattr(
        api, "reservation_create", lambda values: create({**values, "id": booked["id"]})
    )
    caller = {"user_id": alpha.user_id, "project_id": alpha.project_id, "roles": ["member"]}
    values = {
        "id": booked["lease_id"],
        "name": "lease",
        "start_date": "2100-01-09 09:00",
        "end_date": "2100-01-09 11:00",
        "user_id": alpha.user_id,
        "trust_id": None,
        "reservations": [
            {"resource_type": "flavor:slot", "flavor_id": flavor["id"], "amount": 1},
        ],
    }
    with pytest.raises(exceptions.Refused, match="already exists"):
        manager.create_lease(caller, values)
