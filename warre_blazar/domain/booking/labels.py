"""The labels that users give to a reservation. No rule about bookings depends on them."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from warre_blazar import texts
from warre_blazar.errors import exceptions
from warre_blazar.fields.reservations import ReservationFields


@dataclasses.dataclass(frozen=True)
class Labels:
    """A reservation's labels. None means that the reservation doesn't have the label."""

    #: It needn't be unique.
    name: str | None = None
    note: str | None = None
    #: The email address that messages go to.
    contact: str | None = None
    #: The name of the time zone in which messages also show times. It can't change.
    timezone: str | None = None
    #: The URL that is called when the reservation starts and ends.
    webhook: str | None = None

    @classmethod
    def read(cls, row: Mapping[Any, Any]) -> "Labels":
        """The labels in a row of the database, or in another mapping with their names as keys."""
        return cls(**{name: row[name] for name in NAMES})


#: The names of the labels, in the API and in the database.
NAMES = tuple(field.name for field in dataclasses.fields(Labels))
NO_LABELS = Labels()


def checked(values: Mapping[str, Any]) -> Labels:
    """Check the labels among the values of a request, and return them.

    :raises InvalidField: a value isn't text, is empty, is too long, or has control characters. The
        name is also refused if it begins or ends with spaces, the contact if it isn't an email
        address, the time zone if there is none of this name, and the webhook if it isn't a URL
        with the name of a host.
    """
    given = {name: values.get(name) for name in NAMES}
    for name, value in given.items():
        try:
            if value is not None:
                getattr(ReservationFields, name).kind.validate(value)
        except texts.NotValid as error:
            raise exceptions.InvalidField(name, error.expected) from error
    return Labels(**given)
