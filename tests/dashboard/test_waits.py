"""The pages about what a project waits for."""

import datetime
import html
import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.dashboard.conftest import Visitor
from tests.fakes.service import Answer
from tests.unit.cli.fake_api import FLAVOR, Api, error, flavor, foreseen, listing, reservation, wait
from warre_blazar.api import slot_views
from warre_blazar.domain.slots.offers import NotOffered
from warre_blazar.errors import exceptions
from warre_blazar.services.slots.offers import Found

WAITS = "/project/reservation_waits/"
ONE = f"{WAITS}{wait()['id']}/"
LINE = f"/v2/waits/{wait()['id']}"
FIND = "/project/find_reservations/"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def answers(api: Api) -> None:
    api.answers["GET /v2/waits"] = listing(wait())
    api.answers[f"GET {LINE}"] = Answer(200, wait())
    api.answers["POST /v2/waits"] = Answer(201, wait())
    api.answers[f"DELETE {LINE}"] = Answer(204)


@pytest.mark.parametrize(
    ("part", "status"),
    [("open", "WAITING,BOOKING"), ("over", "BOOKED,TOLD,EXPIRED,CANCELED,REFUSED")],
)
def test_each_part_lists_its_states(part: str, status: str, member: Visitor, api: Api) -> None:
    assert ONE in member.sees(f"{WAITS}?part={part}")
    assert api.seen[0].query == {"status": status, "limit": "20", "page": "1"}


def test_thousand_waits_are_paged(member: Visitor, api: Api) -> None:
    api.answers["GET /v2/waits"] = listing(wait(), total=1000)
    assert "Page 2 of 50, 1000 in all" in member.sees(f"{WAITS}?page=2")
    assert [request.line for request in api.seen] == ["GET /v2/waits"]


def test_position_in_line_is_shown(member: Visitor) -> None:
    page = member.sees(ONE)
    assert "<dt>Position in line</dt><dd>3</dd>" in page
    assert "As soon as there is room, it is booked for you." in page


def test_booked_wait_leads_to_its_reservation(member: Visitor, api: Api) -> None:
    booked = reservation()
    document = wait(
        status="BOOKED",
        position=None,
        reservation_id=booked["id"],
        found_flavor="gpu.large",
        found_start=booked["start"],
        found_end=booked["end"],
    )
    api.answers[f"GET {LINE}"] = Answer(200, document)
    page = member.sees(ONE)
    assert f"/project/flavor_reservations/{booked['id']}/" in page
    assert f"{ONE}cancel/" not in page


def values(**more: Any) -> dict[str, Any]:
    given = {"what": f"flavor:{FLAVOR.id}", "hours": "24", "count": "2", "mode": "book"}
    return {**given, **more}


def test_wait_is_made(member: Visitor, api: Api) -> None:
    answer = member.sends(f"{WAITS}create/", values(latest="2099-12-31T09:00", name="run 7"))
    assert answer["Location"].endswith(ONE)
    (sent,) = [request for request in api.seen if request.method == "POST"]
    assert sent.body == {
        "flavor_id": FLAVOR.id,
        "hours": 24,
        "instance_count": 2,
        "to": "2099-12-31T09:00:00+00:00",
        "mode": "book",
        "name": "run 7",
        "timezone": "UTC",
    }


def test_any_flavor_of_a_kind_can_be_waited_for(member: Visitor, api: Api) -> None:
    member.sends(f"{WAITS}create/", values(what="kind:gpu", mode="tell", affinity="same"))
    (sent,) = [request for request in api.seen if request.method == "POST"]
    wanted = {"category": "gpu", "mode": "tell", "affinity": True}
    assert sent.body.items() >= wanted.items() and "flavor_id" not in sent.body


def test_refusal_is_shown_with_what_was_filled_in(member: Visitor, api: Api) -> None:
    api.answers["POST /v2/waits"] = error(400, f"too many waits {HOSTILE}", "too_many_waits")
    text = member.sends(f"{WAITS}create/", values(name="run 7"), 200).content.decode()
    assert "too many waits &lt;script&gt;" in text and 'value="run 7"' in text


def test_wait_is_canceled_after_a_question(member: Visitor, api: Api) -> None:
    assert "Stop waiting for gpu.large?" in member.sees(f"{ONE}cancel/")
    member.sends(f"{ONE}cancel/", {})
    assert api.seen[-1].line == f"DELETE {LINE}"


def test_names_are_escaped(member: Visitor, api: Api) -> None:
    hostile = wait(flavor=HOSTILE, name=HOSTILE, note=HOSTILE, status_reason=HOSTILE)
    api.answers["GET /v2/waits"] = listing(hostile)
    api.answers[f"GET {LINE}"] = Answer(200, hostile)
    api.answers["GET /v2/flavors"] = listing(flavor(name=HOSTILE, category=HOSTILE))
    for path in (WAITS, ONE, f"{ONE}cancel/", f"{WAITS}create/"):
        page = member.sees(path)
        assert HOSTILE not in page, path
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page, path


