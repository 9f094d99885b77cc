"""Commands on access, maintenance windows and limits."""

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from blazarclient.exception import BlazarClientException

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import FLAVOR, Api, error, flavor, listing
from tests.unit.client.test_resources import WINDOW
from warre_blazar.cli import flavor_access, limits, maintenance_windows

_PROJECT = "55555555555545558555555555555555"
_RIGHT = {"id": "a", "flavor": FLAVOR.id, "project_id": _PROJECT}


@pytest.fixture(autouse=True)
def flavors(api: Api) -> None:
    """Let the API have one flavor, which can be found by its name."""
    api.answers["GET /v2/flavors"] = listing(flavor())
    api.answers["GET /v2/flavors/gpu.large"] = Answer(200, flavor())


def test_access_list_names_flavors(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/flavorprojects"] = listing(_RIGHT)
    (row,) = run_json(flavor_access.ListAccess, "gpu.large", "--project", _PROJECT)
    assert row == {
        "id": "a",
        "flavor": "gpu.large",
        "flavor_id": FLAVOR.id,
        "project": None,
        "project_id": _PROJECT,
    }
    asked = next(r for r in api.seen if r.path == "/v2/flavorprojects")
    assert asked.query == {"flavor_id": FLAVOR.id, "project_id": _PROJECT}


def test_access_is_granted_to_a_project_by_name(api: Api, run_json: Callable[..., Any]) -> None:
    project = {"id": _PROJECT, "name": "climate"}
    api.answers["GET /v1/projects"] = Answer(200, {"projects": [project]})
    api.answers[f"GET /v1/projects/{_PROJECT}"] = Answer(200, {"project": project})
    api.answers["POST /v2/flavorprojects"] = Answer(200, _RIGHT)
    assert run_json(flavor_access.GrantAccess, "gpu.large", "climate") == {
        "id": "a",
        "flavor": "gpu.large",
        "flavor_id": FLAVOR.id,
        "project": "climate",
        "project_id": _PROJECT,
    }
    asked = {request.line: request for request in api.seen}
    assert asked["GET /v1/projects"].query == {"name": "climate"}
    assert asked["POST /v2/flavorprojects"].body == {
        "flavor_id": FLAVOR.id,
        "project_id": _PROJECT,
    }


def test_dry_run_changes_no_access(api: Api, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers["GET /v2/flavorprojects"] = [listing(), listing(_RIGHT), listing(_RIGHT)]
    said = run(flavor_access.GrantAccess, "gpu.large", _PROJECT, "--dry-run")
    assert "gpu.large is public, so every project may book it" in capsys.readouterr().err
    assert said == f"Dry run: would allow project {_PROJECT} ({_PROJECT}) to book gpu.large\n"
    with pytest.raises(BlazarClientException, match=r"already has access to gpu\.large"):
        run(flavor_access.GrantAccess, "gpu.large", _PROJECT, "--dry-run")
    said = run(flavor_access.RevokeAccess, "gpu.large", _PROJECT, "--dry-run")
    assert said.startswith(f"Dry run: would withdraw the access of project {_PROJECT}")
    assert {r.method for r in api.seen} == {"GET"}


def test_access_is_granted_by_id_if_keystone_refuses_to_list_projects(api: Api, run: Run) -> None:
    api.answers["GET /v1/projects"] = error(403, "No")
    api.answers["POST /v2/flavorprojects"] = Answer(200, _RIGHT)
    run(flavor_access.GrantAccess, "gpu.large", "an-id-of-another-form")
    (sent,) = [r.body for r in api.seen if r.body]
    assert sent["project_id"] == "an-id-of-another-form"


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ([], "There is no project 'climate'; see openstack project list"),
        (
            [{"id": "p1", "domain_id": "d1"}, {"id": "p2", "domain_id": "d2"}],
            "(?s)Several projects are named 'climate'.* p1  domain d1\n  p2  domain d2",
        ),
    ],
    ids=["unknown", "ambiguous"],
)
def test_unknown_or_ambiguous_project_is_refused(
    api: Api, run: Run, known: list[dict[str, str]], said: str
) -> None:
    api.answers["GET /v1/projects"] = Answer(200, {"projects": known})
    with pytest.raises(BlazarClientException, match=said):
        run(flavor_access.GrantAccess, "gpu.large", "climate")


