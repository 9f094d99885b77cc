"""Commands on reservations: the requests that they send and the output that they print."""

import datetime
import re
from collections.abc import Callable
from typing import Any

import pytest
from blazarclient.exception import BlazarClientException
from keystoneauth1 import session

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import (
    FLAVOR,
    RESERVATION,
    Api,
    error,
    flavor,
    foreseen,
    listing,
    reservation,
    server,
)
from warre_blazar import texts, timer
from warre_blazar.cli import (
    base,
    booking,
    confirmation,
    reservation_list,
    reservations,
    wait_progress,
)
from warre_blazar.client import Reservation
from warre_blazar.client.reservations import Reservations
from warre_blazar.domain.timeline import Span
from warre_blazar.texts import warnings

DAY = datetime.timedelta(days=1)
_USER = "55555555-5555-4555-8555-555555555555"
_PROJECT = "55555555555545558555555555555555"
_SHOWN = {**reservation(), "flavor": FLAVOR.name, "flavor_id": FLAVOR.id}


def _with_servers(*names: str) -> dict[str, Any]:
    """A running reservation with servers."""
    return reservation(status="ACTIVE", servers=[server(name) for name in names])


def test_list_as_a_table(api: Api, run: Run) -> None:
    api.answers["GET /v2/reservations"] = listing(reservation())
    lines = run(reservation_list.ListReservations).splitlines()
    names = "id flavor instance_count start end status"
    assert lines[1].replace("|", " ").split() == names.split()
    assert lines[3].replace("|", " ").split() == [
        RESERVATION.id,
        "gpu.large",
        "2",
        "2026-12-01T09:00:00+00:00",
        "2026-12-01T11:00:00+00:00",
        "ALLOCATED",
    ]
    assert api.seen[0].query == {}


