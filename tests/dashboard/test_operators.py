"""The pages for operators."""

import datetime
import html
import re
from typing import Any

import pytest

from tests.dashboard.conftest import PROJECT, Visitor, filled
from tests.fakes.service import Answer
from tests.unit.cli.fake_api import FLAVOR, Api, error, flavor, listing, reservation
from warre_blazar import texts
from warre_blazar.client import Span
from warre_blazar.dashboard import charts

FLAVORS, WINDOWS = "/admin/reservable_flavors/", "/admin/maintenance_windows/"
RESERVATIONS = "/admin/all_flavor_reservations/"
LINE = f"/v2/flavors/{FLAVOR.id}"
HOSTILE = "<script>alert(1)</script>"
WINDOW = {
    "id": "44444444-4444-4444-8444-444444444444",
    "start": "2099-12-01T00:00:00+00:00",
    "end": "2099-12-02T00:00:00+00:00",
    "note": HOSTILE,
    "flavors": [{"id": FLAVOR.id, "name": HOSTILE}],
}


def host(**values: Any) -> dict[str, Any]:
    start = datetime.datetime.now(datetime.UTC)
    end = start + datetime.timedelta(hours=20)
    return {
        "id": "1",
        "name": HOSTILE,
        "availability_zone": "nova",
        "state": "draining",
        "draining": {"by": "ada", "at": None, "reason": HOSTILE},
        "resources": [{"resource_class": "VCPU", "capacity": 8, "used_now": 1, "used_peak": 2}],
        "reservations": [
            {
                "id": reservation()["id"],
                "resource_type": "flavor:slot",
                "flavor": {"id": FLAVOR.id, "name": FLAVOR.name},
                "project_id": PROJECT,
                "status": "ALLOCATED",
                "instance_count": 1,
                "start": start.isoformat(),
                "end": end.isoformat(),
            }
        ],
        **values,
    }


def limits(project_id: str, most: int) -> dict[str, Any]:
    used = {"totalHoursUsed": 5, "totalReservationsUsed": 3}
    return {"project_id": project_id, "absolute": {"maxHours": most, "maxReservations": 7, **used}}


def audit(**values: Any) -> Answer:
    finding = {
        "kind": "host-gone",
        "subject": "h-1",
        "text": f"Placement has no {HOSTILE}",
        "meaning": "A host is gone.",
        "remedy": "Delete the host.",
        "needs": "a person",
        "failure": HOSTILE,
        "mended": False,
    }
    report = {
        "finished_at": "2026-11-25T12:30:15+00:00",
        "found": 45,
        "away": [{"service": "nova", "reason": HOSTILE}],
    }
    other = {**finding, "kind": "host-failed", "needs": "--repair", "text": "cmp7 has failed"}
    return listing(other, *[finding] * 44, **{**report, **values})


@pytest.fixture(autouse=True)
def answers(api: Api) -> None:
    api.answers[f"GET {LINE}"] = Answer(200, flavor(name=HOSTILE, is_public=False))
    api.answers["GET /v2/flavorprojects"] = listing()
    span = {"start": "2026-12-01T00:00:00+00:00", "end": "2026-12-03T00:00:00+00:00"}
    api.answers["GET /v2/usage"] = Answer(200, {**span, "by": "project", "results": []})
    api.answers["GET /v2/maintenancewindows"] = listing(WINDOW)
    api.answers["GET /v2/hosts"] = listing(host())
    api.answers["GET /v2/refusals"] = listing()
    api.answers["GET /v2/reservations"] = listing(reservation(name="training"))
    api.answers["GET /v2/audit"] = audit()
    api.answers["GET /v2/limits"] = listing(limits(HOSTILE, most=-1), limits(PROJECT, most=40))


def test_usage_is_shown_by_week(operator: Visitor, api: Api) -> None:
    hours = dict.fromkeys(("booked", "held", "used", "given_back", "cancelled", "lost"), 1.5)
    week = {
        **dict.fromkeys(("project_id", "user_id", "flavor_id", "flavor")),
        **{"day": "2026-11-30", "reservations": 1, "hours": hours},
        **{"resource_hours": {}, "refusals": {}},
    }
    span = {"start": "2026-12-01T00:00:00+00:00", "end": "2026-12-03T00:00:00+00:00"}
    api.answers["GET /v2/usage"] = [
        Answer(200, {**span, "by": "week", "results": [week]}),
        Answer(200, {**span, "by": "day", "results": []}),
    ]
    page = operator.sees("/admin/all_reservation_usage/?by=week")
    assert "Week from" in page and "Nov. 30, 2026" in page
    asked = [request.query["by"] for request in api.seen if request.line == "GET /v2/usage"]
    assert asked == ["week", "day"]


