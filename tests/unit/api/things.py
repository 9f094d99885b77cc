"""Functions that create, over the API, the items that tests need."""

import datetime
from typing import Any

from blazar.db import api as db_api

from tests.unit.api.people import Person
from tests.unit.api.site import NOW

FLAVOR = {
    "name": "gpu.small",
    "vcpu": 2,
    "memory_mb": 2048,
    "disk_gb": 20,
    "max_length_hours": 48,
    "slots": 2,
}


def moment(day: int, hour: int = 0, minute: int = 0) -> datetime.datetime:
    """A time on a day that is counted from NOW's day, in naive UTC."""
    midnight = NOW.replace(hour=0, minute=0)
    return midnight + datetime.timedelta(days=day, hours=hour, minutes=minute)


def at(day: int, hour: int = 0, minute: int = 0) -> str:
    """The same time in the format in which Warre's client sends it."""
    return f"{moment(day, hour, minute).isoformat()}+00:00"


def made(answer: Any) -> dict[str, Any]:
    """The document of a created item."""
    assert answer.status_int in (200, 201, 202), answer
    return answer.json


def add_flavor(admin: Person, **terms: Any) -> dict[str, Any]:
    return made(admin.post("flavors", {**FLAVOR, **terms}))


def plain(flavor: dict[str, Any]) -> dict[str, Any]:
    """A flavor as it is inside a reservation: without the fields that depend on its hosts."""
    offered = ("bookable", "bookable_hosts", "warnings")
    return {k: v for k, v in flavor.items() if k not in offered}


def without_warnings(flavor: dict[str, Any]) -> dict[str, Any]:
    """A flavor that was made or changed, as it is shown later."""
    return {k: v for k, v in flavor.items() if k != "warnings"}


def shown(person: Person, path: str) -> dict[str, Any]:
    """A flavor as a person is shown it, without what limits it by host."""
    return {k: v for k, v in made(person.get(path)).items() if k != "limits"}


def grant(admin: Person, flavor: dict[str, Any], project_id: str) -> dict[str, Any]:
    asked = {"flavor_id": flavor["id"], "project_id": project_id}
    return made(admin.post("flavorprojects", asked))


def booking(flavor: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The body of a booking for two hours on the day after tomorrow."""
    usual = {"flavor_id": flavor["id"], "start": at(2, 9), "end": at(2, 11)}
    return {**usual, **changes}


def book(person: Person, flavor: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return made(person.post("reservations", booking(flavor, **changes)))


def share(person: Person, booked: dict[str, Any], project_id: str) -> dict[str, Any]:
    body = {"reservation_id": booked["id"], "project_id": project_id}
    return made(person.post("shares", body))


def add_window(admin: Person, *flavors: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A window on day five by default."""
    usual = {"start": at(5), "end": at(6), "flavor_ids": [f["id"] for f in flavors]}
    return made(admin.post("maintenancewindows", {**usual, **changes}))


def add_bare_window(admin: Person, **changes: Any) -> dict[str, Any]:
    """A window over nothing, which only Warre's path accepts."""
    usual = {"start": at(5), "end": at(6)}
    return made(admin.post("warre/v1/maintenancewindows", {**usual, **changes}))


def series(flavor: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The body of a series of two days, two hours on each, from the third day on."""
    usual = {
        "flavor_id": flavor["id"],
        "start": at(3, 9)[:16],
        "timezone": "UTC",
        "hours": 2,
        "rrule": "FREQ=DAILY;COUNT=2",
    }
    return {**usual, **changes}


def add_series(person: Person, flavor: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return made(person.post("series", series(flavor, **changes)))


def add_wait(person: Person, flavor: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A wait for an hour at any time."""
    return made(person.post("waits", {"flavor_id": flavor["id"], "hours": 1, **changes}))


def add_to_lease(lease_id: str) -> None:
    """Add a second reservation to a lease."""
    values = {"lease_id": lease_id, "resource_type": "flavor:slot", "status": "pending"}
    db_api.reservation_create(values)