def test_reader_sees_no_button_that_changes(reader: Visitor) -> None:
    assert f"{WAITS}create/" not in reader.sees(WAITS)
    assert f"{ONE}cancel/" not in reader.sees(ONE)
    reader.sees(f"{WAITS}create/", 403)
    reader.sends(f"{ONE}cancel/", {}, 403)


def _found(
    api: Api, why: exceptions.WarreError, wait_start: datetime.datetime | None = None
) -> None:
    missing = NotOffered(FLAVOR, why, None, None, wait_start)
    api.answers["GET /v2/availability"] = Answer(200, {"results": []})
    api.answers["GET /v2/offers"] = Answer(200, slot_views.offers(Found((), 0, (missing,))))


def test_what_is_not_free_can_be_waited_for(member: Visitor, api: Api) -> None:
    _found(api, exceptions.SlotsExhausted(2, 0, 2), datetime.datetime(2099, 12, 1))
    page = member.sees(f"{FIND}?hours=4&count=2")
    assert f"{WAITS}create/?what=flavor%3A{FLAVOR.id}&amp;hours=4&amp;count=2" in page
    assert member.sees(f"{WAITS}create/?what=flavor%3A{FLAVOR.id}&hours=4").count("selected") > 0


def test_what_never_becomes_free_can_not_be_waited_for(member: Visitor, api: Api) -> None:
    _found(api, exceptions.NoHostMatches(1, 0))
    assert f"create/?what=flavor%3A{FLAVOR.id}" not in member.sees(FIND)


@pytest.mark.parametrize("offered", [True, False])
def test_refused_booking_can_be_waited_for_if_a_wait_can_be_served(
    offered: bool, member: Visitor, api: Api
) -> None:
    api.answers[f"GET /v2/flavors/{FLAVOR.id}"] = Answer(200, flavor())
    start = datetime.datetime(2099, 12, 1, 9) if offered else None
    api.answers["POST /v2/reservations"] = foreseen(("slots_exhausted", "no", {}), wait_start=start)
    page = member.sees(f"{FIND}book/{FLAVOR.id}/?hours=2&count=2&name=mine")
    address = f"{WAITS}create/?what=flavor%3A{FLAVOR.id}&amp;hours=2&amp;count=2&amp;name=mine"
    assert (address in page) == offered
    assert "exactly this time" not in page


def test_wait_for_what_was_refused_is_for_the_time_that_was_asked_for(
    member: Visitor, api: Api
) -> None:
    member.browser.cookies["django_timezone"] = "Europe/Berlin"
    api.answers[f"GET /v2/flavors/{FLAVOR.id}"] = Answer(200, flavor())
    start = datetime.datetime(2099, 12, 1, 8)
    api.answers["POST /v2/reservations"] = foreseen(("slots_exhausted", "no", {}), wait_start=start)
    asked_for = "start=2099-12-01T09:00&hours=24"
    page = html.unescape(member.sees(f"{FIND}book/{FLAVOR.id}/?{asked_for}"))
    choices = {text: link for link, text in re.findall(r'href="([^"]+)">(Wait for [^<]+)<', page)}
    exact, later = choices
    assert "exactly this time" in exact and "next time" in later
    bounds = {
        choice: {k: v for k, v in parse_qsl(urlsplit(link).query) if k in ("earliest", "latest")}
        for choice, link in choices.items()
    }
    start = {"earliest": "2099-12-01T09:00"}
    assert bounds == {exact: {**start, "latest": "2099-12-02T09:00"}, later: start}
    shown = member.sees(choices[exact])
    assert 'value="2099-12-01T09:00"' in shown and 'value="2099-12-02T09:00"' in shown


def test_only_a_later_time_can_be_waited_for_if_the_flavor_is_closed_then(
    member: Visitor, api: Api
) -> None:
    api.answers[f"GET /v2/flavors/{FLAVOR.id}"] = Answer(200, flavor())
    start = datetime.datetime(2099, 12, 5)
    api.answers["POST /v2/reservations"] = foreseen(("slots_exhausted", "no", {}), wait_start=start)
    page = member.sees(f"{FIND}book/{FLAVOR.id}/?start=2099-12-01T09:00&hours=24")
    assert "next time" in page and "exactly this time" not in page


def test_my_reservations_lead_to_waits_and_series(member: Visitor) -> None:
    page = member.sees("/project/flavor_reservations/")
    assert f'href="{WAITS}"' in page and 'href="/project/reservation_series/"' in page


@pytest.mark.parametrize(
    ("of_user", "said"),
    [
        ({"enabled": True, "sends": True, "address": "a@example.org"}, "you get a message, and it"),
        ({"enabled": False, "sends": True}, "Your messages are off"),
        ({"enabled": True, "sends": False}, "This cloud sends no messages"),
        ({"enabled": True, "sends": True, "address": None}, "No email address of yours"),
    ],
)
def test_message_is_promised_only_if_one_will_come(
    member: Visitor, api: Api, of_user: dict[str, Any], said: str
) -> None:
    api.answers |= {
        f"GET {LINE}": Answer(200, wait(mode="tell")),
        "GET /v2/messages": Answer(200, of_user),
    }
    assert said in member.sees(f"/project/reservation_waits/{wait()['id']}/")
