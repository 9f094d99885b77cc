"""The API waits for what comes soon: a start that a manager prepares, and a lagging database."""

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from blazar.db import api as db_api
from keystoneauth1 import exceptions as ks_exc
from oslo_db import exception as db_exc
from oslo_utils import timeutils

from tests.functional.db import world
from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from tests.unit.api.things import at
from warre_blazar.plugins import lease_contexts
from warre_blazar.services.booking import lookup

LONGER = {"end": at(2, 12)}


@pytest.fixture
def booked(admin: Person, alpha: Person) -> dict:
    """From 9 to 11."""
    return things.book(alpha, things.add_flavor(admin))


@pytest.fixture
def path(booked: dict) -> str:
    return f"reservations/{booked['id']}"


def claim(site: Site, booked: dict, when: datetime.datetime, status: str) -> None:
    """Let a manager claim a start that is due in five seconds. The API waits a second at a time."""
    site.set_time(when - datetime.timedelta(seconds=5))
    site.execute()
    assert db_api.lease_get(booked["lease_id"])["status"] == status

    def pass_time() -> None:
        site.set_time(timeutils.utcnow() + datetime.timedelta(seconds=1))
        site.execute()

    site.clock.meanwhile = pass_time


@pytest.fixture
def starting(site: Site, booked: dict) -> None:
    claim(site, booked, things.moment(2, 9), "STARTING")


@pytest.mark.usefixtures("starting")
def test_change_waits_while_the_start_is_prepared(alpha: Person, booked, path):
    changed = alpha.patch(path, LONGER)
    assert changed.status_int == 200
    assert changed.json == {**booked, **LONGER, "status": "ACTIVE"}
    assert alpha.get(path).json == {**changed.json, "availability_zone": "az1"}


@pytest.mark.usefixtures("starting")
def test_deletion_waits_while_the_start_is_prepared(site: Site, alpha: Person, path):
    assert alpha.delete(path).status_int == 204
    assert refusal(alpha.get(path)) == (404, "reservation_not_found")
    assert site.cloud.is_clean()


@pytest.mark.usefixtures("starting")
def test_change_during_a_long_start_is_refused(site: Site, alpha: Person, booked, path):
    site.clock.meanwhile = site.execute
    for answer in (lambda: alpha.patch(path, LONGER), lambda: alpha.delete(path)):
        began = site.clock.now()
        assert refusal(answer()) == (409, "invalid_state")
        assert site.clock.now() - began == pytest.approx(20, abs=1)
    assert db_api.lease_get(booked["lease_id"])["status"] == "STARTING"


@pytest.mark.usefixtures("starting")
def test_deletion_succeeds_if_reservation_is_deleted_meanwhile(
    site: Site, alpha: Person, booked, path
):
    site.clock.meanwhile = lambda: db_api.lease_destroy(booked["lease_id"])
    assert alpha.delete(path).status_int == 204


@pytest.mark.usefixtures("starting")
def test_change_is_not_found_if_reservation_is_deleted_meanwhile(
    site: Site, alpha: Person, booked, path
):
    site.clock.meanwhile = lambda: db_api.lease_destroy(booked["lease_id"])
    assert refusal(alpha.patch(path, LONGER)) == (404, "reservation_not_found")


def test_deletion_by_another_member_waits_for_the_start(
    site: Site, colleague: Person, booked, path, starting
):
    site.cloud.keystone.lose("alpha", "deleted")
    assert colleague.delete(path).status_int == 204
    assert site.cloud.is_clean()


def test_change_of_a_lease_that_is_still_created_is_refused_at_once(
    site: Site, alpha: Person, booked, path
):
    world.write_lease(booked["lease_id"], {"status": "CREATING"})
    began = site.clock.now()
    answer = alpha.patch(path, LONGER)
    assert refusal(answer) == (409, "invalid_state")
    assert "still being created" in answer.json["error_message"]
    assert site.clock.now() == began


@pytest.fixture
def changing(booked: dict) -> None:
    """Somebody else's request works on the lease, or one that was sent before and got lost."""
    world.write_lease(booked["lease_id"], {"status": "UPDATING"})


@pytest.mark.usefixtures("changing")
def test_change_waits_for_another_change(site: Site, alpha: Person, booked, path):
    site.clock.meanwhile = lambda: world.write_lease(booked["lease_id"], {"status": "PENDING"})
    assert things.made(alpha.patch(path, LONGER)) == {**booked, **LONGER}


@pytest.mark.usefixtures("changing")
def test_change_beside_a_long_change_is_refused(site: Site, alpha: Person, path):
    began = site.clock.now()
    answer = alpha.patch(path, LONGER)
    assert refusal(answer) == (409, "invalid_state")
    assert "being changed" in answer.json["error_message"]
    assert site.clock.now() - began == pytest.approx(20, abs=1)


class TestUpdateThatFailsHalfWay:
    """Blazar asks for a context before it writes the new dates, and after it has written them."""

    @pytest.mark.parametrize("error", [db_exc.DBConnectionError(), ks_exc.Unauthorized()])
    def test_is_answered_by_what_has_become_of_the_lease(
        self, alpha: Person, booked, path, error, monkeypatch
    ):
        make, made = lease_contexts._of_lease, []

        def make_or_fail(lease_id: str) -> Any:
            made.append(lease_id)
            if len(made) == fails_at:
                raise error
            return make(lease_id)

        monkeypatch.setattr(lease_contexts, "_of_lease", make_or_fail)
        outcomes = []
        for fails_at in range(1, 4):
            made.clear()
            before = alpha.get(path).json
            wish = at(2, 11, fails_at)
            answer = alpha.patch(path, {"end": wish})
            failed = len(made) >= fails_at
            after = alpha.get(path).json
            assert db_api.lease_get(booked["lease_id"])["status"] == "PENDING"
            if answer.status_int == 200:
                assert answer.json == after == {**booked, "end": wish}
                outcomes.append("done all the same" if failed else "done")
            else:
                assert refusal(answer)[0] in (502, 503)
                assert after == before
                outcomes.append("refused")
        assert {"refused", "done all the same"} <= set(outcomes), outcomes


class TestDatabaseThatLags:
    @pytest.fixture
    def flavor(self, admin: Person) -> dict:
        return things.add_flavor(admin)

    def lag(self, monkeypatch: pytest.MonkeyPatch, reads: float) -> None:
        """Hide reservations from lookups by their lease's name, for some number of reads."""
        read: Callable = lookup.get_by_lease
        done = []

        def lagging(name: str):
            done.append(name)
            return read(name) if len(done) > reads else None

        monkeypatch.setattr(lookup, "get_by_lease", lagging)

    @pytest.mark.parametrize("reads", [3, float("inf")])
    def test_booking(self, site: Site, alpha: Person, flavor, monkeypatch, reads):
        self.lag(monkeypatch, reads)
        began = site.clock.now()
        booked = things.book(alpha, flavor, instance_count=2, affinity=True)
        assert booked["status"] == "ALLOCATED"
        assert booked == alpha.get(f"reservations/{booked['id']}").json
        assert 1 < site.clock.now() - began < 6

    def test_change(self, site: Site, alpha: Person, booked, path, monkeypatch):
        stale = lookup.get(booked["id"], None)
        monkeypatch.setattr(lookup, "get", lambda *_, **__: stale)
        changed = alpha.patch(path, LONGER)
        monkeypatch.undo()
        assert changed.status_int == 200
        assert changed.json == alpha.get(path).json == {**booked, **LONGER}
