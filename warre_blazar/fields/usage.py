"""The fields of usage and of refused requests."""

import datetime
from typing import ClassVar

from warre_blazar.fields import kinds
from warre_blazar.fields.declaration import By, DeclaredAction, Field, Resource, Use
from warre_blazar.fields.kinds import ID, VALUE, FieldKind, Integer, Time, or_null

#: What usage can be added up by.
KEYS = ("project", "user", "flavor", "day", "week", "month")

#: The quantities, in the order in which they are shown.
QUANTITIES = ("booked", "held", "used", "given_back", "cancelled", "lost")

_HOURS = kinds.answer(**{name: {"type": "number", "minimum": 0} for name in QUANTITIES})
_BY_CLASS = {"type": "object", "additionalProperties": _HOURS}
_BY_CODE = {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}}


class UsageFields(Resource):
    """What became of the instances that were booked for a time."""

    project_id = Field(
        or_null(VALUE), "The project. Null unless usage is added up by project.", Use.READ_ONLY
    )
    user_id = Field(
        or_null(VALUE), "The user. Null unless usage is added up by user.", Use.READ_ONLY
    )
    flavor_id = Field(
        or_null(VALUE), "The flavor's id. Null unless usage is added up by flavor.", Use.READ_ONLY
    )
    flavor = Field(or_null(VALUE), "The flavor's name.", Use.READ_ONLY)
    day = Field(
        or_null(FieldKind({"type": "string", "format": "date"})),
        "The day, or the first day of the week or month, in the time zone of the query. Null "
        "unless usage is added up by one of these.",
        Use.READ_ONLY,
    )
    reservations = Field(
        Integer(0, None),
        "The number of reservations that were booked for a part of the time.",
        Use.READ_ONLY,
    )
    hours: Field[dict[str, float]] = Field(
        FieldKind(_HOURS), "Hours of instances, by quantity.", Use.READ_ONLY
    )
    resource_hours: Field[dict[str, dict[str, float]]] = Field(
        FieldKind(_BY_CLASS),
        "By resource class, the hours multiplied by what each instance takes of the class.",
        Use.READ_ONLY,
    )
    refusals: Field[dict[str, int]] = Field(
        FieldKind(_BY_CODE), "By code, the number of requests that were refused.", Use.READ_ONLY
    )


class RefusalFields(Resource):
    """A request to book or to change a reservation that a rule has refused."""

    noun, path = "refusal", "refusals"
    filters = ("all_projects", "project_id", "user_id", "flavor_id", "code", "from", "to")
    actions: ClassVar = {
        "list": DeclaredAction(
            By.READER,
            "List the requests to book or to change a reservation that a rule has refused, the "
            "latest first. If more requests of one project were refused on a day than the operator "
            "lets keep, the rest isn't listed, but counted in `/usage`.",
            ("forbidden",),
            rule="List the refused requests of the caller's own project.",
        ),
        "list:all": DeclaredAction(
            By.ADMIN, rule="List the refused requests of another project or of all projects."
        ),
    }

    at = Field(Time(), "When it was refused.", Use.READ_ONLY)
    code = Field(VALUE, "The code of the error that the user got.", Use.READ_ONLY)
    project_id = Field(VALUE, "The project.", Use.READ_ONLY)
    user_id = Field(or_null(VALUE), "The user who asked.", Use.READ_ONLY)
    flavor_id = Field(
        or_null(ID), "The flavor's id. Null if the project has no such flavor.", Use.READ_ONLY
    )
    flavor = Field(or_null(VALUE), "The flavor's name.", Use.READ_ONLY)
    reservation_id = Field(
        or_null(ID), "The reservation to change. Null if the request was a booking.", Use.READ_ONLY
    )
    instance_count = Field(Integer(), "The number of instances that were asked for.", Use.READ_ONLY)
    start: Field[datetime.datetime] = Field(Time(), "The start that was asked for.", Use.READ_ONLY)
    end: Field[datetime.datetime] = Field(Time(), "The end that was asked for.", Use.READ_ONLY)
