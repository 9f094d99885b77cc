"""The fields of waits."""

import datetime
from typing import ClassVar

from warre_blazar.fields.declaration import By, DeclaredAction, Field, Resource, Use
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

    noun, path, ref = "wait", "waits", "wait_id"
    filters = ("all_projects", "project_id", "user_id", "status")
    actions: ClassVar = {
        "list": DeclaredAction(
            By.READER,
            "List the waits of the project, the oldest first.",
            ("forbidden",),
            rule="List the waits of the caller's own project.",
        ),
        "list:all": DeclaredAction(
            By.ADMIN, rule="List the waits of another project or of all projects."
        ),
        "create": DeclaredAction(
            By.MEMBER,
            "Wait for a flavor, or for any flavor of a category. Once `instance_count` instances "
            "are free for `hours` hours between `from` and `to`, they are booked for the caller "
            "and the caller's project, or the caller is told. The first in line for whom there is "
            "room comes first. Quotas and terms are judged then. A wait that no booking could ever "
            "fulfill by the flavor's terms is refused. With `dry_run=true` nothing is added: the "
            "answer has status 200 and the wait as it would be, or says why it would be refused.",
            (
                *("flavor_ambiguous", "flavor_not_found", "forbidden", "no_before_end_choice"),
                "too_many_waits",
            ),
            rule="Wait for a flavor for the caller's own project. For a wait that books, "
            "blazar-api checks the rule warre:reservation:create against the roles that Keystone "
            "lists for the user in the project. When there is room, blazar-manager does the same, "
            "so the policy file that blazar-manager reads must have that rule too.",
            status=201,
            dry_run=True,
        ),
        "create:other_project": DeclaredAction(
            By.ADMIN,
            rule="Wait for a flavor for another project. Whatever this rule says, the caller also "
            "needs a role in that project.",
        ),
        "get": DeclaredAction(
            By.READER,
            "Show a wait, with its position in line.",
            ("wait_not_found",),
            rule="Show a wait. A caller who may not see it gets 404, as if the wait didn't exist.",
        ),
        "delete": DeclaredAction(
            By.MEMBER,
            "Cancel a wait. What was booked for it stays: delete the reservation. A wait that was "
            "served or has ended stays listed for as long as the operator keeps it.",
            ("forbidden", "try_again", "wait_not_found", "wait_over"),
            rule="Cancel a wait. A caller who may see it but not cancel it gets 403; on Warre's "
            "path it is 404, as if the wait didn't exist.",
        ),
    }

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
        "a message, and nothing is booked. The room is kept for the project for ten minutes.",
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
    webhook = Field(ReservationFields.webhook.kind, "The webhook of the reservation.")
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
    ended_by = Field(or_null(VALUE), "The id of the user who has canceled it.", Use.READ_ONLY)
