"""The labels that users choose for a reservation: a name, which needn't be unique, and a note."""

import dataclasses
from typing import Any

from warre_blazar.errors import exceptions
from warre_blazar.fields.reservations import Reservation


@dataclasses.dataclass(frozen=True)
class Labels:
    """A reservation's name and note. None means that the reservation has no name or no note."""

    name: str | None = None
    note: str | None = None


NO_LABELS = Labels()


def checked(name: Any, note: Any) -> Labels:
    """Check a name and a note from a request and return them as labels.

    :raises InvalidField: a value isn't text, is empty, is too long, or has control characters. The
        name is also refused if it begins or ends with spaces.
    """
    for field, value in (("name", name), ("note", note)):
        try:
            if value is not None:
                getattr(Reservation, field).kind.validate(value)
        except ValueError as error:
            raise exceptions.InvalidField(field, str(error)) from error
    return Labels(name, note)
