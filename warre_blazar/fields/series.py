"""The fields of series of reservations."""

import datetime
from typing import Any

from warre_blazar.fields import kinds
from warre_blazar.fields.declaration import Field, Resource, Use
from warre_blazar.fields.kinds import (
    BOOLEAN,
    ID,
    PROJECT_ID,
    VALUE,
    FieldKind,
    Integer,
    Text,
    Time,
    TimeZone,
    or_null,
)
from warre_blazar.fields.reservations import ReservationFields
from warre_blazar.texts import NotValid, expected

STATUSES = ("booking", "undoing", "ending", "booked", "ended")
_LOCAL = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:00)?"


class LocalTime(FieldKind[datetime.datetime]):
    """A local time without an offset, in whole minutes."""

    def __init__(self) -> None:
        self._expected = expected.LOCAL_TIME()
        form = {"pattern": f"^{_LOCAL}$", kinds.EXPECTED: self._expected}
        super().__init__({"type": "string"}, {"type": "string", "maxLength": 19, "allOf": [form]})

    def to_json(self, value: datetime.datetime | None) -> str | None:
        return None if value is None else value.isoformat(timespec="minutes")

    def from_json(self, value: str | None) -> datetime.datetime | None:
        return datetime.datetime.fromisoformat(value) if value else None

    def read(self, text: str) -> datetime.datetime:
        """The time in a body that has passed the schema.

        :raises NotValid: there is no such time.
        """
        try:
            moment = datetime.datetime.fromisoformat(text.strip())
        except ValueError:
            raise NotValid(self._expected) from None
        if moment.tzinfo is not None or moment.second or not 1970 <= moment.year < 9000:
            raise NotValid(self._expected)
        return moment


class ExceptedTimes(FieldKind[list[str]]):
    """Local days, and local times in whole minutes, without repetition."""

    def __init__(self) -> None:
        answer = {"type": "array", "items": {"type": "string"}}
        super().__init__(answer, {**answer, "maxItems": 200})

    def read(self, given: list[str]) -> list[str]:
        """The values of a body that has passed the schema.

        :raises NotValid: one isn't such a day or time.
        """
        for text in given:
            try:
                moment = datetime.datetime.fromisoformat(text)
            except ValueError:
                moment = None
            if not moment or text not in (f"{moment:%Y-%m-%d}", f"{moment:%Y-%m-%dT%H:%M}"):
                raise NotValid(expected.EXCEPTED_TIME())
        return given

    def to_json(self, value: Any) -> list[str]:
        return list(value)


LOCAL_TIME = LocalTime()
EXCEPTED_TIMES = ExceptedTimes()

#: Whether they are whole minutes isn't said here.
_HOURS: FieldKind[float] = FieldKind(
    {"type": "number", "exclusiveMinimum": 0},
    {"type": "number", "minimum": 0.01, "maximum": 100000},
)
_OCCURRENCES = {
    "type": "array",
    "items": kinds.answer(
        id=ID.answer,
        start=Time().answer,
        end=Time().answer,
        status={"type": "string"},
    ),
}
#: What happened to an occurrence that has no reservation.
MISSING_STATES = ("planned", "missing", "dropped")
#: Occurrences without a reservation.
MISSING = {
    "type": "array",
    "items": kinds.answer(
        start=Time().answer,
        end=Time().answer,
        state={
            "enum": list(MISSING_STATES),
            "description": "`planned`: it is about to be booked. `missing`: it couldn't be booked. "
            "`dropped`: its reservation was deleted.",
        },
        code={"type": ["string", "null"], "description": "The code of the error, if missing."},
        message={"type": ["string", "null"], "description": "Why it is missing, for people."},
        detail={"type": "object", "description": "Data for programs. The keys depend on `code`."},
        deleted_at={"type": ["string", "null"], "format": "date-time"},
        deleted_by={"type": ["string", "null"], "description": "The id of the user, if dropped."},
    ),
}
#: Occurrences that couldn't be booked.
REFUSED = {
    "type": "array",
    "items": kinds.answer(
        start=Time().answer,
        end=Time().answer,
        code={"type": "string", "description": "The code of the error."},
        message={"type": "string", "description": "Why it can't be booked, for people."},
        detail={"type": "object", "description": "Data for programs. The keys depend on `code`."},
        next_start={
            "type": ["string", "null"],
            "format": "date-time",
            "description": "The next start at which it could be booked, within a year.",
        },
    ),
}


