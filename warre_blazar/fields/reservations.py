"""The fields of reservations."""

import datetime
from typing import Any

from warre_blazar.fields import kinds
from warre_blazar.fields.declaration import Field, Resource, Use
from warre_blazar.fields.flavors import BEFORE_END, WARNINGS
from warre_blazar.fields.kinds import (
    BOOLEAN,
    ID,
    PROJECT_ID,
    VALUE,
    Email,
    FieldKind,
    HandleName,
    Integer,
    Text,
    Time,
    TimeZone,
    WebhookUrl,
    or_null,
)

#: The states of reservations that are there, by which a listing can be filtered.
STATES = ("PENDING_CREATE", "ALLOCATED", "ACTIVE", "COMPLETE", "ERROR")
#: The state of a reservation of which only the record is left.
DELETED = "DELETED"


_TEXT_OR_NULL = {"type": ["string", "null"]}
_SNAPSHOTS = {
    "type": "array",
    "items": kinds.answer(
        server={
            **_TEXT_OR_NULL,
            "description": "The server's id. It is null if the reservation's servers couldn't be "
            "found.",
        },
        server_name=_TEXT_OR_NULL,
        image={**_TEXT_OR_NULL, "description": "The id of the image in Glance."},
        status={
            "enum": ["waiting", "saving", "saved", "failed"],
            "description": "`waiting`: the snapshot is tried again until the end. `saving`: Nova "
            "is making the image. `saved`: the image is complete. `failed`: there is no image.",
        },
        error={
            **_TEXT_OR_NULL,
            "description": "Why there is no image, or what is wrong with it.",
        },
        at={**Time().answer, "description": "When a manager noticed that it has to be made."},
    ),
}
_SERVERS = {
    "type": ["array", "null"],
    "items": kinds.answer(
        id={"type": "string"},
        name=_TEXT_OR_NULL,
        status={**_TEXT_OR_NULL, "description": "The server's status in Nova."},
        moved_out={
            "type": "boolean",
            "description": "Whether the server was resized or migrated out of the reservation, and "
            "nobody has confirmed that yet. The end of the reservation confirms it, and the server "
            "stays. All other servers are deleted at the end.",
        },
    ),
}
_VALUES = {
    "type": ["object", "null"],
    "description": "The changed fields with their values. It is null if `change` says all.",
}
_LOG = {
    "type": "array",
    "items": kinds.answer(
        at=Time().answer,
        user_id={
            "type": ["string", "null"],
            "description": "The user who asked for the change. It is null if no user did.",
        },
        change={
            "enum": [
                *("created", "rescheduled", "resized", "renamed", "before_end", "movable"),
                *("started", "ended", "moved", "deleted", "refused", "opened", "missing"),
                "idle_end",
            ],
            "description": "`before_end`: somebody chose what is done with the servers before the "
            "end. `moved`: some instances got other hosts. `after` has the `reason`: "
            "`host_failed`, `drain` (an operator empties a host), `maintenance` (a maintenance "
            "window), `made_room` (it hadn't begun, and another reservation got its place) or "
            "`no_room` (its host had less room than was booked). With "
            "`rescheduled`, the reason `maintenance` says that a window has changed the time. "
            "`refused`: the reservation "
            "has begun, but a service refused to open it; `opened`: it is open since then. "
            "`missing`: another number of instances is on hosts that have failed or lack the "
            "booked room, and no other host has room for them. `idle_end`: it was ended, because "
            "it had no server for too long.",
        },
        before=_VALUES,
        after=_VALUES,
    ),
}