PAGES = [
    FLAVORS,
    f"{FLAVORS}create/",
    f"{FLAVORS}{FLAVOR.id}/",
    f"{FLAVORS}{FLAVOR.id}/edit/",
    f"{FLAVORS}{FLAVOR.id}/delete/",
    WINDOWS,
    f"{WINDOWS}create/",
    RESERVATIONS,
    "/admin/reservation_plan/",
    "/admin/reservation_plan/?by=flavor",
    "/admin/all_reservation_usage/",
    "/admin/refused_requests/",
    "/admin/reservation_quotas/",
    "/admin/reservation_audit/",
]


@pytest.mark.parametrize("path", PAGES)
def test_page_is_for_operators_only_and_escapes(path: str, operator: Visitor, api: Api) -> None:
    assert HOSTILE not in operator.sees(path)
    api.seen.clear()
    operator.roles = ["member", "reader"]
    # Horizon hides the whole dashboard from users without the role.
    assert operator.browser.get(path).status_code in (302, 403)
    assert api.seen == []


def test_flavor_is_made_from_the_form(operator: Visitor, api: Api) -> None:
    api.answers["POST /v2/flavors"] = Answer(202, flavor())
    values = {
        **{"name": "new", "vcpu": "2", "memory_mb": "512", "disk_gb": "5", "slots": "3"},
        **{"max_length_hours": "24", "extra_specs": "hw:a=1\nresources:VGPU=1"},
        **{"is_public": "on", "active": "on"},
    }
    operator.sends(f"{FLAVORS}create/", values)
    (sent,) = [request for request in api.seen if request.method == "POST"]
    assert sent.body["extra_specs"] == {"hw:a": "1", "resources:VGPU": "1"}
    assert sent.body["category"] is None and sent.body["is_public"] is True


def test_form_of_a_flavor_says_how_many_hosts_match(operator: Visitor, api: Api) -> None:
    api.answers["GET /v2/hosts"] = listing(host(availability_zone="north"), host())
    doubt = {"code": "of_tomorrow", "message": f"In doubt: {HOSTILE}", "detail": {}}
    api.answers["POST /v2/flavors"] = Answer(200, flavor(bookable_hosts=1, warnings=[doubt]))
    form = operator.sees(f"{FLAVORS}create/")
    assert [f'<option value="{zone}">' in form for zone in ("north", "nova")] == [True] * 2
    values = {"vcpu": "2", "memory_mb": "512", "disk_gb": "5", "slots": "3", "name": "new"}
    given = {**filled(form), **values, "availability_zone": "north", "check": "1"}
    page = operator.sends(f"{FLAVORS}create/", given, 200).content.decode()
    assert "1 of 2 hosts matches." in page and "In doubt: &lt;script&gt;" in page
    (asked,) = [request for request in api.seen if request.method == "POST"]
    assert (asked.query, asked.body["availability_zone"]) == ({"dry_run": "true"}, "north")


def test_second_flavor_of_a_name_is_refused_at_its_field(operator: Visitor, api: Api) -> None:
    form = filled(operator.sees(f"{FLAVORS}create/"))
    values = {"vcpu": "2", "memory_mb": "512", "disk_gb": "5", "slots": "3", "name": FLAVOR.name}
    page = operator.sends(f"{FLAVORS}create/", {**form, **values}, 200).content.decode()
    assert 'id="field_name_error"><p>Another flavor has this name.' in page
    assert {request.method for request in api.seen} == {"GET"}


def test_refusal_of_the_api_stands_at_its_field(operator: Visitor, api: Api) -> None:
    why = "weekly_hours: expected times of the week"
    refusal = error(422, why, "invalid_field", field="weekly_hours", expected="times of the week")
    api.answers["POST /v2/flavors"] = refusal
    form = filled(operator.sees(f"{FLAVORS}create/"))
    values = {"vcpu": "2", "memory_mb": "512", "disk_gb": "5", "slots": "3", "name": "new"}
    page = operator.sends(f"{FLAVORS}create/", {**form, **values}, 200).content.decode()
    assert 'id="field_weekly_hours_error"><p>expected times of the week</p>' in page
    assert page.count("expected times of the week") == 1
    why = "idle_end_hours: expected a number greater than idle_warn_hours"
    said = error(422, why, "invalid_field", field="idle_end_hours", expected="a greater number")
    api.answers["POST /v2/flavors"] = said
    page = operator.sends(f"{FLAVORS}create/", {**form, **values}, 200).content.decode()
    assert (
        "<p>expected a number greater than &quot;Say so after hours without a server&quot;" in page
    )


