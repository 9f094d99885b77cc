"""Handles: names by which projects keep the same Nova flavor from one reservation to the next."""

import dataclasses
import uuid
from collections.abc import Mapping
from typing import Any

from warre_blazar import texts
from warre_blazar.domain.running import backing_names
from warre_blazar.errors import exceptions
from warre_blazar.fields.reservations import ReservationFields

#: Makes the ids of Nova flavors. It was drawn once, and must stay.
_NAMESPACE = uuid.UUID("6f0f4f0c-2b1d-5c67-9c52-5a6b0f8e7d31")


@dataclasses.dataclass(frozen=True)
class Handle:
    """A handle of a reservation, from the fields ``handle`` and ``visible_before_start``."""

    name: str
    #: Whether the project sees the Nova flavor as soon as no earlier reservation has it.
    visible: bool = False

    def flavor_id(self, project_id: str) -> str:
        """The id of the Nova flavor of the project's reservations with this handle."""
        return uuid.uuid5(_NAMESPACE, f"{project_id} {self.name}").hex

    def flavor_name(self, project_id: str) -> str:
        """The name of this Nova flavor. Nova has only one flavor of a name, in all projects."""
        return f"{backing_names.FLAVOR_PREFIX}{self.name}@{project_id}"

    @property
    def values(self) -> dict[str, Any]:
        """The fields of the API."""
        return {"handle": self.name, "visible_before_start": self.visible}


#: The names of the fields, in the API and in the database.
NAMES = ("handle", "visible_before_start")


def values_of(handle: Handle | None) -> dict[str, Any]:
    """The fields of the API. Without a handle, they have their defaults."""
    return handle.values if handle else {"handle": None, "visible_before_start": False}


def read(row: Mapping[Any, Any]) -> Handle | None:
    """The handle in a row of the database."""
    return Handle(row["handle"], bool(row["visible_before_start"])) if row["handle"] else None


def checked(values: Mapping[str, Any]) -> Handle | None:
    """Check the fields among the values of a request, and return the handle.

    :raises InvalidField: the handle isn't a valid name, or there is none to be visible.
    """
    name, visible = values.get("handle"), values.get("visible_before_start") or False
    if name is not None:
        try:
            ReservationFields.handle.kind.validate(name)
        except texts.NotValid as error:
            raise exceptions.InvalidField("handle", error.expected) from error
    if not isinstance(visible, bool):
        raise exceptions.InvalidField("visible_before_start", texts.expected.BOOLEAN())
    if visible and name is None:
        raise exceptions.InvalidField("visible_before_start", texts.expected.WITH(other="handle"))
    return None if name is None else Handle(name, visible)