def test_list_long_has_everything(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/reservations"] = listing(reservation())
    assert run_json(reservation_list.ListReservations, "--long") == [
        {**_SHOWN, "project": None, "user": None}
    ]


def test_list_shows_flags_only_if_a_reservation_has_one(
    api: Api, run_json: Callable[..., Any]
) -> None:
    api.answers["GET /v2/reservations"] = listing(reservation(missing_resources=True))
    (row,) = run_json(reservation_list.ListReservations)
    assert row["missing_resources"] is True
    assert "resources_changed" not in row


@pytest.mark.parametrize(
    ("arguments", "query"),
    [
        (["--all-projects"], {"all_projects": "true"}),
        (["--project", _PROJECT], {"project_id": _PROJECT}),
        (["--flavor", FLAVOR.id], {"flavor_id": FLAVOR.id}),
        (["--user", _USER], {"user_id": _USER, "all_projects": "true"}),
        (["--status", "active"], {"status": "ACTIVE"}),
        (["--status", "ACTIVE,error", "--status", "complete"], {"status": "ACTIVE,ERROR,COMPLETE"}),
        (
            ["--from", "2026-12-01", "--to", "2026-12-02 10:00 +01:00"],
            {"from": "2026-12-01T00:00:00+00:00", "to": "2026-12-02T10:00:00+01:00"},
        ),
        (["--host", "cmp1"], {"host": "cmp1", "all_projects": "true"}),
        (["--host", "cmp1", "--project", _PROJECT], {"host": "cmp1", "project_id": _PROJECT}),
        (["--sort", "end:desc"], {"sort": "end:desc"}),
        (["--limit", "7"], {"limit": "7"}),
        (["--deleted"], {"deleted": "true"}),
    ],
)
def test_list_filters(api: Api, run: Run, arguments: list[str], query: dict[str, str]) -> None:
    api.answers["GET /v2/reservations"] = listing()
    run(reservation_list.ListReservations, *arguments)
    assert [r.query for r in api.seen] == [query]


def test_list_of_deleted_ones_says_when_and_by_whom(api: Api, run_json: Callable[..., Any]) -> None:
    gone = {"deleted_at": "2026-11-30T12:00:00+00:00", "deleted_by": "user-2"}
    api.answers["GET /v2/reservations"] = listing(reservation(**gone))
    (row,) = run_json(reservation_list.ListReservations, "--deleted")
    assert {name: row[name] for name in gone} == gone
    assert row["deleted_by_name"] is None
    user = {"user": {"id": "user-2", "name": "ada"}}
    api.answers["GET /v1/users/user-2"] = Answer(200, user)
    (row,) = run_json(reservation_list.ListReservations, "--deleted")
    assert (row["deleted_by_name"], row["deleted_by"]) == ("ada", "user-2")


def test_deleted_reservation_is_shown_with_when_and_by_whom(
    api: Api, run_json: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    gone = {
        "status": "DELETED",
        "status_at_deletion": "ACTIVE",
        "deleted_at": "2026-11-30T12:00:00+00:00",
        "deleted_by": "user-2",
        "log": [],
    }
    missing = error(404, "There is no reservation", "reservation_not_found")
    answers = [missing, Answer(200, reservation(**gone))]
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = answers
    shown = run_json(reservations.ShowReservation, RESERVATION.id)
    assert {name: shown.get(name) for name in gone} == {**gone, "log": None}
    assert "Deleted 2026-11-30 12:00 UTC by user-2" in capsys.readouterr().err
    assert [r.query for r in api.seen if "/v2/reservations" in r.line][1] == {"detail": "log"}


def test_reservation_that_never_was_stays_unknown(api: Api, run: Run) -> None:
    missing = error(404, "There is no reservation", "reservation_not_found")
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = missing
    with pytest.raises(BlazarClientException, match="There is no reservation"):
        run(reservations.ShowReservation, RESERVATION.id)


def test_list_of_all_projects_names_them(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/reservations"] = listing(reservation())
    (row,) = run_json(reservation_list.ListReservations, "--all-projects")
    assert row["project_id"] == "project-1"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--status", "gone"], r"'GONE' isn't one of PENDING_CREATE, "),
        (["--status", "deleted"], r"deleted reservations are listed with --deleted"),
        (
            ["--sort", "color"],
            r"'color' isn't one of start, .* which may be followed by :asc or :desc",
        ),
        (["--sort", "start:"], r"'start:' isn't one of"),
        (["--limit", "0"], r"'0' isn't a whole number"),
    ],
)
def test_invalid_filter_is_refused(
    run: Run, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    with pytest.raises(SystemExit):
        run(reservation_list.ListReservations, *arguments)
    assert re.search(said, capsys.readouterr().err)


def test_list_with_from_after_to_is_refused(api: Api, run: Run) -> None:
    with pytest.raises(BlazarClientException, match=r"^--to, .* isn't after --from, "):
        run(reservation_list.ListReservations, "--from", "2026-12-02", "--to", "2026-12-01")
    assert api.seen == []


def test_list_stops_at_the_limit(api: Api, run_json: Callable[..., Any]):
    more = {"next": "http://inside:1/v2/reservations?limit=2&next=/?page=2"}
    api.answers["GET /v2/reservations"] = listing(reservation(), reservation(id="b"), **more)
    assert len(run_json(reservation_list.ListReservations, "--limit", "2")) == 2
    assert len(api.seen) == 1


def test_each_name_is_requested_once(api: Api, run_json: Callable[..., Any]) -> None:
    projects = [{"id": f"p{n}", "name": f"project {n}"} for n in range(3)]
    api.answers["GET /v1/projects"] = Answer(200, {"projects": projects})
    for number in range(2):
        user = {"id": f"u{number}", "name": f"user {number}"}
        api.answers[f"GET /v1/users/u{number}"] = Answer(200, {"user": user})
    booked = [
        reservation(id=f"r{n}", project_id=f"p{n % 3}", user_id=f"u{n % 2}") for n in range(9)
    ]
    api.answers["GET /v2/reservations"] = listing(*booked)
    rows = run_json(reservation_list.ListReservations, "--all-projects", "--long")
    assert [(r["project"], r["project_id"], r["user"], r["user_id"]) for r in rows] == [
        (f"project {n % 3}", f"p{n % 3}", f"user {n % 2}", f"u{n % 2}") for n in range(9)
    ]
    assert len(api.seen) == 4


def test_users_that_keystone_hides_are_shown_by_id(api: Api, run_json: Callable[..., Any]):
    """After the first refusal, no further user is requested."""
    api.answers["GET /v2/reservations"] = listing(
        *(reservation(id=f"r{n}", user_id=f"u{n}") for n in range(5))
    )
    rows = run_json(reservation_list.ListReservations, "--long")
    assert [(r["user"], r["user_id"]) for r in rows] == [(None, f"u{n}") for n in range(5)]
    assert len([r for r in api.seen if "/users/" in r.path]) == 1


def test_many_users_are_shown_by_id(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/reservations"] = listing(
        *(reservation(id=f"r{n}", user_id=f"u{n}") for n in range(21))
    )
    run_json(reservation_list.ListReservations, "--long")
    assert not [r for r in api.seen if "/users/" in r.path]


@pytest.mark.parametrize(
    ("known", "said"),
    [([], "There is no user 'ada'"), (["u1", "u2"], "Several users are named 'ada'")],
)
def test_list_of_an_unknown_or_ambiguous_user_is_refused(
    api: Api, run: Run, known: list[str], said: str
) -> None:
    users = [{"id": user_id, "name": "ada", "domain_id": "default"} for user_id in known]
    api.answers["GET /v1/users"] = Answer(200, {"users": users})
    with pytest.raises(BlazarClientException, match=said):
        run(reservation_list.ListReservations, "--user", "ada")


def test_list_finds_a_user_by_name(api: Api, run: Run) -> None:
    api.answers["GET /v1/users"] = Answer(200, {"users": [{"id": "u1", "name": "ada"}]})
    api.answers["GET /v2/reservations"] = listing()
    run(reservation_list.ListReservations, "--user", "ada")
    assert api.seen[-1].query == {"user_id": "u1", "all_projects": "true"}


def test_reservations_of_another_user_are_searched_in_all_projects_if_allowed(
    api: Api, run_json: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session.Session, "get_user_id", lambda _: "me")
    other = "0123456789abcdef" * 2
    refused = error(403, "all_projects: only an operator may", "forbidden")
    api.answers["GET /v2/reservations"] = [listing(reservation()), refused, listing()]
    (row,) = run_json(reservation_list.ListReservations, "--user", other)
    assert row["project_id"] == "project-1"
    assert run_json(reservation_list.ListReservations, "--user", other) == []
    asked = [r.query for r in api.seen if r.path == "/v2/reservations"]
    own = {"user_id": other}
    assert asked == [{**own, "all_projects": "true"}] * 2 + [own]


@pytest.mark.parametrize(
    ("words", "since"),
    [(["--from", "2026-12-01T00:00Z"], "2026-12-01T00:00:00+00:00"), ([], None)],
)
def test_second_time_of_a_list_may_count_from_the_first(
    api: Api, run: Run, words: list[str], since: str | None
) -> None:
    api.answers["GET /v2/reservations"] = listing()
    before = datetime.datetime.now(datetime.UTC)
    run(reservation_list.ListReservations, *words, "--to", "+7d")
    query = api.seen[-1].query
    assert query.get("from") == since
    until = datetime.datetime.fromisoformat(query["to"])
    first = datetime.datetime.fromisoformat(since) if since else before
    assert abs(until - first - datetime.timedelta(days=7)) < datetime.timedelta(hours=1)


def test_member_is_told_which_option_to_leave_out(api: Api, run: Run) -> None:
    said = texts.permissions.OTHER_PROJECTS(
        field="all_projects", what=texts.permissions.LIST_RESERVATIONS
    )
    detail = {**said.detail, "action": "warre:reservation:list:all"}
    sentence = said.entry.sentence(detail)
    api.answers["GET /v2/reservations"] = error(403, sentence, "forbidden", **detail)
    with pytest.raises(BlazarClientException, match="leave --all-projects out") as refused:
        run(reservation_list.ListReservations, "--all-projects")
    assert "all_projects" not in str(refused.value)


def test_list_of_a_host_names_the_projects(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers |= {
        "GET /v2/reservations": listing(reservation()),
        "GET /v1/projects/project-1": Answer(200, {"project": {"id": "project-1", "name": "us"}}),
    }
    (row,) = run_json(reservation_list.ListReservations, "--host", "cmp1")
    assert row["project"] == "us"


def test_columns_of_the_long_list_can_be_chosen(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/reservations"] = listing(reservation())
    (row,) = run_json(reservation_list.ListReservations, "-c", "id", "-c", "created_at")
    assert set(row) == {"id", "created_at"}


def test_unknown_name_says_where_names_are_looked_up(api: Api, run: Run) -> None:
    api.answers["GET /v2/reservations"] = listing()
    with pytest.raises(BlazarClientException) as raised:
        run(reservations.ShowReservation, "optest")
    assert "looked up among the reservations of your own project" in str(raised.value)
    assert str(raised.value).endswith(
        ". To list the IDs: openstack reservation list; for operators: openstack reservation list "
        "--name optest --all-projects"
    )
    course = reservation(name="course")
    api.answers["GET /v2/reservations"] = [listing(course), listing(), listing()]
    with pytest.raises(BlazarClientException, match=r" \(did you mean 'course'\?\)\. A name"):
        run(reservations.ShowReservation, "course 12-14")


def test_ones_own_name_needs_no_list_of_users(
    api: Api, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keystone shows members only their own names."""
    monkeypatch.setattr(session.Session, "get_user_id", lambda _: "u1")
    api.answers["GET /v1/users/u1"] = Answer(200, {"user": {"id": "u1", "name": "ada"}})
    api.answers["GET /v2/reservations"] = listing()
    run(reservation_list.ListReservations, "--user", "ada")
    assert api.seen[-1].query == {"user_id": "u1"}


@pytest.mark.parametrize("own", [None, "u1"])
def test_name_that_keystone_hides_is_refused(
    api: Api, run: Run, monkeypatch: pytest.MonkeyPatch, own: str | None
) -> None:
    monkeypatch.setattr(session.Session, "get_user_id", lambda _: own)
    api.answers["GET /v1/users/u1"] = Answer(200, {"user": {"id": "u1", "name": "ada"}})
    with pytest.raises(BlazarClientException, match="who 'bob' is; give the user's ID"):
        run(reservation_list.ListReservations, "--user", "bob")


@pytest.mark.parametrize("user_id", ["0123456789abcdef" * 2, "0123456789abcdef" * 4])
def test_users_id_is_not_looked_up(api: Api, run: Run, user_id: str) -> None:
    api.answers["GET /v2/reservations"] = listing()
    run(reservation_list.ListReservations, "--user", user_id)
    assert [r.query for r in api.seen] == [{"user_id": user_id, "all_projects": "true"}]


def test_list_by_a_flavors_name(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavors/gpu.large"] = Answer(200, flavor())
    api.answers["GET /v2/reservations"] = listing()
    run(reservation_list.ListReservations, "--flavor", "gpu.large")
    assert api.seen[-1].query == {"flavor_id": FLAVOR.id}


def test_list_by_an_unknown_flavor(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavors/x"] = error(404, "Flavor does not exist", "flavor_not_found")
    api.answers["GET /v2/flavors"] = listing(flavor())
    with pytest.raises(
        BlazarClientException,
        match=r"no flavor 'x' .* See .* for all",
    ):
        run(reservation_list.ListReservations, "--flavor", "x")


def test_show_names_the_nova_flavor(api: Api, run: Run, run_json: Callable[..., Any]) -> None:
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = Answer(200, reservation())
    assert run_json(reservations.ShowReservation, RESERVATION.id) == _SHOWN
    only = run(reservations.ShowReservation, RESERVATION.id, "-f", "value", "-c", "compute_flavor")
    nova_flavor = RESERVATION.reservation_id.replace("-", "")
    assert only == nova_flavor + "\n"
    lines = run(reservations.ShowReservation, RESERVATION.id).splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert ["compute_flavor", nova_flavor] in rows
    assert ["flavor", "gpu.large"] in rows


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        pytest.param(
            ["--start", "2026-12-01T09:00", "--end", "2026-12-01T11:00"],
            ("2026-12-01T09:00:00+00:00", "2026-12-01T11:00:00+00:00", 1),
            id="UTC",
        ),
        pytest.param(
            ["--start-date", "2026-12-01 09:00+11:00", "--hours", "30", "--count", "3"],
            ("2026-12-01T09:00:00+11:00", "2026-12-02T15:00:00+11:00", 3),
            id="hours, in an offset",
        ),
        pytest.param(
            ["--start", "2026-12-01T09:00Z", "--end-date", "2026-12-02"],
            ("2026-12-01T09:00:00+00:00", "2026-12-02T00:00:00+00:00", 1),
            id="to midnight",
        ),
    ],
)
def test_create(
    api: Api, run_json: Callable[..., Any], arguments: list[str], body: tuple[str, str, int]
) -> None:
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    assert run_json(booking.CreateReservation, "gpu.large", *arguments) == _SHOWN
    start, end, count = body
    assert [(r.line, r.body) for r in api.seen] == [
        (
            "POST /v2/reservations",
            {"flavor_id": "gpu.large", "start": start, "end": end, "instance_count": count},
        )
    ]


def test_create_for_another_project(api: Api, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    found = [{"id": "5" * 32, "name": "climate", "domain_id": "default"}]
    full = _with_instead(_FULL)
    api.answers |= {
        "GET /v1/projects": Answer(200, {"projects": found}),
        "POST /v2/reservations": [foreseen(), Answer(200, reservation()), full],
    }
    given = ("gpu.large", "--project", "climate", "--start", "2026-12-01 09:00", "--hours", "2")
    said = run(booking.CreateReservation, *given, "--dry-run")
    assert "2 hours, for project climate" in said
    run(booking.CreateReservation, *given)
    assert "2 hours, for project climate" in capsys.readouterr().err
    # Offers are for the user's own project.
    with pytest.raises(BlazarClientException) as refused:
        run(booking.CreateReservation, *given)
    assert "offers" not in str(refused.value)
    sent = [request.body["project_id"] for request in api.seen if request.method == "POST"]
    assert sent == ["5" * 32] * 3


def test_earliest_room_of_another_project_is_not_looked_for(api: Api, run: Run) -> None:
    given = ("gpu.large", "--project", "climate", "--earliest", "--hours", "2")
    with pytest.raises(BlazarClientException, match="for your own project; with --project, give"):
        run(booking.CreateReservation, *given)
    assert not api.seen


@pytest.mark.parametrize(("word", "sent"), [("true", True), ("False", False), ("none", None)])
def test_create_with_affinity(api: Api, run: Run, word: str, sent: bool | None) -> None:
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    run(booking.CreateReservation, "f", "--hours", "1", "--affinity", word)
    assert api.seen[0].body.get("affinity") is sent


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("Sat Nov 28 20:29:12 UTC 2099", "2099-11-28T20:29:00+00:00"),
        ("Sat Nov 28 20:29:12 AEDT 2099", "2099-11-28T20:29:00+11:00"),
        ("Sat, 28 Nov 2099 20:29:12 +0100", "2099-11-28T20:29:00+01:00"),
        ("@4099667352", "2099-11-30T07:29:00+11:00"),
    ],
)
def test_create_takes_what_date_prints(
    api: Api, run: Run, monkeypatch: pytest.MonkeyPatch, typed: str, sent: str
) -> None:
    monkeypatch.setenv("TZ", "Australia/Melbourne")
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    run(booking.CreateReservation, "f", "--start", typed, "--hours", "2")
    assert api.seen[-1].body["start"] == sent


def test_create_starts_in_a_minute(api: Api, run: Run) -> None:
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    minute = datetime.timedelta(minutes=1)
    before = datetime.datetime.now(datetime.UTC)
    run(booking.CreateReservation, "f", "--hours", "2")
    after = datetime.datetime.now(datetime.UTC)
    start, end = (datetime.datetime.fromisoformat(api.seen[0].body[k]) for k in ("start", "end"))
    assert before < start <= after + minute
    assert (start.second, start.microsecond, start.utcoffset()) == (0, 0, datetime.timedelta())
    assert end - start == datetime.timedelta(hours=2)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["f", "--start", "2026-12-01"], "one of the arguments --end-date/--end --hours"),
        (["f", "--hours", "1", "--end", "2026-12-01"], "not allowed with"),
        (["f", "--hours", "0"], "'0' isn't a number of hours; write 24, 1.5 or 14:30"),
        (
            ["f", "--hours", "14.88"],
            "14.88h isn't a whole number of minutes; write 14:52 or 14:53",
        ),
        (["f", "--hours", "0.001"], "0.001h isn't a whole number of minutes; write 0:01"),
        (["f", "--hours", "+14.88"], "write +14:52 or +14:53"),
        (["f", "--hours", "-1"], "--hours"),
        (["f", "--hours", "1:60"], "'1:60' isn't a number of hours"),
        (["f", "--length", "3"], "'3' isn't a length; write 3d, 12h, 1d12h or 90m"),
        (["f", "--length", ""], "'' isn't a length"),
        (["f", "--length", "0d"], "'0d' isn't a length"),
        (["f", "--length", "12h1d"], "'12h1d' isn't a length"),
        (["f", "--length", "99999d"], "99999d is too long"),
        (["f", "--length", "3d", "--hours", "1"], "not allowed with"),
        (["f", "--days", "3", "--end", "2026-12-01"], "not allowed with"),
        (["f", "--days", "1.5"], "'1.5' isn't a number of days; write 3"),
        (["f", "--days", "9999999999"], "isn't a number of days"),
        (["f", "--end", "+2"], "argument --end-date/--end: '+2' isn't a length; write 3d, 12h"),
        (["f", "--end", "+2h", "--hours", "1"], "not allowed with"),
        (["f", "--hours", "9999999"], "9999999h is too long"),
        (["f", "--hours", "1", "--count", "-1"], "'-1' isn't a whole number of at least 1"),
        (["f", "--hours", "1", "--affinity", "yes"], "'yes' isn't true, false or none"),
    ],
)
def test_create_refuses(
    api: Api, run: Run, capsys: pytest.CaptureFixture, arguments: list[str], complaint: str
) -> None:
    with pytest.raises(SystemExit):
        run(booking.CreateReservation, *arguments)
    assert complaint in capsys.readouterr().err
    assert not api.seen


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--hours", "1", "--start", "2026-13-01"], "the calendar has no 2026-13-01"),
        (["--hours", "1", "--start", "soonish"], "it has none of the forms of a time"),
        (["--hours", "1", "--start", "mon 9:00", "--timezone", "Mars/Base"], "isn't a time zone"),
        (["--start", "2026-12-02", "--end", "2026-12-01"], "isn't after the start"),
        (["--start", "9998-12-31", "--hours", "800000"], "The end is too far in the future"),
    ],
)
def test_create_with_invalid_times_is_refused(
    api: Api, run: Run, capsys: pytest.CaptureFixture, arguments: list[str], complaint: str
) -> None:
    with pytest.raises(BlazarClientException, match=complaint):
        run(booking.CreateReservation, "f", *arguments)
    assert capsys.readouterr().out == ""
    assert not api.seen


@pytest.mark.parametrize(
    ("arguments", "end"),
    [
        (["--start", "mon 9:00", "--end", "17:00"], "2026-11-23T17:00:00+00:00"),
        (["--start", "mon 9:00", "--end", "mon 5pm"], "2026-11-23T17:00:00+00:00"),
        (["--start", "fri", "--end", "mon"], "2026-11-30T00:00:00+00:00"),
        (["--end", "17:00"], "2026-11-21T17:00:00+00:00"),
        (["--end", "17:00", "--timezone", "Europe/Berlin"], "2026-11-21T17:00:00+01:00"),
        # In Honolulu, it is still Friday.
        (["--end", "23:00", "--timezone", "Pacific/Honolulu"], "2026-11-20T23:00:00-10:00"),
        (
            [
                *("--start", "2026-11-23T09:00+09:00", "--end", "17:00 Europe/Berlin"),
                *("--timezone", "Europe/Berlin"),
            ],
            "2026-11-23T17:00:00+01:00",
        ),
        (["--start", "mon 9:00", "--days", "3"], "2026-11-26T09:00:00+00:00"),
        (["--start", "mon 9:00", "--length", "3d"], "2026-11-26T09:00:00+00:00"),
        (["--start", "mon 9:00", "--length", "1d12h"], "2026-11-24T21:00:00+00:00"),
        (["--start", "mon 9:00", "--length", "90m"], "2026-11-23T10:30:00+00:00"),
    ],
)
@pytest.mark.usefixtures("saturday")
def test_end_is_read_from_the_start(api: Api, run: Run, arguments: list[str], end: str) -> None:
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    run(booking.CreateReservation, "f", *arguments)
    assert api.seen[0].body["end"] == end


@pytest.fixture
def saturday(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the time of commands to Saturday, 2026-11-21 06:10."""
    now = datetime.datetime(2026, 11, 21, 6, 10, tzinfo=datetime.UTC)
    monkeypatch.setattr(base.Command, "now", lambda _: now)


def test_days_over_a_change_of_clocks_are_refused(api: Api, run: Run) -> None:
    given = ("--start", "2027-03-26 09:00", "--timezone", "Europe/Berlin")
    with pytest.raises(BlazarClientException) as refused:
        run(booking.CreateReservation, "f", *given, "--days", "3")
    first, second = "2027-03-29T09:00+02:00", "2027-03-29T10:00+02:00"
    assert str(refused.value).endswith(f"Give --end {first} or --end {second}")
    assert not api.seen
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    run(booking.CreateReservation, "f", *given, "--hours", "72")
    run(booking.CreateReservation, "f", *given, "--days", "1")
    assert [request.body["end"] for request in api.seen] == [
        "2027-03-29T10:00:00+02:00",
        "2027-03-27T09:00:00+01:00",
    ]


def test_days_over_a_change_of_clocks_are_refused_without_a_typed_start(
    api: Api, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    now = datetime.datetime(2027, 3, 26, 8, 0, tzinfo=datetime.UTC)
    monkeypatch.setattr(base.Command, "now", lambda _: now)
    with pytest.raises(BlazarClientException) as refused:
        run(booking.CreateReservation, "f", "--days", "3")
    first, second = "2027-03-29T09:01+02:00", "2027-03-29T10:01+02:00"
    assert str(refused.value).endswith(f"Give --end {first} or --end {second}")
    path = f"/v2/reservations/{RESERVATION.id}"
    times = {"start": "2027-03-26T08:00:00+00:00", "end": "2027-03-27T08:00:00+00:00"}
    api.answers[f"GET {path}"] = Answer(200, reservation(**times))
    with pytest.raises(BlazarClientException) as refused:
        run(reservations.UpdateReservation, RESERVATION.id, "--days", "3")
    first, second = "2027-03-29T09:00+02:00", "2027-03-29T10:00+02:00"
    assert str(refused.value).endswith(f"Give --end {first} or --end {second}")
    assert not [request for request in api.seen if request.body]


def test_start_that_clocks_show_twice_is_not_shown_as_changed(api: Api, run: Run) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    times = {"start": "2027-10-31T00:30:00+00:00", "end": "2027-10-31T06:00:00+00:00"}
    api.answers[f"GET {path}"] = Answer(200, reservation(**times))
    api.answers[f"PATCH {path}"] = foreseen()
    given = ("--hours", "8", "--timezone", "Europe/Berlin", "--dry-run")
    said = run(reservations.UpdateReservation, RESERVATION.id, *given)
    assert said.count("(before: 2027-10-31 07:00 +01:00)") == said.count("(before: ") == 1


@pytest.mark.usefixtures("saturday")
def test_list_looks_back(api: Api, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers["GET /v2/reservations"] = listing()
    run(reservation_list.ListReservations, "--from", "1 nov", "--to", "2026-11-20T00:00Z")
    assert api.seen[0].query["from"] == "2026-11-01T00:00:00+00:00"
    told = "From: Sun 2026-11-01 00:00 UTC\nThere are no reservations to list.\n"
    assert capsys.readouterr().err == told


def test_inexact_time_is_shown_with_its_zone(
    api: Api, run: Run, capsys: pytest.CaptureFixture
) -> None:
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    given = ("--start", "2026-12-01 9:00", "--timezone", "Asia/Tokyo", "--hours", "1.5")
    run(booking.CreateReservation, "f", *given, "--count", "2")
    sent = [datetime.datetime.fromisoformat(api.seen[0].body[k]) for k in ("start", "end")]
    assert [t.isoformat() for t in sent] == [
        "2026-12-01T09:00:00+09:00",
        "2026-12-01T10:30:00+09:00",
    ]
    assert capsys.readouterr().err == (
        "2 slots of f, Tue 2026-12-01 09:00 +09:00 (Asia/Tokyo) to "
        "Tue 2026-12-01 10:30 +09:00 (Asia/Tokyo), 1 hour 30 minutes\n"
    )


@pytest.mark.parametrize("answer", ["y", "", "no"])
def test_inexact_time_is_confirmed_on_a_terminal(
    api: Api,
    run: Run,
    answers: Callable[[str], None],
    capsys: pytest.CaptureFixture,
    answer: str,
) -> None:
    answers(answer)
    api.answers["POST /v2/reservations"] = [foreseen(), Answer(200, reservation())]
    given = ("--start", "tomorrow 9:00", "--hours", "2")
    if answer == "y":
        run(booking.CreateReservation, "f", *given)
    else:
        with pytest.raises(BlazarClientException, match=r"^Nothing booked\. .* --yes"):
            run(booking.CreateReservation, "f", *given)
    assert "09:00 UTC, 2 hours" not in (told := capsys.readouterr().err)
    assert "1 slot of f, " in told
    assert "11:00 UTC, 2 hours\nIs that right? [y/N] " in told
    assert [r.query for r in api.seen] == [{"dry_run": "true"}, *([{}] if answer == "y" else [])]


@pytest.mark.parametrize("code", ["flavor_inactive", "flavor_not_accessible", "flavor_not_found"])
def test_flavor_that_can_not_be_booked_is_refused_before_the_question(
    api: Api,
    run: Run,
    answers: Callable[[str], None],
    capsys: pytest.CaptureFixture,
    code: str,
) -> None:
    answers("y")
    api.answers["GET /v2/flavors"] = listing()
    missing = error(404, "There is no flavor", code)
    refused = foreseen((code, "Flavor is not for you", {}), ("too_long", "It is too long", {}))
    api.answers["POST /v2/reservations"] = missing if code == "flavor_not_found" else refused
    text = "no flavor 'f'" if code == "flavor_not_found" else "Flavor is not a"
    with pytest.raises(BlazarClientException, match=text):
        run(booking.CreateReservation, "f", "--hours", "2")
    assert "Is that right?" not in capsys.readouterr().err
    assert [r.query for r in api.seen if r.body] == [{"dry_run": "true"}]


@pytest.mark.parametrize(
    "given",
    [
        ["--start", "2026-12-01T09:00Z", "--hours", "2"],
        ["--start", "2026-12-01T09:00Z", "--end", "2026-12-01T11:00+01:00"],
        ["--start", "tomorrow 9:00", "--hours", "2", "--yes"],
    ],
    ids=["exact", "exact end", "--yes"],
)
def test_exact_time_is_not_confirmed(
    api: Api, run: Run, answers: Callable[[str], None], given: list[str]
) -> None:
    answers("n")
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    run(booking.CreateReservation, "f", *given)
    assert len(api.seen) == 1


@pytest.mark.usefixtures("saturday")
def test_start_that_was_not_typed_is_shown_in_the_zone_of_the_user(
    api: Api, run: Run, run_json: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    later = datetime.datetime(2026, 12, 1, 12)
    api.answers["POST /v2/reservations"] = foreseen(next_start=later)
    given = ("f", "--hours", "4", "--dry-run")
    said = run(booking.CreateReservation, *given)
    assert "Sat 2026-11-21 15:11 +09:00 (Asia/Tokyo) to Sat 2026-11-21 19:11 +09:00" in said
    shown = run_json(booking.CreateReservation, *given)
    assert shown["next_start"] == "2026-12-01T21:00:00+09:00"


@pytest.mark.parametrize("more", [[], ["--wait", "--count", "2"]])
def test_start_that_was_not_typed_is_confirmed_on_a_terminal(
    api: Api,
    run: Run,
    answers: Callable[[str], None],
    capsys: pytest.CaptureFixture,
    more: list[str],
) -> None:
    answers("n")
    api.answers["POST /v2/reservations"] = foreseen()
    with pytest.raises(BlazarClientException, match=r"^Nothing booked\. "):
        run(booking.CreateReservation, "f", "--hours", "3", *more)
    assert "of f, " in (told := capsys.readouterr().err)
    assert "UTC, 3 hours\nIs that right? [y/N] " in told
    assert [r.query for r in api.seen] == [{"dry_run": "true"}]


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (["--hours", "24"], "to Wed 2026-12-02 09:00 UTC (before: 2026-12-01 11:00 UTC), 24 hours"),
        (["--days", "1"], "to Wed 2026-12-02 09:00 UTC (before: 2026-12-01 11:00 UTC), 24 hours"),
        (["--count", "1"], "1 slot (before: 2) of gpu.large"),
        (["--longest"], "to Wed 2026-12-02 09:00 UTC (before: 2026-12-01 11:00 UTC), 24 hours"),
        (["--end", "2026-12-01T12:00Z", "--count", "1"], "1 slot (before: 2) of gpu.large"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.parametrize("answer", ["y", "n", None], ids=["yes", "no", "no terminal"])
def test_any_change_of_what_is_booked_is_shown_and_confirmed(
    api: Api,
    run: Run,
    answers: Callable[[str], None],
    capsys: pytest.CaptureFixture,
    change: list[str],
    shown: str,
    answer: str | None,
) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    extension = {"latest_end": "2026-12-02T09:00:00+00:00", "stopped_by": "slots"}
    api.answers |= {
        f"GET {path}": Answer(200, reservation()),
        f"GET {path}/extensions": Answer(200, {**extension, "extend_from": None}),
        f"PATCH {path}": Answer(200, reservation()),
    }
    if answer:
        answers(answer)
    if answer == "n":
        with pytest.raises(BlazarClientException, match=r"^Nothing changed: reservation "):
            run(reservations.UpdateReservation, RESERVATION.id, *change)
    else:
        run(reservations.UpdateReservation, RESERVATION.id, *change)
    told = capsys.readouterr().err
    assert shown in told
    assert ("Is that right? [y/N]" in told) == (answer is not None)
    assert len([r for r in api.seen if r.method == "PATCH"]) == (answer != "n")


def test_times_are_shown_in_the_chosen_zone(
    api: Api, run_json: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    api.answers["GET /v2/reservations"] = listing(reservation())
    shown = [
        run_json(reservation_list.ListReservations, *given)[0]["start"]
        for given in ([], ["--utc"], ["--timezone", "Asia/Tokyo"])
    ]
    assert shown == [
        "2026-12-01T10:00:00+01:00",
        "2026-12-01T09:00:00+00:00",
        "2026-12-01T18:00:00+09:00",
    ]


_EXACT = ("--start", "2026-12-01T09:00Z", "--hours", "2")


def test_dry_run_asks_the_api_and_books_nothing(api: Api, run: Run) -> None:
    api.answers["POST /v2/reservations"] = foreseen()
    said = run(booking.CreateReservation, "f", *_EXACT, "--name", "mine", "--dry-run")
    assert said == (
        "Dry run: would book 1 slot of f, Tue 2026-12-01 09:00 UTC to "
        "Tue 2026-12-01 11:00 UTC, 2 hours\n"
    )
    (asked,) = api.seen
    assert asked.query == {"dry_run": "true"}
    assert asked.body == {
        "flavor_id": "f",
        "start": "2026-12-01T09:00:00+00:00",
        "end": "2026-12-01T11:00:00+00:00",
        "instance_count": 1,
        "name": "mine",
    }


def test_refused_dry_run_says_why_and_what_is_possible(api: Api, run: Run) -> None:
    api.answers["POST /v2/reservations"] = foreseen(
        ("too_long", "Too long", {"max_length_hours": 1}),
        ("slots_exhausted", "No capacity", {"asked": 2, "free": 1, "slots": 2}),
        ("quota_exceeded", "Over quota", {}),
        count=2,
        next_start=datetime.datetime(2026, 12, 2, 8),
        longest=datetime.timedelta(hours=1),
        most=1,
    )
    with pytest.raises(BlazarClientException) as refused:
        run(booking.CreateReservation, "f", *_EXACT, "--count", "2", "--dry-run")
    assert str(refused.value).splitlines()[:2] == [
        "Reservation is too long, max allowed is 1 hours",
        "Only 1 of the flavor's 2 slots is free then, and 2 were asked for",
    ]
    assert re.match("Over quota. See .*limits.show;", str(refused.value).splitlines()[2])
    assert str(refused.value).splitlines()[3:] == [
        "After the wanted start, 2 slots are first free for 2 h from 2026-12-02 08:00 UTC on: "
        "--start 2026-12-02T08:00Z",
        "At the wanted start, 2 slots can be had until --end 2026-12-01T10:00Z",
        "For all of that time, --count 1 can be had",
    ]


def test_refused_dry_run_says_how_to_wait_if_only_room_is_missing(api: Api, run: Run) -> None:
    api.answers["POST /v2/reservations"] = foreseen(
        ("slots_exhausted", "No", {}), wait_start=datetime.datetime(2026, 12, 1, 9)
    )
    with pytest.raises(BlazarClientException, match=_ELSEWHERE):
        run(booking.CreateReservation, "f", *_EXACT, "--dry-run")


def test_refused_dry_run_offers_no_way_if_there_is_none(api: Api, run: Run) -> None:
    api.answers["POST /v2/reservations"] = foreseen(("flavor_inactive", "Flavor is closed", {}))
    with pytest.raises(BlazarClientException, match=r"^Flavor is not available\. The .* others$"):
        run(booking.CreateReservation, "f", *_EXACT, "--dry-run")


_PERIOD = ("--start", "2026-12-01T09:00", "--hours", "48", "--count", "2")
_FULL = error(400, "No capacity", "slots_exhausted", asked=2, free=0, slots=2)
_ELSEWHERE = (
    "openstack reservation wait create f waits for room; openstack reservation offers --category "
    "gpu shows what can be had instead"
)


def _with_instead(
    refusal: Answer,
    next_start: datetime.datetime | None = None,
    longest: float = 0,
    most: int = 0,
    can_wait: bool = False,
) -> Answer:
    """A refusal of the API, with what could be booked instead."""
    more = {
        "next_start": next_start and f"{next_start.isoformat()}+00:00",
        "longest_hours": longest,
        "most_instances": most,
        "wait_start": "2026-12-01T09:00:00+00:00" if can_wait else None,
        "category": "gpu",
    }
    document = {**refusal.body, "detail": {**refusal.body.get("detail", {}), **more}}
    return Answer(refusal.status, document)


@pytest.mark.parametrize(
    ("refusal", "next_start", "said"),
    [
        pytest.param(
            _FULL,
            datetime.datetime(2026, 12, 3, 8),
            r"^No slot is free then\. After the wanted start, 2 slots are first free for 48 h from "
            rf"2026-12-03 08:00 UTC on: --start 2026-12-03T08:00Z\n{_ELSEWHERE}$",
            id="later",
        ),
        pytest.param(
            _FULL,
            None,
            rf"In the year from then on, 2 slots are never free for 48 h.*\n{_ELSEWHERE}$",
            id="never",
        ),
        pytest.param(
            error(400, "No", "slots_exhausted", asked=2, free=1, slots=2),
            None,
            r"^Only 1 of the flavor's 2 slots is free then, and 2 were asked for\. In the year "
            "from then on",
            id="for one",
        ),
        pytest.param(
            error(400, "No", "slots_exhausted", asked=2, free=1, slots=1),
            None,
            r"^The flavor has 1 slot, and 2 were asked for\. In the year from then on.* is free$",
            id="more than there are",
        ),
        pytest.param(
            error(400, "No", "hosts_exhausted"),
            None,
            r"^No host has room then\. In the year from then on",
            id="hosts",
        ),
    ],
)
def test_refused_booking_says_when_slots_are_free(
    api: Api, run: Run, refusal: Answer, next_start: datetime.datetime | None, said: str
) -> None:
    can_wait = _ELSEWHERE in said
    api.answers["POST /v2/reservations"] = _with_instead(refusal, next_start, can_wait=can_wait)
    with pytest.raises(BlazarClientException, match=said):
        run(booking.CreateReservation, "f", *_PERIOD)
    assert [request.line for request in api.seen] == ["POST /v2/reservations"]


@pytest.mark.parametrize(
    ("refusal", "ways", "said"),
    [
        pytest.param(
            error(400, "Too long", "too_long", max_length_hours=24),
            {"longest": 24},
            [
                "Reservation is too long, max allowed is 24 hours. At the wanted start, 2 slots "
                "can be had until --end 2026-12-02T09:00Z"
            ],
            id="too long",
        ),
        pytest.param(
            error(400, "No capacity", "slots_exhausted", asked=2, free=1, slots=1),
            {"most": 1, "longest": 5},
            [
                "The flavor has 1 slot, and 2 were asked for. At the wanted start, 2 slots can be "
                "had until --end 2026-12-01T14:00Z",
                "For all of that time, --count 1 can be had",
            ],
            id="too many",
        ),
    ],
)
def test_refused_booking_offers_the_ways_that_are_open(
    api: Api, run: Run, refusal: Answer, ways: dict[str, Any], said: list[str]
) -> None:
    api.answers["POST /v2/reservations"] = _with_instead(refusal, **ways)
    with pytest.raises(BlazarClientException) as refused:
        run(booking.CreateReservation, "f", *_PERIOD)
    assert str(refused.value).splitlines() == said


def test_refused_booking_says_where_to_look_if_the_api_says_nothing_more(
    api: Api, run: Run
) -> None:
    api.answers["POST /v2/reservations"] = _FULL
    said = r"^No slot is free then\. .*free.slots f shows when it is free$"
    with pytest.raises(BlazarClientException, match=said):
        run(booking.CreateReservation, "f", *_PERIOD)


def test_fewer_slots_are_not_suggested_if_no_host_matches(api: Api, run: Run) -> None:
    said = "No host matches this flavor: none has the properties; ask the operator"
    api.answers["POST /v2/reservations"] = error(409, said, "no_host_matches", asked=2, free=0)
    with pytest.raises(BlazarClientException, match="No host matches") as refused:
        run(booking.CreateReservation, "f", *_PERIOD)
    assert "fewer" not in str(refused.value)


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (
            error(413, "Over quota", "quota_exceeded"),
            r"^Over quota\. See .*limits.show;",
        ),
        (error(400, "Too long", "too_long", max_length_hours=9), "^Reservation is .* 9 hours$"),
        (error(400, "In the past", "invalid_period"), r"^In the past\. .* is --start now$"),
        (
            error(403, "Policy doesn't allow r:x to be performed", "forbidden", action="r:x"),
            r"^Your role doesn't allow this \(r:x\); ask the operator$",
        ),
        (error(503, "Away; try again later", "service_unavailable"), "^Away; try again later$"),
        (error(400, "Other", "a_code"), "^Other$"),
    ],
)
def test_other_refusals_say_what_to_do(api: Api, run: Run, refusal: Answer, said: str) -> None:
    api.answers["POST /v2/reservations"] = refusal
    with pytest.raises(BlazarClientException, match=said):
        run(booking.CreateReservation, "f", *_PERIOD)


def test_refusal_for_another_project_names_it(api: Api, run: Run) -> None:
    """The numbers of the user's own project wouldn't explain it."""
    quota = error(413, "Over quota", "quota_exceeded")
    project = {"project": {"id": "p1", "name": "beta"}}
    api.answers |= {
        "GET /v1/projects": Answer(200, {"projects": [project["project"]]}),
        "GET /v1/projects/beta": Answer(404, {}),
    }
    for options, answer in (
        ((), quota),
        (("--dry-run",), foreseen(("quota_exceeded", "Over quota", {}))),
    ):
        api.answers["POST /v2/reservations"] = answer
        for whose, said in (((), r"limits show;"), (("--project", "beta"), "--project beta;")):
            with pytest.raises(BlazarClientException, match=rf"^Over quota\. See .*{said}"):
                run(booking.CreateReservation, "f", *_EXACT, *whose, *options)


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (reservation_list.ListReservations, ()),
        (reservations.UpdateReservation, (RESERVATION.id, "--count", "2")),
        (reservations.DeleteReservation, ("name", "--yes")),
    ],
    ids=["list", "set", "delete"],
)
def test_api_that_is_away(api: Api, run: Run, command: type, arguments: tuple[str, ...]) -> None:
    api.stop()
    away = r"^Unable to establish connection to http://[\d.:]+/v2/\S+\. "
    said = "The service may be away for a moment; try again"
    with pytest.raises(BlazarClientException, match=f"{away}{said}$"):
        run(command, *arguments)


@pytest.mark.parametrize(("is_lost", "outcome"), [(True, "have happened"), (False, "Nothing was")])
def test_change_without_an_answer_says_that_it_is_repeated_and_what_may_have_happened(
    api: Api,
    run: Run,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    is_lost: bool,
    outcome: str,
) -> None:
    monkeypatch.setattr(timer, "sleep", lambda _: None)
    if is_lost:
        api.fail(lose=True, match="PATCH", times=9)
    else:
        api.stop()
    with pytest.raises(BlazarClientException, match=outcome):
        run(reservations.UpdateReservation, RESERVATION.id, "--note", "x")
    assert capsys.readouterr().err.count("Trying again for 30 s.") == 1


def test_update(api: Api, run_json: Callable[..., Any]) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        f"PATCH {path}": Answer(200, reservation()),
        f"GET {path}": Answer(200, reservation()),
    }
    update = reservations.UpdateReservation
    assert run_json(update, RESERVATION.id, "--end-date", "2026-12-01T12:00") == _SHOWN
    assert run_json(update, RESERVATION.id, "--hours", "4") == _SHOWN
    assert [r.body for r in api.seen if r.body] == [
        {"end": "2026-12-01T12:00:00+00:00"},
        {"end": "2026-12-01T13:00:00+00:00"},
    ]


#: Arguments; what is sent; what is said on the side.
_CHANGES = [
    (
        ["--start", "2026-12-02T09:00Z"],
        {"start": "2026-12-02T09:00:00+00:00", "end": "2026-12-02T11:00:00+00:00"},
        "Its length stays: 2 hours\n",
    ),
    (
        ["--start", "2026-12-01T10:00Z", "--hours", "1.5"],
        {"start": "2026-12-01T10:00:00+00:00", "end": "2026-12-01T11:30:00+00:00"},
        "",
    ),
    (
        ["--start", "2026-12-01T08:00Z", "--end", "2026-12-01T12:00Z", "--count", "3"],
        {
            "start": "2026-12-01T08:00:00+00:00",
            "end": "2026-12-01T12:00:00+00:00",
            "instance_count": 3,
        },
        "",
    ),
    (["--count", "1"], {"instance_count": 1}, ""),
    (["--name", "training", "--note", "run 7"], {"name": "training", "note": "run 7"}, ""),
    (["--name", "", "--note", ""], {"name": None, "note": None}, ""),
    (["--contact", "team@example.org"], {"contact": "team@example.org"}, ""),
    (["--contact", ""], {"contact": None}, ""),
    (["--webhook", "https://example.org/"], {"webhook": "https://example.org/"}, ""),
    (["--webhook", ""], {"webhook": None}, ""),
    (["--end", "2026-12-01T12:00Z", "--count", "2"], None, ""),
    (
        ["--start", "2026-12-02 09:00", "--yes"],
        {"start": "2026-12-02T09:00:00+00:00", "end": "2026-12-02T11:00:00+00:00"},
        "Its length stays: 2 hours\nreservation " + RESERVATION.id,
    ),
]


@pytest.mark.parametrize(("arguments", "sent", "said"), _CHANGES)
def test_set_sends_what_changes(
    api: Api,
    run: Run,
    capsys: pytest.CaptureFixture,
    arguments: list[str],
    sent: dict[str, Any] | None,
    said: str,
) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        f"PATCH {path}": Answer(200, reservation()),
        f"GET {path}": Answer(200, reservation()),
    }
    run(reservations.UpdateReservation, RESERVATION.id, *arguments)
    sent = sent or {"end": "2026-12-01T12:00:00+00:00", "instance_count": 2}
    assert [r.body for r in api.seen if r.body] == [sent]
    assert capsys.readouterr().err.startswith(said)


def test_set_without_options_is_refused(api: Api, run: Run) -> None:
    with pytest.raises(BlazarClientException, match="Nothing to change"):
        run(reservations.UpdateReservation, RESERVATION.id)
    assert not api.seen


def test_names_are_given_and_listed(api: Api, run: Run, run_json: Callable[..., Any]) -> None:
    named = reservation(name="training", note="run 7")
    api.answers |= {
        "POST /v2/reservations": Answer(200, named),
        "GET /v2/reservations": listing(named, reservation()),
    }
    given = ("--name", "training", "--note", "run 7")
    made = run_json(booking.CreateReservation, "gpu.large", *_PERIOD, *given)
    assert (made["name"], made["note"]) == ("training", "run 7")
    (sent,) = [r.body for r in api.seen if r.body]
    assert (sent["name"], sent["note"]) == ("training", "run 7")
    rows = run_json(reservation_list.ListReservations, "--name", "training")
    assert [row["name"] for row in rows] == ["training", None]
    assert api.seen[-1].query == {"name": "training"}


def test_create_sends_the_contact_the_webhook_and_the_time_zone(api: Api, run: Run) -> None:
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    url = "https://example.org/"
    given = ("--contact", "team@example.org", "--webhook", url, "--timezone", "europe/berlin")
    run(booking.CreateReservation, "gpu.large", *_PERIOD, *given, "--yes")
    (sent,) = [r.body for r in api.seen if r.body]
    assert (sent["contact"], sent["timezone"]) == ("team@example.org", "Europe/Berlin")
    assert sent["webhook"] == url


@pytest.mark.parametrize("zone", ["UTC", "+01:00"])
def test_create_sends_no_zone_without_a_name(api: Api, run: Run, zone: str) -> None:
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    run(booking.CreateReservation, "gpu.large", *_PERIOD, "--timezone", zone, "--yes")
    (sent,) = [r.body for r in api.seen if r.body]
    assert "timezone" not in sent


def test_create_books_without_a_zone_that_the_server_does_not_know(api: Api, run: Run) -> None:
    unknown = error(422, "timezone: unknown", "invalid_field", field="timezone")
    api.answers["POST /v2/reservations"] = [unknown, Answer(200, reservation())]
    run(booking.CreateReservation, "gpu.large", *_PERIOD, "--timezone", "Asia/Tokyo", "--yes")
    bodies = [r.body for r in api.seen if r.body]
    assert [body.get("timezone") for body in bodies] == ["Asia/Tokyo", None]


_OTHER = "22222222-9999-4999-8999-999999999999"


def test_name_of_a_whole_series_leads_to_the_series(api: Api, run: Run) -> None:
    lessons = (reservation(name="ml", series_id="s-1"), reservation(id=_OTHER, name="ml"))
    api.answers["GET /v2/reservations"] = listing(*lessons)
    with pytest.raises(BlazarClientException, match="could be several") as raised:
        run(reservations.UpdateReservation, "ml", "--count", "3")
    assert "series" not in str(raised.value)
    api.answers["GET /v2/reservations"] = listing(
        *({**each, "series_id": "s-1"} for each in lessons)
    )
    with pytest.raises(BlazarClientException, match=r"or the whole series: .*show s-1"):
        run(reservations.UpdateReservation, "ml", "--count", "3")


def test_delete_several(api: Api, run: Run) -> None:
    both = (reservation(name="box"), reservation(id=_OTHER))
    api.answers["GET /v2/reservations"] = listing(*both)
    for document, status in zip(both, (204, 202), strict=True):
        path = f"/v2/reservations/{document['id']}"
        api.answers |= {f"GET {path}": Answer(200, document), f"DELETE {path}": Answer(status)}
    for refs, name in (([RESERVATION.id, _OTHER], ""), (["box", _OTHER[:13]], "box ")):
        shown = f"{name}({RESERVATION.id})" if name else RESERVATION.id
        assert run(reservations.DeleteReservation, *refs, "--yes").splitlines() == [
            f"Deleted reservation: {shown}",
            f"Still deleting reservation: {_OTHER}",
        ]


@pytest.mark.parametrize("answered", ["y", "n", ""])
def test_delete_asks_before_it_deletes_servers(
    api: Api,
    run: Run,
    answers: Callable[[str], None],
    capsys: pytest.CaptureFixture,
    answered: str,
) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        f"GET {path}": Answer(200, _with_servers("my 😀", "b")),
        f"DELETE {path}": Answer(204),
    }
    answers(answered)
    if answered == "y":
        run(reservations.DeleteReservation, RESERVATION.id)
    else:
        with pytest.raises(BlazarClientException, match=r"^Not deleted: "):
            run(reservations.DeleteReservation, RESERVATION.id)
    assert "Its 2 servers (my 😀, b) will be deleted for good. Delete?" in capsys.readouterr().err
    assert (f"DELETE {path}" in api.requests) == (answered == "y")
    assert {"detail": "servers"} in [request.query for request in api.seen]


def test_delete_asks_before_it_deletes_a_future_reservation(
    api: Api, run: Run, answers: Callable[[str], None], capsys: pytest.CaptureFixture
) -> None:
    answers("n")
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = Answer(200, reservation())
    with pytest.raises(BlazarClientException, match=r"^Not deleted: "):
        run(reservations.DeleteReservation, RESERVATION.id)
    asked = capsys.readouterr().err
    assert asked == (
        f"reservation {RESERVATION.id}, 2 slots of gpu.large, Tue 2026-12-01 09:00 UTC to "
        "Tue 2026-12-01 11:00 UTC, 2 hours, ALLOCATED. Delete? [y/N] "
    )


@pytest.mark.parametrize(
    ("status", "more"), [("COMPLETE", []), ("ACTIVE", ["--yes"])], ids=["over", "--yes"]
)
def test_delete_does_not_ask_without_need(
    api: Api, run: Run, answers: Callable[[str], None], status: str, more: list[str]
) -> None:
    answers("n")
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        f"GET {path}": Answer(200, reservation(status=status)),
        f"DELETE {path}": Answer(204),
    }
    assert run(reservations.DeleteReservation, RESERVATION.id, *more).startswith("Deleted")


@pytest.mark.parametrize("servers", [[], [server("b")]], ids=["none", "one"])
def test_delete_without_a_terminal_needs_yes_if_there_are_servers(
    api: Api, run: Run, servers: list[dict[str, Any]]
) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        f"GET {path}": Answer(200, reservation(status="ACTIVE", servers=servers)),
        f"DELETE {path}": Answer(204),
    }
    if servers:
        with pytest.raises(BlazarClientException, match=r"^Its 1 server \(b\) .* needs --yes$"):
            run(reservations.DeleteReservation, RESERVATION.id)
        assert f"DELETE {path}" not in api.requests
    else:
        run(reservations.DeleteReservation, RESERVATION.id)
    run(reservations.DeleteReservation, RESERVATION.id, "--yes")
    assert api.requests[-1] == f"DELETE {path}"


def _now_is(monkeypatch: pytest.MonkeyPatch, hour: int, minute: int = 0) -> None:
    now = datetime.datetime(2026, 12, 1, hour, minute, tzinfo=datetime.UTC)
    monkeypatch.setattr(base.Command, "now", lambda _: now)


#: New times, given at 10:00 to a reservation that ends at 11:00, that end it now or within minutes.
ENDS_SOON = (
    ["--end", "now"],
    ["--end", "2026-12-01T10:01Z"],
    ["--end", "in 5 minutes"],
    ["--hours", "1"],
    ["--length", "62m"],
)


@pytest.mark.parametrize("given", ENDS_SOON, ids=" ".join)
@pytest.mark.parametrize("answered", ["y", "n", None], ids=["yes", "no", "no terminal"])
def test_an_end_within_minutes_is_confirmed_with_the_servers(
    api: Api,
    run: Run,
    answers: Callable[[str], None],
    capsys: pytest.CaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    given: list[str],
    answered: str | None,
) -> None:
    _now_is(monkeypatch, 10)
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        f"GET {path}": Answer(200, _with_servers("a", "b")),
        f"PATCH {path}": Answer(200, reservation(status="ACTIVE")),
    }
    update = reservations.UpdateReservation
    gone = r"Its 2 servers \(a, b\) would be deleted for good at 2026-12-01 10:\d\d UTC\."
    if answered == "y":
        answers(answered)
        run(update, RESERVATION.id, *given)
    elif answered == "n":
        answers(answered)
        kept = r"^Nothing changed: .* 11:00 UTC, 2 hours, ACTIVE\. Use --yes"
        with pytest.raises(BlazarClientException, match=kept):
            run(update, RESERVATION.id, *given)
    else:
        lost = rf"^Nothing changed: .*, ACTIVE\. The running .* shorter\. {gone} .* needs --yes$"
        with pytest.raises(BlazarClientException, match=lost):
            run(update, RESERVATION.id, *given)
    if answered:
        assert re.search(rf"{gone} Is that right\? \[y/N\] ", capsys.readouterr().err)
    assert (f"PATCH {path}" in api.requests) == (answered == "y")
    run(update, RESERVATION.id, *given, "--yes")
    assert api.requests[-1] == f"PATCH {path}"
    assert re.search(gone, capsys.readouterr().err)


