"""The commands about waits."""

import re
import zoneinfo
from collections.abc import Callable
from typing import Any

import pytest
from keystoneauth1 import session

from tests.fakes.service import Answer, Request
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import Api, error, flavor, listing
from tests.unit.cli.test_offers import found, offer
from warre_blazar.cli import booking, waits
from warre_blazar.cli.failure import Failure

WAIT: dict[str, Any] = {
    "id": "11111111-1111-4111-8111-111111111111",
    "flavor_id": "big",
    "flavor": "gpu.large",
    "category": None,
    "instance_count": 2,
    "hours": 24,
    "from": "2099-12-01T09:00:00+00:00",
    "to": "2099-12-31T09:00:00+00:00",
    "mode": "book",
    "expires_at": "2099-12-30T09:00:00+00:00",
    "status": "WAITING",
    "position": 3,
    "name": None,
    "reservation_id": None,
    "project_id": "project",
    "user_id": "user",
}


def test_wait_of_another_project_is_found_by_the_start_of_its_id(api: Api, run_json: Any) -> None:
    api.answers |= {
        "GET /v2/waits": [listing(), listing(WAIT)],
        f"GET /v2/waits/{WAIT['id']}": Answer(200, WAIT),
    }
    assert run_json(waits.ShowWait, WAIT["id"][:8])["id"] == WAIT["id"]
    assert api.seen[1].query == {"all_projects": "true"}
    api.answers["GET /v2/waits"] = [listing(), error(403, "No", "forbidden"), listing()]
    # A member gets the same answer as for a name that nobody has.
    for ref in (WAIT["id"][:8], "night"):
        with pytest.raises(Failure, match="reservation wait list; for operators al"):
            run_json(waits.ShowWait, ref)


