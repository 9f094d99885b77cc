"""PATCH /reservations/ID: start, end and count, alone and together.

A refused change leaves everything unchanged.
"""

import datetime
from typing import Any

import pytest
from blazar.db import api as db_api

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from tests.unit.api.things import at
from warre_blazar.openstack import manager


@pytest.fixture
def flavor(site: Site, admin: Person) -> dict:
    """A flavor with three slots, for at most 48 hours, which can be booked from day 1 to 20."""

    def make() -> dict:
        return things.add_flavor(admin, start=at(1), end=at(20), slots=3)

    return site.remembered(make)


@pytest.fixture
def booked(site: Site, alpha: Person, flavor) -> dict:
    """A reservation of two of the slots, on day 2 from 9 to 11."""

    def make() -> dict:
        return things.book(alpha, flavor, instance_count=2)

    return site.remembered(make)


#: Changes of a reservation of two slots from 9 to 11, and the refusals of those that are refused.
#: Another project has booked one slot from 14 to 15.
CHANGES: dict[str, tuple[dict[str, Any], tuple[int, str] | None]] = {
    "start earlier": ({"start": at(2, 8)}, None),
    "start later": ({"start": at(2, 10)}, None),
    "both": ({"start": at(3, 9), "end": at(3, 10)}, None),
    "more": ({"instance_count": 3}, None),
    "fewer": ({"instance_count": 1}, None),
    "as many": ({"instance_count": 2}, None),
    "count as text": ({"instance_count": "3"}, None),
    "all": ({"start": at(4), "end": at(4, 5), "instance_count": 1}, None),
    "more and longer": ({"end": at(2, 14), "instance_count": 3}, None),
    "as it is": ({"start": at(2, 9), "end": at(2, 11), "instance_count": 2}, None),
    "too many": ({"instance_count": 4}, (400, "slots_exhausted")),
    "more than is free then": (
        {"end": at(2, 15), "instance_count": 3},
        (400, "slots_exhausted"),
    ),
    "start after the end": ({"start": at(2, 12)}, (400, "invalid_period")),
    "start at the end": ({"start": at(2, 11)}, (400, "invalid_period")),
    "past": ({"start": at(0, 11, 59)}, (400, "invalid_period")),
    "before the flavor": ({"start": at(0, 23), "end": at(1, 1)}, (400, "before_flavor_start")),
    "too long": ({"start": at(1), "end": at(4)}, (400, "too_long")),
    "fewer but too long": ({"end": at(5), "instance_count": 1}, (400, "too_long")),
    "closed": ({"start": at(5), "end": at(5, 1)}, (400, "maintenance")),
    "none": ({"instance_count": 0}, (400, "invalid_field")),
    "no number": ({"instance_count": None}, (400, "invalid_field")),
    "nothing": ({}, (400, "empty_body")),
    "the flavor": ({"flavor_id": "x", "end": at(2, 12)}, (400, "invalid_field")),
}


@pytest.mark.parametrize("case", [pytest.param(c, id=c.replace(" ", "-")) for c in CHANGES])
def test_change_is_made_or_refused(
    site: Site, admin: Person, alpha: Person, beta: Person, flavor, booked, case
):
    asked, refused = CHANGES[case]

    def make() -> None:
        things.add_window(admin, flavor)
        things.book(beta, flavor, start=at(2, 14), end=at(2, 15))

    site.remembered(make)
    path = f"reservations/{booked['id']}"
    before = site.rows()
    answer = alpha.patch(path, asked)
    if refused:
        assert refusal(answer) == refused
        assert site.rows() == before
        return
    changed = alpha.get(path).json
    assert answer.status_int == 200
    assert answer.json == changed
    whole = {name: int(v) if name == "instance_count" else v for name, v in asked.items()}
    assert changed == {**booked, **whole}
    lease = db_api.lease_get(booked["lease_id"])
    events = {e["event_type"]: e["time"] for e in lease["events"]}
    assert events["start_lease"] == lease["start_date"]
    assert events["end_lease"] == lease["end_date"]


def test_manager_is_not_called_for_a_change_that_the_rules_refuse(
    alpha: Person, beta: Person, flavor, booked, monkeypatch: pytest.MonkeyPatch
):
    """Blazar would log a traceback for each."""
    things.book(beta, flavor, start=at(2, 14), end=at(2, 15))

    def asked(*_: object) -> None:
        pytest.fail("the manager was called")

    monkeypatch.setattr(manager, "update_lease", asked)
    path = f"reservations/{booked['id']}"
    for code in ("slots_exhausted", "too_long", "before_flavor_start"):
        changes = [asks for asks, refused in CHANGES.values() if refused and refused[1] == code]
        assert changes
        for body in changes:
            assert alpha.patch(path, body).json["code"] == code


def test_manager_gets_only_values_that_were_sent(
    alpha: Person, booked, monkeypatch: pytest.MonkeyPatch
):
    asked = []
    monkeypatch.setattr(manager, "update_lease", lambda _context, _id, values: asked.append(values))
    path = f"reservations/{booked['id']}"
    for body in ({"start": at(2, 8)}, {"end": at(2, 12)}, {"instance_count": 1}):
        alpha.patch(path, body)
    assert asked == [
        {"start_date": "2100-01-03 08:00"},
        {"end_date": "2100-01-03 12:00"},
        {"reservations": [{"id": booked["id"], "amount": 1}]},
    ]