def _running_for_12_hours(status: str) -> dict[str, Any]:
    times = {"start": "2026-12-01T00:00:00+00:00", "end": "2026-12-01T12:00:00+00:00"}
    return reservation(status=status, **times)


@pytest.mark.parametrize(
    ("status", "given", "said"),
    [
        ("ACTIVE", ["--hours", "4"], "12 hours: 8 hours shorter\n"),
        ("ACTIVE", ["--end", "2026-12-01T11:30Z"], "12 hours: 30 minutes shorter\n"),
        ("ERROR", ["--length", "4h", "--count", "1"], "8 hours shorter, 1 slot fewer\n"),
    ],
)
def test_running_reservation_is_shortened_in_a_script_only_with_yes(
    api: Api,
    run: Run,
    capsys: pytest.CaptureFixture[str],
    status: str,
    given: list[str],
    said: str,
) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        f"GET {path}": Answer(200, {**_running_for_12_hours(status), "servers": []}),
        f"PATCH {path}": Answer(200, reservation(status=status)),
    }
    refused = (
        r"^Nothing changed: .* 12 hours, \w+\. The running reservation would become .* shorter\."
    )
    with pytest.raises(BlazarClientException, match=f"{refused} .* this needs --yes$"):
        run(reservations.UpdateReservation, RESERVATION.id, *given)
    assert f"PATCH {path}" not in api.requests
    run(reservations.UpdateReservation, RESERVATION.id, *given, "--yes")
    assert api.requests[-1] == f"PATCH {path}"
    assert capsys.readouterr().err.count(said) == 2