class SeriesFields(Resource):
    """Reservations that take place regularly, such as the lessons of a course."""

    id = Field(ID, "The id of the series.", Use.READ_ONLY | Use.BRIEF)
    name = Field(ReservationFields.name.kind, "The name that each reservation gets.", Use.BRIEF)
    flavor: Field[Any] = Field(
        FieldKind(kinds.answer(id=ID.answer, name={"type": "string"})),
        "The flavor.",
        Use.READ_ONLY | Use.BRIEF,
    )
    flavor_id = Field(ID, "The flavor's id or name.", Use.FIXED | Use.REQUIRED | Use.WRITE_ONLY)
    instance_count = Field(
        Integer(), "The number of instances of each reservation.", Use.BRIEF, default=1
    )
    start = Field(
        LOCAL_TIME,
        "The local start of the first reservation, in the time zone. The rule must have an "
        "occurrence then.",
        Use.FIXED | Use.REQUIRED | Use.BRIEF,
    )
    timezone = Field(
        TimeZone(),
        "The time zone, for example Europe/Berlin. Each reservation starts at the same local time, "
        "also when the clocks change.",
        Use.FIXED | Use.REQUIRED | Use.BRIEF,
    )
    hours = Field(
        _HOURS,
        "The length of each reservation. It must be a whole number of minutes.",
        Use.REQUIRED | Use.BRIEF,
    )
    rrule = Field(
        Text(8000, 1, kinds.CONTROL_IN_PROSE),
        "When the reservations take place: an RRULE of RFC 5545, such as "
        "FREQ=WEEKLY;BYDAY=MO,WE;COUNT=24. FREQ is DAILY, WEEKLY, MONTHLY or YEARLY. It "
        "ends by COUNT or by UNTIL. Lines of a calendar file with DTSTART, which is the start, and "
        "EXDATE may stand beside it. Answers have the rule alone.",
        Use.FIXED | Use.REQUIRED | Use.BRIEF,
    )
    exdates = Field(
        EXCEPTED_TIMES,
        "Days on which nothing is booked, such as holidays (2026-12-24), and local starts that are "
        "left out (2026-12-24T09:00). The COUNT of the rule counts them too.",
        Use.FIXED,
        default=(),
    )
    all_or_none = Field(
        BOOLEAN,
        "true: all reservations are booked, or none of them. false: what fits is booked, and the "
        "answer lists the rest.",
        Use.FIXED,
        default=False,
    )
    affinity = Field(or_null(BOOLEAN), "As for reservations.", Use.FIXED)
    note = Field(ReservationFields.note.kind, "A note for people that each reservation gets.")
    contact = Field(
        ReservationFields.contact.kind,
        "The email address that messages about the reservations go to.",
    )
    webhook = Field(ReservationFields.webhook.kind, "The webhook of each reservation.")
    before_end = Field(
        ReservationFields.before_end.kind,
        "What is done with the servers before the end of each reservation. null leaves it to the "
        "flavor.",
    )
    handle = Field(
        ReservationFields.handle.kind,
        "The handle that each reservation gets, as for reservations.",
        Use.FIXED,
    )
    visible_before_start = Field(BOOLEAN, "As for reservations.", Use.FIXED, default=False)
    project_id = Field(
        PROJECT_ID,
        "The project. Default: the caller's own. Another one needs a role of the caller in it.",
        Use.FIXED,
    )
    user_id = Field(VALUE, "The user who has made the series.", Use.READ_ONLY)
    status: Field[str] = Field(
        FieldKind({"enum": list(STATUSES)}),
        "`booked`: it can be extended. `ended`: it can't. `booking`, `undoing`, `ending`: "
        "reservations are being booked or deleted; this lasts at most some minutes.",
        Use.READ_ONLY | Use.BRIEF,
    )
    planned = Field(
        Integer(0, None),
        "How many occurrences of the rule were asked for, whether or not they were booked.",
        Use.READ_ONLY,
    )
    unbooked = Field(
        Integer(0, None),
        "How many of these occurrences couldn't be booked, or are still to be booked.",
        Use.READ_ONLY | Use.RARE,
        default=0,
    )
    cut_off = Field(
        BOOLEAN,
        "Whether the rule has no end, so that the series was cut off after `planned` occurrences. "
        "Only series of older releases have such rules. They go on only up to a new end, by a "
        "PATCH.",
        Use.READ_ONLY | Use.RARE,
    )
    created_at = Field(Time(), "When the series was made.", Use.READ_ONLY)
    ended_at: Field[datetime.datetime | None] = Field(
        or_null(Time()), "When somebody has ended it.", Use.READ_ONLY
    )
    ended_by = Field(or_null(VALUE), "The id of the user who has ended it.", Use.READ_ONLY)
    reservations: Field[list[dict[str, Any]]] = Field(
        FieldKind(_OCCURRENCES),
        "Its reservations that weren't deleted, the earliest first. Lists of series don't have "
        "this field.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.SOMETIMES,
        default=(),
    )
    missing: Field[list[dict[str, Any]]] = Field(
        FieldKind(MISSING),
        "The occurrences that were asked for and have no reservation, with the reasons. Lists of "
        "series don't have this field.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.SOMETIMES,
        default=(),
    )
    refused: Field[list[dict[str, Any]]] = Field(
        FieldKind(REFUSED),
        "The occurrences that couldn't be booked. Only answers to requests that book have this "
        "field.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.SOMETIMES,
        default=(),
    )
