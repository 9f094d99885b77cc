"""The commands that show usage and refused requests, and --idle."""

from collections.abc import Callable
from typing import Any

import pytest
from blazarclient.exception import BlazarClientException

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import FLAVOR, Api, listing, reservation
from warre_blazar.cli import refusals, reservation_list
from warre_blazar.cli.usage import ShowUsage

_HOURS = {
    "booked": 4.0,
    "held": 3.5,
    "used": 1.25,
    "given_back": 0.5,
    "cancelled": 0,
    "lost": 1 / 3,
}


def row(**changes: Any) -> dict[str, Any]:
    return {
        **dict.fromkeys(("project_id", "user_id", "flavor_id", "flavor", "day")),
        "reservations": 2,
        "hours": _HOURS,
        "resource_hours": {"VCPU": {**_HOURS, "booked": 16.0}},
        "refusals": {"slots_exhausted": 3},
        **changes,
    }


def report(*rows: dict[str, Any], by: str | None = None) -> Answer:
    span = {"start": "2026-12-01T00:00:00+00:00", "end": "2026-12-02T00:00:00+00:00"}
    return Answer(200, {**span, "by": by, "results": list(rows)})


def test_usage_of_the_own_project(
    api: Api, run_json: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers["GET /v2/usage"] = report(row())
    assert run_json(ShowUsage) == [
        {"reservations": 2, **_HOURS, "refusals": {"slots_exhausted": 3}}
    ]
    assert api.seen[-1].query == {}
    said = "Tue 2026-12-01 00:00 UTC to Wed 2026-12-02 00:00 UTC, 24 hours"
    assert said in capsys.readouterr().err


def test_table_rounds_and_csv_does_not(api: Api, run: Run) -> None:
    api.answers["GET /v2/usage"] = report(row())
    assert " 0.33 " in run(ShowUsage)
    assert run(ShowUsage, "-f", "csv").splitlines() == [
        '"reservations","booked","held","used","given_back","cancelled","lost","refusals"',
        f'2,4.0,3.5,1.25,0.5,0,{1 / 3},"slots_exhausted 3"',
    ]


def test_time_is_that_of_the_zone(
    api: Api, run_json: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers["GET /v2/usage"] = report(row(day="2026-11-30"), by="week")
    (found,) = run_json(ShowUsage, "--by", "week", "--timezone", "Australia/Melbourne")
    assert found["week"] == "2026-11-30"
    assert api.seen[-1].query == {"by": "week", "timezone": "Australia/Melbourne"}
    assert "are in UTC" not in capsys.readouterr().err
    api.answers["GET /v2/usage"] = report(row(day="2026-12-01"), by="month")
    (found,) = run_json(ShowUsage, "--by", "month", "--timezone", "+10:00")
    assert (found["month"], api.seen[-1].query) == ("2026-12", {"by": "month"})
    assert "are in UTC" in capsys.readouterr().err


def test_table_has_the_number_of_refusals(api: Api, run: Run) -> None:
    api.answers["GET /v2/usage"] = report(row(refusals={"too_long": 2, "slots_exhausted": 3}))
    shown = run(ShowUsage)
    assert " 5 " in shown and "too_long" not in shown


def test_query(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/usage"] = report(row(flavor="gpu", flavor_id=FLAVOR.id), by="flavor")
    words = ["--by", "flavor", "--all-projects", "--flavor", FLAVOR.id]
    (found,) = run_json(ShowUsage, *words, "--from", "2026-12-01", "--to", "2026-12-02", "--utc")
    assert (found["flavor"], found["flavor_id"]) == ("gpu", FLAVOR.id)
    assert api.seen[-1].query == {
        "from": "2026-12-01T00:00:00+00:00",
        "to": "2026-12-02T00:00:00+00:00",
        "by": "flavor",
        "all_projects": "true",
        "flavor_id": FLAVOR.id,
    }


def test_rows_of_resource_classes(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/usage"] = report(row(day="2026-12-01"), by="day")
    found = run_json(ShowUsage, "--by", "day", "--resources")
    assert [(r["day"], r["resource"], r["booked"]) for r in found] == [
        ("2026-12-01", "instances", 4.0),
        ("2026-12-01", "VCPU", 16.0),
    ]


def test_rows_of_projects_have_a_column_for_the_name(
    api: Api, run_json: Callable[..., Any]
) -> None:
    api.answers["GET /v2/usage"] = report(row(project_id="p"), by="project")
    (found,) = run_json(ShowUsage, "--by", "project")
    # Keystone tells no names here.
    assert (found["project"], found["project_id"]) == (None, "p")


@pytest.mark.parametrize("command", [ShowUsage, refusals.ListRefusals])
def test_times_in_the_wrong_order_are_refused(api: Api, run: Run, command: type) -> None:
    with pytest.raises(BlazarClientException, match="isn't after --from"):
        run(command, "--from", "2026-12-02", "--to", "2026-12-01")
    assert api.seen == []


REFUSAL = {
    "at": "2026-12-01T09:00:00+00:00",
    "code": "slots_exhausted",
    "project_id": "p",
    "user_id": "u",
    "flavor_id": FLAVOR.id,
    "flavor": "gpu",
    "reservation_id": None,
    "instance_count": 3,
    "start": "2026-12-05T09:00:00+00:00",
    "end": "2026-12-05T11:00:00+00:00",
}


def test_refusals(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/refusals"] = listing(REFUSAL)
    words = ["--code", "slots_exhausted", "--from", "2026-12-01T00:00Z", "--limit", "5"]
    (found,) = run_json(refusals.ListRefusals, *words, "--timezone", "Europe/Berlin")
    assert found["at"] == "2026-12-01T10:00:00+01:00"
    assert found["start"] == "2026-12-05T10:00:00+01:00"
    assert (found["flavor"], found["user"], found["user_id"]) == ("gpu", None, "u")
    query = api.seen[0].query
    assert (query["code"], query["from"], query["limit"]) == (
        "slots_exhausted",
        "2026-12-01T00:00:00+00:00",
        "5",
    )


def test_idle_reservations(api: Api, run_json: Callable[..., Any]) -> None:
    since = "2026-12-01T09:30:00+00:00"
    api.answers["GET /v2/reservations"] = listing(reservation(status="ACTIVE", idle_since=since))
    (found,) = run_json(reservation_list.ListReservations, "--idle")
    assert found["idle_since"] == since
    assert api.seen[-1].query["idle"] == "true"