@pytest.mark.parametrize(
    ("status", "given", "said"),
    [
        ("ALLOCATED", ["--hours", "4"], "4 hours instead of 12 hours: 8 hours shorter\n"),
        ("ACTIVE", ["--end", "2026-12-01T13:30Z"], "12 hours: 1 hour 30 minutes longer\n"),
        ("ACTIVE", ["--count", "1"], "12 hours, 1 slot fewer\n"),
        ("ACTIVE", ["--end", "2026-12-01T12:00Z"], "UTC, 12 hours\n"),
        ("ALLOCATED", ["--start", "2026-12-01T02:00Z"], "12 hours: begins 2 hours later\n"),
        (
            "ALLOCATED",
            ["--start", "2026-11-30T23:00Z", "--end", "2026-12-01T12:00Z", "--count", "3"],
            "13 hours instead of 12 hours: 1 hour longer, begins 1 hour earlier, 1 slot more\n",
        ),
    ],
)
def test_change_is_told_in_words(
    api: Api,
    run: Run,
    capsys: pytest.CaptureFixture[str],
    status: str,
    given: list[str],
    said: str,
) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        f"GET {path}": Answer(200, _running_for_12_hours(status)),
        f"PATCH {path}": Answer(200, reservation()),
    }
    run(reservations.UpdateReservation, RESERVATION.id, *given)
    assert api.requests[-1] == f"PATCH {path}"
    assert capsys.readouterr().err.endswith(said)


