"""The pages of a project's reservations."""

import datetime
import re
from typing import Any

import pytest
from keystoneauth1 import session, token_endpoint

from tests.dashboard import site
from tests.dashboard.conftest import Visitor, filled
from tests.fakes.service import Answer
from tests.unit.cli.fake_api import RESERVATION, Api, error, foreseen, listing, reservation, server
from warre_blazar.client import Client, Reservation
from warre_blazar.dashboard.servers import deleted as servers_deleted
from warre_blazar.dashboard.servers import of as servers_of
from warre_blazar.domain.timeline import Span

MINE = "/project/flavor_reservations/"
ID = reservation()["id"]
ONE = f"{MINE}{ID}/"
LINE = f"/v2/reservations/{ID}"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def answers(api: Api) -> None:
    api.answers[f"GET {LINE}"] = Answer(200, reservation(log=[]))
    api.answers[f"GET {LINE}/extensions"] = Answer(
        200,
        {
            "latest_end": "2026-12-01T15:00:00+00:00",
            "stopped_by": "slots_exhausted",
            "extend_from": None,
        },
    )
    api.answers[f"PATCH {LINE}"] = foreseen()
    api.answers[f"DELETE {LINE}"] = Answer(204)
    api.answers["GET /v2/shares"] = listing()


@pytest.mark.parametrize(
    ("query", "status", "sort"),
    [
        ("", "ACTIVE,ERROR,PENDING_CREATE,ALLOCATED", "start"),
        ("?part=past", "COMPLETE", "end:desc"),
    ],
)
def test_each_part_lists_its_states(
    query: str, status: str, sort: str, member: Visitor, api: Api
) -> None:
    assert "gpu.large" in member.sees(f"{MINE}{query}")
    asked = next(request for request in api.seen if request.line == "GET /v2/reservations")
    assert (asked.query["status"], asked.query["sort"]) == (status, sort)


def test_what_runs_and_what_comes_are_seen_together(member: Visitor, api: Api) -> None:
    now = datetime.datetime.now(datetime.UTC)
    end = (now + datetime.timedelta(hours=4, minutes=30)).isoformat()
    api.answers["GET /v2/reservations"] = listing(
        reservation(name="training", status="ACTIVE", end=end), reservation(name="demo")
    )
    page = member.sees(MINE)
    assert page.index("training") < page.index("demo")
    assert "running, 4 hours left" in page and "booked" in page


def test_words_are_looked_for_in_names_and_flavors(member: Visitor, api: Api) -> None:
    api.answers["GET /v2/reservations"] = listing(
        reservation(name="Training of July"), reservation(name="demo"), reservation()
    )
    page = member.sees(f"{MINE}?words=JULY+gpu&part=live")
    assert "Training of July" in page and "demo" not in page
    assert 'name="words" value="JULY gpu"' in page
    assert "No reservation has these words" in member.sees(f"{MINE}?words=august")


def test_reservations_of_a_series_stand_together(member: Visitor, api: Api) -> None:
    lessons = [
        reservation(id=f"{n}5555555-5555-4555-8555-555555555555", name="course", series_id="s-1")
        for n in range(2)
    ]
    first, last = lessons
    api.answers["GET /v2/reservations"] = listing(first, reservation(name="demo"), last)
    page = member.sees(MINE)
    head = page.index("Series course: 2 reservations")
    places = [page.index(f"{MINE}{each['id']}/") for each in lessons]
    assert head < places[0] < places[1] < page.index("demo")
    assert '/project/reservation_series/s-1/"' in page
    assert "Series course" not in member.sees(f"{MINE}?words=demo")


