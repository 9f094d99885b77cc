"""Things that tests need before they ask about them, made over the API."""

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
    """That time on a day after NOW's, in naive UTC."""
    midnight = NOW.replace(hour=0, minute=0)
    return midnight + datetime.timedelta(days=day, hours=hour, minutes=minute)


def at(day: int, hour: int = 0, minute: int = 0) -> str:
    """The same as Warre's client sends it."""
    return f"{moment(day, hour, minute).isoformat()}+00:00"


def made(answer: Any) -> dict[str, Any]:
    """What was made."""
    assert answer.status_int in (200, 201, 202), answer
    return answer.json


def add_flavor(admin: Person, **terms: Any) -> dict[str, Any]:
    return made(admin.post("flavors", {**FLAVOR, **terms}))


def grant(admin: Person, flavor: dict[str, Any], project_id: str) -> dict[str, Any]:
    asked = {"flavor_id": flavor["id"], "project_id": project_id}
    return made(admin.post("flavorprojects", asked))


def booking(flavor: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A request for two hours of the day after tomorrow."""
    usual = {"flavor_id": flavor["id"], "start": at(2, 9), "end": at(2, 11)}
    return {**usual, **changes}


def book(person: Person, flavor: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return made(person.post("reservations", booking(flavor, **changes)))


def add_window(admin: Person, *flavors: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Day five, unless told otherwise."""
    usual = {"start": at(5), "end": at(6), "flavor_ids": [f["id"] for f in flavors]}
    return made(admin.post("maintenancewindows", {**usual, **changes}))


def add_to_lease(lease_id: str) -> None:
    """A second reservation, of another resource type, in a lease."""
    values = {"lease_id": lease_id, "resource_type": "physical:host", "status": "pending"}
    db_api.reservation_create(values)
