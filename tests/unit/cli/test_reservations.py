"""Reservation commands: what they ask and what they print."""

import datetime
import io
from collections.abc import Callable
from typing import Any

import pytest
from blazarclient.exception import BlazarClientException

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import FLAVOR, RESERVATION, Api, error, flavor, listing, reservation
from warre_blazar.cli import deleting, progress, reservations
from warre_blazar.client import Reservation, resources

_PROJECT = "55555555555545558555555555555555"
_SHOWN = {**reservation(), "flavor": FLAVOR.name, "flavor_id": FLAVOR.id}


def test_list_as_a_table(api: Api, run: Run) -> None:
    api.answers["GET /v2/reservations"] = listing(reservation())
    lines = run(reservations.ListReservations).splitlines()
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
    assert run_json(reservations.ListReservations, "--long") == [_SHOWN]


@pytest.mark.parametrize(
    ("arguments", "query"),
    [
        (["--all-projects"], {"all_projects": "true"}),
        (["--project", _PROJECT], {"project_id": _PROJECT}),
        (["--flavor", FLAVOR.id], {"flavor_id": FLAVOR.id}),
    ],
)
def test_list_filters(api: Api, run: Run, arguments: list[str], query: dict[str, str]) -> None:
    api.answers["GET /v2/reservations"] = listing()
    run(reservations.ListReservations, *arguments)
    assert [r.query for r in api.seen] == [query]


def test_list_of_all_projects_names_them(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/reservations"] = listing(reservation())
    (row,) = run_json(reservations.ListReservations, "--all-projects")
    assert row["project_id"] == "project-1"


def test_list_by_a_flavors_name(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavors/gpu.large"] = Answer(200, flavor())
    api.answers["GET /v2/reservations"] = listing()
    run(reservations.ListReservations, "--flavor", "gpu.large")
    assert api.seen[-1].query == {"flavor_id": FLAVOR.id}


def test_list_by_an_unknown_flavor(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavors/x"] = error(404, "Flavor does not exist", "flavor_not_found")
    api.answers["GET /v2/flavors"] = listing(flavor())
    with pytest.raises(BlazarClientException, match=r"no flavor 'x' .* See flavor-list"):
        run(reservations.ListReservations, "--flavor", "x")


def test_show_names_the_nova_flavor(api: Api, run: Run, run_json: Callable[..., Any]) -> None:
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = Answer(200, reservation())
    assert run_json(reservations.ShowReservation, RESERVATION.id) == _SHOWN
    only = run(reservations.ShowReservation, RESERVATION.id, "-f", "value", "-c", "compute_flavor")
    nova_flavor = RESERVATION.reservation_id.replace("-", "")
    assert only == nova_flavor + "\n"
    table = run(reservations.ShowReservation, RESERVATION.id)
    assert f"| compute_flavor | {nova_flavor} " in table
    assert "| flavor         | gpu.large " in table


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
    assert run_json(reservations.CreateReservation, "gpu.large", *arguments) == _SHOWN
    start, end, count = body
    assert [(r.line, r.body) for r in api.seen] == [
        (
            "POST /v2/reservations",
            {"flavor_id": "gpu.large", "start": start, "end": end, "instance_count": count},
        )
    ]


@pytest.mark.parametrize(("word", "sent"), [("true", True), ("False", False), ("none", None)])
def test_create_with_affinity(api: Api, run: Run, word: str, sent: bool | None) -> None:
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    run(reservations.CreateReservation, "f", "--hours", "1", "--affinity", word)
    assert api.seen[0].body.get("affinity") is sent


def test_create_starts_in_a_minute(api: Api, run: Run) -> None:
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    minute = datetime.timedelta(minutes=1)
    before = datetime.datetime.now(datetime.UTC)
    run(reservations.CreateReservation, "f", "--hours", "2")
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
        (["f", "--hours", "0"], "'0' isn't a whole number of at least 1"),
        (["f", "--hours", "1", "--count", "-1"], "'-1' isn't a whole number of at least 1"),
        (["--hours", "1"], "FLAVOR"),
        (["f", "--hours", "1", "--affinity", "yes"], "'yes' isn't true, false or none"),
    ],
)
def test_create_refuses(
    api: Api, run: Run, capsys: pytest.CaptureFixture, arguments: list[str], complaint: str
) -> None:
    with pytest.raises(SystemExit):
        run(reservations.CreateReservation, *arguments)
    assert complaint in capsys.readouterr().err
    assert not api.seen


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--hours", "1", "--start", "2026-13-01"], "'2026-13-01' could be|isn't a time"),
        (["--hours", "1", "--start", "soonish"], "'soonish' isn't a time"),
        (["--hours", "1", "--start", "mon 9:00", "--timezone", "Mars/Base"], "isn't a time zone"),
        (["--start", "2026-12-02", "--end", "2026-12-01"], "isn't after the start"),
        (["--hours", "9999999999"], "9999999999 hours are too many"),
    ],
)
def test_create_at_times_that_are_none(
    api: Api, run: Run, capsys: pytest.CaptureFixture, arguments: list[str], complaint: str
) -> None:
    with pytest.raises(BlazarClientException, match=complaint):
        run(reservations.CreateReservation, "f", *arguments)
    assert capsys.readouterr().out == ""
    assert not api.seen