def test_wait_is_made_and_its_position_is_told(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers["POST /v2/waits"] = Answer(201, WAIT)
    options = ("--hours", "24", "--count", "2", "--name", "run 7", "--end", "2099-12-31T09:00Z")
    run(waits.CreateWait, "gpu.large", *options)
    body = api.seen[0].body
    assert (body["flavor_id"], body["hours"], body["instance_count"]) == ("gpu.large", 24, 2)
    assert (body["mode"], body["name"], body["to"][:16]) == ("book", "run 7", "2099-12-31T09:00")
    assert "Waiting for 2 slots of gpu.large, number 3 in line" in capsys.readouterr().err


_SENDS = {"enabled": True, "sends": True, "address": "a@example.org"}


@pytest.mark.parametrize(
    ("of_user", "contact", "said"),
    [
        (_SENDS, None, "You get a message."),
        ({**_SENDS, "address": None}, "b@example.org", "You get a message."),
        ({**_SENDS, "address": None}, None, "Keystone has no email address for you, so"),
        ({**_SENDS, "enabled": False}, "b@example.org", "off, so you get none; openstack res"),
        (
            {**_SENDS, "sends": False},
            None,
            f"This cloud sends no messages, so look with .*{'1' * 8}",
        ),
        (None, None, "You get a message."),
    ],
)
@pytest.mark.parametrize("shows", [True, False])
def test_message_is_promised_only_if_one_will_come(
    api: Api,
    run: Run,
    capsys: pytest.CaptureFixture[str],
    of_user: dict[str, Any] | None,
    contact: str | None,
    said: str,
    shows: bool,
) -> None:
    wait = {**WAIT, "mode": "tell", "contact": contact}
    api.answers |= {
        "POST /v2/waits": Answer(201, wait),
        f"GET /v2/waits/{WAIT['id']}": Answer(200, wait),
    }
    if of_user:
        api.answers["GET /v2/messages"] = Answer(200, of_user)
    if shows:
        run(waits.ShowWait, WAIT["id"])
    else:
        run(waits.CreateWait, "gpu.large", "--hours", "24", "--tell")
    assert re.search(said, capsys.readouterr().err)


@pytest.mark.parametrize(
    ("option", "sent"),
    [
        (["--timezone", "europe/berlin"], "Europe/Berlin"),
        (["--timezone", "+01:00"], None),
        (["--utc"], None),
        ([], None),
    ],
)
def test_wait_sends_the_zone_as_a_booking_does(
    api: Api, run: Run, monkeypatch: pytest.MonkeyPatch, option: list[str], sent: str | None
) -> None:
    monkeypatch.delenv("TZ")
    # This is the zone of a machine in UTC.
    monkeypatch.setattr("tzlocal.get_localzone", lambda: zoneinfo.ZoneInfo("Etc/UTC"))
    api.answers["POST /v2/waits"] = Answer(201, WAIT)
    run(waits.CreateWait, "gpu.large", "--hours", "24", *option)
    assert api.seen[0].body.get("timezone") == sent


def test_category_is_waited_for_to_be_told(api: Api, run: Run) -> None:
    api.answers["POST /v2/waits"] = Answer(201, {**WAIT, "mode": "tell"})
    run(waits.CreateWait, "--category", "gpu", "--length", "1d", "--tell")
    body = api.seen[0].body
    assert (body["category"], body["hours"], body["mode"]) == ("gpu", 24, "tell")
    assert "flavor_id" not in body


@pytest.mark.parametrize(
    "words", [["--hours", "1"], ["gpu", "--category", "gpu", "--hours", "1"], ["gpu"]]
)
def test_wait_needs_a_flavor_or_a_category_and_a_length(
    api: Api, run: Run, words: list[str]
) -> None:
    with pytest.raises(Failure):
        run(waits.CreateWait, *words)
    assert api.seen == []


def test_wait_for_another_project(
    api: Api, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers["POST /v2/waits"] = Answer(201, WAIT)
    given = ("gpu.large", "--hours", "24", "--project", "5" * 32)
    assert f"for project {'5' * 32}, number 3" in run(waits.CreateWait, *given, "--dry-run")
    monkeypatch.setattr(session.Session, "get_project_id", lambda _: "operators")
    names = {"project": {"id": "project", "name": "us"}}
    api.answers["GET /v1/projects/project"] = Answer(200, names)
    run(waits.CreateWait, *given)
    assert [r.body["project_id"] for r in api.seen if r.body] == ["5" * 32] * 2
    assert "number 3 in line, for project us. It is booked" in capsys.readouterr().err


def test_waits_are_listed_with_their_positions(api: Api, run_json: Callable[..., Any]) -> None:
    other = {**WAIT, "flavor_id": None, "flavor": None, "category": "gpu", "name": "run 7"}
    api.answers["GET /v2/waits"] = listing(WAIT, other)
    rows = run_json(waits.ListWaits)
    assert [(row["flavor"], row["name"], row["position"]) for row in rows] == [
        ("gpu.large", None, 3),
        ("category gpu", "run 7", 3),
    ]


def test_list_of_all_waits_says_whose_they_are(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers |= {
        "GET /v2/waits": listing(WAIT),
        "GET /v1/projects/project": Answer(200, {"project": {"id": "project", "name": "us"}}),
        "GET /v1/users/user": Answer(200, {"user": {"id": "user", "name": "ada"}}),
    }
    (row,) = run_json(waits.ListWaits, "--all-projects")
    assert (row["project"], row["user"]) == ("us", "ada")


def test_project_without_waits_is_told_where_others_are(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers["GET /v2/waits"] = listing()
    run(waits.ListWaits, "--ended")
    assert capsys.readouterr().err == "There are no waits to list.\n"
    run(waits.ListWaits)
    assert "Your project waits for nothing. --ended also" in capsys.readouterr().err
    assert len(api.seen) == 2


@pytest.mark.parametrize(
    ("words", "status"),
    [([], "WAITING,BOOKING"), (["--ended"], None), (["--status", "EXPIRED"], "EXPIRED")],
)
def test_waits_that_are_over_are_listed_only_if_asked_for(
    api: Api, run_json: Callable[..., Any], words: list[str], status: str | None
) -> None:
    api.answers["GET /v2/waits"] = listing()
    assert run_json(waits.ListWaits, *words) == []
    assert api.seen[0].query.get("status") == status


def test_wait_can_be_named_by_the_start_of_its_id(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/waits"] = listing(WAIT)
    api.answers[f"GET /v2/waits/{WAIT['id']}"] = Answer(200, WAIT)
    assert run_json(waits.ShowWait, "11111111")["id"] == WAIT["id"]


def test_booked_wait_names_its_reservation(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    booked = {**WAIT, "status": "BOOKED", "position": None, "reservation_id": "r-1"}
    api.answers[f"GET /v2/waits/{WAIT['id']}"] = Answer(200, booked)
    run(waits.ShowWait, WAIT["id"])
    assert "r-1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("field", "expected", "said"),
    [
        (
            "to",
            "expected a time at least as many hours after from",
            "^--end: expected a time at least as many hours after --start$",
        ),
        ("expires_at", "expected a time in the future", "^--expires: expected a time in the"),
    ],
)
def test_refusal_of_a_wait_names_the_options(
    api: Api, run: Run, field: str, expected: str, said: str
) -> None:
    text = f"{field}: {expected}"
    refused = error(400, text, "invalid_field", field=field, expected=expected)
    api.answers["POST /v2/waits"] = refused
    with pytest.raises(Failure, match=said):
        run(waits.CreateWait, "big", "--hours", "8")


def test_wait_for_an_unknown_category_names_the_known_ones(api: Api, run: Run) -> None:
    detail = {"field": "category", "expected": "expected the category of a flavor"}
    api.answers["POST /v2/waits"] = error(400, "category: no", "invalid_field", **detail)
    api.answers["GET /v2/flavors"] = listing(flavor(category="gpu"))
    with pytest.raises(Failure, match=r"category 'gpus'; categories: gpu$"):
        run(waits.CreateWait, "--category", "gpus", "--hours", "8")


def test_refused_choice_before_the_end_names_the_option(api: Api, run: Run) -> None:
    text = "before_end: Flavor doesn't let users choose; leave the field out"
    refused = error(400, text, "no_before_end_choice", field="before_end")
    api.answers |= {"POST /v2/waits": refused, "POST /v2/reservations": refused}
    words = ("big", "--hours", "8", "--before-end", "snapshot")
    for command in (waits.CreateWait, booking.CreateReservation):
        with pytest.raises(Failure, match=r"^The flavor doesn't.*Leave out --before-end$"):
            run(command, *words)


@pytest.mark.parametrize("words", [[], ["--dry-run"]])
def test_canceled_wait_is_not_canceled_again(api: Api, run: Run, words: list[str]) -> None:
    canceled = {**WAIT, "status": "CANCELED", "ended_at": "2026-12-01T09:00Z", "ended_by": "u-1"}
    api.answers[f"GET /v2/waits/{WAIT['id']}"] = Answer(200, canceled)
    with pytest.raises(Failure, match=r"is CANCELED since 2026-12-01 09:00 UTC by u-1\."):
        run(waits.DeleteWait, WAIT["id"], *words)
    assert {r.method for r in api.seen} == {"GET"}


def test_wait_is_canceled(api: Api, run: Run) -> None:
    api.answers[f"GET /v2/waits/{WAIT['id']}"] = Answer(200, WAIT)
    api.answers[f"DELETE /v2/waits/{WAIT['id']}"] = Answer(204)
    api.answers["GET /v2/waits"] = listing({**WAIT, "name": "later"})
    for ref, said in ((WAIT["id"], WAIT["id"]), ("later", f"later ({WAIT['id']})")):
        assert run(waits.DeleteWait, ref) == f"Deleted wait: {said}\n"
        assert api.seen[-1].line == f"DELETE /v2/waits/{WAIT['id']}"


def test_booked_wait_can_not_be_canceled(api: Api, run: Run) -> None:
    booked = {**WAIT, "status": "BOOKED", "position": None}
    api.answers[f"GET /v2/waits/{WAIT['id']}"] = Answer(200, booked)
    api.answers[f"DELETE /v2/waits/{WAIT['id']}"] = error(409, "it is BOOKED", "wait_over")
    with pytest.raises(Failure, match=r"wait.list"):
        run(waits.DeleteWait, WAIT["id"])


def is_dry(request: Request) -> bool:
    return request.query.get("dry_run") == "true"


@pytest.fixture
def no_room(api: Api) -> None:
    api.answers["GET /v2/offers"] = found()


@pytest.mark.parametrize("words", [[], ["--tell"]])
def test_user_at_a_terminal_is_told_that_there_is_room(
    api: Api,
    run: Run,
    answers: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
    words: list[str],
) -> None:
    api.answers["POST /v2/waits"] = Answer(201, WAIT)
    api.answers["GET /v2/offers"] = found(offer(1))
    answers("n")
    with pytest.raises(Failure, match="You don't wait for it"):
        run(waits.CreateWait, "gpu.large", "--hours", "24", *words)
    said = "There is room now, so it is booked at once, from 2099-12-01"
    assert (said in capsys.readouterr().err) is (not words)
    asked = [request.query for request in api.seen if request.path == "/v2/offers"]
    assert [each["flavor"] for each in asked] == ([] if words else ["gpu.large"])


@pytest.mark.usefixtures("no_room")
def test_user_at_a_terminal_is_asked_before_waiting(
    api: Api, run: Run, answers: Callable[[str], None]
) -> None:
    api.answers["POST /v2/waits"] = Answer(201, WAIT)
    answers("n")
    with pytest.raises(Failure, match="You don't wait for it"):
        run(waits.CreateWait, "gpu.large", "--hours", "24")
    assert [is_dry(request) for request in api.seen if request.body] == [True]
    run(waits.CreateWait, "gpu.large", "--hours", "24", "--yes")
    assert [is_dry(request) for request in api.seen if request.body] == [True, False]


def test_dry_run_is_decided_by_the_server(api: Api, run: Run) -> None:
    api.answers["POST /v2/waits"] = Answer(200, WAIT)
    options = ("gpu.large", "--hours", "24", "--dry-run")
    assert "would wait for 1 slot of gpu.large, 24 hours, number 3 in line" in run(
        waits.CreateWait, *options
    )
    api.answers["POST /v2/waits"] = error(422, "hours: expected at most 4", "invalid_field")
    with pytest.raises(Failure, match="hours: expected at most 4"):
        run(waits.CreateWait, *options)
    assert [is_dry(request) for request in api.seen] == [True, True]


def test_wait_that_would_be_refused_is_refused_before_the_question(
    api: Api, run: Run, answers: Callable[[str], None]
) -> None:
    api.answers["POST /v2/waits"] = error(422, "hours: expected at most 4", "invalid_field")
    answers("y")
    with pytest.raises(Failure, match="hours: expected at most 4"):
        run(waits.CreateWait, "gpu.large", "--hours", "24")


def test_wait_that_is_over_has_its_name_still(api: Api, run_json: Callable[..., Any]) -> None:
    over = {**WAIT, "name": "run", "status": "BOOKED", "position": None}
    waiting = {**WAIT, "id": WAIT["id"].replace("1", "2"), "name": "run"}
    api.answers[f"GET /v2/waits/{over['id']}"] = Answer(200, over)
    api.answers[f"GET /v2/waits/{waiting['id']}"] = Answer(200, waiting)
    api.answers["GET /v2/waits"] = listing(over)
    assert run_json(waits.ShowWait, "run")["id"] == over["id"]
    api.answers["GET /v2/waits"] = listing(over, waiting)
    assert run_json(waits.ShowWait, "run")["id"] == waiting["id"]