@pytest.mark.parametrize(
    "path",
    [
        f"{WINDOWS}create/",
        RESERVATIONS,
        "/admin/refused_requests/",
        "/project/reservation_series/create/",
        "/project/reservation_waits/create/",
    ],
)
def test_flavors_of_one_name_are_told_apart(operator: Visitor, api: Api, path: str) -> None:
    other = "99999999-1111-4111-8111-111111111111"
    api.answers["GET /v2/flavors"] = listing(flavor(), flavor(id=other), flavor(id="3", name="f"))
    page = operator.sees(path)
    for each in (FLAVOR.id, other):
        assert re.search(rf"{FLAVOR.name} \({each}\)\s*<", page)
    assert re.search(r">\s*f\s*<", page)


def test_question_of_deletion_says_what_prevents_it(operator: Visitor, api: Api) -> None:
    where = f"{FLAVORS}{FLAVOR.id}/delete/"
    booked = [reservation(name=f"training {number}") for number in range(5)]
    api.answers["GET /v2/reservations"] = listing(*booked, total=7)
    page = operator.sees(where)
    assert "because 7 reservations of it aren&#x27;t over:" in page and "2 more" in page
    assert "training 4 of lab, until Tue 2026-12-01 11:00" in page
    assert "btn-end" not in page
    api.answers["GET /v2/reservations"] = listing()
    page = operator.sees(where)
    assert "Lists and usage still show what was booked of it." in page and "btn-end" in page


def test_operator_changes_and_ends_a_reservation_of_any_project(
    operator: Visitor, api: Api
) -> None:
    line = f"/v2/reservations/{reservation()['id']}"
    moved = {"start": "2026-12-01T09:00:00+00:00", "end": "2026-12-01T11:00:00+00:00"}
    entry = {"at": "2026-11-30T20:00:00+00:00", "user_id": "user-1", "change": "rescheduled"}
    log = [{**entry, "before": moved, "after": {**moved, "instance_count": 2}}]
    other = reservation(project_id="another", log=log)
    extension = {"latest_end": moved["end"], "stopped_by": None, "extend_from": None}
    api.answers |= {
        f"GET {line}": Answer(200, other),
        f"GET {line}/extensions": Answer(200, extension),
        f"PATCH {line}": Answer(200, other),
        f"DELETE {line}": Answer(204),
    }
    where = f"{RESERVATIONS}{other['id']}/"
    operator.browser.cookies["django_timezone"] = "Asia/Tokyo"
    page = operator.sees(where)
    assert ">Tue 2026-12-01 05:00<" in page
    assert "end: Tue 2026-12-01 20:00, instance_count: 2" in page
    operator.browser.cookies.clear()
    assert f'href="{where}change/"' in page and f'href="{where}end/"' in page
    form = filled(operator.sees(f"{where}change/"))
    sent = operator.sends(f"{where}change/", {**form, "end": "2026-12-01T10:00", "save": "1"})
    assert sent["Location"] == where
    assert f'href="{where}"' in operator.sees(f"{where}end/")
    assert operator.sends(f"{where}end/", {})["Location"] == RESERVATIONS
    changes = [(each.line, each.body) for each in api.seen if each.method != "GET"]
    assert (f"PATCH {line}", {"end": "2026-12-01T10:00:00+00:00"}) in changes
    assert changes[-1] == (f"DELETE {line}", None)


def test_name_that_no_reservation_has_is_answered_with_similar_ones(
    operator: Visitor, api: Api
) -> None:
    api.answers["GET /v2/reservations"] = [listing(), listing(reservation(name="climate-run"))]
    page = operator.sees(f"{RESERVATIONS}?name=climate")
    assert "No reservation has exactly this name. Similar names: climate-run" in page
    api.answers["GET /v2/reservations"] = listing()
    assert "There is no reservation here." in operator.sees(f"{RESERVATIONS}?name=climate")


