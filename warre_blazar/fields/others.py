"""The fields of access to private flavors, of maintenance windows and of limits."""

from typing import Any

from warre_blazar.fields import kinds
from warre_blazar.fields.declaration import Field, Resource, Use
from warre_blazar.fields.kinds import BOOLEAN, ID, FieldKind, Integer, Text, Time, or_null


class Access(Resource):
    """A project's right to book a private flavor."""

    id = Field(ID, "The id of the access.", Use.READ_ONLY)
    flavor = Field(ID, "The flavor's id.", Use.READ_ONLY)
    flavor_id = Field(ID, "The flavor's id or name.", Use.REQUIRED | Use.WRITE_ONLY)
    project_id = Field(Text(255, 1), "The project's id.", Use.REQUIRED)


_CLOSED = {"type": "array", "items": kinds.answer(id=ID.answer, name={"type": "string"})}
_FLAVOR_IDS = {"type": "array", "maxItems": 1000, "uniqueItems": True, "items": ID.body}


class Window(Resource):
    """A maintenance window. Its flavors can't be booked from its start to its end."""

    id = Field(ID, "The window's id.", Use.READ_ONLY)
    start = Field(Time(), "The start.", Use.REQUIRED)
    end = Field(Time(), "The end: the first moment after the window.", Use.REQUIRED)
    note = Field(or_null(Text(4096, forbidden=kinds.CONTROL_IN_PROSE)), "The reason, for people.")
    flavors: Field[tuple[Any, ...]] = Field(
        FieldKind(_CLOSED), "The flavors that the window closes.", Use.READ_ONLY, default=()
    )
    flavor_ids: Field[list[str]] = Field(
        FieldKind(_FLAVOR_IDS), "The ids of the flavors that the window closes.", Use.WRITE_ONLY
    )


class Messages(Resource):
    """Whether a user gets messages about the reservations that the user has booked."""

    enabled = Field(
        BOOLEAN,
        "Whether the user gets messages. If not, the contacts of the user's reservations get none "
        "either.",
        Use.REQUIRED,
    )
    sends = Field(
        BOOLEAN,
        "Whether the site sends messages at all. If not, `enabled` has no effect.",
        Use.READ_ONLY,
    )
    address: Field[str | None] = Field(
        or_null(Text(255)),
        "The address that messages about reservations without a contact go to: the user's own in "
        "Keystone, or else the project's. null: Keystone has none, so they aren't sent. Answers "
        "have the field only if Keystone can be asked.",
        Use.READ_ONLY | Use.SOMETIMES,
    )


_LIMIT, _USED = Integer(-1, None), Integer(0, None)


class Limits(Resource):
    """A project's limits, and how much of them the project uses. -1 means unlimited."""

    max_hours = Field(_LIMIT, "-1 means unlimited.", name="maxHours")
    max_reservations = Field(_LIMIT, "-1 means unlimited.", name="maxReservations")
    total_hours_used = Field(_USED, "The booked hours.", name="totalHoursUsed")
    total_reservations_used = Field(
        _USED, "The number of reservations.", name="totalReservationsUsed"
    )