_TWO_MORE_HOURS = [
    ["--hours", "+2"],
    ["--hours", "+2h"],
    ["--hours", "+2:00"],
    ["--length", "+2h"],
    ["--length", "+120m"],
    ["--end", "+2h"],
    ["--to", "+2h"],
]


@pytest.mark.parametrize("given", _TWO_MORE_HOURS, ids=" ".join)
def test_plus_counts_from_the_present_end_or_from_the_start(
    api: Api, run: Run, given: list[str]
) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        f"GET {path}": Answer(200, reservation(status="ACTIVE")),
        f"PATCH {path}": Answer(200, reservation()),
        "POST /v2/reservations": Answer(200, reservation()),
    }
    run(reservations.UpdateReservation, RESERVATION.id, *given)
    run(booking.CreateReservation, "f", "--start", "2026-12-01T09:00Z", *given)
    changed, booked = (r.body for r in api.seen if r.body)
    assert changed == {"end": "2026-12-01T13:00:00+00:00"}
    assert booked["end"] == "2026-12-01T11:00:00+00:00"


@pytest.mark.parametrize(
    ("given", "start"),
    [
        ("+30m", "2026-12-01T09:30:00+00:00"),
        ("+1 hour", "2026-12-01T10:00:00+00:00"),
        ("+1d12h", "2026-12-02T21:00:00+00:00"),
        # Clocks are changed on the way, and the time of day stays.
        ("+17w", "2027-03-30T08:00:00+00:00"),
    ],
)
def test_start_with_a_plus_counts_from_the_present_start(
    api: Api, run: Run, monkeypatch: pytest.MonkeyPatch, given: str, start: str
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        f"GET {path}": Answer(200, reservation()),
        f"PATCH {path}": Answer(200, reservation()),
    }
    run(reservations.UpdateReservation, RESERVATION.id, "--start", given)
    moments = [
        datetime.datetime.fromisoformat(api.seen[-1].body[name]) for name in ("start", "end")
    ]
    begins = datetime.datetime.fromisoformat(start)
    assert moments == [begins, begins + datetime.timedelta(hours=2)]
    with pytest.raises(BlazarClientException, match="2 moons' isn't a length; write 3d, 12h"):
        run(reservations.UpdateReservation, RESERVATION.id, "--start", "+2 moons")