def test_deleted_reservations_can_be_listed(operator: Visitor, api: Api) -> None:
    api.answers["GET /v2/reservations"] = listing(reservation(name="gone", status="DELETED"))
    assert "gone" in operator.sees(f"{RESERVATIONS}?show=deleted")
    (query,) = [each.query for each in api.seen if each.line == "GET /v2/reservations"]
    assert query["deleted"] == "true" and "status" not in query


def test_page_of_a_reservation_names_its_hosts(operator: Visitor, api: Api) -> None:
    one = reservation(log=[])
    amounts = {"state": "bookable", "draining": None, "resources": []}
    hosts = [
        {"id": name, "name": name, **amounts, "reservations": [{"id": ref}]}
        for name, ref in (("cmp1", one["id"]), ("cmp2", "another"))
    ]
    api.answers |= {
        "GET /v2/hosts": listing(*hosts),
        f"GET /v2/reservations/{one['id']}": Answer(200, one),
    }
    assert "<dd>cmp1</dd>" in operator.sees(f"{RESERVATIONS}{one['id']}/")


def test_deletion_that_comes_late_names_who_was_first(operator: Visitor, api: Api) -> None:
    at = datetime.datetime(2026, 12, 1, 9)
    said = texts.refusals.RESERVATION_DELETED(reservation="r", at=at, by="user-1").document
    gone = error(404, said["message"], said["code"], **said["detail"])
    api.answers[f"GET /v2/reservations/{reservation()['id']}"] = gone
    page = operator.browser.get(f"{RESERVATIONS}{reservation()['id']}/").content.decode()
    assert "by ada" in page and "user-1" not in page


def test_page_of_a_flavor_has_its_terms(operator: Visitor, api: Api) -> None:
    terms = {"weekly_hours": "8h mon-fri 19:00-08:00 UTC", "max_days_ahead": 30, "notice_hours": 1}
    api.answers[f"GET /v2/flavors/{FLAVOR.id}"] = Answer(200, flavor(**terms))
    page = operator.sees(f"{FLAVORS}{FLAVOR.id}/")
    for label, value in (
        ("Times of the week", terms["weekly_hours"]),
        ("Reservations end within days from now", 30),
        ("Begin at least so many hours after they are booked", 1),
    ):
        assert f"<dt>{label}</dt><dd>{value}</dd>" in page
    api.answers[f"GET /v2/flavors/{FLAVOR.id}"] = Answer(200, flavor(notice_hours=0))
    assert "Begin at least" not in operator.sees(f"{FLAVORS}{FLAVOR.id}/")


def test_page_of_a_flavor_says_what_limits_it_on_each_host(operator: Visitor, api: Api) -> None:
    none = dict.fromkeys(("asked", "capacity", "have"))
    limits_ = [
        {**none, "kind": "zone", "name": "nowhere"},
        {**none, "kind": "property", "name": "gpu == True", "have": "true"},
        {**none, "kind": "resource_class", "name": "VCPU", "asked": 4, "capacity": 2},
        {**none, "kind": "of tomorrow", "name": "x"},
    ]
    hosts = [{"name": "cmp1", "instances": 0, "limits": limits_}]
    api.answers[f"GET {LINE}"] = Answer(200, flavor(limits={"by": "hosts", "hosts": hosts}))
    said = "not in zone nowhere, not gpu == True, but true, VCPU: each instance takes 4 of 2, x"
    assert f">{said}</td>" in operator.sees(f"{FLAVORS}{FLAVOR.id}/")


def test_access_is_granted_and_revoked(operator: Visitor, api: Api) -> None:
    api.answers["POST /v2/flavorprojects"] = Answer(
        200, {"id": "7", "flavor": FLAVOR.id, "project_id": PROJECT}
    )
    api.answers["DELETE /v2/flavorprojects/7"] = Answer(204)
    operator.sends(f"{FLAVORS}{FLAVOR.id}/access/", {"project": PROJECT})
    api.answers["GET /v2/flavorprojects"] = listing(
        {"id": "7", "flavor": FLAVOR.id, "project_id": PROJECT}
    )
    question = operator.sees(f"{FLAVORS}{FLAVOR.id}/access/7/")
    assert "Let lab no longer book &lt;script&gt;" in question and HOSTILE not in question
    operator.sends(f"{FLAVORS}{FLAVOR.id}/access/7/", {})
    changes = [request for request in api.seen if request.method != "GET"]
    assert [request.method for request in changes] == ["POST", "DELETE"]


