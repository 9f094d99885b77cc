"""Commands on access, maintenance windows and limits."""

from collections.abc import Callable
from typing import Any

import pytest
from blazarclient.exception import BlazarClientException

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import FLAVOR, Api, error, flavor, listing
from tests.unit.client.test_resources import WINDOW
from warre_blazar.cli import access, limits, windows

_PROJECT = "55555555555545558555555555555555"
_RIGHT = {"id": "a", "flavor": FLAVOR.id, "project_id": _PROJECT}


@pytest.fixture(autouse=True)
def flavors(api: Api) -> None:
    """One, by name."""
    api.answers["GET /v2/flavors"] = listing(flavor())
    api.answers["GET /v2/flavors/gpu.large"] = Answer(200, flavor())


def test_access_list_names_flavors(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/flavorprojects"] = listing(_RIGHT)
    (row,) = run_json(access.ListAccess, "gpu.large", "--project", _PROJECT)
    assert row == {
        "id": "a",
        "flavor": "gpu.large",
        "flavor_id": FLAVOR.id,
        "project_id": _PROJECT,
    }
    asked = next(r for r in api.seen if r.path == "/v2/flavorprojects")
    assert asked.query == {"flavor_id": FLAVOR.id, "project_id": _PROJECT}


def test_access_is_granted_by_the_projects_name(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v1/projects"] = Answer(200, {"projects": [{"id": _PROJECT}]})
    api.answers["POST /v2/flavorprojects"] = Answer(200, _RIGHT)
    assert run_json(access.GrantAccess, "gpu.large", "climate") == _RIGHT
    assert api.seen[0].query == {"name": "climate"}
    assert api.seen[-1].body == {"flavor_id": "gpu.large", "project_id": _PROJECT}


def test_access_of_whom_keystone_does_not_tell(api: Api, run: Run) -> None:
    api.answers["GET /v1/projects"] = error(403, "No")
    api.answers["POST /v2/flavorprojects"] = Answer(200, _RIGHT)
    run(access.GrantAccess, "gpu.large", "an-id-of-another-form")
    assert api.seen[-1].body["project_id"] == "an-id-of-another-form"


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
def test_projects_that_are_not_one(
    api: Api, run: Run, known: list[dict[str, str]], said: str
) -> None:
    api.answers["GET /v1/projects"] = Answer(200, {"projects": known})
    with pytest.raises(BlazarClientException, match=said):
        run(access.GrantAccess, "gpu.large", "climate")


def test_access_is_revoked(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavorprojects"] = [listing(_RIGHT), listing()]
    api.answers["DELETE /v2/flavorprojects/a"] = Answer(204)
    revoked = run(access.RevokeAccess, "gpu.large", _PROJECT)
    assert revoked == f"Revoked: {_PROJECT} on gpu.large\n"
    with pytest.raises(BlazarClientException, match=r"no access to gpu\.large; see flavor-access"):
        run(access.RevokeAccess, "gpu.large", _PROJECT)


def test_access_to_an_unknown_flavor(api: Api, run: Run) -> None:
    api.answers["POST /v2/flavorprojects"] = error(404, "No", "flavor_not_found", flavor="gpu")
    with pytest.raises(BlazarClientException, match=r"Did you mean gpu\.large\?"):
        run(access.GrantAccess, "gpu", _PROJECT)


def test_a_window_by_names_and_hours(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["POST /v2/maintenancewindows"] = Answer(201, WINDOW)
    given = ("--start", "2026-12-20 00:00", "--hours", "24", "--note", "firmware")
    made = run_json(windows.CreateWindow, "gpu.large", *given)
    assert made == {**WINDOW, "flavors": ["gpu.large"]}
    assert api.seen[-1].body == {
        "start": "2026-12-20T00:00:00+00:00",
        "end": "2026-12-21T00:00:00+00:00",
        "note": "firmware",
        "flavor_ids": [FLAVOR.id],
    }


def test_windows_by_note(api: Api, run: Run, run_json: Callable[..., Any]) -> None:
    path = f"/v2/maintenancewindows/{WINDOW['id']}"
    api.answers |= {
        "GET /v2/maintenancewindows": listing(WINDOW),
        f"GET {path}": Answer(200, WINDOW),
        f"PATCH {path}": Answer(200, WINDOW),
        f"DELETE {path}": Answer(204),
    }
    shown = {**WINDOW, "flavors": ["gpu.large"]}
    assert run_json(windows.ListWindows) == [shown]
    assert run_json(windows.ShowWindow, "firmware") == shown
    changes = ("--end-date", "2026-12-22", "--flavor", "gpu.large", "--note", "x")
    assert run(windows.UpdateWindow, "firmware", *changes) == (
        "Updated maintenance window: firmware\n"
    )
    assert run(windows.DeleteWindow, "firmware") == "Deleted maintenance window: firmware\n"
    (body,) = [r.body for r in api.seen if r.method == "PATCH"]
    assert body == {"end": "2026-12-22T00:00:00+00:00", "note": "x", "flavor_ids": [FLAVOR.id]}


def test_windows_of_the_same_note(api: Api, run: Run) -> None:
    other = {**WINDOW, "id": "66666666-4444-4444-8444-444444444444"}
    api.answers["GET /v2/maintenancewindows"] = listing(WINDOW, other)
    with pytest.raises(BlazarClientException, match=f"(?s)of one:.*{WINDOW['id']}.*{other['id']}"):
        run(windows.ShowWindow, "firmware")


def test_a_window_of_nothing_to_change(run: Run) -> None:
    with pytest.raises(BlazarClientException, match="Nothing to change"):
        run(windows.UpdateWindow, "firmware")


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


def test_limits_of_others(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/limits"] = [
        Answer(200, {"absolute": _LIMITS}),
        listing({"project_id": "p", **_LIMITS}),
    ]
    run_json(limits.ShowLimits, "--project", _PROJECT)
    rows = run_json(limits.ShowLimits, "--all-projects")
    assert [(r["project_id"], r["resource"]) for r in rows] == [
        ("p", "reservations"),
        ("p", "hours"),
    ]
    assert [r.query for r in api.seen] == [{"project_id": _PROJECT}, {"all_projects": "true"}]
