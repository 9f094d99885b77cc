"""A site with one of each thing, and the pages that show them."""

import functools
import html
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from tests.dashboard.conftest import PROJECT
from tests.fakes.service import Answer
from tests.unit.cli.fake_api import (
    FLAVOR,
    Api,
    flavor,
    foreseen,
    listing,
    reservation,
    series,
    wait,
)

SERIES, WAIT, RESERVATION = series()["id"], wait()["id"], reservation()["id"]
ACCESS = {"id": "7", "flavor": FLAVOR.id, "project_id": PROJECT}
SHARE = {
    "id": "88888888-8888-4888-8888-888888888888",
    "reservation_id": RESERVATION,
    "project_id": "another-project",
    "owner_id": PROJECT,
    "created_at": "2026-12-01T00:00:00+00:00",
}
CALENDAR = {
    "id": "99999999-9999-4999-8999-999999999999",
    "name": "lab",
    "url": "https://cloud.example.org/v2/calendars/signed.ics",
    "project_id": PROJECT,
    "user_id": "user-1",
    "created_at": "2026-12-01T00:00:00+00:00",
}
WINDOW = {
    "id": "44444444-4444-4444-8444-444444444444",
    "start": "2099-12-01T00:00:00+00:00",
    "end": "2099-12-02T00:00:00+00:00",
    "note": "new disks",
    "flavors": [{"id": FLAVOR.id, "name": FLAVOR.name}],
}
#: The ids in addresses, by the panel of the page or by their own name.
_IDS = {
    "flavor_reservations": RESERVATION,
    "all_flavor_reservations": RESERVATION,
    "reservation_series": SERIES,
    "reservation_waits": WAIT,
    "reservable_flavors": FLAVOR.id,
    "maintenance_windows": WINDOW["id"],
    "flavor": FLAVOR.id,
    "series": SERIES,
    "access": ACCESS["id"],
    "share": SHARE["id"],
    "calendar": CALENDAR["id"],
}


def fill(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the fake API have one of each thing, and the other services what a server needs."""
    for name, answer in (
        (
            "glance.image_list_detailed",
            ([SimpleNamespace(id="1", name="i", status="active")], 0, 0),
        ),
        ("neutron.network_list_for_tenant", [SimpleNamespace(id="1", name="n")]),
        ("neutron.security_group_list", [SimpleNamespace(id="7", name="ssh")]),
        ("nova.keypair_list", []),
    ):
        monkeypatch.setattr(f"openstack_dashboard.api.{name}", lambda *_, given=answer: given)
    span = {"start": "2026-12-01T00:00:00+00:00", "end": "2026-12-03T00:00:00+00:00"}
    extension = {"latest_end": "2026-12-01T15:00:00+00:00", "stopped_by": "slots_exhausted"}
    occurrences = {"bookable": True, "occurrences": [span], "refused": []}
    report = {"finished_at": None, "found": 0, "away": []}
    unlimited = {"maxHours": -1, "maxReservations": -1}
    used = {"totalHoursUsed": 5, "totalReservationsUsed": 3}
    api.answers |= {
        f"GET /v2/flavors/{FLAVOR.id}": Answer(200, flavor(is_public=False)),
        "POST /v2/reservations": foreseen(),
        f"GET /v2/reservations/{RESERVATION}": Answer(200, reservation(log=[])),
        f"GET /v2/reservations/{RESERVATION}/extensions": Answer(
            200, {**extension, "extend_from": None}
        ),
        f"PATCH /v2/reservations/{RESERVATION}": foreseen(),
        "GET /v2/series": listing(series()),
        f"GET /v2/series/{SERIES}": Answer(200, series()),
        "POST /v2/series": Answer(200, occurrences),
        f"PATCH /v2/series/{SERIES}": Answer(200, occurrences),
        "GET /v2/waits": listing(wait()),
        f"GET /v2/waits/{WAIT}": Answer(200, wait()),
        "GET /v2/flavorprojects": listing(ACCESS),
        "GET /v2/shares": listing(SHARE),
        f"GET /v2/shares/{SHARE['id']}": Answer(200, SHARE),
        "GET /v2/calendars": listing(CALENDAR),
        f"GET /v2/calendars/{CALENDAR['id']}": Answer(200, CALENDAR),
        "GET /v2/maintenancewindows": listing(WINDOW),
        f"GET /v2/maintenancewindows/{WINDOW['id']}": Answer(200, WINDOW),
        "GET /v2/hosts": listing(),
        "GET /v2/availability": Answer(200, {"results": []}),
        "GET /v2/offers": Answer(200, {"results": [], "total": 0, "missing": []}),
        "GET /v2/usage": Answer(200, {**span, "by": "project", "results": []}),
        "GET /v2/limits": Answer(200, {**listing().body, "absolute": {**unlimited, **used}}),
        "GET /v2/refusals": listing(),
        "GET /v2/audit": listing(**report),
    }


def pages() -> Iterator[tuple[str, Any]]:
    """The address of each page of this package, with the ids of the site, and its view's class."""
    for route, pattern in _patterns(get_resolver(), ""):
        view = getattr(pattern.callback, "view_class", None)
        # Horizon wraps the views.
        view = view or _unwrapped(pattern.callback)
        if view is not None and view.__module__.startswith("warre_blazar."):
            yield re.sub(r"<str:(\w+)>", functools.partial(_id, route), f"/{route}"), view


def _id(route: str, part: re.Match[str]) -> str:
    name = part[1]
    if name == "ref" and "/drop/" in route:
        return str(series()["reservations"][0]["id"])
    return str(_IDS[route.split("/")[1] if name == "ref" else name])


def _unwrapped(view: Any) -> Any:
    while view is not None and not hasattr(view, "view_class"):
        view = getattr(view, "__wrapped__", None)
    return getattr(view, "view_class", None)


def _patterns(resolver: Any, prefix: str) -> Iterator[tuple[str, URLPattern]]:
    for each in resolver.url_patterns:
        route = prefix + re.sub(r"^\^|\\Z|\$$", "", str(each.pattern))
        if isinstance(each, URLResolver):
            yield from _patterns(each, route)
        else:
            yield route, each


def hidden(page: str) -> dict[str, str]:
    """The hidden fields of the forms of a page."""
    pairs = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', ours(page))
    return {name: html.unescape(value) for name, value in pairs}


def ours(page: str) -> str:
    """The part of a page that isn't Horizon's."""
    return page.split('class="flavor-reservations"')[1].split('<div id="footer">', maxsplit=1)[0]