def test_several_are_deleted_after_one_question(
    member: Visitor, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = reservation(id="55555555-5555-4555-8555-555555555555", name=HOSTILE, status="ACTIVE")
    api.answers[f"GET /v2/reservations/{other['id']}"] = Answer(200, other)
    api.answers["GET /v2/reservations"] = listing(reservation(), other)
    there = {other["id"]: [server("worker-7")]}
    monkeypatch.setattr("warre_blazar.dashboard.servers.of", lambda _, it: there.get(it.id, []))
    boxes = [f'type="checkbox" name="id" value="{each}"' for each in (ID, other["id"])]
    assert all(box in member.sees(MINE) for box in boxes)
    where = f"{MINE}delete/?id={ID}&id={other['id']}"
    page = member.sees(where)
    assert "gpu.large, Tue 2026-12-01 09:00: 2 x gpu.large" in page
    assert "&lt;script&gt;" in page and HOSTILE not in page
    assert page.count("with the servers") == 1 and "with the servers worker-7" in page
    api.answers[f"DELETE /v2/reservations/{other['id']}"] = error(409, "It is being changed")
    member.sends(where, {})
    deleted = [request.line for request in api.seen if request.method == "DELETE"]
    assert deleted == [f"DELETE {LINE}", f"DELETE /v2/reservations/{other['id']}"]
    after = member.sees(MINE)
    assert "1 reservation is deleted." in after and "It is being changed" in after


def test_nothing_is_deleted_if_nothing_is_chosen(member: Visitor) -> None:
    page = member.sees(f"{MINE}delete/")
    assert "You have chosen no reservation." in page and "Delete them" not in page


def test_thousand_reservations_are_paged(member: Visitor, api: Api) -> None:
    api.answers["GET /v2/reservations"] = listing(reservation(), total=1000)
    page = member.sees(f"{MINE}?part=past&page=3")
    assert "Page 3 of 50, 1000 in all" in page
    assert "part=past&amp;page=2" in page and "part=past&amp;page=4" in page
    asked = next(request for request in api.seen if request.line == "GET /v2/reservations")
    assert (asked.query["limit"], asked.query["page"]) == ("20", "3")
    assert [request.line for request in api.seen].count("GET /v2/reservations") == 1


@pytest.mark.parametrize("page", ["51", "99", "999999"])
def test_page_after_the_last_one_leads_to_the_last_one(
    page: str, member: Visitor, api: Api
) -> None:
    api.answers["GET /v2/reservations"] = listing(total=1000)
    answer = member.browser.get(f"{MINE}?part=past&page={page}")
    assert (answer.status_code, answer["Location"]) == (302, "?part=past&page=50")


@pytest.mark.parametrize("page", ["0", "-1", "x", "9999999999", "²"])
def test_strange_page_is_the_first(page: str, member: Visitor, api: Api) -> None:
    member.sees(f"{MINE}?page={page}")
    assert api.seen[0].query["page"] == "1"


def test_names_are_escaped_everywhere(
    member: Visitor, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = reservation(
        name=HOSTILE, note=HOSTILE, status_reason=HOSTILE, status="ACTIVE", log=[], contact=None
    )
    hostile["flavor"] = {**hostile["flavor"], "name": HOSTILE}
    api.answers["GET /v2/reservations"] = listing(hostile)
    api.answers[f"GET {LINE}"] = Answer(200, hostile)
    there = [{**server(HOSTILE, status=HOSTILE), "id": "1"}]
    monkeypatch.setattr("warre_blazar.dashboard.servers.of", lambda *_: there)
    for path in (MINE, ONE, f"{ONE}change/", f"{ONE}end/"):
        page = member.sees(path)
        assert HOSTILE not in page, path
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page, path


@pytest.mark.parametrize(("status", "number"), [("ACTIVE", 3), ("ERROR", 3), ("ALLOCATED", 0)])
def test_servers_in_error_count_as_servers_of_a_reservation(
    api: Api, status: str, number: int
) -> None:
    there = [server("a"), server("b", status="ERROR"), server("c", moved_out=True)]
    api.answers[f"GET {LINE}"] = Answer(200, reservation(status=status, servers=there))
    client = Client(session.Session(auth=token_endpoint.Token(f"{api.url}/v1", "a-token")))
    found = Reservation.of(reservation(status=status))
    assert len(servers_of(client, found) or ()) == number
    deleted = servers_deleted(client, found) or ()
    assert [each["name"] for each in deleted] == ["a", "b"][:number]
    assert all(request.query == {"detail": "servers"} for request in api.seen)


def test_page_of_what_is_gone_leads_to_the_list(member: Visitor, api: Api) -> None:
    api.answers[f"GET {LINE}"] = error(404, "It is gone", "reservation_not_found")
    assert f'href="{MINE}">Back to the list' in member.sees(ONE, 404)
    api.answers["GET /v2/reservations"] = error(403, "No", "forbidden")
    assert "Back to the list" not in member.sees(MINE, 403)


def test_error_of_the_api_is_escaped(member: Visitor, api: Api) -> None:
    api.answers[f"GET {LINE}"] = error(404, HOSTILE)
    page = member.sees(ONE, 404)
    assert HOSTILE not in page and "&lt;script&gt;" in page


def test_forms_need_the_csrf_token(member: Visitor, api: Api) -> None:
    member.browser.handler.enforce_csrf_checks = True
    for path in (f"{ONE}end/", f"{ONE}change/", f"{MINE}messages/"):
        assert "csrf_failure" in member.sends(path, {})["Location"]
    assert [request for request in api.seen if request.method != "GET"] == []


def test_change_without_javascript_is_checked_by_a_button(member: Visitor, api: Api) -> None:
    values = {**filled(member.sees(f"{ONE}change/")), "count": "1", "check": "1"}
    text = member.sends(f"{ONE}change/", values, 200).content.decode()
    assert "This can be done." in text
    assert [r.query for r in api.seen if r.method == "PATCH"] == [{"dry_run": "true"}]


@pytest.mark.parametrize("there", [[server("web-1"), server("web-2")], None])
def test_earlier_end_names_the_servers_that_it_deletes_and_asks(
    there: Any, member: Visitor, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.answers[f"GET {LINE}"] = Answer(200, reservation(status="ACTIVE", log=[]))
    monkeypatch.setattr("warre_blazar.dashboard.servers.of", lambda *_: there)
    opened = filled(member.sees(f"{ONE}change/"))
    values = {**opened, "end": "2026-12-01T10:00", "save": "1"}
    for sent in ({**values, "check": "1"}, values):
        text = member.sends(f"{ONE}change/", sent, 200).content.decode()
        assert ("web-1" in text and "web-2" in text) or there is None
        assert "deleted" in text
    assert {r.query.get("dry_run") for r in api.seen if r.method == "PATCH"} == {"true"}
    told = dict(re.findall(r'name="(delete)" value="([^"]+)"', text))
    # What the person was told about another end doesn't count.
    later = {**values, **told, "end": "2026-12-01T10:30"}
    member.sends(f"{ONE}change/", later, 200)
    member.sends(f"{ONE}change/", {**values, **told})
    assert api.seen[-1].body == {"end": "2026-12-01T10:00:00+00:00"}
    assert api.seen[-1].query == {}


def test_earlier_end_changes_nothing_if_it_is_not_known_what_it_deletes(
    member: Visitor, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.answers[f"GET {LINE}"] = Answer(200, reservation(status="ACTIVE", log=[]))
    monkeypatch.setattr("warre_blazar.dashboard.servers.of", lambda *_: [server("web-1")])
    values = {**filled(member.sees(f"{ONE}change/")), "end": "2026-12-01T10:00", "save": "1"}
    api.answers[f"PATCH {LINE}"] = error(503, "try again later", "service_unavailable")
    member.sends(f"{ONE}change/", values, 200)
    assert {r.query.get("dry_run") for r in api.seen if r.method == "PATCH"} == {"true"}


@pytest.mark.parametrize("change", [{"end": "2026-12-01T10:00"}, {"count": "1"}, {"note": "x"}])
def test_change_that_deletes_no_server_asks_nothing(
    change: dict[str, str], member: Visitor, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.answers[f"GET {LINE}"] = Answer(200, reservation(status="ACTIVE", log=[]))
    there = [server("gone", moved_out=True)] if "end" in change else [server("web-1")]
    monkeypatch.setattr("warre_blazar.dashboard.servers.of", lambda *_: there)
    member.sends(f"{ONE}change/", {**filled(member.sees(f"{ONE}change/")), **change, "save": "1"})


@pytest.mark.parametrize(("hours", "said"), [(1, "-1"), (2, None), (3.5, "+1.5")])
def test_change_says_how_much_longer_or_shorter_it_becomes(
    hours: float, said: str | None, member: Visitor, api: Api
) -> None:
    span = Span(RESERVATION.span.start, RESERVATION.span.start + datetime.timedelta(hours=hours))
    api.answers[f"PATCH {LINE}"] = foreseen(span=span)
    values = {**filled(member.sees(f"{ONE}change/")), "note": "x", "check": "1"}
    text = member.sends(f"{ONE}change/", values, 200).content.decode()
    told = re.findall("<p>Hours more or less: ([^<]+)</p>", text)
    assert told == ([said] if said else [])


def test_running_reservation_is_not_moved_by_maintenance(member: Visitor, api: Api) -> None:
    assert "Maintenance may move it by" in member.sees(f"{ONE}change/")
    api.answers[f"GET {LINE}"] = Answer(200, reservation(status="ACTIVE", log=[]))
    assert "Maintenance may move it by" not in member.sees(f"{ONE}change/")


def test_how_far_it_can_be_extended_is_said(member: Visitor) -> None:
    page = member.sees(f"{ONE}change/")
    until = "It can be extended until Tue 2026-12-01 15:00, because"
    assert f"{until} too few slots are free." in page
    assert 'max="4"' in page


def test_one_instance_can_be_given_back(member: Visitor) -> None:
    assert f"{ONE}change/?count=1" in member.sees(ONE)
    assert 'name="count" value="1"' in member.sees(f"{ONE}change/?count=1")


def test_end_names_the_servers(member: Visitor, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.answers[f"GET {LINE}"] = Answer(200, reservation(status="ACTIVE"))
    there = [server("worker-7"), server("worker-8", moved_out=True)]
    monkeypatch.setattr("warre_blazar.dashboard.servers.of", lambda *_: there)
    page = member.sees(f"{ONE}end/")
    assert "worker-7" in page and "worker-8" not in page
    monkeypatch.setattr("warre_blazar.dashboard.servers.of", lambda *_: None)
    assert "all servers of the reservation are deleted" in member.sees(f"{ONE}end/")
    member.sends(f"{ONE}end/", {})
    assert api.seen[-1].line == f"DELETE {LINE}"


def test_calendar_file_has_an_event(member: Visitor) -> None:
    text = member.sees(f"{MINE}calendar.ics")
    assert "BEGIN:VEVENT" in text and ID in text


def test_address_of_a_calendar_is_made_and_withdrawn(member: Visitor, api: Api) -> None:
    made = site.CALENDAR | {"name": HOSTILE}
    api.answers |= {
        "GET /v2/calendars": listing(made),
        "POST /v2/calendars": Answer(201, made),
        f"GET /v2/calendars/{made['id']}": Answer(200, made),
        f"DELETE /v2/calendars/{made['id']}": Answer(204),
    }
    assert f'href="{MINE}calendars/"' in member.sees(MINE)
    page = member.sees(f"{MINE}calendars/")
    assert str(made["url"]) in page and HOSTILE not in page
    member.sends(f"{MINE}calendars/", {"name": "lab"})
    where = f"{MINE}calendars/{made['id']}/"
    assert f'href="{where}"' in page and HOSTILE not in member.sees(where)
    member.sends(where, {})
    sent = [(request.method, request.body) for request in api.seen if request.method != "GET"]
    assert sent == [("POST", {"name": "lab"}), ("DELETE", None)]


def test_messages_are_turned_off(member: Visitor, api: Api) -> None:
    assert "Turn messages off" in member.sees(MINE)
    api.answers["PATCH /v2/messages"] = Answer(200, {"enabled": False})
    member.sends(f"{MINE}messages/", {"enabled": "no"})
    assert api.seen[-1].body == {"enabled": False}


def test_reader_sees_no_button_that_changes(reader: Visitor) -> None:
    page = reader.sees(ONE)
    assert f"{ONE}change/" not in page and f"{ONE}end/" not in page
    reader.sees(f"{ONE}change/", 403)
    reader.sends(f"{ONE}end/", {}, 403)
    assert 'type="checkbox"' not in site.ours(reader.sees(MINE))
    reader.sees(f"{MINE}delete/?id={ID}", 403)


def test_limits_are_bars(member: Visitor, api: Api) -> None:
    absolute = {
        "maxHours": -1,
        "maxReservations": 1000,
        "totalHoursUsed": 5,
        "totalReservationsUsed": 3,
    }
    api.answers["GET /v2/limits"] = Answer(200, {"absolute": absolute})
    span = {"start": "2026-12-01T00:00:00+00:00", "end": "2026-12-03T00:00:00+00:00"}
    api.answers["GET /v2/usage"] = [
        Answer(200, {**span, "by": by, "results": []}) for by in ("day", "flavor", "user")
    ]
    page = member.sees("/project/reservation_usage/")
    assert "3 of 1000 used, 997 left" in page and "5 used, no limit" in page
    # A bar can be seen as soon as anything is used.
    assert 'aria-valuenow="1"' in page and page.count("<rect") == 2


def test_usage_is_that_of_the_months_and_days_of_the_reader(member: Visitor, api: Api) -> None:
    """In Tokyo, December begins at 15:00 UTC on the last day of November."""
    member.browser.cookies["django_timezone"] = "Asia/Tokyo"
    most = {"maxHours": -1, "maxReservations": -1}
    used = {"totalHoursUsed": 0, "totalReservationsUsed": 0}
    api.answers["GET /v2/limits"] = Answer(200, {"absolute": most | used})
    span = {"start": "2026-11-30T15:00:00+00:00", "end": "2026-12-02T15:00:00+00:00"}
    api.answers["GET /v2/usage"] = [
        Answer(200, {**span, "by": by, "results": []}) for by in ("day", "flavor", "user")
    ]
    page = member.sees("/project/reservation_usage/")
    assert page.count("<rect") == 2
    asked = [request.query for request in api.seen if request.line == "GET /v2/usage"]
    assert [query["timezone"] for query in asked] == ["Asia/Tokyo"] * 3


def test_usage_of_a_period_is_shown_and_downloaded(member: Visitor, api: Api) -> None:
    most = {"maxHours": -1, "maxReservations": -1}
    used = {"totalHoursUsed": 0, "totalReservationsUsed": 0}
    api.answers["GET /v2/limits"] = Answer(200, {"absolute": most | used})
    span = {"start": "2026-10-01T00:00:00+00:00", "end": "2026-10-16T00:00:00+00:00"}
    hours = dict.fromkeys(("booked", "held", "used", "given_back", "cancelled", "lost"), 1.5)
    row = {
        **dict.fromkeys(("project_id", "user_id", "day")),
        **{"flavor_id": "f", "flavor": "gpu, large", "reservations": 2, "hours": hours},
        **{"resource_hours": {}, "refusals": {}},
    }
    refused = {**row, "flavor_id": None, "flavor": None, "reservations": 0}
    api.answers["GET /v2/usage"] = Answer(200, {**span, "by": "flavor", "results": [refused, row]})
    query = "since=2026-10-01&until=2026-10-15"
    page = member.sees(f"/project/reservation_usage/?{query}")
    link = f"{query}&csv=flavor"
    assert link.replace("&", "&amp;") in page
    lines = member.sees(f"/project/reservation_usage/?{link}").splitlines()
    assert lines[0].startswith("Flavor,Reservations,Booked,")
    assert lines[1] == "unknown flavor,0,1.5,1.5,1.5,1.5,1.5,1.5,0"
    assert lines[2:] == ['"gpu, large",2,1.5,1.5,1.5,1.5,1.5,1.5,0']
    asked = [request.query for request in api.seen if request.line == "GET /v2/usage"]
    assert {(each["from"], each["to"]) for each in asked} == {
        ("2026-10-01T00:00:00+00:00", "2026-10-16T00:00:00+00:00")
    }
    api.seen.clear()
    # Days to come count too, with what is booked for them.
    member.sees("/project/reservation_usage/?since=2026-10-01&until=2099-12-30")
    asked = [request.query for request in api.seen if request.line == "GET /v2/usage"]
    assert {each["to"] for each in asked} == {"2099-12-31T00:00:00+00:00"}
    api.seen.clear()
    # The last day of the calendar has no end.
    for since, until in (("2026-10-15", "2026-10-01"), ("9999-12-31", "9999-12-31")):
        late = member.sees(f"/project/reservation_usage/?since={since}&until={until}")
        assert "This day is before the first one" in late
    assert "GET /v2/usage" not in [request.line for request in api.seen]


def test_login_is_asked_for_when_the_token_is_refused(member: Visitor, api: Api) -> None:
    api.answers["GET /v2/reservations"] = error(401, "expired")
    answer = member.browser.get(MINE)
    assert answer.status_code == 302 and "/auth/login/" in answer["Location"]


def test_time_left_is_said_in_words() -> None:
    from warre_blazar.dashboard.templatetags import flavor_reservations as filters  # noqa: PLC0415

    lengths = [(0.5, "30 minutes"), (2, "2 hours"), (50, "2 days")]
    for hours, words in lengths:
        assert filters.lasting(datetime.timedelta(hours=hours)) == words


def test_reservation_is_shared_and_no_longer(member: Visitor, api: Api) -> None:
    share = {**site.SHARE, "project_id": "beta"}
    line = f"/v2/shares/{share['id']}"
    api.answers |= {
        "GET /v2/shares": listing(share),
        f"GET {line}": Answer(200, share),
        "POST /v2/shares": Answer(201, share),
        f"DELETE {line}": Answer(204),
    }
    assert "Shared with" in member.sees(ONE)
    member.sends(f"{ONE}share/", {"project_id": "beta"})
    assert "Let beta boot no more servers" in member.sees(f"{ONE}share/{share['id']}/")
    member.sends(f"{ONE}share/{share['id']}/", {})
    changes = [request for request in api.seen if request.method != "GET"]
    assert [request.line for request in changes] == ["POST /v2/shares", f"DELETE {line}"]
    assert changes[0].body == {"reservation_id": ID, "project_id": "beta"}


def test_name_of_a_project_is_refused_at_its_field(member: Visitor, api: Api) -> None:
    reason = {"field": "project_id", "reason": "project_of_keystone"}
    api.answers["POST /v2/shares"] = error(422, "project_id: no", "invalid_field", **reason)
    text = member.sends(f"{ONE}share/", {"project_id": "beta"}, 200).content.decode()
    at_field = text[text.index('id="field_project_id_error"') :]
    assert "a member of the project sees it with" in at_field
    assert filled(text)["project_id"] == "beta"


def test_guest_sees_a_reservation_as_shared_and_cannot_change_it(member: Visitor, api: Api) -> None:
    shared = reservation(project_id="alpha", shared=True, status="ACTIVE", servers=[])
    api.answers[f"GET {LINE}"] = Answer(200, shared)
    api.answers["GET /v2/reservations"] = listing(shared)
    one, mine = member.sees(ONE), member.sees(MINE)
    assert "The project alpha has booked it" in one and "Launch a server" in one
    assert ">shared<" in mine
    for page in (one, mine):
        assert "Extend or change" not in page and "End now" not in page