@pytest.mark.parametrize("given", [["--days", "+1"], ["--length", "+1d"], ["--end", "+1d"]])
def test_more_days_are_counted_from_the_present_end(
    api: Api, run: Run, monkeypatch: pytest.MonkeyPatch, given: list[str]
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    path = f"/v2/reservations/{RESERVATION.id}"
    # Clocks are changed within the present times, and then within the additional day.
    times = {"start": "2027-03-27T09:00:00+00:00", "end": "2027-03-28T09:00:00+00:00"}
    api.answers |= {
        f"GET {path}": Answer(200, reservation(**times)),
        f"PATCH {path}": Answer(200, reservation()),
    }
    run(reservations.UpdateReservation, RESERVATION.id, *given)
    assert api.seen[-1].body == {"end": "2027-03-29T11:00:00+02:00"}
    times = {"start": "2027-03-26T09:00:00+00:00", "end": "2027-03-27T09:00:00+00:00"}
    api.answers[f"GET {path}"] = Answer(200, reservation(**times))
    either = r"Give --end 2027-03-28T10:00\+02:00 or --end 2027-03-28T11:00\+02:00$"
    with pytest.raises(BlazarClientException, match=either):
        run(reservations.UpdateReservation, RESERVATION.id, *given)


def test_plus_after_a_new_start_adds_to_the_present_length(api: Api, run: Run) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        f"GET {path}": Answer(200, reservation()),
        f"PATCH {path}": Answer(200, reservation()),
    }
    given = ("--start", "2026-12-05T09:00Z", "--length", "+1w")
    run(reservations.UpdateReservation, RESERVATION.id, *given)
    assert api.seen[-1].body == {
        "start": "2026-12-05T09:00:00+00:00",
        "end": "2026-12-12T11:00:00+00:00",
    }


def test_dry_run_of_an_early_end_names_the_servers(
    api: Api, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    _now_is(monkeypatch, 10)
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        f"GET {path}": Answer(200, _with_servers("b")),
        f"PATCH {path}": foreseen(),
    }
    said = run(reservations.UpdateReservation, RESERVATION.id, "--end", "now", "--dry-run")
    assert said.endswith(". Its 1 server (b) would be deleted for good at 2026-12-01 10:01 UTC\n")


def test_dry_run_deletes_nothing(api: Api, run: Run) -> None:
    api.answers |= {
        f"GET /v2/reservations/{RESERVATION.id}": Answer(200, _with_servers("b")),
    }
    said = run(reservations.DeleteReservation, RESERVATION.id, "--dry-run")
    assert said.startswith(f"Dry run: would delete reservation {RESERVATION.id}, 2 slots of gpu")
    assert said.endswith("ACTIVE. Its 1 server (b) will be deleted for good\n")


@pytest.mark.parametrize(
    ("typed_at", "answered_at", "word", "end"),
    [
        (58, 58, "now", "10:59"),
        (0, 0, "Now", "10:01"),
        (50, 53, "now", "10:54"),
        (59, 59, "now", "11:00"),
        (59, 60, "now", "11:00"),
    ],
    ids=["next", "first minute", "long question", "last minute", "not later than it ends"],
)
def test_end_now_has_not_passed_when_the_manager_decides(
    api: Api,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    typed_at: int,
    answered_at: int,
    word: str,
    end: str,
) -> None:
    begun = datetime.datetime(2026, 12, 1, 10, 0, 55, tzinfo=datetime.UTC)

    def turn(minute: int) -> None:
        now = begun + datetime.timedelta(minutes=minute)
        monkeypatch.setattr(base.Command, "now", lambda _: now)

    turn(typed_at)
    monkeypatch.setattr(confirmation, "on_terminal", lambda: True)
    monkeypatch.setattr(confirmation, "ask", lambda *_: turn(answered_at))
    path = f"/v2/reservations/{RESERVATION.id}"
    document = reservation(status="ACTIVE", start="2026-12-01T10:00:00+00:00")
    api.answers |= {f"GET {path}": Answer(200, document), f"PATCH {path}": Answer(200, document)}
    run(reservations.UpdateReservation, RESERVATION.id, "--end", word)
    assert [r.body for r in api.seen if r.body] == [{"end": f"2026-12-01T{end}:00+00:00"}]