def test_refused_window_names_the_reservations(operator: Visitor, api: Api) -> None:
    api.answers["POST /v2/maintenancewindows"] = error(
        409, "reservations are in the way", "window_conflict", reservations=[MET]
    )
    text = operator.sends(f"{WINDOWS}create/", {**FORM, "bookings": "refuse"}, 200).content.decode()
    assert "conflicts with existing reservations" in text and MET["id"] in text


def test_window_over_nothing_is_refused_in_the_form(operator: Visitor, api: Api) -> None:
    why = "flavor_ids: expected a flavor, or a host in host_ids"
    api.answers["POST /v2/maintenancewindows"] = error(422, why, "invalid_field")
    given = {**FORM, "host_ids": [], "bookings": "refuse"}
    text = operator.sends(f"{WINDOWS}create/", given, 200).content.decode()
    assert "or a host in &quot;Hosts&quot;" in text and 'value="2099-12-01T00:00"' in text


@pytest.mark.parametrize(("count", "is_said"), [(0, True), (1, False)])
def test_form_says_that_there_is_nothing_to_close(
    operator: Visitor, api: Api, count: int, is_said: bool
) -> None:
    api.answers["GET /v2/flavors"] = listing(*[flavor()] * count)
    api.answers["GET /v2/hosts"] = listing()
    page = operator.sees(f"{WINDOWS}create/")
    assert ("There are neither flavors nor hosts that a window could close." in page) is is_said


MET = {
    "id": reservation()["id"],
    "project_id": PROJECT,
    "flavor": {"id": FLAVOR.id, "name": "gpu.large"},
    "instance_count": 2,
    "start": "2099-12-01T00:00:00+00:00",
    "end": "2099-12-01T03:00:00+00:00",
    "new_start": "2099-12-02T00:00:00+00:00",
    "new_end": "2099-12-02T03:00:00+00:00",
    "reason": None,
}
FORM = {"start": "2099-12-01T00:00", "end": "2099-12-02T00:00", "host_ids": "1"}


@pytest.mark.parametrize("path", [f"{WINDOWS}create/", f"{WINDOWS}{WINDOW['id']}/edit/"])
def test_form_shows_whom_the_window_meets_and_writes_nothing(
    path: str, operator: Visitor, api: Api
) -> None:
    left = {**MET, "outcome": "left", "reason": f"it runs {HOSTILE}"}
    answer = Answer(200, {**WINDOW, "reservations": [{**MET, "outcome": "postponed"}, left]})
    api.answers |= {
        "POST /v2/maintenancewindows": answer,
        f"PATCH /v2/maintenancewindows/{WINDOW['id']}": answer,
        f"GET /v2/maintenancewindows/{WINDOW['id']}": Answer(200, WINDOW),
    }
    given = {**filled(operator.sees(path)), **FORM, "bookings": "end", "check": "1"}
    text = operator.sends(path, given, 200).content.decode()
    assert "moves to Wed 2099-12-02 00:00" in text
    assert "stays: it runs &lt;script&gt;" in text and HOSTILE not in text
    (asked,) = [request for request in api.seen if request.method != "GET"]
    assert (asked.body["bookings"], asked.body["host_ids"]) == ("end", ["1"])
    assert asked.query == {"dry_run": "true"}
    assert f'/{MET["id"]}/">training</a>' in text


def test_right_that_is_gone_is_not_asked_about(operator: Visitor) -> None:
    assert "may not book the flavor" in operator.sees(f"{FLAVORS}{FLAVOR.id}/access/8/", 404)


def test_window_that_is_changed_can_be_deleted(operator: Visitor, api: Api) -> None:
    api.answers[f"GET /v2/maintenancewindows/{WINDOW['id']}"] = Answer(200, WINDOW)
    where = f"{WINDOWS}{WINDOW['id']}/"
    api.answers[f"DELETE /v2/maintenancewindows/{WINDOW['id']}"] = Answer(204)
    assert f'href="{where}delete/"' in operator.sees(f"{where}edit/")
    question = operator.sees(f"{where}delete/")
    assert "Delete the window from Tue 2099-12-01 00:00 to Wed 2099-12-02 00:00?" in question
    assert HOSTILE not in question
    assert {request.method for request in api.seen} == {"GET"}
    operator.sends(f"{where}delete/", {})
    assert api.seen[-1].method == "DELETE"
    assert "delete/" not in operator.sees(f"{WINDOWS}create/").split('class="flavor-res')[1]


