"""The fields of access to private flavors, of maintenance windows and of limits."""

from typing import Any, ClassVar

from warre_blazar.fields import kinds
from warre_blazar.fields.declaration import By, DeclaredAction, Field, Resource, Use
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


class AccessFields(Resource):
    """A project's right to book a private flavor."""

    noun, path, ref = "flavorproject", "flavorprojects", "flavorproject_id"
    filters = ("flavor_id", "project_id")
    actions: ClassVar = {
        "list": DeclaredAction(
            By.ADMIN, "List which projects have access to which private flavors.", ("forbidden",)
        ),
        "create": DeclaredAction(
            By.ADMIN,
            "Give a project access to a private flavor, so that it can book the flavor.",
            ("access_exists", "flavor_ambiguous", "flavor_not_found", "forbidden"),
        ),
        "get": DeclaredAction(
            By.ADMIN, "Show a project's access to a private flavor.", ("access_not_found",)
        ),
        "delete": DeclaredAction(
            By.ADMIN,
            "Remove a project's access to a private flavor. The project's reservations of the "
            "flavor stay.",
            ("access_not_found",),
        ),
    }

    id = Field(ID, "The id of the access.", Use.READ_ONLY)
    flavor = Field(ID, "The flavor's id.", Use.READ_ONLY)
    flavor_id = Field(ID, "The flavor's id or name.", Use.REQUIRED | Use.WRITE_ONLY)
    project_id = Field(PROJECT_ID, "The project's id.", Use.REQUIRED)


_CLOSED = {"type": "array", "items": kinds.answer(id=ID.answer, name={"type": "string"})}
_FLAVOR_IDS = {"type": "array", "maxItems": 1000, "uniqueItems": True, "items": ID.body}


#: The codes of errors that say why a maintenance window can't be created or changed.
_WINDOW_CODES = ("flavor_not_found", "invalid_period", "try_again", "window_conflict")
#: The rule about callers who may see hosts.
_HOSTS = "warre:host:list"
_HOST_IDS = {
    "type": "array",
    "maxItems": 1000,
    "uniqueItems": True,
    "items": {"type": "string", "minLength": 1, "maxLength": 255},
}
_OR_TEXT = {"type": ["string", "null"]}
_MET = {
    "type": "array",
    "items": kinds.answer(
        id=ID.answer,
        project_id={"type": "string"},
        flavor=kinds.answer(id=ID.answer, name={"type": "string"}),
        instance_count=Integer().answer,
        start={**Time().answer, "description": "The start before the window was made."},
        end={**Time().answer, "description": "The end before the window was made."},
        outcome={
            "enum": ["moved", "postponed", "ended", "left"],
            "description": "What became of the reservation, or would. `moved`: it has other hosts "
            "and the same time. `postponed`: it has a later time. `ended`: it ends at the start of "
            "the window, or at once if the window has begun. `left`: it is as it was.",
        },
        new_start={**Time().answer, "description": "The start afterwards."},
        new_end={**Time().answer, "description": "The end afterwards."},
        reason={
            **_OR_TEXT,
            "description": "Why the reservation was left, and what an operator can do about it. It "
            "is null if it wasn't left.",
        },
    ),
}


class WindowFields(Resource):
    """A maintenance window. Its flavors and hosts can't be booked from its start to its end."""

    noun, path, ref = "maintenancewindow", "maintenancewindows", "window_id"
    actions: ClassVar = {
        "list": DeclaredAction(
            By.READER,
            "List maintenance windows, sorted by start.",
            ("forbidden",),
        ),
        "create": DeclaredAction(
            By.ADMIN,
            "Create a maintenance window: a time during which some flavors can't be booked. With "
            "`dry_run=true` nothing is created: the answer has status 200 and the window as it "
            "would be, or says why it would be refused.",
            ("forbidden", *_WINDOW_CODES),
            rule="Create a maintenance window.",
            status=201,
            dry_run=True,
        ),
        "get": DeclaredAction(
            By.READER, "Show a maintenance window.", ("forbidden", "window_not_found")
        ),
        "update": DeclaredAction(
            By.ADMIN,
            "Change a maintenance window. With `dry_run=true` nothing is changed: the answer has "
            "the window as it would be, or says why the change would be refused.",
            ("forbidden", "window_not_found", *_WINDOW_CODES),
            rule="Change a maintenance window.",
            dry_run=True,
        ),
        "delete": DeclaredAction(
            By.ADMIN, "Delete a maintenance window.", ("forbidden", "window_not_found")
        ),
    }

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
    hosts: Field[tuple[Any, ...]] = Field(
        FieldKind(_CLOSED),
        "The hosts that the window closes for all flavors.",
        Use.READ_ONLY | Use.NOT_IN_WARRE,
        default=(),
        seen_by=_HOSTS,
    )
    host_ids: Field[list[str]] = Field(
        FieldKind(_HOST_IDS),
        "The ids or hypervisor hostnames of the hosts that the window closes for all flavors.",
        Use.WRITE_ONLY | Use.NOT_IN_WARRE,
    )
    bookings: Field[str] = Field(
        Word("show", "refuse", "move", "end"),
        "What is done with the reservations that the window meets. `refuse`: a window that meets "
        "any is refused. `show`: nothing is written, and the answer says what `move` would do. "
        "`move`: those that haven't begun get other hosts at the same time, or else the earliest "
        "later time within their `movable_hours`; the others are left as they are. `end`: the "
        "same, and what is left ends at the start of the window if it begins before. Without this "
        "field, `refuse` is meant.",
        Use.WRITE_ONLY | Use.NOT_IN_WARRE,
    )
    reservations: Field[list[dict[str, Any]]] = Field(
        FieldKind(_MET),
        "The reservations that the window met, the earliest start first. Only answers to requests "
        "with `bookings` have this field.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.SOMETIMES,
        default=(),
    )


class MessagesFields(Resource):
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
    webhook_key: Field[str | None] = Field(
        VALUE,
        "The key with which the calls of webhooks of the caller's project are signed. Only callers "
        "who may book have the field, and only if the site calls webhooks.",
        Use.READ_ONLY | Use.SOMETIMES,
    )


_LIMIT, _USED = Integer(-1, None), Integer(0, None)


class LimitsFields(Resource):
    """A project's limits, and how much of them the project uses. -1 means unlimited."""

    max_hours = Field(_LIMIT, "-1 means unlimited.", name="maxHours")
    max_reservations = Field(_LIMIT, "-1 means unlimited.", name="maxReservations")
    total_hours_used = Field(_USED, "The booked hours.", name="totalHoursUsed")
    total_reservations_used = Field(
        _USED, "The number of reservations.", name="totalReservationsUsed"
    )
    own: Field[list[str] | None] = Field(
        FieldKind({"type": "array", "items": {"enum": ["hours", "reservations"]}}),
        "The resources of which the project has a limit of its own in Keystone. Of the others, the "
        "registered limit applies, which is the default of all projects.",
        Use.READ_ONLY | Use.NOT_IN_WARRE,
    )