def test_warres_path_changes_only_the_end(site: Site, booked):
    alpha = Person(site.app, "alpha", "/v2/warre/v1")
    path = f"reservations/{booked['id']}"
    for fixed in ({"start": at(2, 10)}, {"instance_count": 1}):
        for body in (fixed, {**fixed, "end": at(2, 12)}):
            assert refusal(alpha.patch(path, body)) == (400, "invalid_field")
    changed = alpha.patch(path, {"end": at(2, 12)}).json
    assert changed.pop("end") == at(2, 12)
    assert booked.pop("flavor").items() >= changed.pop("flavor").items()
    assert booked.items() >= changed.items()


def test_change_of_count_in_shared_lease_is_refused(site: Site, alpha: Person, booked):
    things.add_to_lease(booked["lease_id"])
    before = site.rows()
    refused = alpha.patch(f"reservations/{booked['id']}", {"instance_count": 1})
    assert refusal(refused) == (409, "lease_shared")
    assert site.rows() == before


def _start(site: Site) -> None:
    site.set_time(things.moment(2, 9))
    site.run_events()


#: Changes that are refused for a running reservation, and their refusals.
RUNNING = {
    "start": ({"start": at(2, 10)}, (409, "invalid_state")),
    "more": ({"instance_count": 3}, (409, "invalid_state")),
    "more and longer": ({"instance_count": 3, "end": at(2, 12)}, (409, "invalid_state")),
}


@pytest.mark.parametrize("case", [pytest.param(c, id=c.replace(" ", "-")) for c in RUNNING])
def test_running_reservation_can_not_grow_or_change_its_start(
    site: Site, alpha: Person, booked, case
):
    asked, refused = RUNNING[case]
    _start(site)
    before = site.rows()
    assert refusal(alpha.patch(f"reservations/{booked['id']}", asked)) == refused
    assert site.rows() == before


def test_running_reservation_shrinks_to_its_number_of_servers(site: Site, alpha: Person, booked):
    _start(site)
    path = f"reservations/{booked['id']}"
    ((provider, offers),) = site.cloud.placement.offered().items()
    ((cls, total),) = offers.items()
    assert total == 2
    site.cloud.placement.use(provider, cls, 2)
    before = site.rows()
    refused = alpha.patch(path, {"instance_count": 1})
    assert refusal(refused) == (409, "invalid_state")
    assert "2 servers" in refused.json["error_message"]
    assert site.rows() == before
    assert site.cloud.placement.offered() == {provider: {cls: 2}}
    site.cloud.placement.allocations.clear()
    site.cloud.placement.use(provider, cls, 1)
    changed = alpha.patch(path, {"instance_count": 1, "end": at(2, 10)}).json
    assert (changed["instance_count"], changed["end"]) == (1, at(2, 10))
    assert site.cloud.placement.offered() == {provider: {cls: 1}}
    site.cloud.placement.allocations.clear()


def test_failure_after_dates_were_written_counts_as_changed(
    site: Site, alpha: Person, booked, monkeypatch: pytest.MonkeyPatch
):
    """Blazar logs in to Keystone once more after a change, even of the count alone."""
    site.cloud.keystone.fail(match="POST.*auth/tokens", status=503, first=2)
    answer = alpha.patch(f"reservations/{booked['id']}", {"instance_count": 1})
    site.cloud.mend()
    now = alpha.get(f"reservations/{booked['id']}").json
    assert now["instance_count"] == (1 if answer.status_int == 200 else 2)


@pytest.fixture
def begun(site: Site, alpha: Person, booked) -> str:
    """The path of the reservation, which has been running for an hour and 20 seconds."""
    site.set_time(things.moment(2, 9))
    site.run_events()
    site.set_time(things.moment(2, 10) + datetime.timedelta(seconds=20))
    return f"reservations/{booked['id']}"


_PASSED = (
    "The new end, 2100-01-03 {} UTC, has passed; to end the reservation now, give the next full "
    "minute, 2100-01-03 {} UTC"
)


def test_end_that_has_passed_is_refused_with_the_next_minute(alpha: Person, begun: str):
    answer = alpha.patch(begun, {"end": at(2, 9, 59)})
    assert refusal(answer) == (400, "refused")
    assert answer.json["error_message"] == _PASSED.format("09:59", "10:01")
    assert alpha.patch(begun, {"end": at(2, 10, 1)}).json["end"] == at(2, 10, 1)


def test_end_that_passes_on_the_way_to_the_manager_is_refused_in_the_same_words(
    site: Site, alpha: Person, begun: str, monkeypatch: pytest.MonkeyPatch
):
    update = manager.update_lease

    def late(*args: Any) -> Any:
        site.set_time(things.moment(2, 10, 1))
        return update(*args)

    monkeypatch.setattr(manager, "update_lease", late)
    answer = alpha.patch(begun, {"end": at(2, 10)})
    assert refusal(answer) == (400, "refused")
    assert answer.json["error_message"] == _PASSED.format("10:00", "10:02")