def test_window_over_hosts_is_made(operator: Visitor, api: Api) -> None:
    left = {**MET, "outcome": "left", "reason": "it runs"}
    api.answers["POST /v2/maintenancewindows"] = Answer(201, {**WINDOW, "reservations": [left]})
    operator.sends(f"{WINDOWS}create/", {**FORM, "bookings": "move"})
    (asked,) = [request for request in api.seen if request.method != "GET"]
    assert (asked.body["bookings"], asked.query) == ("move", {})
    assert "1 reservation is in the window still." in operator.sees(WINDOWS)


def test_plan_draws_a_window_over_a_host(operator: Visitor, api: Api) -> None:
    now = datetime.datetime.now(datetime.UTC)
    times = {"start": now.isoformat(), "end": (now + datetime.timedelta(hours=9)).isoformat()}
    closed = {**WINDOW, **times, "flavors": [], "hosts": [{"id": "1", "name": HOSTILE}]}
    api.answers["GET /v2/maintenancewindows"] = listing(closed)
    assert '<rect class="window"' in operator.sees("/admin/reservation_plan/")


def test_filters_are_sent(operator: Visitor, api: Api) -> None:
    api.answers["GET /v2/hosts"] = listing(host(name="cmp1"))
    query = f"show=ERROR&project={PROJECT}&flavor={FLAVOR.id}&host=cmp1&name=lab&sort=end"
    page = operator.sees(f"{RESERVATIONS}?{query}")
    (asked,) = [request for request in api.seen if request.line == "GET /v2/reservations"]
    wanted = {"status": "ERROR", "project_id": PROJECT, "flavor_id": FLAVOR.id, "host": "cmp1"}
    more = {"name": "lab", "sort": "end", "all_projects": "true"}
    assert asked.query.items() >= {**wanted, **more}.items()
    # The heads of the columns sort, and keep the filters.
    for head, sort in (("Start", "start"), ("End", "end%3Adesc"), ("User", "user_id")):
        link = query.replace("sort=end", f"sort={sort}").replace("&", "&amp;")
        assert f'<a href="?{link}">{head}</a>' in page


def test_refused_requests_are_said_in_words_and_filtered(operator: Visitor, api: Api) -> None:
    refusal = {
        **dict.fromkeys(("user_id", "flavor", "flavor_id", "start", "end", "instance_count")),
        **{"id": "1", "at": "2026-12-01T00:00:00+00:00", "code": "slots_exhausted"},
        "project_id": PROJECT,
    }
    unknown = {**refusal, "id": "2", "code": "flavor_not_found"}
    api.answers["GET /v2/refusals"] = listing(refusal, unknown)
    page = operator.sees(f"/admin/refused_requests/?code=slots_exhausted&project_id={PROJECT}")
    assert page.count(html.escape(texts.BRIEF["slots_exhausted"].sentence({}))) == 2
    assert "flavor_not_found" not in re.sub("<option.*?>", "", page)
    (asked,) = [request for request in api.seen if request.line == "GET /v2/refusals"]
    assert asked.query.items() >= {"code": "slots_exhausted", "project_id": PROJECT}.items()


def test_what_runs_and_comes_is_listed_first(operator: Visitor, api: Api) -> None:
    for query, status, sort in (
        ("", "ACTIVE,ERROR,PENDING_CREATE,ALLOCATED", "start"),
        ("?show=all", None, "start:desc"),
    ):
        operator.sees(f"{RESERVATIONS}{query}")
        asked = [r.query for r in api.seen if r.line == "GET /v2/reservations"][-1]
        assert (asked.get("status"), asked["sort"]) == (status, sort)


def test_host_that_is_gone_by_now_is_said_at_its_field(operator: Visitor, api: Api) -> None:
    said = {"field": "host", "expected": "Blazar has no such host: cmp1"}
    why = f"host: {said['expected']} {HOSTILE}"
    api.answers["GET /v2/hosts"] = listing(host(name="cmp1"))
    api.answers["GET /v2/reservations"] = error(400, why, "invalid_field", **said)
    page = operator.sees(f"{RESERVATIONS}?host=cmp1")
    assert "<p>Blazar has no such host: cmp1 &lt;script&gt;" in page and HOSTILE not in page
    assert "has-error" in operator.sees(f"{RESERVATIONS}?host=nope")


