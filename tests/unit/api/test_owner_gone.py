"""Reservations whose creator is disabled, deleted or without a role in the project."""

import pytest
from blazar.db import api as db_api
from oslo_utils import timeutils

from tests.unit.api import identity, things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from tests.unit.api.things import at
from warre_blazar import exceptions
from warre_blazar.clients import trusts
from warre_blazar.services.booking import orphaned_leases
from warre_blazar.services.caller import Caller
from warre_blazar.services.running import repair

LONGER = {"end": at(2, 12)}


@pytest.fixture
def booked(site: Site, admin: Person, alpha: Person) -> dict:
    """A reservation of alpha's."""

    def make() -> dict:
        return things.book(alpha, things.add_flavor(admin))

    return site.remembered(make)


@pytest.fixture
def path(booked: dict) -> str:
    return f"reservations/{booked['id']}"


@pytest.fixture(params=["pending", "running"])
def status(site: Site, booked: dict, request: pytest.FixtureRequest) -> str:
    """The reservation's path. The reservation has a server if it is running."""
    if request.param == "pending":
        return "ALLOCATED"

    def boot() -> None:
        start(site, booked)
        site.cloud.nova.boot(booked["compute_flavor"], booked["project_id"])

    site.remembered(boot)
    site.set_time(things.moment(2, 9))
    return "ACTIVE"


def start(site: Site, booked: dict) -> None:
    site.set_time(things.moment(2, 9))
    site.execute()
    assert lease_of(booked)["status"] == "ACTIVE"


def lease_of(booked: dict) -> dict:
    return db_api.lease_get(booked["lease_id"])


@pytest.mark.parametrize("how", identity.REFUSALS)
def test_another_member_may_change_the_reservation(
    site: Site, colleague: Person, booked, path, status, how
):
    site.cloud.keystone.lose("alpha", how)
    dead = lease_of(booked)["trust_id"]
    changed = colleague.patch(path, LONGER)
    assert (changed.status_int, changed.json["end"]) == (200, at(2, 12))
    assert colleague.get(path).json == {**booked, "status": status, "end": at(2, 12)}
    trust = lease_of(booked)["trust_id"]
    assert trust != dead
    given = site.cloud.keystone.trusts[trust]
    assert given["trustor_user_id"] == colleague.user_id
    assert given["project_id"] == booked["project_id"]
    # With the new trust, Blazar makes the next change without help.
    assert colleague.patch(path, {"end": at(2, 10)}).json["end"] == at(2, 10)
    assert lease_of(booked)["trust_id"] == trust


def test_refused_change_leaves_reservation_after_trust_is_replaced(
    site: Site, colleague: Person, booked, path
):
    """The change is refused for its own reason, and leaves the lease unchanged."""
    site.cloud.keystone.lose("alpha", "disabled")
    assert refusal(colleague.patch(path, {"end": at(9)})) == (400, "too_long")
    assert colleague.get(path).json == booked
    assert lease_of(booked)["status"] == "PENDING"


def test_admin_without_role_in_project_can_not_change(
    site: Site, admin: Person, booked, path, status
):
    site.cloud.keystone.lose("alpha", "disabled")
    refused = admin.patch(path, LONGER)
    assert refusal(refused) == (409, "owner_gone")
    assert "no role in the project" in refused.json["error_message"]
    assert admin.get(path).json == {**booked, "status": status}
    assert lease_of(booked)["status"] == {"ALLOCATED": "PENDING"}.get(status, status)


@pytest.mark.parametrize("how", identity.REFUSALS)
@pytest.mark.parametrize("who", ["colleague", "admin"])
def test_everyone_allowed_may_delete_the_reservation(site: Site, booked, path, status, how, who):
    site.cloud.keystone.lose("alpha", how)
    person = Person(site.app, who)
    assert person.delete(path).status_int == 204
    assert refusal(person.get(path)) == (404, "reservation_not_found")
    assert lease_of(booked) is None
    assert site.cloud.is_clean()
    assert site.outside.told[-2:] == [
        (booked["lease_id"], "on_end"),
        (booked["lease_id"], "delete"),
    ]


def test_complete_reservation_can_be_deleted(site: Site, colleague: Person, booked, path):
    start(site, booked)
    site.set_time(things.moment(2, 11))
    site.execute()
    assert colleague.get(path).json["status"] == "COMPLETE"
    site.cloud.keystone.lose("alpha", "deleted")
    assert colleague.delete(path).status_int == 204
    # Blazar's filters are told of the end only once.
    assert site.outside.told.count((booked["lease_id"], "on_end")) == 1


def test_deletion_without_manager_in_time_is_accepted(site: Site, colleague: Person, booked, path):
    site.cloud.keystone.lose("alpha", "disabled")
    site.clock.meanwhile = lambda: None
    assert colleague.delete(path).status_int == 202
    site.execute()
    assert refusal(colleague.get(path)) == (404, "reservation_not_found")


def test_start_and_end_need_no_creator(site: Site, colleague: Person, booked, path):
    site.cloud.keystone.lose("alpha", "deleted")
    start(site, booked)
    assert colleague.get(path).json["status"] == "ACTIVE"
    site.set_time(things.moment(2, 11))
    site.execute()
    assert colleague.get(path).json["status"] == "COMPLETE"


