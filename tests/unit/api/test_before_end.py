"""What is done with servers before the end: said by sites and flavors, and chosen by users."""

import datetime
from collections.abc import Iterator
from typing import Any

import pytest
from oslo_config import cfg

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from warre_blazar.domain.running.snapshots import BeforeEndRule
from warre_blazar.services.running import snapshots


@pytest.fixture
def flavor(admin: Person) -> dict[str, Any]:
    return things.add_flavor(admin, before_end_choice=True)


@pytest.fixture
def snapshots_on_site(site: Site) -> Iterator[None]:
    cfg.CONF.set_override("before_end", "snapshot", group="warre")
    yield
    cfg.CONF.clear_override("before_end", group="warre")


def shown(person: Person, booked: dict[str, Any]) -> str:
    return person.get(f"reservations/{booked['id']}").json["before_end"]


def test_nothing_is_done_unless_somebody_says_so(alpha: Person, flavor):
    assert (flavor["before_end"], flavor["before_end_choice"]) == (None, True)
    assert things.book(alpha, flavor)["before_end"] == "nothing"


@pytest.mark.usefixtures("snapshots_on_site")
def test_reservation_comes_before_flavor_and_flavor_before_site(admin, alpha, flavor):
    booked = things.book(alpha, flavor)
    assert booked["before_end"] == "snapshot"
    admin.patch(f"flavors/{flavor['id']}", {"before_end": "nothing"})
    assert shown(alpha, booked) == "nothing"
    chosen = things.book(alpha, flavor, before_end="snapshot")
    assert chosen["before_end"] == "snapshot"
    admin.patch(f"flavors/{flavor['id']}", {"before_end": None, "before_end_choice": False})
    assert shown(alpha, booked) == "snapshot"


def test_choice_is_changed_without_the_manager_and_recorded(site: Site, alpha: Person, flavor):
    booked = things.book(alpha, flavor)
    path = f"reservations/{booked['id']}"
    with site.without_manager():
        changed = alpha.patch(path, {"before_end": "snapshot"}).json
        assert changed == {**booked, "before_end": "snapshot"}
        # What is there already isn't recorded again.
        alpha.patch(path, {"before_end": "snapshot"})
        assert alpha.patch(path, {"before_end": None}).json == booked
    log = alpha.get(f"{path}?detail=log").json["log"]
    assert [(c["change"], c["before"], c["after"]) for c in log[1:]] == [
        ("before_end", {"before_end": None}, {"before_end": "snapshot"}),
        ("before_end", {"before_end": "snapshot"}, {"before_end": None}),
    ]


def test_snapshots_are_shown_also_of_a_deleted_reservation(site: Site, alpha: Person, flavor):
    booked = things.book(alpha, flavor, before_end="snapshot")
    path = f"reservations/{booked['id']}"
    assert "snapshots" not in alpha.get(path).json
    site.set_time(things.moment(2, 9))
    site.execute()
    server = site.cloud.nova.boot(booked["compute_flavor"], alpha.project_id)
    rule = BeforeEndRule("nothing", datetime.timedelta(minutes=30))
    site.set_time(things.moment(2, 10, 40))
    snapshots.look(things.moment(2, 10, 40), site.executor.manager_id, rule)
    (shown_one,) = alpha.get(path).json["snapshots"]
    assert shown_one == {
        "server": server,
        "server_name": "server",
        "image": next(iter(site.cloud.glance.images)),
        "status": "saving",
        "error": None,
        "at": things.at(2, 10, 40),
    }
    (listed,) = alpha.get("reservations").json["results"]
    assert "snapshots" not in listed
    alpha.delete(path)
    assert alpha.get(f"{path}?detail=log").json["snapshots"] == [shown_one]


def test_deleted_reservation_keeps_the_choice(alpha: Person, flavor):
    booked = things.book(alpha, flavor, before_end="snapshot")
    alpha.delete(f"reservations/{booked['id']}")
    (record,) = alpha.get("reservations?deleted=true").json["results"]
    assert record["before_end"] == "snapshot"


