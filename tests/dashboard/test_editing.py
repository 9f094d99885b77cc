"""Forms that edit: they send what a person has changed, and take back nothing of somebody else."""

import datetime
from typing import Any

import pytest

from tests.dashboard.conftest import Visitor, filled
from tests.fakes.service import Answer, Request
from tests.unit.cli.fake_api import FLAVOR, RESERVATION, Api, error, flavor, foreseen, reservation
from tests.unit.client.test_resources import WINDOW
from warre_blazar.domain.timeline import Span

HOSTILE = "<script>alert(1)</script>"
OPENED = '"as it was when the page was opened"'
LATER = '"later"'
#: The kinds of things that can be edited: the page, the API's path, and the document.
KINDS = {
    "reservation": (
        f"/project/flavor_reservations/{RESERVATION.id}/change/",
        f"/v2/reservations/{RESERVATION.id}",
        reservation(name=None, note="two\nlines", contact=None, log=[]),
    ),
    "flavor": (
        f"/admin/reservable_flavors/{FLAVOR.id}/edit/",
        f"/v2/flavors/{FLAVOR.id}",
        flavor(description="two\nlines", before_end=None, limits={"hosts": []}),
    ),
    "window": (
        f"/admin/maintenance_windows/{WINDOW['id']}/edit/",
        f"/v2/maintenancewindows/{WINDOW['id']}",
        {**WINDOW, "note": "two\nlines", "hosts": [{"id": "1", "name": "cmp1"}]},
    ),
}
#: What a person changes: the kind, the form's field, its value, and what is sent.
CHANGES = [
    ("reservation", "note", "x", {"note": "x"}),
    ("reservation", "end", "2026-12-01T12:00", {"end": "2026-12-01T12:00:00+00:00"}),
    ("reservation", "count", "1", {"instance_count": 1}),
    ("reservation", "movable_hours", "48", {"movable_hours": 48}),
    ("flavor", "description", "x", {"description": "x"}),
    ("flavor", "slots", "5", {"slots": 5}),
    ("flavor", "end", "", {"end": None}),
    ("flavor", "extra_specs", "hw:a=2", {"extra_specs": {"hw:a": "2"}}),
    ("window", "note", "x", {"note": "x", "bookings": "refuse"}),
    ("window", "host_ids", [], {"host_ids": [], "bookings": "refuse"}),
    ("window", "bookings", "move", {"bookings": "move"}),
]


@pytest.fixture(autouse=True)
def answers(api: Api) -> None:
    for _page, path, document in KINDS.values():
        api.answers[f"GET {path}"] = Answer(200, document, {"ETag": OPENED})
        api.answers[f"PATCH {path}"] = Answer(200, document)
    extension = {"latest_end": "2026-12-01T15:00:00+00:00", "stopped_by": None}
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers[f"GET {path}/extensions"] = Answer(200, {**extension, "extend_from": None})
    host = {"id": "1", "name": "cmp1", "state": "bookable"}
    api.answers["GET /v2/hosts"] = Answer(200, {"results": [host]})


def changes(api: Api) -> list[Request]:
    return [request for request in api.seen if request.method == "PATCH"]


def somebody_changes(api: Api, kind: str, **values: Any) -> None:
    _page, path, document = KINDS[kind]
    api.answers[f"GET {path}"] = Answer(200, {**document, **values}, {"ETag": LATER})


@pytest.mark.parametrize(("kind", "name", "value", "sent"), CHANGES)
def test_old_page_sends_only_what_the_person_has_changed(
    operator: Visitor, api: Api, kind: str, name: str, value: Any, sent: dict[str, Any]
) -> None:
    page = KINDS[kind][0]
    form = filled(operator.sees(page))
    other = {"end": "2026-12-01T20:00:00+00:00"}
    if kind == "flavor":
        other = {"category": "cpu", "active": False, "extra_specs": {}, "before_end": "nothing"}
    if kind == "window":
        other = {"start": "2026-12-19T00:00:00+00:00", "flavors": [], "hosts": []}
    somebody_changes(api, kind, **other)
    operator.sends(page, {**form, name: value, "save": "1"})
    (request,) = changes(api)
    assert request.body == sent
    assert request.headers["if-match"] == OPENED