def test_access_is_revoked(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavorprojects"] = [listing(_RIGHT), listing()]
    api.answers["DELETE /v2/flavorprojects/a"] = Answer(204)
    revoked = run(flavor_access.RevokeAccess, "gpu.large", _PROJECT)
    assert revoked == f"Revoked: {_PROJECT} on gpu.large\n"
    with pytest.raises(BlazarClientException, match=r"no access to gpu\.large; see "):
        run(flavor_access.RevokeAccess, "gpu.large", _PROJECT)


def test_access_to_an_unknown_flavor(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavors/gpu"] = error(404, "No", "flavor_not_found", flavor="gpu")
    with pytest.raises(BlazarClientException, match=r"Did you mean gpu\.large\?"):
        run(flavor_access.GrantAccess, "gpu", _PROJECT)


def test_window_is_created_by_flavor_names_and_hours(
    api: Api, run_json: Callable[..., Any]
) -> None:
    api.answers["POST /v2/maintenancewindows"] = Answer(201, WINDOW)
    given = ("--start", "2026-12-20 00:00", "--hours", "24", "--note", "firmware")
    made = run_json(maintenance_windows.CreateWindow, "gpu.large", *given)
    assert made == {**WINDOW, "flavors": ["gpu.large"], "hosts": []}
    assert api.seen[-1].body == {
        "start": "2026-12-20T00:00:00+00:00",
        "end": "2026-12-21T00:00:00+00:00",
        "note": "firmware",
        "flavor_ids": [FLAVOR.id],
    }


def test_window_that_closes_nothing_is_refused(api: Api, run: Run) -> None:
    given = ("--start", "2026-12-20T00:00Z", "--hours", "5", "--note", "firmware")
    with pytest.raises(BlazarClientException, match="would close nothing: give a FLAVOR or --host"):
        run(maintenance_windows.CreateWindow, *given)
    assert api.seen == []


def test_window_of_a_host_lists_what_it_meets(api: Api, run: Run) -> None:
    met = {
        "id": "r1",
        "project_id": "p1",
        "flavor": {"id": FLAVOR.id, "name": "gpu.large"},
        "instance_count": 2,
        "start": "2026-12-20T09:00:00+00:00",
        "end": "2026-12-20T11:00:00+00:00",
        "outcome": "postponed",
        "new_start": "2026-12-21T00:00:00+00:00",
        "new_end": "2026-12-21T02:00:00+00:00",
        "reason": None,
    }
    left = {**met, "id": "r2", "outcome": "left", "reason": "it has begun"}
    hosts = [{"id": "3", "name": "cmp1"}]
    window = {**WINDOW, "flavors": [], "hosts": hosts, "reservations": [met, left]}
    api.answers["POST /v2/maintenancewindows"] = Answer(200, window)
    given = ("--start", "2026-12-20T00:00Z", "--hours", "24", "--host", "cmp1")
    shown = run(maintenance_windows.CreateWindow, *given, "--bookings", "show")
    assert "postponed  r1  2 slots of gpu.large" in shown
    assert ", now 2026-12-21 00:00 UTC to 2026-12-21 02:00 UTC" in shown
    assert "left       r2" in shown and ": it has begun" in shown
    (sent,) = [request for request in api.seen if request.method == "POST"]
    assert sent.body == {
        "start": "2026-12-20T00:00:00+00:00",
        "end": "2026-12-21T00:00:00+00:00",
        "note": None,
        "flavor_ids": [],
        "host_ids": ["cmp1"],
        "bookings": "show",
    }


def test_note_names_a_window(api: Api, run: Run, run_json: Callable[..., Any]) -> None:
    path = f"/v2/maintenancewindows/{WINDOW['id']}"
    api.answers |= {
        "GET /v2/maintenancewindows": listing(WINDOW),
        f"GET {path}": Answer(200, WINDOW),
        f"PATCH {path}": Answer(200, WINDOW),
        f"DELETE {path}": Answer(204),
    }
    shown = {**WINDOW, "flavors": ["gpu.large"], "hosts": []}
    assert run_json(maintenance_windows.ListWindows) == [shown]
    assert run_json(maintenance_windows.ShowWindow, "firmware") == shown
    changes = ("--end-date", "2026-12-22", "--flavor", "gpu.large", "--note", "x")
    assert run(maintenance_windows.UpdateWindow, "firmware", *changes) == (
        "Updated maintenance window: firmware\n"
    )
    assert (
        run(maintenance_windows.DeleteWindow, "firmware")
        == f"Deleted maintenance window: firmware ({WINDOW['id']})\n"
    )
    (body,) = [r.body for r in api.seen if r.method == "PATCH"]
    assert body == {"end": "2026-12-22T00:00:00+00:00", "note": "x", "flavor_ids": [FLAVOR.id]}


def test_host_beside_the_option_for_hosts_is_no_flavor(api: Api, run: Run) -> None:
    for ref in ("cmp4", "cmp4%2Ccmp5"):
        missing = error(404, "No flavor", "flavor_not_found", flavor=ref.replace("%2C", ","))
        api.answers[f"GET /v2/flavors/{ref}"] = missing
    api.answers["GET /v2/flavors"] = listing(flavor())
    period = ("--start", "now", "--hours", "1")
    with pytest.raises(BlazarClientException, match=r"If it is a host: --host cmp3,cmp4$"):
        run(maintenance_windows.CreateWindow, "--host", "cmp3", "cmp4", *period)
    with pytest.raises(BlazarClientException, match=r"Give one at a time, such as cmp4$"):
        run(maintenance_windows.CreateWindow, "cmp4,cmp5", *period)


def test_start_of_a_window_with_a_plus_counts_from_its_start(api: Api, run: Run) -> None:
    path = f"/v2/maintenancewindows/{WINDOW['id']}"
    api.answers |= {f"GET {path}": Answer(200, WINDOW), f"PATCH {path}": Answer(200, WINDOW)}
    run(maintenance_windows.UpdateWindow, WINDOW["id"], "--start", "+1h")
    hour = datetime.timedelta(hours=1)
    moments = {name: datetime.datetime.fromisoformat(WINDOW[name]) for name in ("start", "end")}
    sent = {n: datetime.datetime.fromisoformat(text) for n, text in api.seen[-1].body.items()}
    assert sent == {name: moment + hour for name, moment in moments.items()}


def test_hosts_of_a_window_may_stand_in_one_option(api: Api, run: Run) -> None:
    api.answers["PATCH /v2/maintenancewindows/w"] = Answer(200, WINDOW)
    given = ("--host", "cmp1,cmp2", "--host", "cmp3")
    api.answers[f"PATCH /v2/maintenancewindows/{WINDOW['id']}"] = Answer(200, WINDOW)
    run(maintenance_windows.UpdateWindow, WINDOW["id"], *given)
    assert api.seen[-1].body == {"host_ids": ["cmp1", "cmp2", "cmp3"]}


def test_part_of_a_note_is_refused_with_the_whole_one(api: Api, run: Run) -> None:
    api.answers["GET /v2/maintenancewindows"] = listing(WINDOW)
    with pytest.raises(BlazarClientException, match=r"may see\. Did you mean 'firmware'\?"):
        run(maintenance_windows.ShowWindow, "firm")


def test_ambiguous_note_is_refused(api: Api, run: Run) -> None:
    other = {**WINDOW, "id": "66666666-4444-4444-8444-444444444444"}
    api.answers["GET /v2/maintenancewindows"] = listing(WINDOW, other)
    with pytest.raises(BlazarClientException, match=f"(?s)of one:.*{WINDOW['id']}.*{other['id']}"):
        run(maintenance_windows.ShowWindow, "firmware")


@pytest.mark.parametrize(
    "options, want",
    [
        (["--start", "2026-12-21T00:00Z"], ("2026-12-21", "2026-12-22")),
        (["--start", "2026-12-21T00:00Z", "--length", "2d"], ("2026-12-21", "2026-12-23")),
        (["--hours", "72"], (None, "2026-12-23")),
    ],
)
def test_window_is_moved_with_its_length_or_a_new_one(
    api: Api, run: Run, options: list[str], want: tuple[str | None, str]
) -> None:
    path = f"/v2/maintenancewindows/{WINDOW['id']}"
    api.answers |= {f"GET {path}": Answer(200, WINDOW), f"PATCH {path}": Answer(200, WINDOW)}
    run(maintenance_windows.UpdateWindow, WINDOW["id"], *options)
    (body,) = [r.body for r in api.seen if r.method == "PATCH"]
    start, end = want
    moved = {"start": f"{start}T00:00:00+00:00"} if start else {}
    assert body == {**moved, "end": f"{end}T00:00:00+00:00"}


def test_window_update_without_options_is_refused(run: Run) -> None:
    with pytest.raises(BlazarClientException, match="Nothing to change"):
        run(maintenance_windows.UpdateWindow, "firmware")


def test_dry_run_changes_no_window(api: Api, run: Run) -> None:
    booked = error(409, "Booked", "window_conflict", reservations=[], total=1)
    path = f"/v2/maintenancewindows/{WINDOW['id']}"
    api.answers |= {
        "GET /v2/flavors/gpu.large": Answer(200, flavor()),
        f"GET {path}": Answer(200, WINDOW),
        f"PATCH {path}": Answer(200, WINDOW),
        "POST /v2/maintenancewindows": [Answer(200, WINDOW), booked],
    }
    given = ("--start", "2026-12-01T10:00Z", "--hours", "1", "--dry-run")
    said = run(maintenance_windows.CreateWindow, "gpu.large", *given)
    assert said == (
        "Dry run: would make a window: gpu.large closed, Tue 2026-12-01 10:00 UTC to "
        "Tue 2026-12-01 11:00 UTC, 1 hour\n"
    )
    said = run(
        maintenance_windows.UpdateWindow, WINDOW["id"], "--end", "2026-12-22T00:00Z", "--dry-run"
    )
    assert "would change window 'firmware'" in said
    assert "to Tue 2026-12-22 00:00 UTC" in said
    with pytest.raises(BlazarClientException, match=r"^The window was refused: 1 reservation of"):
        run(maintenance_windows.CreateWindow, "gpu.large", *given)
    said = run(maintenance_windows.DeleteWindow, WINDOW["id"], "--dry-run")
    assert said.startswith("Dry run: would delete window 'firmware'")
    changes = [r for r in api.seen if r.method != "GET"]
    assert [(r.method, r.query) for r in changes] == [
        (method, {"dry_run": "true"}) for method in ("POST", "PATCH", "POST")
    ]
    assert changes[1].body == {"end": "2026-12-22T00:00:00+00:00"}


def test_dry_run_of_a_window_names_only_what_changes(api: Api, run: Run) -> None:
    path = f"/v2/maintenancewindows/{WINDOW['id']}"
    hosts = [{"id": "3", "name": "cmp1"}]
    api.answers |= {
        "GET /v2/flavors/gpu.large": Answer(200, flavor()),
        f"GET {path}": Answer(200, WINDOW),
        f"PATCH {path}": Answer(200, {**WINDOW, "hosts": hosts}),
    }
    given = (WINDOW["id"], "--end", "2026-12-22T00:00Z", "--dry-run")
    said = run(maintenance_windows.UpdateWindow, *given)
    assert "to Tue 2026-12-22 00:00 UTC (before: 2026-12-21 00:00 UTC), 48 hours instead of" in said
    said = run(maintenance_windows.UpdateWindow, *given, "--flavor", "gpu.large", "--host", "cmp1")
    assert said.endswith("24 hours longer, flavors gpu.large, hosts cmp1\n")


def test_showing_what_a_changed_window_meets_is_reported_as_a_dry_run(api: Api, run: Run) -> None:
    path = f"/v2/maintenancewindows/{WINDOW['id']}"
    api.answers |= {f"GET {path}": Answer(200, WINDOW), f"PATCH {path}": Answer(200, WINDOW)}
    said = run(maintenance_windows.UpdateWindow, WINDOW["id"], "--bookings", "show")
    assert said.startswith(f"Dry run: would change window 'firmware' ({WINDOW['id']})")


def test_inexact_times_of_a_window_are_confirmed(
    api: Api, run: Run, answers: Callable[[str], None], capsys: pytest.CaptureFixture
) -> None:
    answers("n")
    with pytest.raises(BlazarClientException, match="No window made"):
        run(
            maintenance_windows.CreateWindow,
            "gpu.large",
            "--start",
            "2026-12-20 00:00",
            "--hours",
            "24",
        )
    assert "gpu.large closed, Sun 2026-12-20 00:00 UTC to Mon 2026" in capsys.readouterr().err
    assert not [r for r in api.seen if r.method == "POST"]


_LIMITS = {
    "maxHours": -1,
    "maxReservations": 10,
    "totalHoursUsed": 336,
    "totalReservationsUsed": 12,
}


def test_limits(api: Api, run: Run, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/limits"] = Answer(200, {"absolute": _LIMITS})
    assert run_json(limits.ShowLimits) == [
        {"resource": "reservations", "used": 12, "limit": 10, "left": 0},
        {"resource": "hours", "used": 336, "limit": -1, "left": -1},
    ]
    assert "| hours        |  336 | unlimited | unlimited |" in run(limits.ShowLimits)


def test_limits_of_other_projects_are_shown(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/limits"] = [
        Answer(200, {"absolute": _LIMITS}),
        listing({"project_id": "p", **_LIMITS, "own": ["reservations"]}),
    ]
    (row, _) = run_json(limits.ShowLimits, "--project", _PROJECT)
    assert row["source"] is None  # An older API doesn't say it.
    api.answers["GET /v1/projects/p"] = Answer(200, {"project": {"id": "p", "name": "climate"}})
    rows = run_json(limits.ShowLimits, "--all-projects")
    names = ("project", "project_id", "resource", "source")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("climate", "p", "reservations", "project"),
        ("climate", "p", "hours", "default"),
    ]
    assert [r.query for r in api.seen if "limits" in r.path] == [
        {"project_id": _PROJECT},
        {"all_projects": "true"},
    ]


def test_flavor_that_an_operator_sees_without_access_is_not_proposed(api: Api, run: Run) -> None:
    """An operator sees the private flavors of other projects, but can't book them."""
    api.answers["GET /v2/flavors/gpu.large"] = error(404, "No", "flavor_not_found")
    with pytest.raises(BlazarClientException, match=r"no access to the flavor 'gpu\.large'"):
        run(flavor_access.GrantAccess, "gpu.large", _PROJECT)
