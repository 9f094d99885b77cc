"""Leases that Blazar's own API creates and deletes, with what the manager doesn't read for them."""

import pytest

from tests.functional.db import world
from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.wsgi import hostile, sending
from tests.unit.wsgi.whole import WholeSite
from warre_blazar import enforcement
from warre_blazar.db import session
from warre_blazar.plugins import lease_requests


@pytest.mark.parametrize("lost", [0, 2])
def test_new_lease_is_shown_as_it_is_later(
    site: WholeSite, admin: Person, monkeypatch: pytest.MonkeyPatch, lost: int
):
    """It isn't read. Its first transactions may lose a race when all rows are written."""
    finish, races = lease_requests._NewLease.finish, ["lost"] * lost

    def lose(self, db):
        finish(self, db)
        if races:
            races.pop()
            raise session.LostRace

    monkeypatch.setattr(lease_requests._NewLease, "finish", lose)
    slot = sending.slot(things.add_flavor(admin))
    made = sending.send(site.app, "POST", "/v1/leases", sending.lease(slot)).json["lease"]
    assert races == []
    (shown,) = sending.send(site.app, "GET", "/v1/leases").json["leases"]
    for lease in (made, shown):
        # The database says in which order they are read.
        lease["events"].sort(key=lambda each: each["id"])
    assert len(made["events"]) == 3
    assert shown == made
    assert world.is_anybodys_turn()


@pytest.mark.parametrize("is_quick", [True, False])
def test_others_wait_until_the_lease_is_booked_or_refused_if_the_filters_are_quick(
    site: WholeSite, admin: Person, monkeypatch: pytest.MonkeyPatch, is_quick: bool
):
    """Blazar itself refuses the time of the reminder, after it has asked the filters."""
    turns: list[bool] = []
    monkeypatch.setattr(enforcement, "is_quick", lambda: is_quick)
    monkeypatch.setattr(
        site._manager.enforcement,
        "check_create",
        lambda *_: turns.append(world.is_anybodys_turn()),
    )
    slot = sending.slot(things.add_flavor(admin))
    body = sending.lease(slot, before_end_date="2100-01-09 10:00")
    assert sending.send(site.app, "POST", "/v1/leases", body).status_int == 403
    assert turns == [not is_quick]
    assert world.is_anybodys_turn()
    assert sending.send(site.app, "GET", "/v1/leases").json["leases"] == []


def test_lease_whose_plugin_is_gone_is_refused_in_blazars_words(
    site: WholeSite, monkeypatch: pytest.MonkeyPatch
):
    body = sending.lease({"resource_type": "virtual:instance", **hostile.KINDS["virtual:instance"]})
    lease = sending.send(site.app, "POST", "/v1/leases", body).json["lease"]
    monkeypatch.delitem(site._manager.plugins, "virtual:instance")
    answer = sending.send(site.app, "DELETE", f"/v1/leases/{lease['id']}")
    assert "virtual:instance resource type is not supported" in answer.text
