"""Reservation commands: what they ask and what they print."""

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from blazarclient.exception import BlazarClientException

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import FLAVOR, RESERVATION, Api, error, flavor, listing, reservation
from warre_blazar.cli import reservations

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
        (["--project", "p1"], {"project_id": "p1"}),
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
    api.answers["GET /v2/flavors/x"] = error(404, "Flavor does not exist")
    with pytest.raises(BlazarClientException, match=r"^ERROR: Flavor does not exist$"):
        run(reservations.ListReservations, "--flavor", "x")


def test_show_names_the_nova_flavor(api: Api, run: Run, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/reservations/r"] = Answer(200, reservation())
    assert run_json(reservations.ShowReservation, "r") == _SHOWN
    only = run(reservations.ShowReservation, "r", "-f", "value", "-c", "compute_flavor")
    nova_flavor = RESERVATION.reservation_id.replace("-", "")
    assert only == nova_flavor + "\n"
    table = run(reservations.ShowReservation, "r")
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
        (["f", "--hours", "1", "--start", "2026-13-01"], "'2026-13-01' isn't a time"),
        (["--hours", "1"], "FLAVOR"),
    ],
)
def test_create_refuses(
    api: Api, run: Run, capsys: pytest.CaptureFixture, arguments: list[str], complaint: str
) -> None:
    with pytest.raises(SystemExit):
        run(reservations.CreateReservation, *arguments)
    assert complaint in capsys.readouterr().err
    assert not api.seen


def test_create_without_room(api: Api, run: Run) -> None:
    api.answers["POST /v2/reservations"] = error(400, "No capacity: 2 asked, 1 of 2 are free")
    with pytest.raises(BlazarClientException, match=r"^ERROR: No capacity: 2 asked, 1 of 2 are"):
        run(reservations.CreateReservation, "f", "--hours", "1", "--count", "2")


def test_delete_several(api: Api, run: Run) -> None:
    api.answers["DELETE /v2/reservations/a"] = Answer(204)
    api.answers["DELETE /v2/reservations/b"] = Answer(202)
    assert run(reservations.DeleteReservation, "a", "b").splitlines() == [
        "Deleted reservation: a",
        "Deletion under way of reservation: b",
    ]