@pytest.mark.parametrize(
    ("times", "sent"),
    [
        (["--start", "now", "--hours", "1"], [("10:00", "11:00"), ("10:05", "11:05")]),
        (["--start", " NOW", "--hours", "1"], [("10:00", "11:00"), ("10:05", "11:05")]),
        (["--hours", "1"], [("10:01", "11:01"), ("10:06", "11:06")]),
        (["--end", "in 2 hours"], [("10:01", "12:00"), ("10:06", "12:00")]),
    ],
    ids=["now", "case and space", "no start", "the end stays"],
)
def test_start_now_that_passes_during_the_question_is_moved(
    api: Api,
    run: Run,
    answers_slowly: Callable[[datetime.datetime], None],
    times: list[str],
    sent: list[tuple[str, str]],
) -> None:
    typed_at = datetime.datetime(2026, 12, 1, 10, 0, 55, tzinfo=datetime.UTC)
    answers_slowly(typed_at)
    passed = error(400, "In the past", "invalid_period")
    api.answers["POST /v2/reservations"] = [foreseen(), passed, Answer(200, reservation())]
    run(booking.CreateReservation, "f", *times)
    bodies = [request.body for request in api.seen if not request.query]
    assert [(body["start"][11:16], body["end"][11:16]) for body in bodies] == sent


def test_typed_start_that_has_passed_is_not_moved(api: Api, run: Run) -> None:
    api.answers["POST /v2/reservations"] = [error(400, "In the past", "invalid_period")]
    with pytest.raises(BlazarClientException, match="In the past"):
        run(booking.CreateReservation, "f", *_EXACT)
    assert len(api.seen) == 1