def test_plan_draws_a_reservation_and_says_why_a_host_drains(operator: Visitor) -> None:
    page = operator.sees("/admin/reservation_plan/")
    assert '<rect class="booked"' in page and f"1 x {FLAVOR.name}" in page
    assert '<line class="now"' in page
    assert "drains, nothing new is placed on it" in page


def test_what_is_free_on_a_host_is_said_in_words(operator: Visitor, api: Api) -> None:
    numbers = {"capacity": 8, "used_now": 1, "used_peak": 2}
    classes = ("VCPU", "CUSTOM_PCI_10DE_20B0", "CUSTOM_GPU_A100")
    has = [{"resource_class": each, **numbers} for each in classes]
    api.answers["GET /v2/hosts"] = listing(host(resources=has))
    page = operator.sees("/admin/reservation_plan/")
    for free, head in ((7, "Free now"), (6, "Free at the peak")):
        said = f"{free}/8 vCPU, {free}/8 PCI device 10de:20b0, {free}/8 GPU A100"
        assert f'<td data-label="{head}">{said}</td>' in page


def test_limits_of_all_projects_are_listed(operator: Visitor, api: Api) -> None:
    page = operator.sees("/admin/reservation_quotas/")
    cells = re.findall('<td data-label="Most hours">(.*?)</td>', page)
    assert cells == ["unlimited", "40"]
    assert "Times are in the zone" not in page
    (asked,) = [request for request in api.seen if request.line == "GET /v2/limits"]
    assert asked.query == {"all_projects": "true"}


def test_fields_of_a_flavor_are_in_groups(operator: Visitor) -> None:
    page = operator.sees(f"{FLAVORS}create/")
    place = page.index("<h3>On which hosts</h3>")
    assert page.index('name="slots"') < place < page.index('name="availability_zone"')
    # The size of a flavor can't be changed.
    assert "What an instance takes" not in operator.sees(f"{FLAVORS}{FLAVOR.id}/edit/")


def test_plan_leads_to_earlier_and_later_weeks(operator: Visitor) -> None:
    page = operator.sees("/admin/reservation_plan/?by=flavor&start=2099-12-08&days=7")
    for start in ("2099-12-01", "2099-12-15"):
        assert f"?by=flavor&amp;start={start}&amp;days=7" in page
    # A flavor without reservations has a line, and the present isn't on this plan.
    assert f">{FLAVOR.name}</text>" in page and '<line class="now"' not in page


@pytest.mark.parametrize(
    ("hours", "shown"), [(168, "training x 2"), (14, "training\N{HORIZONTAL ELLIPSIS}"), (1, "")]
)
def test_bar_says_as_much_as_there_is_room_for(hours: int, shown: str) -> None:
    start = datetime.datetime(2026, 12, 1, tzinfo=datetime.UTC)
    booked = Span(start, start + datetime.timedelta(hours=hours))
    span = charts.PlannedSpan(booked, "", "booked", "training x 2")
    plan = charts.plan([("host", [span])], Span(start, start + datetime.timedelta(days=7)))
    assert plan.lanes[0].bars[0].text == shown


def test_audit_says_when_it_was_made_and_what_it_found(operator: Visitor) -> None:
    page = operator.sees("/admin/reservation_audit/?page=2")
    assert "The last audit was finished on Wed 2026-11-25 12:30" in page
    assert "It has found 45 differences." in page and "Page 2 of 3, 45 in all" in page
    assert "nova could not be compared" in page
    assert "Placement has no &lt;script&gt;" in page and "an operator who does it" in page


@pytest.mark.parametrize("query", ["kind=host-failed", "needs=--repair"])
def test_differences_are_chosen_by_kind_and_by_what_they_need(
    query: str, operator: Visitor
) -> None:
    page = operator.sees(f"/admin/reservation_audit/?{query}")
    assert "cmp7 has failed" in page and "Placement has no" not in page
    assert ">warre-blazar-manage audit --repair</option>" in page
    none = operator.sees("/admin/reservation_audit/?kind=host-failed&needs=a+person")
    assert "There is no such difference." in none


def test_page_says_that_no_audit_was_made(operator: Visitor, api: Api) -> None:
    report = {"finished_at": None, "found": 0, "away": [], "results": [], "total": 0}
    api.answers["GET /v2/audit"] = Answer(200, report)
    assert "No audit has been made yet." in operator.sees("/admin/reservation_audit/")
