"""The commands on series: what they send, and what they say about what couldn't be booked."""

import datetime
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import FLAVOR, Api, error, listing
from warre_blazar.cli import base, series
from warre_blazar.cli.failure import Failure

ID = "44444444-4444-4444-8444-444444444444"
REFUSED = {
    "start": "2026-12-07T08:00:00+00:00",
    "end": "2026-12-07T10:00:00+00:00",
    "code": "slots_exhausted",
    "message": "No capacity",
    "detail": {},
    "next_start": "2026-12-07T12:00:00+00:00",
}


@pytest.fixture(autouse=True)
def present(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time at which the commands are typed, from which days without a year count."""
    typed_at = datetime.datetime(2026, 12, 1, tzinfo=datetime.UTC)
    monkeypatch.setattr(base.Command, "now", lambda _: typed_at)


def document(**changes: Any) -> dict[str, Any]:
    start, end = "2026-12-14T08:00:00+00:00", "2026-12-14T10:00:00+00:00"
    usual = {
        "id": ID,
        "name": "course",
        "flavor": {"id": FLAVOR.id, "name": FLAVOR.name},
        "instance_count": 1,
        "start": "2026-12-07T09:00",
        "timezone": "Europe/Berlin",
        "hours": 2.0,
        "rrule": "FREQ=WEEKLY;COUNT=2",
        "all_or_none": False,
        "affinity": None,
        "note": None,
        "contact": None,
        "before_end": None,
        "project_id": "project-1",
        "user_id": "user-1",
        "status": "booked",
        "exdates": [],
        "planned": 2,
        "unbooked": 0,
        "cut_off": False,
        "created_at": "2026-11-01T00:00:00+00:00",
        "reservations": [{"id": "r-1", "start": start, "end": end, "status": "ALLOCATED"}],
        "missing": [],
    }
    return {**usual, **changes}


WORDS = [
    *("gpu.large", "--start", "2026-12-07 9:00", "--hours", "2"),
    *("--rrule", "FREQ=WEEKLY;COUNT=2", "--timezone", "Europe/Berlin", "--name", "course"),
]


def test_series_of_another_project_is_found_by_the_start_of_its_id(api: Api, run_json: Any) -> None:
    api.answers |= {
        "GET /v2/series": [listing(), listing(document()), listing()],
        f"GET /v2/series/{ID}": Answer(200, document()),
    }
    assert run_json(series.ShowSeries, ID[:8])["id"] == ID
    with pytest.raises(Failure, match="reservation series list; for operators also"):
        run_json(series.ShowSeries, "for-alpha")


def test_create_sends_local_time_and_tells_what_was_refused(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers["POST /v2/series"] = Answer(200, document(refused=[REFUSED]))
    out = run(series.CreateSeries, *WORDS)
    (body,) = [request.body for request in api.seen if request.body]
    assert body == {
        "flavor_id": "gpu.large",
        "start": "2026-12-07T09:00",
        "timezone": "Europe/Berlin",
        "hours": 2.0,
        "rrule": "FREQ=WEEKLY;COUNT=2",
        "instance_count": 1,
        "all_or_none": False,
        "name": "course",
    }
    told = capsys.readouterr().err
    assert "Not booked: 2026-12-07 09:00 +01:00: No capacity; free from 2026-12-07 13:00" in told
    assert "2026-12-14 09:00 +01:00 ALLOCATED r-1" in out


def test_holidays_are_sent(api: Api, run: Run) -> None:
    api.answers["POST /v2/series"] = Answer(200, document(refused=[]))
    days = ("--except", "2026-12-24", "--except", "2026-12-28 9:00", "--except", "31 dec")
    run(series.CreateSeries, *WORDS, *days)
    (body,) = [request.body for request in api.seen if request.body]
    assert body["exdates"] == ["2026-12-24", "2026-12-28T09:00", "2026-12-31"]


def test_refused_series_says_which_occurrences(api: Api, run: Run) -> None:
    refused = {
        "error_code": 409,
        "error_message": "Nothing was booked",
        "error_name": "Conflict",
        "code": "series_refused",
        "detail": {"refused": [REFUSED], "asked": 2},
    }
    api.answers["POST /v2/series"] = Answer(409, refused)
    with pytest.raises(Failure, match=r"(?s)1 of 2 can't be booked:.*2026-12-07 09:00"):
        run(series.CreateSeries, *WORDS, "--all-or-none")


def test_dry_run_lists_what_would_be_booked(api: Api, run: Run) -> None:
    spans = [{k: REFUSED[k] for k in ("start", "end")}]
    spans.append({"start": "2026-12-14T08:00:00+00:00", "end": "2026-12-14T10:00:00+00:00"})
    foreseen = {"bookable": True, "occurrences": spans, "refused": [REFUSED]}
    api.answers["POST /v2/series"] = Answer(200, foreseen)
    out = run(series.CreateSeries, *WORDS, "--dry-run")
    assert "would book 1 slot of gpu.large, 1 time:" in out
    assert "Mon 2026-12-14 09:00" in out
    assert "2026-12-07" not in out
    foreseen["bookable"] = False
    with pytest.raises(Failure, match="Can't book"):
        run(series.CreateSeries, *WORDS, "--dry-run")


@pytest.mark.parametrize("more", [["--dry-run"], []], ids=["dry run", "booking"])
def test_days_over_a_change_of_clocks_are_refused(api: Api, run: Run, more: list[str]) -> None:
    spans = [
        {"start": "2027-03-20T08:00:00+00:00", "end": "2027-03-22T08:00:00+00:00"},
        {"start": "2027-03-27T08:00:00+00:00", "end": "2027-03-29T08:00:00+00:00"},
    ]
    foreseen = {"bookable": True, "occurrences": spans, "refused": []}
    api.answers["POST /v2/series"] = Answer(200, foreseen)
    rule = ("--rrule", "FREQ=WEEKLY;COUNT=2", "--timezone", "Europe/Berlin")
    given = ("gpu.large", "--start", "2027-03-20 9:00", *rule, *more)
    with pytest.raises(Failure) as refused:
        run(series.CreateSeries, *given, "--days", "2")
    assert str(refused.value) == (
        "Clocks are changed between 2027-03-27 09:00 +01:00 and 2027-03-29 10:00 +02:00, so not "
        "each day has 24 hours. Give --hours 47:00 or --hours 48:00"
    )
    assert [request.query for request in api.seen] == [{"dry_run": "true"}]


def test_offset_is_no_time_zone_of_a_series(run: Run) -> None:
    with pytest.raises(Failure, match="name of a time zone"):
        run(series.CreateSeries, *WORDS[:-4], "--timezone", "+10:00")


def test_list_and_show(api: Api, run: Run) -> None:
    listed = {k: v for k, v in document().items() if k != "reservations"}
    old = {**listed, "id": ID.replace("4", "5"), "status": "ended", "rrule": "FREQ=YEARLY"}
    api.answers["GET /v2/series"] = Answer(200, {"results": [old, listed], "total": 2})
    api.answers[f"GET /v2/series/{ID}"] = Answer(200, document())
    assert "course" in run(series.ListSeries)
    assert "FREQ=YEARLY" not in run(series.ListSeries)
    assert "FREQ=YEARLY" in run(series.ListSeries, "--ended")
    assert "project_id" not in run(series.ListSeries)
    names = {"project": {"id": "project-1", "name": "us"}}
    api.answers["GET /v1/projects/project-1"] = Answer(200, names)
    for word in ("--all-projects", "--long"):
        assert re.search(r"\| us +\| project-1 ", run(series.ListSeries, word))
    # The local start stays as it is, in whatever zone the times are shown.
    assert "2026-12-07T09:00" in run(series.ShowSeries, "course", "--utc")


def test_ended_series_is_shown_by_its_name_if_no_other_has_it(api: Api, run: Run) -> None:
    live = {name: value for name, value in document().items() if name != "reservations"}
    ended = {"ended_at": "2026-12-01T09:00:00+00:00", "ended_by": None}
    old = {**live, "id": ID.replace("4", "5"), "status": "ended", **ended}
    api.answers[f"GET /v2/series/{ID}"] = Answer(200, document(note="live"))
    api.answers[f"GET /v2/series/{old['id']}"] = Answer(200, document(note="over"))
    for listed, shown in (([old, live], "live"), ([old], "over")):
        api.answers["GET /v2/series"] = Answer(200, {"results": listed, "total": len(listed)})
        assert shown in run(series.ShowSeries, "course")
    with pytest.raises(Failure, match=r"course \(.*\) was ended at 2026-12-01 09:00 UTC; make"):
        run(series.DeleteSeries, "course", "--yes")


def test_table_has_a_line_for_each_reservation(
    api: Api, run: Run, run_json: Callable[..., Any]
) -> None:
    (first,) = document()["reservations"]
    both = [first, {**first, "id": "r-2", "start": "2026-12-21T08:00:00+00:00"}]
    api.answers[f"GET /v2/series/{ID}"] = Answer(200, document(reservations=both))
    lines = ["2026-12-14 08:00 UTC ALLOCATED r-1", "2026-12-21 08:00 UTC ALLOCATED r-2"]
    shown = run(series.ShowSeries, ID).splitlines()
    assert [row.strip("| ") for row in shown if "ALLOCATED" in row] == [
        f"reservations   | {lines[0]}",
        lines[1],
    ]
    assert run_json(series.ShowSeries, ID)["reservations"] == both


def test_programs_get_what_was_refused(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["POST /v2/series"] = Answer(200, document(refused=[REFUSED]))
    made = run_json(series.CreateSeries, *WORDS)
    assert [each["code"] for each in made["refused"]] == [REFUSED["code"]]
    assert made["refused"][0]["next_start"] == "2026-12-07T13:00:00+01:00"
    assert made["reservations"][0]["start"] == "2026-12-14T09:00:00+01:00"


@pytest.mark.parametrize(
    ("until", "sent"),
    [
        ("2026-12-29", "2026-12-29T23:59"),
        ("29 dec Asia/Tokyo", "2026-12-29T15:59"),
        ("2026-12-29 10:00", "2026-12-29T10:00"),
    ],
)
def test_series_is_extended_until_the_end_of_a_day(
    api: Api, run: Run, monkeypatch: pytest.MonkeyPatch, until: str, sent: str
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    api.answers[f"GET /v2/series/{ID}"] = Answer(200, document())
    api.answers[f"PATCH /v2/series/{ID}"] = Answer(200, document(refused=[]))
    run(series.ExtendSeries, ID, "--until", until)
    assert api.seen[-1].body == {"until": sent}


def test_extend_and_delete(
    api: Api, run: Run, answers: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers[f"GET /v2/series/{ID}"] = Answer(200, document())
    api.answers[f"PATCH /v2/series/{ID}"] = Answer(200, document(refused=[]))
    api.answers[f"DELETE /v2/series/{ID}"] = Answer(204)
    run(series.ExtendSeries, ID, "--more", "3")
    run(series.ExtendSeries, ID, "--until", "2026-12-31T12:00Z")
    capsys.readouterr()
    bodies = [request.body for request in api.seen if request.body]
    assert bodies == [{"more": 3}, {"until": "2026-12-31T13:00"}]
    assert run(series.DeleteSeries, ID, "--yes") == f"Deleted series: {ID}\n"
    answers("n")
    with pytest.raises(Failure, match="Nothing deleted"):
        run(series.DeleteSeries, ID)
    assert capsys.readouterr().err == (
        "1 reservation of series course, 1 slot of gpu.large, Mon 2026-12-14 08:00 UTC to "
        "Mon 2026-12-14 10:00 UTC. Delete? [y/N] "
    )


def test_missing_lessons_are_shown_with_the_reasons_and_booked(
    api: Api, run: Run, answers: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    missing = {**REFUSED, "state": "missing", "deleted_at": None, "deleted_by": None}
    dropped = {
        **missing,
        **{"code": None, "message": None, "state": "dropped", "deleted_by": "user-1"},
        "deleted_at": "2026-11-30T08:00:00+00:00",
    }
    shown = document(missing=[missing, dropped], planned=3)
    api.answers[f"GET /v2/series/{ID}"] = Answer(200, shown)
    api.answers[f"PATCH /v2/series/{ID}"] = Answer(200, document(refused=[]))
    out = run(series.ShowSeries, ID, "--timezone", "Europe/Berlin")
    assert "2026-12-07 09:00 +01:00 missing: No capacity" in out
    assert "2026-12-07 09:00 +01:00 dropped at 2026-11-30 09:00 +01:00 by user-1" in out
    answers("y")
    run(series.ExtendSeries, ID, "--missing")
    assert "Further reservations of the series course: those that are missing" in (
        capsys.readouterr().err
    )
    run(series.ExtendSeries, ID, "--more", "3", "--except", "2027-01-01", "--yes")
    bodies = [request.body for request in api.seen if request.body]
    assert bodies == [{"missing": True}, {"more": 3, "exdates": ["2027-01-01"]}]


def test_series_is_changed(
    api: Api, run: Run, answers: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    span = {name: REFUSED[name] for name in ("start", "end")}
    foreseen = {"bookable": True, "occurrences": [span, span], "refused": [REFUSED]}
    api.answers[f"GET /v2/series/{ID}"] = Answer(200, document())
    changed = Answer(200, document(refused=[REFUSED]))
    api.answers[f"PATCH /v2/series/{ID}"] = [Answer(200, foreseen), changed]
    answers("y")
    words = ("--count", "10", "--hours", "3", "--note", "", "--before-end", "flavor")
    run(series.UpdateSeries, ID, *words)
    told = capsys.readouterr().err
    assert "1 of 2 reservations that haven't begun change" in told
    assert "Not changed: 2026-12-07 08:00 UTC: No capacity" in told
    bodies = [request.body for request in api.seen if request.body]
    values = {"hours": 3.0, "instance_count": 10, "note": None, "before_end": None}
    assert bodies == [values, values]
    with pytest.raises(Failure, match="Nothing to change"):
        run(series.UpdateSeries, ID)


def test_nothing_is_booked_if_a_user_at_a_terminal_declines(
    api: Api, run: Run, answers: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    span = {name: REFUSED[name] for name in ("start", "end")}
    foreseen = {"bookable": True, "occurrences": [span], "refused": []}
    api.answers["POST /v2/series"] = [Answer(200, foreseen), Answer(200, document())]
    api.answers[f"GET /v2/series/{ID}"] = Answer(200, document())
    api.answers[f"PATCH /v2/series/{ID}"] = Answer(200, document())
    answers("n")
    for command, words in (
        (series.CreateSeries, WORDS),
        (series.ExtendSeries, (ID, "--more", "3")),
    ):
        with pytest.raises(Failure, match="Nothing booked"):
            run(command, *words)
    assert [r.query for r in api.seen if r.body] == [{"dry_run": "true"}]
    told = capsys.readouterr().err
    assert "A series of 1 slot of gpu.large, 2 hours each, from" in told
    assert "Further reservations of the series course: 3" in told
    run(series.CreateSeries, *WORDS, "--yes")
    answers("y")
    run(series.ExtendSeries, ID, "--more", "3")
    assert [r.query for r in api.seen if r.body] == [{"dry_run": "true"}, {}, {}]


def test_rule_without_an_end_is_refused_with_quotes_that_keep_the_end(
    api: Api, run: Run, answers: Callable[[str], None]
) -> None:
    """A shell ends a command at a semicolon that isn't in quotes."""
    words = ["FREQ=WEEKLY" if word.startswith("FREQ") else word for word in WORDS]
    text = "rrule: expected an end: add COUNT"
    api.answers["POST /v2/series"] = error(422, text, "invalid_field", field="rrule")
    answers("y")
    for more in ([], ["--yes"], ["--dry-run"]):
        with pytest.raises(Failure) as refused:
            run(series.CreateSeries, *words, *more)
        assert (
            str(refused.value) == f"{text}. Put the rule in quotes: --rrule 'FREQ=WEEKLY;COUNT=12'"
        )
    assert [r.query for r in api.seen if r.body] == [{"dry_run": "true"}, {}, {"dry_run": "true"}]
    # A rule with a semicolon has come whole.
    words = ["FREQ=WEEKLY;BYDAY=MO" if word.startswith("FREQ") else word for word in words]
    with pytest.raises(Failure, match=f"^{text}$"):
        run(series.CreateSeries, *words, "--dry-run")


def test_question_says_how_many_reservations_there_are_and_when_the_last_one_starts(
    api: Api, run: Run, answers: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    spans = [
        {"start": f"2026-12-{day}T08:00:00+00:00", "end": f"2026-12-{day}T10:00:00+00:00"}
        for day in ("07", "14", "21")
    ]
    foreseen = {"bookable": True, "occurrences": spans, "refused": []}
    api.answers["POST /v2/series"] = Answer(200, foreseen)
    answers("n")
    with pytest.raises(Failure, match="Nothing booked"):
        run(series.CreateSeries, *WORDS)
    told = capsys.readouterr().err
    assert "3 reservations, the last one from 2026-12-21 09:00 +01:00 on" in told


@pytest.mark.parametrize(("column", "value"), [("cut_off", True), ("unbooked", 1)])
def test_list_says_which_series_were_cut_off_or_lack_lessons(
    api: Api, run: Run, column: str, value: Any
) -> None:
    rows = [document(), document(id=ID.replace("4", "5"), **{column: value})]
    for listed, is_said in ((rows[:1], False), (rows, True)):
        api.answers["GET /v2/series"] = Answer(200, {"results": listed, "total": len(listed)})
        assert (column in run(series.ListSeries)) is is_said


def test_series_that_would_be_refused_is_refused_before_the_question(
    api: Api, run: Run, answers: Callable[[str], None]
) -> None:
    span = {name: REFUSED[name] for name in ("start", "end")}
    foreseen = {"bookable": False, "occurrences": [span], "refused": [REFUSED]}
    api.answers["POST /v2/series"] = Answer(200, foreseen)
    answers("y")
    with pytest.raises(Failure, match=r"(?s)^Can't book 1 slot of gpu.large:.*No capacity"):
        run(series.CreateSeries, *WORDS)
    assert [r.query for r in api.seen if r.body] == [{"dry_run": "true"}]


def test_unknown_series_is_named(api: Api, run: Run) -> None:
    api.answers["GET /v2/series"] = Answer(200, {"results": [], "total": 0})
    with pytest.raises(Failure, match="no series 'nosuch'"):
        run(series.ShowSeries, "nosuch")
