"""The pages for operators."""

import datetime
from typing import Any

import pytest

from tests.dashboard.conftest import PROJECT, Visitor
from tests.fakes.service import Answer
from tests.unit.cli.fake_api import FLAVOR, Api, error, flavor, listing, reservation

FLAVORS, WINDOWS = "/admin/reservable_flavors/", "/admin/maintenance_windows/"
RESERVATIONS = "/admin/all_flavor_reservations/"
LINE = f"/v2/flavors/{FLAVOR.id}"
HOSTILE = "<script>alert(1)</script>"
WINDOW = {
    "id": "44444444-4444-4444-8444-444444444444",
    "start": "2099-12-01T00:00:00+00:00",
    "end": "2099-12-02T00:00:00+00:00",
    "note": HOSTILE,
    "flavors": [{"id": FLAVOR.id, "name": HOSTILE}],
}


def host(**values: Any) -> dict[str, Any]:
    start = datetime.datetime.now(datetime.UTC)
    end = start + datetime.timedelta(hours=20)
    return {
        "id": "1",
        "name": HOSTILE,
        "availability_zone": "nova",
        "state": "draining",
        "draining": {"by": "ada", "at": None, "reason": HOSTILE},
        "resources": [{"resource_class": "VCPU", "capacity": 8, "used_now": 1, "used_peak": 2}],
        "reservations": [
            {
                "id": reservation()["id"],
                "resource_type": "flavor:slot",
                "project_id": PROJECT,
                "status": "pending",
                "instance_count": 1,
                "start": start.isoformat(),
                "end": end.isoformat(),
            }
        ],
        **values,
    }


@pytest.fixture(autouse=True)
def answers(api: Api) -> None:
    api.answers[f"GET {LINE}"] = Answer(200, flavor(name=HOSTILE, is_public=False))
    api.answers["GET /v2/flavorprojects"] = listing()
    span = {"start": "2026-12-01T00:00:00+00:00", "end": "2026-12-03T00:00:00+00:00"}
    api.answers["GET /v2/usage"] = Answer(200, {**span, "by": "project", "results": []})
    api.answers["GET /v2/maintenancewindows"] = listing(WINDOW)
    api.answers["GET /v2/hosts"] = listing(host())
    api.answers["GET /v2/refusals"] = listing()


PAGES = [
    FLAVORS,
    f"{FLAVORS}create/",
    f"{FLAVORS}{FLAVOR.id}/",
    f"{FLAVORS}{FLAVOR.id}/edit/",
    f"{FLAVORS}{FLAVOR.id}/delete/",
    WINDOWS,
    f"{WINDOWS}create/",
    RESERVATIONS,
    "/admin/reservation_plan/",
    "/admin/reservation_plan/?by=flavor",
    "/admin/all_reservation_usage/",
    "/admin/refused_requests/",
]


@pytest.mark.parametrize("path", PAGES)
def test_page_is_for_operators_only_and_escapes(path: str, operator: Visitor, api: Api) -> None:
    assert HOSTILE not in operator.sees(path)
    api.seen.clear()
    operator.roles = ["member", "reader"]
    # Horizon hides the whole dashboard from users without the role.
    assert operator.browser.get(path).status_code in (302, 403)
    assert api.seen == []


def test_flavor_is_made_from_the_form(operator: Visitor, api: Api) -> None:
    api.answers["POST /v2/flavors"] = Answer(202, flavor())
    values = {
        **{"name": "new", "vcpu": "2", "memory_mb": "512", "disk_gb": "5", "slots": "3"},
        **{"max_length_hours": "24", "extra_specs": "hw:a=1\nresources:VGPU=1"},
        **{"is_public": "on", "active": "on"},
    }
    operator.sends(f"{FLAVORS}create/", values)
    (sent,) = [request for request in api.seen if request.method == "POST"]
    assert sent.body["extra_specs"] == {"hw:a": "1", "resources:VGPU": "1"}
    assert sent.body["category"] is None and sent.body["is_public"] is True


def test_only_changed_fields_of_a_flavor_are_sent(operator: Visitor, api: Api) -> None:
    page = flavor(name="gpu.large")
    api.answers[f"GET {LINE}"] = Answer(200, page)
    api.answers[f"PATCH {LINE}"] = Answer(200, page)
    values = {
        **{"name": "gpu.large", "slots": "9", "max_length_hours": "24", "category": "gpu"},
        **{"extra_specs": "hw:a=1\ntrait:B=required", "end": "2027-01-01T00:00"},
        **{"is_public": "on", "active": "on"},
    }
    operator.sends(f"{FLAVORS}{FLAVOR.id}/edit/", values)
    (sent,) = [request for request in api.seen if request.method == "PATCH"]
    assert sent.body == {"slots": 9}


def test_access_is_granted_and_revoked(operator: Visitor, api: Api) -> None:
    api.answers["POST /v2/flavorprojects"] = Answer(
        200, {"id": "7", "flavor": FLAVOR.id, "project_id": PROJECT}
    )
    api.answers["DELETE /v2/flavorprojects/7"] = Answer(204)
    operator.sends(f"{FLAVORS}{FLAVOR.id}/access/", {"project": PROJECT})
    operator.sends(f"{FLAVORS}{FLAVOR.id}/access/7/", {})
    changes = [request for request in api.seen if request.method != "GET"]
    assert [request.method for request in changes] == ["POST", "DELETE"]


def test_refused_window_names_the_reservations(operator: Visitor, api: Api) -> None:
    met = {
        "id": reservation()["id"],
        "project_id": PROJECT,
        "flavor": {"id": FLAVOR.id, "name": "gpu.large"},
        "instance_count": 2,
        "start": "2099-12-01T00:00:00+00:00",
        "end": "2099-12-01T03:00:00+00:00",
    }
    api.answers["POST /v2/maintenancewindows"] = error(
        409, "reservations are in the way", "window_in_use", reservations=[met]
    )
    values = {"start": "2099-12-01T00:00", "end": "2099-12-02T00:00", "flavor_ids": FLAVOR.id}
    text = operator.sends(f"{WINDOWS}create/", values, 200).content.decode()
    assert "reservations are in the way" in text and met["id"] in text


def test_filters_are_sent(operator: Visitor, api: Api) -> None:
    operator.sees(f"{RESERVATIONS}?show=ERROR&project={PROJECT}&flavor={FLAVOR.id}&host=cmp1")
    (asked,) = [request for request in api.seen if request.line == "GET /v2/reservations"]
    wanted = {"status": "ERROR", "project_id": PROJECT, "flavor_id": FLAVOR.id, "host": "cmp1"}
    assert asked.query.items() >= {**wanted, "all_projects": "true"}.items()


def test_plan_draws_a_reservation_and_says_why_a_host_drains(operator: Visitor) -> None:
    page = operator.sees("/admin/reservation_plan/")
    assert '<rect class="booked"' in page
    assert "drains, nothing new is placed on it" in page