@pytest.fixture
def of_another_project(api: Api, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of a reservation of the project "us", for an operator of another project."""
    monkeypatch.setattr(session.Session, "get_project_id", lambda _: "operators")
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        "GET /v1/projects/project-1": Answer(200, {"project": {"id": "project-1", "name": "us"}}),
        f"GET {path}": Answer(200, reservation()),
        f"PATCH {path}": Answer(200, reservation()),
    }
    return path


#: Exact new times that take time from a reservation.
_LESS_TIME = (
    ["--end", "2026-12-01T10:30Z"],
    ["--start", "2026-12-01T09:30Z", "--end", "2026-12-01T11:30Z"],
)


@pytest.mark.parametrize("given", _LESS_TIME, ids=["shorter", "later"])
@pytest.mark.parametrize("answered", ["y", "n", None], ids=["yes", "no", "no terminal"])
def test_less_time_for_another_project_is_confirmed_even_if_the_times_are_exact(
    api: Api,
    run: Run,
    answers: Callable[[str], None],
    capsys: pytest.CaptureFixture,
    of_another_project: str,
    given: list[str],
    answered: str | None,
) -> None:
    if answered:
        answers(answered)
    if answered == "n":
        kept = r"^Nothing changed: .*, 2 hours, ALLOCATED, of project us\. Use --yes"
        with pytest.raises(BlazarClientException, match=kept):
            run(reservations.UpdateReservation, RESERVATION.id, *given)
    else:
        run(reservations.UpdateReservation, RESERVATION.id, *given)
    told = capsys.readouterr().err
    assert ", of project us\n" in told
    assert ("Is that right? [y/N]" in told) == (answered is not None)
    assert (f"PATCH {of_another_project}" in api.requests) == (answered != "n")


def test_deletion_for_another_project_says_what_is_gone(
    api: Api, run: Run, of_another_project: str
) -> None:
    api.answers[f"DELETE {of_another_project}"] = Answer(204)
    said = f"Deleted reservation: {RESERVATION.id}, 2 slots of gpu.large, of project us\n"
    for words in ([], ["--yes"]):
        assert run(reservations.DeleteReservation, RESERVATION.id, *words) == said


@pytest.mark.parametrize(
    ("own", "end"), [("operators", "11:30"), ("project-1", "10:30")], ids=["longer", "own"]
)
@pytest.mark.usefixtures("of_another_project")
def test_no_question_if_no_time_is_taken_from_another_project(
    run: Run, answers: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, own: str, end: str
) -> None:
    monkeypatch.setattr(session.Session, "get_project_id", lambda _: own)
    answers("n")
    run(reservations.UpdateReservation, RESERVATION.id, "--end", f"2026-12-01T{end}Z")


def test_dry_run_of_update_shows_the_change(api: Api, run: Run) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {f"GET {path}": Answer(200, reservation()), f"PATCH {path}": foreseen()}
    update = reservations.UpdateReservation
    said = run(update, RESERVATION.id, "--hours", "1.5", "--dry-run")
    assert "would change reservation" in said
    assert said.endswith("2 hours: 30 minutes shorter\n")
    assert "10:30 UTC (before: 2026-12-01 11:00 UTC), 1 hour 30 minutes instead of" in said
    assert (api.seen[-1].query, api.seen[-1].body) == (
        {"dry_run": "true"},
        {"end": "2026-12-01T10:30:00+00:00"},
    )
    with pytest.raises(BlazarClientException, match=r"2026-12-01 08:00 UTC, isn't after the start"):
        run(update, RESERVATION.id, "--end", "2026-12-01T08:00Z", "--dry-run")


@pytest.mark.parametrize(
    ("arguments", "body", "said"),
    [
        (["--count", "3"], {"instance_count": 3}, "3 slots .before: 2. of gpu.large, Tue"),
        (
            ["--start", "2026-12-02T09:00Z"],
            {"start": "2026-12-02T09:00:00+00:00", "end": "2026-12-02T11:00:00+00:00"},
            "Wed 2026-12-02 09:00 UTC .before: 2026-12-01 09:00 UTC. to Wed .* 2 hours",
        ),
        (["--note", "mine"], {"note": "mine"}, "would change reservation"),
    ],
)
def test_dry_run_of_set_asks_for_the_change(
    api: Api, run: Run, arguments: list[str], body: dict[str, Any], said: str
) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {f"GET {path}": Answer(200, reservation()), f"PATCH {path}": foreseen()}
    printed = run(reservations.UpdateReservation, RESERVATION.id, *arguments, "--dry-run")
    assert re.search(said, printed)
    assert api.seen[-1].body == body


def test_dry_run_of_a_change_to_what_is_there_asks_the_api(api: Api, run: Run) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        f"GET {path}": Answer(200, reservation()),
        f"PATCH {path}": foreseen(("invalid_state", "Reservation is ERROR", {})),
    }
    given = (RESERVATION.id, "--end", "2026-12-01T11:00Z", "--dry-run")
    with pytest.raises(BlazarClientException, match="is ERROR"):
        run(reservations.UpdateReservation, *given)
    assert (api.seen[-1].query, api.seen[-1].body) == (
        {"dry_run": "true"},
        {"end": "2026-12-01T11:00:00+00:00"},
    )


def test_refused_dry_run_of_a_change_says_how_far_it_could_go(api: Api, run: Run) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        f"GET {path}": Answer(200, reservation()),
        f"PATCH {path}": foreseen(
            ("hosts_exhausted", "No room", {}),
            span=Span(RESERVATION.span.start, RESERVATION.span.start + DAY),
            count=2,
            longest=datetime.timedelta(hours=5),
            most=1,
        ),
    }
    with pytest.raises(BlazarClientException) as refused:
        run(reservations.UpdateReservation, RESERVATION.id, "--hours", "24", "--dry-run")
    assert str(refused.value).splitlines() == [
        "No host has room then",
        "At the wanted start, 2 slots can be had until --end 2026-12-01T14:00Z",
        "For all of that time, --count 1 can be had",
    ]


def test_inexact_new_end_is_confirmed(
    api: Api, run: Run, answers: Callable[[str], None], capsys: pytest.CaptureFixture
) -> None:
    answers("n")
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = Answer(200, reservation())
    kept = r"^Nothing changed: reservation .* to Tue 2026-12-01 11:00 UTC, 2 hours, ALLOCATED\. Use"
    with pytest.raises(BlazarClientException, match=kept):
        run(reservations.UpdateReservation, RESERVATION.id, "--end", "2026-12-01 12:00")
    told = capsys.readouterr().err
    assert "to Tue 2026-12-01 12:00 UTC (before: 2026-12-01 11:00 UTC), 3 hours" in told
    assert [r.method for r in api.seen] == ["GET"]


def test_wait_in_a_pipe_prints_each_change(
    api: Api, run: Run, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setattr(Reservations.wait, "__kwdefaults__", _impatient())
    api.answers["POST /v2/reservations"] = Answer(200, reservation(status="PENDING_CREATE"))
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = [
        Answer(200, reservation(status="PENDING_CREATE", start="2200-01-01T00:00:00+00:00")),
        Answer(200, reservation(start="2200-01-01T00:00:00+00:00")),
        Answer(200, reservation(status="ACTIVE")),
    ]
    out = run(booking.CreateReservation, "f", *_PERIOD, "--wait", "-f", "value", "-c", "status")
    assert out == "ACTIVE\n"
    assert capsys.readouterr().err.splitlines()[1:] == [
        f"Waiting for reservation {RESERVATION.id}",
        "PENDING_CREATE: waiting for Blazar to make it",
        "ALLOCATED: waiting for its start, 2200-01-01 00:00 UTC",
        "ACTIVE: servers can be booted until 2026-12-01 11:00 UTC",
        "To boot a server on it: openstack server create --flavor "
        f"{RESERVATION.reservation_id.replace('-', '')} --image IMAGE --network NETWORK NAME",
    ]


def _impatient() -> dict[str, Any]:
    kwdefaults = dict(Reservations.wait.__kwdefaults__ or {})
    return {**kwdefaults, "sleep": lambda _: None, "poll": 1.0}


def test_ctrl_c_ends_the_waiting_only(
    api: Api, run: Run, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Reservations.wait, "__kwdefaults__", {**_impatient(), "sleep": interrupted})
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = Answer(200, reservation())
    with pytest.raises(SystemExit) as caught:
        run(booking.CreateReservation, "f", *_PERIOD, "--wait")
    assert caught.value.code == 130
    told = capsys.readouterr().err
    assert f"The reservation stays: openstack reservation show {RESERVATION.id}" in told
    assert not [r for r in api.seen if r.method == "DELETE"]


def test_progress_line_has_status_and_remaining_time() -> None:
    now = datetime.datetime(2026, 12, 1, 8, 58, 30, tzinfo=datetime.UTC)
    found = Reservation.of(reservation())
    assert wait_progress.line(found, now, datetime.UTC) == (
        "ALLOCATED: 1:30 left, waiting for its start, 2026-12-01 09:00 UTC"
    )
    due = now + datetime.timedelta(minutes=2)
    assert (
        wait_progress.line(found, due, datetime.UTC)
        == "ALLOCATED: waiting for Blazar to start it, which takes about ten seconds"
    )


def test_refused_change_says_how_far_it_could_go(api: Api, run: Run) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    refusal = _with_instead(error(400, "No slot", "slots_exhausted"), longest=5, most=1)
    api.answers |= {f"GET {path}": Answer(200, reservation()), f"PATCH {path}": refusal}
    with pytest.raises(BlazarClientException) as refused:
        run(reservations.UpdateReservation, RESERVATION.id, "--end", "2026-12-02T09:00Z")
    assert str(refused.value).splitlines() == [
        "No slot is free then",
        "At the wanted start, 2 slots can be had until --end 2026-12-01T14:00Z",
        "For all of that time, --count 1 can be had",
    ]
    assert [r.query for r in api.seen if r.method == "PATCH"] == [{}]


def test_refused_change_for_another_project_names_it(
    api: Api, run: Run, of_another_project: str
) -> None:
    refusal = error(413, "Over quota", "quota_exceeded")
    api.answers[f"PATCH {of_another_project}"] = _with_instead(refusal)
    with pytest.raises(BlazarClientException, match="limits show --project project-1;"):
        run(reservations.UpdateReservation, RESERVATION.id, "--end", "2026-12-02T09:00Z")


def test_show_lists_the_servers_and_says_when_they_go(
    api: Api, run_json: Callable[..., Any], capsys: pytest.CaptureFixture
) -> None:
    api.answers |= {
        f"GET /v2/reservations/{RESERVATION.id}": Answer(200, _with_servers("a", "b")),
    }
    shown = run_json(reservations.ShowReservation, RESERVATION.id)
    assert shown == {**_SHOWN, "status": "ACTIVE", "servers": ["a", "b"]}
    boot, lost = capsys.readouterr().err.splitlines(keepends=True)
    assert boot.startswith("To boot a server on it: openstack server create --flavor ")
    assert lost == (
        "Its 2 servers (a, b) will be deleted for good at the end of the reservation, "
        "2026-12-01 11:00 UTC.\n"
    )


def test_show_lists_a_server_that_was_moved_out_and_says_that_it_stays(
    api: Api, run_json: Callable[..., Any], capsys: pytest.CaptureFixture
) -> None:
    active = reservation(status="ACTIVE", servers=[server("a", moved_out=True)])
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = Answer(200, active)
    assert run_json(reservations.ShowReservation, RESERVATION.id)["servers"] == ["a"]
    assert capsys.readouterr().err.endswith(
        "Moved out of it, but not confirmed: a. At the end of the reservation, 2026-12-01 11:00 "
        "UTC, the move is confirmed, and the server stays where it is.\n"
    )


def test_show_of_a_running_reservation_without_servers_has_an_empty_list(
    api: Api, run_json: Callable[..., Any]
) -> None:
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = Answer(200, _with_servers())
    assert run_json(reservations.ShowReservation, RESERVATION.id)["servers"] == []


@pytest.mark.parametrize(
    ("zone", "option", "more"),
    [
        pytest.param(None, "", "", id="no zone is known"),
        pytest.param("az 1", " --availability-zone 'az 1'", "", id="one zone"),
        pytest.param("az1,az2", "", "Its hosts are in several", id="several zones"),
    ],
)
def test_show_says_how_to_boot_a_server(
    api: Api, run: Run, capsys: pytest.CaptureFixture, zone: str | None, option: str, more: str
) -> None:
    active = {**reservation(status="ACTIVE"), "availability_zone": zone}
    api.answers |= {
        f"GET /v2/reservations/{RESERVATION.id}": Answer(200, {**active, "servers": []}),
    }
    run(reservations.ShowReservation, RESERVATION.id)
    first, rest = capsys.readouterr().err.split("\n", 1)
    assert first == (
        f"To boot a server on it: openstack server create --flavor {active['compute_flavor']}"
        f"{option} --image IMAGE --network NETWORK NAME"
    )
    assert rest.startswith(more)
    assert bool(rest) == bool(more)


def test_show_says_that_snapshots_are_made(
    api: Api, run: Run, capsys: pytest.CaptureFixture
) -> None:
    active = {**reservation(status="ACTIVE"), "before_end": "snapshot"}
    api.answers |= {
        f"GET /v2/reservations/{RESERVATION.id}": Answer(200, {**active, "servers": [server("a")]}),
    }
    run(reservations.ShowReservation, RESERVATION.id)
    assert capsys.readouterr().err.endswith(
        "2026-12-01 11:00 UTC. Before the end, a snapshot is made of each server.\n"
    )


_WARNING = warnings.NOVA_QUOTA(resources=[{"resource": "cores", "asked": 4, "limit": 2}])


def test_warnings_are_printed_and_are_documents_for_programs(
    api: Api, run_json: Callable[..., Any], capsys: pytest.CaptureFixture
) -> None:
    doubtful = reservation(warnings=[_WARNING.document])
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        "POST /v2/reservations": Answer(200, doubtful),
        f"GET {path}": Answer(200, doubtful),
        f"PATCH {path}": Answer(200, doubtful),
    }
    for command, *words in (
        (booking.CreateReservation, "f", *_EXACT),
        (reservations.ShowReservation, RESERVATION.id),
        (reservations.UpdateReservation, RESERVATION.id, "--name", "x"),
    ):
        assert run_json(command, *words)["warnings"] == [_WARNING.document]
        assert f"Warning: {_WARNING}.\n" in capsys.readouterr().err


def test_dry_run_has_the_warning(api: Api, run: Run) -> None:
    answer = foreseen()
    answer.body["warnings"] = [_WARNING.document]
    api.answers["POST /v2/reservations"] = answer
    said = run(booking.CreateReservation, "f", *_EXACT, "--dry-run")
    assert said.endswith(f" 2 hours. Warning: {_WARNING}\n")


def test_show_lists_snapshots(api: Api, run: Run, run_json: Callable[..., Any]) -> None:
    made = [
        {"server": "s", "server_name": "web", "image": "i", "status": "saved", "error": None},
        {"server": None, "server_name": None, "image": None, "status": "failed", "error": "late"},
    ]
    snapshots = [{**each, "at": "2026-12-01T10:30:00+00:00"} for each in made]
    answer = Answer(200, {**reservation(), "snapshots": snapshots})
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = answer
    assert run_json(reservations.ShowReservation, RESERVATION.id)["snapshots"] == snapshots
    table = run(reservations.ShowReservation, RESERVATION.id)
    assert "web: saved, image i" in table
    assert "its servers: failed (late)" in table


def test_users_choose_what_is_done_before_the_end(api: Api, run: Run) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    answers = {"POST /v2/reservations": Answer(200, reservation())}
    api.answers |= {**answers, f"PATCH {path}": Answer(200, reservation())}
    run(booking.CreateReservation, "f", *_EXACT, "--before-end", "snapshot")
    assert api.seen[-1].body["before_end"] == "snapshot"
    for word, sent in (("nothing", "nothing"), ("flavor", None)):
        run(reservations.UpdateReservation, RESERVATION.id, "--before-end", word)
        assert api.seen[-1].body == {"before_end": sent}


def test_dry_runs_say_that_snapshots_are_made(api: Api, run: Run) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    snapshot = foreseen(before_end="snapshot")
    api.answers |= {
        "POST /v2/reservations": snapshot,
        f"GET {path}": Answer(200, reservation()),
        f"PATCH {path}": snapshot,
    }
    choice = ("--before-end", "snapshot", "--dry-run")
    for said in (
        run(booking.CreateReservation, "f", *_EXACT, *choice),
        run(reservations.UpdateReservation, RESERVATION.id, *choice),
    ):
        assert said.endswith(" 2 hours. Before the end, a snapshot is made of each server.\n")


def test_show_without_nova_shows_no_servers(api: Api, run_json: Callable[..., Any]) -> None:
    active = reservation(status="ACTIVE")
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = Answer(200, active)
    assert "servers" not in run_json(reservations.ShowReservation, RESERVATION.id)


@pytest.mark.parametrize(
    ("user", "reason", "line"),
    [
        (None, "host_failed", "host monitor or operator  moved, because a host had failed"),
        (None, "drain", "operator  moved, because a host is drained"),
        ("op-1", "maintenance", "op-1  moved, because a maintenance window closes"),
        (None, "made_room", "placing again  moved, because another reservation needed the place"),
        (None, None, "-  moved"),
    ],
)
def test_move_says_who_moved_and_why(
    api: Api, run: Run, user: str | None, reason: str | None, line: str
) -> None:
    moved = {
        "at": "2026-11-01T00:00:00+00:00",
        "user_id": user,
        "change": "moved",
        "before": None,
        "after": reason and {"reason": reason},
    }
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = Answer(200, reservation(log=[moved]))
    assert line in run(reservations.ShowReservation, RESERVATION.id, "--changes", "--fit-width")


def test_show_with_the_changes(api: Api, run: Run, run_json: Callable[..., Any]) -> None:
    changes = [
        ("created", "u", None, None),
        ("rescheduled", "u", {"start": "2026-12-01T09:00:00+00:00"}, {"start": None}),
        ("resized", None, {"instance_count": 2}, {"instance_count": 1}),
    ]
    log = [
        {
            "at": "2026-11-01T00:00:00+00:00",
            "user_id": user,
            "change": change,
            "before": before,
            "after": after,
        }
        for change, user, before, after in changes
    ]
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = Answer(200, reservation(log=log))
    only = ("--changes", "-c", "changes", "-f", "value")
    text = run(reservations.ShowReservation, RESERVATION.id, *only)
    assert api.seen[0].query == {"detail": "log"}
    zone = ("--timezone", "+01:00")
    shown = run_json(reservations.ShowReservation, RESERVATION.id, "--changes", *zone)
    assert [each["change"] for each in shown["changes"]] == ["created", "rescheduled", "resized"]
    assert shown["changes"][1]["before"] == {"start": "2026-12-01T10:00:00+01:00"}
    table = run(reservations.ShowReservation, RESERVATION.id, "--changes")
    assert "resized: instance_count 2 -> 1" in table
    assert "created" in text


def test_show_finds_a_complete_reservation_by_a_name_that_no_other_has(
    api: Api, run: Run, run_json: Callable[..., Any]
) -> None:
    over = reservation(name="box", status="COMPLETE")
    api.answers["GET /v2/reservations"] = listing(over)
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = Answer(200, over)
    assert run_json(reservations.ShowReservation, "box")["status"] == "COMPLETE"
    for command in (reservations.UpdateReservation, reservations.DeleteReservation):
        options = ["--count", "1"] if command is reservations.UpdateReservation else []
        with pytest.raises(BlazarClientException, match=r"Reservation box \(.*\) ended at 2026"):
            run(command, "box", *options)
    assert {request.method for request in api.seen} == {"GET"}


def test_refusal_of_the_api_is_in_the_zone_of_the_command(api: Api, run: Run) -> None:
    terms = {"extend_within_hours": 2, "extend_from": "2026-12-01T20:00:00+00:00"}
    refusal = error(400, "Until 2026-12-01 20:00 UTC", "too_early_to_extend", **terms)
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {f"GET {path}": Answer(200, reservation()), f"PATCH {path}": refusal}
    change = (RESERVATION.id, "--name", "other", "--timezone", "Australia/Melbourne")
    with pytest.raises(BlazarClientException, match=r"from 2026-12-02 07:00 \+11:00 on"):
        run(reservations.UpdateReservation, *change)