@pytest.mark.parametrize("kind", KINDS)
def test_page_that_nobody_has_changed_sends_nothing(operator: Visitor, api: Api, kind: str) -> None:
    page = KINDS[kind][0]
    form = filled(operator.sees(page))
    # The user has chosen another zone meanwhile.
    operator.browser.cookies["django_timezone"] = "Asia/Tokyo"
    operator.sends(page, {**form, "save": "1"})
    assert [r.body for r in changes(api)] == ([{"bookings": "refuse"}] if kind == "window" else [])


#: The kind, the form's fields that both have changed with the person's values, what somebody else
#: has written, and the texts that stand side by side.
CONFLICTS: list[tuple[str, dict[str, Any], dict[str, Any], list[tuple[str, str, str]]]] = [
    (
        "reservation",
        {"end": "2026-12-01T12:00", "note": "ours"},
        {"end": "2026-12-01T13:00:00+00:00", "note": HOSTILE, "instance_count": 1},
        [
            ("End", "Tue 2026-12-01 13:00", "Tue 2026-12-01 12:00"),
            ("Note", "&lt;script&gt;alert(1)&lt;/script&gt;", "ours"),
        ],
    ),
    (
        "flavor",
        {"slots": "5", "active": None, "before_end": "snapshot", "category": ""},
        {"slots": 7, "active": True, "before_end": "nothing", "category": "cpu"},
        [
            ("Slots", "7", "5"),
            ("Before the end", "do nothing", "make an image of each server"),
            ("Kind", "cpu", "\u2013"),
        ],
    ),
    (
        "window",
        {"host_ids": [], "end": "2026-12-22T00:00"},
        {"hosts": [], "end": "2026-12-23T00:00:00+00:00"},
        [("End", "Wed 2026-12-23 00:00", "Tue 2026-12-22 00:00"), ("Hosts", "\u2013", "\u2013")],
    ),
]


@pytest.mark.parametrize(("kind", "ours", "theirs", "rows"), CONFLICTS)
def test_what_both_have_changed_stands_side_by_side(
    operator: Visitor, api: Api, kind: str, ours: Any, theirs: Any, rows: Any
) -> None:
    page, path, _document = KINDS[kind]
    form = {**filled(operator.sees(page)), **ours, "save": "1"}
    somebody_changes(api, kind, **theirs)
    api.answers[f"PATCH {path}"] = error(412, "Changed", "changed_since_shown", fields={})
    sent = {name: value for name, value in form.items() if value is not None}
    text = operator.sends(page, sent, 200).content.decode()
    assert "Somebody else has changed this since you opened the page." in text
    for label, now, yours in rows:
        assert f'<th scope="row">{label}</th><td>{now}</td><td>{yours}</td>' in text
    assert HOSTILE not in text
    # Sent again, the form changes the same fields, and takes back nothing else.
    again = filled(text)
    first = changes(api)[-1]
    api.answers[f"PATCH {path}"] = Answer(200, KINDS[kind][2])
    operator.sends(page, {**again, "save": "1"})
    second = changes(api)[-1]
    assert second.headers["if-match"] == LATER
    still = {n: v for n, v in first.body.items() if n != "host_ids"}
    assert second.body == {**still, **({"bookings": "refuse"} if kind == "window" else {})}


def test_other_ways_carry_only_what_the_person_has_changed(operator: Visitor, api: Api) -> None:
    """A link to what can be done instead is opened later. Other values may have changed then."""
    page, path, _document = KINDS["reservation"]
    refusal = ("slots_exhausted", "No capacity", {})
    three_hours = datetime.timedelta(hours=3)
    long = Span(RESERVATION.span.start, RESERVATION.span.start + 4 * three_hours)
    api.answers[f"PATCH {path}"] = foreseen(refusal, span=long, longest=three_hours)
    form = {**filled(operator.sees(page)), "end": "2026-12-01T20:00", "check": "1"}
    text = operator.sends(page, form, 200).content.decode()
    assert 'href="?end=2026-12-01T12%3A00"' in text
    assert changes(api)[-1].headers["if-match"] == OPENED


@pytest.mark.parametrize("shown", ["", "x", "[]", "{}", '{"etag": 1}', '{"values": {}}'])
def test_page_without_what_it_has_shown_has_to_be_opened_again(
    operator: Visitor, api: Api, shown: str
) -> None:
    for page, _path, _document in KINDS.values():
        form = {**filled(operator.sees(page)), "shown": shown, "note": "x", "save": "1"}
        text = operator.sends(page, form, 200).content.decode()
        assert "Open this page again, and repeat your change." in text
    assert changes(api) == []
