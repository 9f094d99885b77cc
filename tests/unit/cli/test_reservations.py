"""Reservation commands: what they ask and what they print."""

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from blazarclient.exception import BlazarClientException

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import FLAVOR, RESERVATION, Api, error, flavor, listing, reservation
from warre_blazar.cli import progress, reservations
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
    assert run_json(reservations.ListReservations, "--long") == [{**_SHOWN, "project": None}]


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
    with pytest.raises(
        BlazarClientException,
        match=r"no flavor 'x' .* See .* for all",
    ):
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
        (["f", "--hours", "0"], "'0' aren't hours; write 24, 1.5 or 14:30"),
        (["f", "--hours", "14.88"], "14.88 hours aren't whole minutes; write 14:52 or 14:53"),
        (["f", "--hours", "0.001"], "0.001 hours aren't whole minutes; write 0:01"),
        (["f", "--hours", "-1"], "--hours"),
        (["f", "--hours", "1:60"], "'1:60' aren't hours"),
        (["f", "--hours", "9999999"], "9999999 hours are too many"),
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
        (["--hours", "1", "--start", "2026-13-01"], "there is no month 13"),
        (["--hours", "1", "--start", "soonish"], "'soonish' isn't a time"),
        (["--hours", "1", "--start", "mon 9:00", "--timezone", "Mars/Base"], "isn't a time zone"),
        (["--start", "2026-12-02", "--end", "2026-12-01"], "isn't after the start"),
        (["--start", "9998-12-31", "--hours", "800000"], "That ends too far off"),
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
    given = ("--start", "2026-12-01 9:00", "--timezone", "Asia/Tokyo", "--hours", "1.5")
    run(reservations.CreateReservation, "f", *given, "--count", "2")
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
def test_what_was_understood_is_asked_about(
    api: Api,
    run: Run,
    answers: Callable[[str], None],
    capsys: pytest.CaptureFixture,
    answer: str,
) -> None:
    answers(answer)
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    given = ("--start", "tomorrow 9:00", "--hours", "2")
    if answer == "y":
        run(reservations.CreateReservation, "f", *given)
    else:
        with pytest.raises(BlazarClientException, match=r"^Nothing changed: 1 slot of f, .* --yes"):
            run(reservations.CreateReservation, "f", *given)
    assert "09:00 UTC, 2 hours" not in (told := capsys.readouterr().err)
    assert "1 slot of f, " in told
    assert "11:00 UTC, 2 hours\nIs that right? [y/N] " in told
    assert len(api.seen) == (answer == "y")


@pytest.mark.parametrize(
    "given",
    [
        ["--start", "2026-12-01T09:00Z", "--hours", "2"],
        ["--start", "2026-12-01T09:00Z", "--end", "2026-12-01T11:00+01:00"],
        ["--hours", "2"],
        ["--start", "tomorrow 9:00", "--hours", "2", "--yes"],
    ],
    ids=["exact", "exact end", "no time", "--yes"],
)
def test_nothing_is_asked_where_nothing_could_be_meant_otherwise(
    api: Api, run: Run, answers: Callable[[str], None], given: list[str]
) -> None:
    answers("n")
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    run(reservations.CreateReservation, "f", *given)
    assert len(api.seen) == 1