class ReservationFields(Resource):
    """Instances of a flavor that a project has booked for a time with a start and an end."""

    id = Field(ID, "The reservation's id.", Use.READ_ONLY | Use.BRIEF)
    flavor: Field[Any] = Field(
        FieldKind(kinds.reference("Flavor")), "The flavor, as it is now.", Use.READ_ONLY | Use.BRIEF
    )
    flavor_id = Field(ID, "The flavor's id or name.", Use.REQUIRED | Use.WRITE_ONLY | Use.FIXED)
    instance_count = Field(Integer(), "The number of instances.", Use.BRIEF, default=1)
    start = Field(Time(), "The start.", Use.REQUIRED | Use.BRIEF)
    end = Field(
        Time(), "The end: the first moment after the reservation.", Use.REQUIRED | Use.BRIEF
    )
    status: Field[str] = Field(
        FieldKind({"enum": [*STATES, DELETED]}),
        "The reservation's status. DELETED: only the record of the reservation is left.",
        Use.READ_ONLY | Use.BRIEF,
    )
    name = Field(
        or_null(Text(255, 1, kinds.CONTROL_OR_ENDS)),
        "A name by which people recognize the reservation. It needn't be unique.",
        Use.NOT_IN_WARRE | Use.RARE,
    )
    note = Field(
        or_null(Text(4096, 1, kinds.CONTROL_IN_PROSE)), "A note for people.", Use.NOT_IN_WARRE
    )
    contact = Field(
        or_null(Email()),
        "The email address that messages about the reservation go to. If it is null, they go to "
        "the user who has booked.",
        Use.NOT_IN_WARRE,
    )
    timezone = Field(
        or_null(TimeZone()),
        "The time zone in which messages also show times, for example Europe/Berlin. If it is "
        "null, messages show times in UTC only.",
        Use.NOT_IN_WARRE | Use.FIXED,
    )
    webhook = Field(
        or_null(WebhookUrl()),
        "A URL of the project's own, which a manager calls when the reservation has begun, before "
        "it ends, and when it has ended. It must be at a host that the operator allows.",
        Use.NOT_IN_WARRE,
    )
    before_end = Field(
        or_null(BEFORE_END),
        "What is done with the servers before they are deleted at the end. `snapshot`: an image is "
        "made of each server, which belongs to the project. In a body, null leaves it to the "
        "flavor, and another value is only allowed if the flavor's `before_end_choice` is true. An "
        "answer always says what will be done.",
        Use.NOT_IN_WARRE,
    )
    movable_hours = Field(
        Integer(0, 8760),
        "By how many hours maintenance may move the start to a later time, if it hasn't begun. 0: "
        "not at all. The length stays the same.",
        Use.NOT_IN_WARRE,
        default=0,
    )
    handle = Field(
        or_null(HandleName()),
        "A name that gives the Nova flavor an id and a name of its own: those of all reservations "
        "of the project with this handle, of which only one can be at a time. The name is "
        "`reservation:HANDLE@PROJECT_ID`, with the project's id.",
        Use.NOT_IN_WARRE | Use.FIXED | Use.RARE,
    )
    visible_before_start = Field(
        BOOLEAN,
        "Whether the project sees the Nova flavor of a handle already before the start, for "
        "programs that look for it when they plan. Servers that are booted too early get the "
        "status ERROR. `false`: there is no Nova flavor before the start.",
        Use.NOT_IN_WARRE | Use.FIXED,
        default=False,
    )
    status_reason = Field(
        or_null(VALUE),
        "Why the reservation has its status, if that is known. Of an ACTIVE reservation: why it "
        "can't be used yet, or not all of it.",
        Use.READ_ONLY,
    )
    missing_resources = Field(
        BOOLEAN,
        "Whether some instances are on hosts that have failed or lack the booked room, and other "
        "hosts have no room for them.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.RARE,
        default=False,
    )
    resources_changed = Field(
        BOOLEAN,
        "Whether some instances got other hosts while the reservation was running, because their "
        "previous hosts had failed or lacked the booked room.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.RARE,
        default=False,
    )
    affinity = Field(
        or_null(BOOLEAN),
        "true: all instances are on one host; false: each instance is on a host of its own; null: "
        "the instances are on any hosts that have room.",
        Use.FIXED,
    )
    series_id = Field(
        or_null(VALUE),
        "The series of which the reservation is an occurrence. It is null if it isn't of any.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.RARE,
    )
    project_id = Field(VALUE, "The project that has booked.", Use.READ_ONLY)
    #: Answers on Warre's path have ``project_id``, and bodies there don't. So it is declared twice.
    booked_for = Field(
        PROJECT_ID,
        "The project for which to book. Default: the caller's own. Another one needs a role of the "
        "caller in it.",
        Use.WRITE_ONLY | Use.NOT_IN_WARRE | Use.FIXED,
        name="project_id",
    )
    user_id = Field(or_null(VALUE), "The user who has booked.", Use.READ_ONLY)
    compute_flavor = Field(
        or_null(VALUE),
        "The id of the Nova flavor to boot servers on. It is null while the status is "
        "PENDING_CREATE.",
        Use.READ_ONLY,
    )
    availability_zone = Field(
        or_null(VALUE),
        "The availability zone to boot servers in. If the reservation's hosts are in several "
        "zones, all of them are named, with commas between them: give Nova one of them, or none. "
        "It is null if no zone is known. Only the answer to a request for one reservation has this "
        "field, and only while the reservation is ACTIVE.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.SOMETIMES,
    )
    lease_id = Field(or_null(VALUE), "The id of the lease in Blazar.", Use.READ_ONLY)
    created_at = Field(Time(), "When the reservation was made.", Use.READ_ONLY)
    snapshots: Field[list[dict[str, Any]]] = Field(
        FieldKind(_SNAPSHOTS),
        "The snapshots of servers that were made before the end, or couldn't be made, the oldest "
        "first. Only the answer to a request for one reservation has this field, and only if there "
        "are any.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.SOMETIMES,
        default=(),
    )
    servers: Field[list[dict[str, Any]] | None] = Field(
        FieldKind(_SERVERS),
        "The servers that are in the reservation, also shelved ones and those in ERROR, and those "
        "that still hold room of it. It is null if Nova doesn't answer. Only answers to requests "
        "with `detail=servers` have this field.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.SOMETIMES,
    )
    warnings: Field[tuple[dict[str, Any], ...]] = Field(
        FieldKind(WARNINGS),
        "What is in doubt about the reservation. `nova_quota`: Nova's quota doesn't allow the "
        "project all servers of the reservation. Only answers to requests that book the "
        "reservation, change its number of instances or ask for it alone have this field, and only "
        "if there is a warning. It is left out, too, if Nova hasn't told the quota in time. "
        "`webhook_failed`: the last call of the webhook has failed. Only the answer to a request "
        "for the reservation alone has this warning.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.SOMETIMES,
        default=(),
    )
    shared: Field[bool | None] = Field(
        BOOLEAN,
        "Whether another project has booked the reservation, and lets the caller's project boot "
        "servers in it. Such a reservation shows no contact, no webhook, no log and only "
        "the project's own servers. Only answers about such reservations have this field.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.SOMETIMES | Use.RARE,
    )
    log: Field[list[dict[str, Any]]] = Field(
        FieldKind(_LOG),
        "What has happened to the reservation, the oldest change first. Only answers to requests "
        "with `detail=log` have this field.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.SOMETIMES,
    )
    idle_since: Field[datetime.datetime | None] = Field(
        Time(),
        "Since when the running reservation has had no server. Only answers to requests with "
        "`idle=true` have this field.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.SOMETIMES,
    )
    change_count: Field[int | None] = Field(
        Integer(0, None),
        "How many changes the reservation has had, its own creation included. The number never "
        "decreases. Only answers to requests with `changes=true` have this field.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.SOMETIMES,
    )
    changed_at: Field[datetime.datetime | None] = Field(
        Time(),
        "When the last of these changes was made. Only answers to requests with `changes=true` "
        "have this field.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.SOMETIMES,
    )
    # Only a listing with ``deleted=true``, and an answer with ``detail=log``, have deleted
    # reservations.
    status_at_deletion: Field[str] = Field(
        FieldKind({"enum": list(STATES)}),
        "The status that the reservation had when it was deleted. Only deleted reservations have "
        "this field. The filter `status` of a listing with `deleted=true` compares this field.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.SOMETIMES,
    )
    deleted_at: Field[datetime.datetime | None] = Field(
        Time(),
        "When the reservation was deleted. Only deleted reservations have this field.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.SOMETIMES,
    )
    deleted_by = Field(
        or_null(VALUE),
        "The id of the user who deleted the reservation. It is null if no user did. Only deleted "
        "reservations have this field.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.SOMETIMES,
    )
