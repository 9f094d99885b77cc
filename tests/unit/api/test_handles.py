"""Handles over the API: given, shown and refused."""

import datetime

import pytest

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from warre_blazar.domain.running.handles import Handle

GIVEN = {"handle": "gpu-ci.1", "visible_before_start": True}
WARRE = "/v2/warre/v1"


@pytest.fixture
def flavor(admin: Person) -> dict:
    return things.add_flavor(admin)


def test_handle_is_shown_with_the_nova_flavor_that_stays(alpha: Person, flavor):
    first = things.book(alpha, flavor, **GIVEN)
    end = datetime.datetime.fromisoformat(first["end"]) + datetime.timedelta(hours=1)
    second = things.book(alpha, flavor, start=first["end"], end=end.isoformat(), **GIVEN)
    assert first.items() >= GIVEN.items()
    expected = Handle("gpu-ci.1").flavor_id(first["project_id"])
    assert {each["compute_flavor"] for each in (first, second)} == {expected}
    assert alpha.get(f"reservations/{first['id']}").json == first
    plain = things.book(alpha, flavor)
    assert (plain["handle"], plain["visible_before_start"]) == (None, False)


def test_two_at_a_time_are_refused_with_the_next_start(site: Site, alpha: Person, flavor):
    first = things.book(alpha, flavor, **GIVEN)
    before = site.rows()
    refused = alpha.post("reservations", things.booking(flavor, **GIVEN))
    assert refusal(refused) == (400, "handle_taken")
    detail = refused.json["detail"]
    assert detail.items() >= {"handle": "gpu-ci.1", "next_start": first["end"]}.items()
    assert detail["start_from"] == first["end"]
    assert site.rows() == before


BAD = {
    "empty": ({"handle": ""}, "handle"),
    "upper case": ({"handle": "CI"}, "handle"),
    "ends with a hyphen": ({"handle": "ci-"}, "handle"),
    "with a project": ({"handle": "ci@beta"}, "handle"),
    "with a line": ({"handle": "ci\n"}, "handle"),
    "too long": ({"handle": "x" * 64}, "handle"),
    "a number": ({"handle": 1}, "handle"),
    "nothing to see": ({"visible_before_start": True}, "visible_before_start"),
    "visible as text": (
        {"handle": "ci", "visible_before_start": "yes"},
        "visible_before_start",
    ),
}


@pytest.mark.parametrize("case", [pytest.param(c, id=c.replace(" ", "-")) for c in BAD])
@pytest.mark.parametrize("what", ["reservations", "series"])
def test_bad_handle_is_refused(site: Site, alpha: Person, flavor, case: str, what: str):
    values, field = BAD[case]
    body = (things.booking if what == "reservations" else things.series)(flavor, **values)
    before = site.rows()
    answer = alpha.post(what, body)
    assert refusal(answer) == (422, "invalid_field")
    assert answer.json["detail"]["field"] == field
    assert site.rows() == before


def test_handle_can_not_change(alpha: Person, flavor):
    booked = things.book(alpha, flavor, **GIVEN)
    answer = alpha.patch(f"reservations/{booked['id']}", {"handle": "other"})
    assert refusal(answer) == (400, "invalid_field")


def test_warres_path_knows_no_handle(alpha: Person, flavor):
    answer = alpha.post(f"{WARRE}/reservations/", things.booking(flavor, handle="ci"))
    assert answer.status_int in (400, 422)
    booked = things.book(alpha, flavor, **GIVEN)
    assert "handle" not in alpha.get(f"{WARRE}/reservations/{booked['id']}/").json


def test_each_occurrence_of_a_series_has_its_handle(alpha: Person, flavor):
    made = things.add_series(alpha, flavor, **GIVEN)
    assert made.items() >= GIVEN.items()
    booked = [alpha.get(f"reservations/{each['id']}").json for each in made["reservations"]]
    assert len(booked) > 1
    assert len({each["compute_flavor"] for each in booked}) == 1
    assert all(each.items() >= GIVEN.items() for each in booked)


def test_occurrences_that_would_overlap_are_refused(alpha: Person, flavor):
    made = things.add_series(alpha, flavor, rrule="FREQ=DAILY;COUNT=3", hours=36, **GIVEN)
    assert [each["code"] for each in made["refused"]] == ["handle_taken"]