def test_flavor_that_allows_no_choice_refuses_one(site: Site, admin: Person, alpha: Person):
    fixed = things.add_flavor(admin, before_end="nothing")
    booked = things.book(alpha, fixed)
    before = site.rows()
    asked = things.booking(fixed, before_end="snapshot")
    path = f"reservations/{booked['id']}"
    for answer in (
        alpha.post("reservations", asked),
        alpha.patch(path, {"before_end": "snapshot"}),
        alpha.patch(path, {"before_end": "snapshot", "end": things.at(2, 12)}),
    ):
        assert refusal(answer) == (400, "no_before_end_choice")
        assert answer.json["detail"]["field"] == "before_end"
    assert site.rows() == before
    assert alpha.patch(path, {"before_end": None}).status_int == 200


BAD = [7, "", "default", "Snapshot", ["snapshot"], {"a": 1}, True, "x" * 70000]


@pytest.mark.parametrize("value", BAD, ids=lambda value: repr(value)[:12])
def test_bad_value_is_refused(site: Site, admin: Person, alpha: Person, flavor, value):
    booked = things.book(alpha, flavor)
    before = site.rows()
    asked = things.booking(flavor, before_end=value)
    for answer, status in (
        (alpha.post("reservations", asked), 422),
        (alpha.patch(f"reservations/{booked['id']}", {"before_end": value}), 400),
        (admin.patch(f"flavors/{flavor['id']}", {"before_end": value}), 400),
    ):
        assert answer.status_int in (status, 413)
        assert answer.status_int == 413 or answer.json["detail"]["field"] == "before_end"
    assert site.rows() == before


def test_ended_reservation_has_no_choice_any_more(site: Site, alpha: Person, flavor):
    booked = things.book(alpha, flavor)
    path = f"reservations/{booked['id']}"
    for hour in (9, 12):
        site.set_time(things.moment(2, hour))
        site.execute()
    assert refusal(alpha.patch(path, {"before_end": "snapshot"})) == (409, "invalid_state")
    assert alpha.patch(path, {"name": "kept"}).json["before_end"] == "nothing"


@pytest.mark.parametrize("choice", [{}, {"before_end": "snapshot"}])
def test_dry_run_says_what_will_be_done(site: Site, alpha: Person, flavor, choice):
    foreseen = choice.get("before_end", "nothing")
    booked = things.book(alpha, flavor)
    before = site.rows()
    asked = alpha.post("reservations?dry_run=true", things.booking(flavor, **choice)).json
    assert (asked["bookable"], asked["before_end"]) == (True, foreseen)
    body = {"name": "x", **choice}
    changed = alpha.patch(f"reservations/{booked['id']}?dry_run=true", body).json
    assert (changed["bookable"], changed["before_end"]) == (True, foreseen)
    assert site.rows() == before


def test_dry_run_says_that_the_flavor_allows_no_choice(admin: Person, alpha: Person):
    fixed = things.add_flavor(admin)
    booked = things.book(alpha, fixed)
    choice = {"before_end": "snapshot"}
    for answer in (
        alpha.post("reservations?dry_run=true", things.booking(fixed, **choice)),
        alpha.patch(f"reservations/{booked['id']}?dry_run=true", choice),
    ):
        assert [r["code"] for r in answer.json["refusals"]] == ["no_before_end_choice"]


def test_warre_has_no_such_field(admin: Person, alpha: Person, flavor):
    booked = things.book(alpha, flavor)
    alpha.root = "/v2/warre/v1"
    document = alpha.get(f"reservations/{booked['id']}").json
    assert not {"before_end", "snapshots"} & document.keys()
    assert not {"before_end", "before_end_choice"} & document["flavor"].keys()
    body = things.booking(flavor, before_end="snapshot")
    assert refusal(alpha.post("reservations", body)) == (422, "invalid_field")