def test_wrong_service_password_does_not_count_as_creator_gone(
    site: Site, alpha: Person, booked, path, monkeypatch: pytest.MonkeyPatch
):
    """Keystone answers both with 401. The service's login without a trust tells them apart."""
    before = lease_of(booked)
    monkeypatch.setattr(site.cloud.keystone, "password", "another")
    for answer in (alpha.patch(path, LONGER), alpha.delete(path)):
        assert refusal(answer) == (502, "service_refused")
        assert answer.json["detail"] == {"service": "Keystone"}
        assert "Blazar's own service user" in answer.json["error_message"]
    assert site.outside.told == []
    monkeypatch.undo()
    after = lease_of(booked)
    assert (after["status"], after["trust_id"]) == ("PENDING", before["trust_id"])


def test_other_refusal_by_keystone_does_not_count_as_creator_gone(
    site: Site, alpha: Person, booked, path
):
    """The trust still works, so the manager failed for another reason."""
    site.cloud.keystone.fail(match="POST.*auth/tokens", status=403, times=1)
    assert refusal(alpha.patch(path, LONGER)) == (502, "service_refused")
    assert alpha.get(path).json == booked
    assert lease_of(booked)["status"] == "PENDING"
    assert alpha.patch(path, LONGER).status_int == 200


def test_change_is_unavailable_while_keystone_is(site: Site, booked):
    trust_id = lease_of(booked)["trust_id"]
    assert not trusts.is_dead(trust_id)
    for status in (503, 500):
        site.cloud.keystone.fail(match="POST.*auth/tokens", status=status)
        with pytest.raises(exceptions.ServiceUnavailable):
            trusts.is_dead(trust_id)
        site.cloud.mend()
    site.cloud.keystone.fail(match="POST.*auth/tokens", status=429)
    with pytest.raises(exceptions.ServiceRefused):
        trusts.is_dead(trust_id)


def test_two_members_may_take_over_at_the_same_time(
    site: Site, colleague: Person, booked, monkeypatch: pytest.MonkeyPatch
):
    """One of the two trusts stays, and the other is deleted."""
    site.cloud.keystone.lose("alpha", "disabled")
    make, made = trusts.create, []

    def create(*args):
        """Let somebody else take over just before."""
        trust_id = make(*args)
        made.append(trust_id)
        if len(made) == 1:
            assert orphaned_leases.take_over(caller(colleague), booked["lease_id"])
        return trust_id

    monkeypatch.setattr(trusts, "create", create)
    assert orphaned_leases.take_over(caller(colleague), booked["lease_id"])
    loser, winner = made
    assert lease_of(booked)["trust_id"] == winner
    assert loser not in site.cloud.keystone.trusts


def caller(person: Person) -> Caller:
    name = person.name or ""
    return Caller(identity.token(name), person.user_id, identity.PEOPLE[name], {})


class TestAfterFailureOverV1:
    """What the application around Blazar's v1 does when Blazar answers with 5xx."""

    @pytest.fixture(autouse=True)
    def failed(self, booked: dict, status: str) -> None:
        """What Blazar leaves when a deletion fails: a lease in ERROR with an end event."""
        lease = lease_of(booked)
        (end,) = [e for e in lease["events"] if e["event_type"] == "end_lease"]
        if status == "ACTIVE":
            db_api.event_update(end["id"], {"status": "IN_PROGRESS"})
        db_api.lease_update(lease["id"], {"status": "ERROR"})

    def test_deletion(self, site: Site, booked):
        site.cloud.keystone.lose("alpha", "disabled")
        assert orphaned_leases.delete_after_failure(booked["lease_id"], None) is True
        assert lease_of(booked) is None
        assert site.cloud.is_clean()

    def test_deletion_that_failed_for_another_reason(self, booked, status):
        assert orphaned_leases.delete_after_failure(booked["lease_id"], None) is None
        restored = {"ALLOCATED": "PENDING"}.get(status, status)
        assert lease_of(booked)["status"] == restored

    def test_lease_with_other_types(self, site: Site, colleague: Person, booked):
        things.add_to_lease(booked["lease_id"])
        site.cloud.keystone.lose("alpha", "disabled")
        before = site.rows()
        assert orphaned_leases.delete_after_failure(booked["lease_id"], None) is None
        assert (
            orphaned_leases.take_over_after_failure(caller(colleague), booked["lease_id"]) is False
        )
        assert site.rows() == before

    def test_change(self, site: Site, colleague: Person, admin: Person, booked, status):
        lease_id = booked["lease_id"]
        assert orphaned_leases.take_over_after_failure(caller(colleague), lease_id) is False
        site.cloud.keystone.lose("alpha", "disabled")
        with pytest.raises(exceptions.OwnerGone):
            orphaned_leases.take_over_after_failure(caller(admin), lease_id)
        assert orphaned_leases.take_over_after_failure(caller(colleague), lease_id) is True
        assert repair.settle(lease_id, timeutils.utcnow()) in ("PENDING", "ACTIVE")

    def test_lease_that_is_not_there(self, colleague: Person):
        assert orphaned_leases.delete_after_failure("nonesuch", None) is None
        assert orphaned_leases.take_over_after_failure(caller(colleague), "nonesuch") is False