def test_a_time_for_people_is_told_with_its_zone(
    api: Api, run: Run, capsys: pytest.CaptureFixture
) -> None:
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    given = ("--start", "tomorrow 9:00", "--timezone", "Asia/Tokyo", "--hours", "2")
    run(reservations.CreateReservation, "f", *given)
    sent = datetime.datetime.fromisoformat(api.seen[0].body["start"])
    assert (sent.hour, sent.utcoffset()) == (9, datetime.timedelta(hours=9))
    told = capsys.readouterr().err
    assert told == f"Start: {sent:%a %Y-%m-%d} 09:00 JST ({sent:%Y-%m-%d} 00:00 UTC)\n"


_PERIOD = ("--start", "2026-12-01T09:00", "--hours", "48", "--count", "2")
_FULL = error(400, "No capacity", "slots_exhausted", asked=2, free=0, slots=2)


def _free(start: str, end: str) -> dict[str, str]:
    return {"start": f"2026-12-{start}:00+00:00", "end": f"2026-12-{end}:00+00:00"}


@pytest.mark.parametrize(
    ("refusal", "spans", "said"),
    [
        pytest.param(
            _FULL,
            [_free("01T10:00", "02T10:00"), _free("03T08:00", "05T08:00")],
            r"^No slot free then\. The first 48 h with 2 slots start 2026-12-03 08:00 UTC: "
            r"--start 2026-12-03T08:00Z$",
            id="later",
        ),
        pytest.param(_FULL, [], "nor are there 48 h with 2 slots in the year after", id="never"),
        pytest.param(
            error(400, "No", "slots_exhausted", asked=2, free=1, slots=2),
            [],
            "^No slot free then for all 2: 1 is, nor",
            id="for one",
        ),
        pytest.param(
            error(400, "No", "hosts_exhausted"), [], "^No host has room then, nor", id="hosts"
        ),
    ],
)
def test_create_without_room_says_when_there_is(
    api: Api, run: Run, refusal: Answer, spans: list[dict[str, str]], said: str
) -> None:
    api.answers["POST /v2/reservations"] = refusal
    api.answers["GET /v2/flavors/f/freeslots"] = Answer(200, spans)
    with pytest.raises(BlazarClientException, match=said):
        run(reservations.CreateReservation, "f", *_PERIOD)
    assert api.seen[-1].query == {"start": "2026-12-01T09:00:00+00:00", "count": "2"}


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (error(413, "Over quota", "quota_exceeded"), "^Over quota. See limits-show"),
        (error(400, "Too long", "too_long", max_length_hours=9), "Book at most 9 hours at a time"),
        (error(503, "Away; try again later", "service_unavailable"), "^Away; try again later$"),
        (error(400, "Other", "a_code"), "^Other$"),
    ],
)
def test_what_else_is_refused_says_what_to_do(
    api: Api, run: Run, refusal: Answer, said: str
) -> None:
    api.answers["POST /v2/reservations"] = refusal
    with pytest.raises(BlazarClientException, match=said):
        run(reservations.CreateReservation, "f", *_PERIOD)


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


_OTHER = "22222222-9999-4999-8999-999999999999"


