"""Requests with the same idempotency key that are handled at the same moment."""

import datetime

import pytest
import sqlalchemy as sa

from tests.functional.db import races, world
from warre_blazar import times
from warre_blazar.db import tables
from warre_blazar.db.booking.idempotency_keys import Key
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import idempotency
from warre_blazar.services.flavors import flavors
from warre_blazar.services.maintenance import maintenance_windows

pytestmark = pytest.mark.usefixtures("database")

MANY = 12


def key(text: str = "key", request: str = "request", now: datetime.datetime = world.NOW) -> Key:
    return idempotency.key("user", text, request, now)


def test_only_one_of_many_requests_creates_the_item(database: sa.Engine):
    made = []

    def create(window_id: str):
        span = Span(world.NOW + datetime.timedelta(days=1), world.NOW + datetime.timedelta(days=2))
        return maintenance_windows.create(span, None, [], world.NOW, window_id)

    def find(window_id: str):
        try:
            return maintenance_windows.get(window_id, project_id=None, everything=True)
        except exceptions.WindowNotFound:
            return None

    def request() -> None:
        made.append(idempotency.make(key(), find, create).id)

    races.in_threads([request] * MANY)
    assert len(made) == MANY
    assert len(set(made)) == 1
    with database.connect() as db:
        assert db.scalar(sa.select(sa.func.count()).select_from(tables.maintenance_windows)) == 1


def test_item_that_was_created_meanwhile_is_answered_in_place_of_the_refusal():
    """The other request has created the access between this request's two looks."""
    flavor = world.add_flavor(slots=1, is_public=False)
    known = idempotency.make(key(), lambda _: None, lambda i: i)

    def find(access_id: str):
        try:
            return flavors.get_access(access_id)
        except exceptions.AccessNotFound:
            return None

    def create(access_id: str):
        assert access_id == known
        flavors.grant_access(flavor.id, "p", access_id)
        return flavors.grant_access(flavor.id, "p", access_id)

    assert idempotency.make(key(), find, create).id == known


def test_other_request_that_fails_after_all_is_try_again():
    def create(item_id: str):
        raise exceptions.Relayed({"code": "conflict", "message": "The lease exists", "detail": {}})

    with pytest.raises(exceptions.TryAgain):
        idempotency.make(key(), lambda _: None, create)


def test_refusal_stays_a_refusal():
    def create(item_id: str):
        raise exceptions.FlavorNotFound("f")

    with pytest.raises(exceptions.FlavorNotFound):
        idempotency.make(key(), lambda _: None, create)


def test_only_one_of_two_requests_at_the_same_moment_has_the_key():
    outcomes = []

    def request(text: str) -> None:
        try:
            outcomes.append(idempotency.make(key(request=text), lambda i: i, lambda i: text))
        except exceptions.IdempotencyKeyReused:
            outcomes.append("refused")

    races.in_threads([lambda: request("one"), lambda: request("two")])
    assert sorted(outcomes)[-1] in ("one", "two", "refused")
    assert outcomes.count("refused") == 1


def test_keys_are_deleted_after_a_day():
    idempotency.make(key("old"), lambda _: None, lambda i: i)
    later = world.NOW + times.KEYS_KEPT + datetime.timedelta(seconds=1)
    new = idempotency.make(key("new", now=later), lambda _: None, lambda i: i)
    assert idempotency.forget(later) == 1
    assert idempotency.make(key("new", now=later), lambda i: i, lambda _: None) == new
