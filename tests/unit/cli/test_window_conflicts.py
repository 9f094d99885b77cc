"""Maintenance windows and the reservations in their time."""

import json
from typing import Any

import pytest
from blazarclient.exception import BlazarClientException

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import FLAVOR, RESERVATION, Api, error, flavor, listing, reservation
from warre_blazar.cli import maintenance_windows

_WINDOW = {
    "id": "66666666-6666-4666-8666-666666666666",
    "start": "2026-12-01T00:00:00+00:00",
    "end": "2026-12-02T00:00:00+00:00",
    "note": None,
    "flavors": [{"id": FLAVOR.id, "name": FLAVOR.name}],
}
_BOOKED = {
    "id": "r1",
    "project_id": "p1",
    "flavor": {"id": FLAVOR.id, "name": FLAVOR.name},
    "instance_count": 2,
    "start": "2026-12-01T09:00:00+00:00",
    "end": "2026-12-01T11:00:00+00:00",
}
_LINE = "r1  2 slots of gpu.large  2026-12-01 09:00 UTC to 2026-12-01 11:00 UTC  project "
_NEW = ["gpu.large", "--start", "2026-12-01T00:00Z", "--end", "2026-12-02T00:00Z"]


def refuse(api: Api, **detail: Any) -> None:
    api.answers["GET /v2/flavors/gpu.large"] = Answer(200, flavor())
    said = "Maintenance window conflicts with existing reservations"
    refusal = error(409, said, "window_conflict", flavor=FLAVOR.id, **detail)
    api.answers["POST /v2/maintenancewindows"] = refusal
    api.answers[f"PATCH /v2/maintenancewindows/{_WINDOW['id']}"] = refusal


def test_refusal_lists_the_reservations(api: Api, run: Run) -> None:
    refuse(api, reservations=[_BOOKED], total=1)
    api.answers["GET /v1/projects/p1"] = Answer(200, {"project": {"id": "p1", "name": "climate"}})
    for command, arguments in (
        (maintenance_windows.CreateWindow, _NEW),
        (maintenance_windows.UpdateWindow, [_WINDOW["id"], "--note", "x"]),
    ):
        with pytest.raises(BlazarClientException) as refused:
            run(command, *arguments)
        assert str(refused.value) == (
            "The window was refused: 1 reservation of its flavors or hosts overlaps it. "
            f"Choose another time, use --bookings move or end (show lists what move would do), "
            f"or ask the projects to delete these reservations (openstack reservation "
            f"delete):\n  {_LINE}climate"
        )


def test_refusal_says_how_many_more_there_are(api: Api, run: Run) -> None:
    refuse(api, reservations=[_BOOKED, {**_BOOKED, "id": "r2"}], total=9)
    with pytest.raises(BlazarClientException) as refused:
        run(maintenance_windows.CreateWindow, *_NEW)
    first, *lines = str(refused.value).splitlines()
    assert "9 reservations of its flavors or hosts overlap it" in first
    assert lines[0] == f"  {_LINE}p1"
    assert lines[2].startswith("  and 7 more: ")


def test_show_lists_what_is_booked_in_the_window(api: Api, run: Run) -> None:
    path = f"GET /v2/maintenancewindows/{_WINDOW['id']}"
    api.answers[path] = Answer(200, _WINDOW)
    api.answers["GET /v2/reservations"] = listing(reservation())
    shown = json.loads(run(maintenance_windows.ShowWindow, _WINDOW["id"], "-f", "json"))
    (booked,) = shown["reservations"]
    assert (booked["id"], booked["flavor"], booked["status"]) == (
        RESERVATION.id,
        "gpu.large",
        "ALLOCATED",
    )
    (asked,) = [r.query for r in api.seen if r.path == "/v2/reservations"]
    assert asked == {
        "all_projects": "true",
        "flavor_id": FLAVOR.id,
        "from": _WINDOW["start"],
        "to": _WINDOW["end"],
    }
    assert f"{RESERVATION.id}  2 slots of gpu.large  2026-12-01 09:00 UTC to" in run(
        maintenance_windows.ShowWindow, _WINDOW["id"]
    )


def test_show_leaves_out_reservations_of_other_flavors(api: Api, run: Run) -> None:
    two = {**_WINDOW, "flavors": [*_WINDOW["flavors"], {"id": "other", "name": "other"}]}
    api.answers[f"GET /v2/maintenancewindows/{_WINDOW['id']}"] = Answer(200, two)
    third = reservation(id="r3", flavor=flavor(id="third"))
    api.answers["GET /v2/reservations"] = listing(reservation(), third)
    shown = json.loads(run(maintenance_windows.ShowWindow, _WINDOW["id"], "-f", "json"))
    assert [booked["id"] for booked in shown["reservations"]] == [RESERVATION.id]


def test_show_lists_what_is_booked_on_closed_hosts(api: Api, run: Run) -> None:
    hosts = [{"id": "3", "name": "cmp1"}, {"id": "4", "name": "cmp2"}]
    window = {**_WINDOW, "hosts": hosts}
    api.answers[f"GET /v2/maintenancewindows/{_WINDOW['id']}"] = Answer(200, window)
    on_both = reservation(flavor=flavor(id="other", name="gpu.small"))
    first = reservation(id="r1", start="2026-12-01T08:00:00+00:00")
    api.answers["GET /v2/reservations"] = [listing(), listing(on_both), listing(on_both, first)]
    shown = json.loads(run(maintenance_windows.ShowWindow, _WINDOW["id"], "-f", "json"))
    booked = [(item["id"], item["flavor"]) for item in shown["reservations"]]
    assert booked == [("r1", "gpu.large"), (RESERVATION.id, "gpu.small")]
    asked = [r.query for r in api.seen if r.path == "/v2/reservations"]
    assert [query.get("host") for query in asked] == [None, "3", "4"]
    assert all(query["all_projects"] == "true" for query in asked)


def test_user_who_may_not_list_reservations_sees_none(api: Api, run: Run) -> None:
    api.answers[f"GET /v2/maintenancewindows/{_WINDOW['id']}"] = Answer(200, _WINDOW)
    api.answers["GET /v2/reservations"] = error(403, "No", "forbidden")
    shown = json.loads(run(maintenance_windows.ShowWindow, _WINDOW["id"], "-f", "json"))
    assert "reservations" not in shown