def test_delete_several(api: Api, run: Run) -> None:
    api.answers[f"DELETE /v2/reservations/{RESERVATION.id}"] = Answer(204)
    api.answers[f"DELETE /v2/reservations/{_OTHER}"] = Answer(202)
    assert run(reservations.DeleteReservation, RESERVATION.id, _OTHER).splitlines() == [
        f"Deleted reservation: {RESERVATION.id}",
        f"Deletion under way of reservation: {_OTHER}",
    ]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody to ask."""
    monkeypatch.setattr(deleting, "on_terminal", lambda: True)


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("answered", ["y", "n", ""])
def test_delete_asks_before_servers_go(
    api: Api,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
    answered: str,
) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        f"GET {path}": Answer(200, reservation(status="ACTIVE")),
        f"DELETE {path}": Answer(204),
        "GET /v1/servers": Answer(200, {"servers": [{"name": "my 😀"}, {"name": "b"}]}),
    }
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{answered}\n"))
    if answered == "y":
        run(reservations.DeleteReservation, RESERVATION.id)
    else:
        with pytest.raises(BlazarClientException, match=r"^Not deleted: "):
            run(reservations.DeleteReservation, RESERVATION.id)
    assert "Its 2 servers (my 😀, b) will be deleted for good" in capsys.readouterr().err
    assert (f"DELETE {path}" in api.requests) == (answered == "y")
    servers = next(r for r in api.seen if r.path.endswith("/servers"))
    assert servers.query == {"flavor": reservation()["compute_flavor"]}


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    ("status", "more"), [("ALLOCATED", []), ("ACTIVE", ["--yes"])], ids=["no servers", "--yes"]
)
def test_delete_does_not_ask_without_need(api: Api, run: Run, status: str, more: list[str]) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        f"GET {path}": Answer(200, reservation(status=status)),
        f"DELETE {path}": Answer(204),
    }
    assert run(reservations.DeleteReservation, RESERVATION.id, *more).startswith("Deleted")


def test_waiting_in_a_pipe(
    api: Api, run: Run, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setattr(resources.Reservations.wait, "__kwdefaults__", _impatient())
    api.answers["POST /v2/reservations"] = Answer(200, reservation(status="PENDING_CREATE"))
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = [
        Answer(200, reservation(status="PENDING_CREATE", start="2200-01-01T00:00:00+00:00")),
        Answer(200, reservation(start="2200-01-01T00:00:00+00:00")),
        Answer(200, reservation(status="ACTIVE")),
    ]
    out = run(
        reservations.CreateReservation, "f", *_PERIOD, "--wait", "-f", "value", "-c", "status"
    )
    assert out == "ACTIVE\n"
    assert capsys.readouterr().err.splitlines() == [
        "PENDING_CREATE: waiting for Blazar to make it",
        "ALLOCATED: waiting for its start, 2200-01-01 00:00 UTC",
        "ACTIVE: servers can be booted until 2026-12-01 11:00 UTC",
    ]


def _impatient() -> dict[str, Any]:
    kwdefaults = dict(resources.Reservations.wait.__kwdefaults__ or {})
    return {**kwdefaults, "sleep": lambda _: None, "poll": 1.0}


def test_ctrl_c_ends_the_waiting_only(
    api: Api, run: Run, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(
        resources.Reservations.wait, "__kwdefaults__", {**_impatient(), "sleep": interrupted}
    )
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = Answer(200, reservation())
    with pytest.raises(SystemExit) as caught:
        run(reservations.CreateReservation, "f", *_PERIOD, "--wait")
    assert caught.value.code == 130
    told = capsys.readouterr().err
    assert f"the reservation goes on. reservation-show {RESERVATION.id}" in told
    assert not [r for r in api.seen if r.method == "DELETE"]


def test_the_line_on_a_terminal() -> None:
    now = datetime.datetime(2026, 12, 1, 8, 58, 30, tzinfo=datetime.UTC)
    found = Reservation.of(reservation())
    assert progress.line(found, now) == (
        "ALLOCATED: 1:30 left, waiting for its start, 2026-12-01 09:00 UTC"
    )
    due = now + datetime.timedelta(minutes=2)
    assert (
        progress.line(found, due) == "ALLOCATED: waiting for Blazar to start it, some ten seconds"
    )