def test_times_are_shown_in_the_chosen_zone(
    api: Api, run_json: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    api.answers["GET /v2/reservations"] = listing(reservation())
    shown = [
        run_json(reservations.ListReservations, *given)[0]["start"]
        for given in ([], ["--utc"], ["--timezone", "Asia/Tokyo"])
    ]
    assert shown == [
        "2026-12-01T10:00:00+01:00",
        "2026-12-01T09:00:00+00:00",
        "2026-12-01T18:00:00+09:00",
    ]


_EXACT = ("--start", "2026-12-01T09:00Z", "--hours", "2")
_UNUSED = {
    "maxReservations": 2,
    "maxHours": 4,
    "totalReservationsUsed": 1,
    "totalHoursUsed": 1,
}


@pytest.mark.parametrize(
    ("flavor_has", "spans", "given", "said"),
    [
        ({}, ["01T08:00", "01T11:00"], [], None),
        (
            {},
            ["01T08:00", "01T10:59"],
            [],
            "There are no 2 h with 1 slot",
        ),
        ({}, ["01T09:01", "01T11:00"], [], r"^1 slot of gpu\.large aren't free then\."),
        (
            {"max_length_hours": 1},
            [],
            [],
            "^2 hours are too long; .* for 1 hours at",
        ),
        ({"active": False}, [], [], r"^gpu\.large is closed; see"),
        ({}, [], ["--count", "2"], r"^That is more than your project may book; see"),
    ],
    ids=["free", "not free", "not yet free", "too long", "closed", "over quota"],
)
def test_create_can_be_tried(
    api: Api, run: Run, flavor_has: dict[str, Any], spans: list[str], given: list[str], said: str
) -> None:
    api.answers |= {
        "GET /v2/flavors/f": Answer(200, flavor(**flavor_has)),
        "GET /v2/limits": Answer(200, {"absolute": _UNUSED}),
        f"GET /v2/flavors/{FLAVOR.id}/freeslots": Answer(200, [_free(*spans)] if spans else []),
        "GET /v2/flavors/f/freeslots": Answer(200, []),
    }
    if said is None:
        assert run(reservations.CreateReservation, "f", *_EXACT, "--dry-run") == (
            "Dry run: would book 1 slot of f, Tue 2026-12-01 09:00 UTC to "
            "Tue 2026-12-01 11:00 UTC, 2 hours\n"
        )
    else:
        with pytest.raises(BlazarClientException, match=said):
            run(reservations.CreateReservation, "f", *_EXACT, "--dry-run", *given)
    assert not [r for r in api.seen if r.method != "GET"]


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
        pytest.param(_FULL, [], "There are no 48 h with 2 slots in the year after", id="never"),
        pytest.param(
            error(400, "No", "slots_exhausted", asked=2, free=1, slots=2),
            [],
            r"^No slot free then for all 2: 1 is\. There are no",
            id="for one",
        ),
        pytest.param(
            error(400, "No", "hosts_exhausted"),
            [],
            r"^No host has room then\. There are",
            id="hosts",
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
        (
            error(413, "Over quota", "quota_exceeded"),
            r"^Over quota\. See .*limits.show;",
        ),
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


@pytest.mark.parametrize("answered", ["y", "n", ""])
def test_delete_asks_before_servers_go(
    api: Api,
    run: Run,
    answers: Callable[[str], None],
    capsys: pytest.CaptureFixture,
    answered: str,
) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        f"GET {path}": Answer(200, reservation(status="ACTIVE")),
        f"DELETE {path}": Answer(204),
        "GET /v1/servers": Answer(200, {"servers": [{"name": "my 😀"}, {"name": "b"}]}),
    }
    answers(answered)
    if answered == "y":
        run(reservations.DeleteReservation, RESERVATION.id)
    else:
        with pytest.raises(BlazarClientException, match=r"^Not deleted: "):
            run(reservations.DeleteReservation, RESERVATION.id)
    assert "Its 2 servers (my 😀, b) will be deleted for good" in capsys.readouterr().err
    assert (f"DELETE {path}" in api.requests) == (answered == "y")
    servers = next(r for r in api.seen if r.path.endswith("/servers"))
    assert servers.query == {"flavor": reservation()["compute_flavor"]}


def test_delete_asks_before_a_booking_goes(
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


def test_delete_can_be_tried(api: Api, run: Run) -> None:
    api.answers |= {
        f"GET /v2/reservations/{RESERVATION.id}": Answer(200, reservation(status="ACTIVE")),
        "GET /v1/servers": Answer(200, {"servers": [{"name": "b"}]}),
    }
    said = run(reservations.DeleteReservation, RESERVATION.id, "--dry-run")
    assert said.startswith(f"Dry run: would delete reservation {RESERVATION.id}, 2 slots of gpu")
    assert said.endswith("ACTIVE. Its 1 server (b) would go with it\n")


def test_update_can_be_tried(api: Api, run: Run) -> None:
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = Answer(200, reservation())
    update = reservations.UpdateReservation
    said = run(update, RESERVATION.id, "--hours", "1.5", "--dry-run")
    assert "would change reservation" in said
    assert "to Tue 2026-12-01 10:30 UTC, 1 hour 30 minutes; whether there is room" in said
    with pytest.raises(BlazarClientException, match="25 hours are too long"):
        run(update, RESERVATION.id, "--hours", "25", "--dry-run")
    with pytest.raises(BlazarClientException, match=r"2026-12-01 08:00 UTC, isn't after the start"):
        run(update, RESERVATION.id, "--end", "2026-12-01T08:00Z", "--dry-run")


def test_a_new_end_is_asked_about(
    api: Api, run: Run, answers: Callable[[str], None], capsys: pytest.CaptureFixture
) -> None:
    answers("n")
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = Answer(200, reservation())
    with pytest.raises(BlazarClientException, match="Nothing changed"):
        run(reservations.UpdateReservation, RESERVATION.id, "--end", "2026-12-01 12:00")
    assert "09:00 UTC to Tue 2026-12-01 12:00 UTC, 3 hours" in capsys.readouterr().err
    assert [r.method for r in api.seen] == ["GET"]


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
    assert capsys.readouterr().err.splitlines()[1:] == [
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
    show = {"blazar": "blazar reservation-show", "openstack": "openstack reservation show"}
    assert f"the reservation goes on. {show[run.cli]} {RESERVATION.id}" in told  # type: ignore[attr-defined]
    assert not [r for r in api.seen if r.method == "DELETE"]


def test_the_line_on_a_terminal() -> None:
    now = datetime.datetime(2026, 12, 1, 8, 58, 30, tzinfo=datetime.UTC)
    found = Reservation.of(reservation())
    assert progress.line(found, now, datetime.UTC) == (
        "ALLOCATED: 1:30 left, waiting for its start, 2026-12-01 09:00 UTC"
    )
    due = now + datetime.timedelta(minutes=2)
    assert (
        progress.line(found, due, datetime.UTC)
        == "ALLOCATED: waiting for Blazar to start it, some ten seconds"
    )
