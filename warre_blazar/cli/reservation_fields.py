"""Formats reservations for commands: as fields with names in addition to ids, and as phrases."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from warre_blazar.cli import columns, wording
from warre_blazar.client import Reservation
from warre_blazar.client.types import Document

#: The additional field with the name, by the field with the id of a project or user.
BESIDE = {"project_id": "project", "user_id": "user", "deleted_by": "deleted_by_name"}


@dataclasses.dataclass(frozen=True)
class Names:
    """The known names of projects and users, by id."""

    projects: Mapping[str, str] = dataclasses.field(default_factory=dict)
    users: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def beside(self, field: str, identity: Any) -> Document:
        """Return an additional field with the name of a project or user.

        :param field: the name of the field that has the id.
        :param identity: the id.
        :returns: the additional field, or an empty document if the name isn't known.
        """
        names = self.projects if field == "project_id" else self.users
        if field not in BESIDE or identity not in names:
            return {}
        return {BESIDE[field]: names[identity]}


def flat(item: Reservation, names: Names = Names()) -> Document:
    """Return a reservation's fields, and the names of its flavor, project and user."""
    fields: Document = {}
    for name, value in item.document.items():
        if name == "flavor":
            fields |= {"flavor": value["name"], "flavor_id": value["id"]}
        elif name == "warnings":
            fields[name] = columns.warnings(value)
        else:
            fields |= {**names.beside(name, value), name: value}
    return fields


def phrase(reservation: Reservation) -> str:
    """Return a phrase for a reservation, for use in a sentence."""
    slots = wording.slots(reservation.instance_count)
    return f"reservation {reservation.id}, {slots} of {reservation.flavor.name}"
