"""The fields of waits."""

import datetime

from warre_blazar.fields.declaration import Field, Resource, Use
from warre_blazar.fields.flavors import BEFORE_END
from warre_blazar.fields.kinds import (
    BOOLEAN,
    ID,
    PROJECT_ID,
    VALUE,
    FieldKind,
    Integer,
    Text,
    Time,
    Word,
    or_null,
)
from warre_blazar.fields.reservations import ReservationFields

STATES = ("WAITING", "BOOKING", "BOOKED", "TOLD", "EXPIRED", "CANCELED", "REFUSED")

_HOURS = {"type": "number", "minimum": 0, "maximum": 1_000_000}


class WaitFields(Resource):
    """A wish to book instances once there is room, or to be told of it."""

    id = Field(ID, "The wait's id.", Use.READ_ONLY | Use.BRIEF)
    flavor_id = Field(
        or_null(ID),
        "The flavor's id or name. A wait has either a flavor or a category.",
        Use.FIXED,
    )
    flavor = Field(or_null(VALUE), "The flavor's name.", Use.READ_ONLY | Use.BRIEF)
    category = Field(
        or_null(Text(64, 1)),
        "A category of flavors, any of which will do.",
        Use.FIXED | Use.RARE,
    )
    instance_count = Field(Integer(), "The number of instances.", Use.BRIEF, default=1)
    hours: Field[float] = Field(
        FieldKind(_HOURS),
        "The length of the reservation in hours. It must be a whole number of minutes.",
        Use.REQUIRED | Use.BRIEF,
    )
    earliest = Field(Time(), "The earliest start. Default: now.", Use.BRIEF, name="from")
    latest = Field(
        Time(), "The latest end. Default: 90 days after the earliest start.", Use.BRIEF, name="to"
    )
    mode = Field(
        Word("book", "tell"),
        "What is done once there is room. `book`: the reservation is booked. `tell`: the user gets "
        "a message, and nothing is booked or held.",
        Use.BRIEF,
        default="book",
    )
    expires_at: Field[datetime.datetime] = Field(
        Time(),
        "The last minute at which the wait is served. Default, and the latest that is possible: "
        "the last minute at which the reservation could begin.",
    )
    status: Field[str] = Field(
        FieldKind({"enum": list(STATES)}),
        "`WAITING`: it waits for room. `BOOKING`: a manager is booking it. `BOOKED`: "
        "`reservation_id` was booked. `TOLD`: the user was told that there is room. `EXPIRED`: "
        "there was no room in time. `CANCELED`: somebody deleted it. `REFUSED`: the user may no "
        "longer book, or the flavor can no longer be booked by the project.",
        Use.READ_ONLY | Use.BRIEF,
    )
    position = Field(
        or_null(Integer()),
        "The position in line among the waits for the same flavors, of all projects. 1 is the "
        "first. Null: it no longer waits.",
        Use.READ_ONLY | Use.BRIEF,
    )
    status_reason = Field(
        or_null(VALUE),
        "Why it has its status, or why it wasn't booked when there was room.",
        Use.READ_ONLY,
    )
    affinity = Field(or_null(BOOLEAN), "As for reservations.", Use.FIXED)
    name = Field(ReservationFields.name.kind, "The name of the reservation.")
    note = Field(ReservationFields.note.kind, "The note of the reservation.")
    contact = Field(
        ReservationFields.contact.kind,
        "The email address that messages about the wait and the reservation go to. If it is null, "
        "they go to the user.",
    )
    timezone = Field(
        ReservationFields.timezone.kind,
        "The time zone in which messages also show times.",
        Use.FIXED,
    )
    before_end = Field(
        or_null(BEFORE_END), "What is done with the servers before the end, as for reservations."
    )
    reservation_id = Field(or_null(ID), "The reservation that was booked.", Use.READ_ONLY)
    found_flavor = Field(
        or_null(VALUE), "The name of the flavor that was booked, or told to be free.", Use.READ_ONLY
    )
    found_start: Field[datetime.datetime | None] = Field(
        or_null(Time()), "The start of what was booked, or told to be free.", Use.READ_ONLY
    )
    found_end: Field[datetime.datetime | None] = Field(or_null(Time()), "Its end.", Use.READ_ONLY)
    project_id = Field(
        PROJECT_ID,
        "The project that waits. Default: the caller's own. Another one needs a role of the caller "
        "in it.",
        Use.FIXED,
    )
    user_id = Field(VALUE, "The user who waits.", Use.READ_ONLY)
    created_at: Field[datetime.datetime] = Field(Time(), "When the wait was made.", Use.READ_ONLY)
    ended_at: Field[datetime.datetime | None] = Field(
        or_null(Time()), "When it was served, or ended otherwise.", Use.READ_ONLY
    )
