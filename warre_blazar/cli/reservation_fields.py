"""Formats reservations for commands: as fields with names in addition to ids, and as phrases."""

from collections.abc import Mapping
from typing import Any

from warre_blazar.cli import columns, wording
from warre_blazar.client import Reservation
from warre_blazar.client.types import Document

#: The additional field with the name, by the field with the id of a project or user.
BESIDE = {"project_id": "project", "user_id": "user", "deleted_by": "deleted_by_name"}


def flat(item: Reservation, names: Mapping[str, str] | None = None) -> Document:
    """Return a reservation's fields, and the names of its flavor, project and user.

    :param names: the known names of projects and users, by id.
    """
    known, fields = names or {}, dict[str, Any]()
    for name, value in item.document.items():
        if name == "flavor":
            fields |= {"flavor": value["name"], "flavor_id": value["id"]}
        elif name == "warnings":
            fields[name] = columns.warnings(value)
        else:
            if name in BESIDE and value in known:
                fields[BESIDE[name]] = known[value]
            fields[name] = value
    return fields


def phrase(reservation: Reservation) -> str:
    """Return a phrase for a reservation, for use in a sentence."""
    slots = wording.slots(reservation.instance_count)
    return f"reservation {reservation.id}, {slots} of {reservation.flavor.name}"
