"""The fields of flavors."""

from collections.abc import Collection
from typing import Any

from warre_blazar import texts
from warre_blazar.fields import kinds
from warre_blazar.fields.declaration import Field, Resource, Use
from warre_blazar.fields.kinds import (
    BOOLEAN,
    ID,
    FieldKind,
    Integer,
    Text,
    TextMap,
    Time,
    Word,
    or_null,
)
from warre_blazar.texts import expected

# A flavor can be named in paths, in place of its id. No path leads to these names.
_NAME = Text(
    64,
    1,
    rf"{kinds.CONTROL_OR_ENDS}|/|^\.\.?$|^freeslots$",
    expected.FLAVOR_NAME(),
)
_PROSE = or_null(Text(4096, forbidden=kinds.CONTROL_IN_PROSE))
_MIB, _GIB = Integer(unit="MiB"), Integer(0, unit="GiB")
#: What can be done with the servers of a reservation before they are deleted at its end.
BEFORE_END = Word("nothing", "snapshot")
#: The codes of warnings about reservations. All others are about flavors.
_OF_RESERVATIONS = {texts.warnings.NOVA_QUOTA.code, texts.warnings.WEBHOOK_FAILED.code}


def _warnings(codes: Collection[str]) -> kinds.Schema:
    return {
        "type": "array",
        "items": kinds.answer(
            code={"enum": sorted(codes)},
            message={"type": "string", "description": "A text for people."},
            detail={"type": "object", "description": "The data of the text."},
        ),
    }


#: The warnings about a reservation.
WARNINGS = _warnings(_OF_RESERVATIONS)
#: The rule about callers who may see how much room the hosts have.
_CAPACITY = "warre:flavor:capacity"


class FlavorFields(Resource):
    """A flavor that an operator offers, as it is inside a reservation."""

    id = Field(ID, "The flavor's id.", Use.READ_ONLY | Use.BRIEF)
    name = Field(_NAME, "The flavor's name.", Use.REQUIRED | Use.BRIEF)
    vcpu = Field(Integer(), "The vCPUs of one instance.", Use.REQUIRED | Use.FIXED | Use.BRIEF)
    memory_mb = Field(
        _MIB, "The memory of one instance in MiB.", Use.REQUIRED | Use.FIXED | Use.BRIEF
    )
    disk_gb = Field(
        _GIB,
        "The disk of one instance in GiB. 0: its servers boot from volumes.",
        Use.REQUIRED | Use.FIXED | Use.BRIEF,
    )
    slots = Field(
        Integer(),
        "The number of instances that can be booked at the same time.",
        Use.REQUIRED | Use.BRIEF,
    )
    max_length_hours = Field(
        Integer(), "The longest time of one reservation, in hours.", Use.REQUIRED | Use.BRIEF
    )
    category = Field(or_null(Text(64, 1)), "A word by which flavors are grouped.", Use.BRIEF)
    ephemeral_gb = Field(_GIB, "The ephemeral disk of one instance in GiB.", Use.FIXED, default=0)
    extra_specs = Field(
        TextMap(128, 255),
        "The extra specs of the Nova flavors that are made for reservations of the flavor, such as "
        "resources:VGPU=1.",
        default={},
    )
    properties = Field(
        _PROSE,
        "The hosts that the flavor may use: an expression on host properties in Blazar's syntax, "
        'such as \'["==", "$gpu_model", "A100"]\'.',
        metavar="JSON",
    )
    availability_zone = Field(
        or_null(Text(255, 1)), "The availability zone of the flavor's hosts.", metavar="ZONE"
    )
    start = Field(or_null(Time()), "The flavor can be booked from this time on.")
    end = Field(or_null(Time()), "The flavor can be booked until this time.")
    is_public = Field(
        BOOLEAN,
        "Whether all projects may book the flavor. If not, only projects with access may.",
        default=True,
    )
    active = Field(BOOLEAN, "Whether the flavor can be booked for now.", default=True)
    description = Field(_PROSE, "A description for people.")
    max_days_ahead = Field(
        or_null(Integer(1, 36_500)),
        "Reservations must end within this number of days from now. Null: there is no such limit.",
        Use.NOT_IN_WARRE,
    )
    notice_hours = Field(
        Integer(0, 876_000),
        "Reservations must begin at least this number of hours after they are booked.",
        Use.NOT_IN_WARRE,
        default=0,
    )
    weekly_hours = Field(
        or_null(Text(255, 1)),
        "Reservations that are longer than some hours must lie within these times of each week, "
        "such as `8h mon-fri 19:00-08:00, sat-sun Europe/Berlin`. Null: at any time.",
        Use.NOT_IN_WARRE,
        metavar="HOURS",
    )
    extend_within_hours = Field(
        or_null(Integer(1, 876_000)),
        "A reservation can be extended only when at most this number of hours is left of it. Null: "
        "it can always be extended.",
        Use.NOT_IN_WARRE,
    )
    max_instances_per_project = Field(
        or_null(Integer()),
        "The number of instances that one project can hold at the same time. Null: only the slots "
        "limit it.",
        Use.NOT_IN_WARRE,
    )
    gap_hours = Field(
        or_null(Integer(0, 876_000)),
        "The number of hours that must pass between two reservations of the same project, which "
        "can't overlap either. 0: one may begin when another one ends. Null: they may overlap.",
        Use.NOT_IN_WARRE,
    )
    idle_warn_hours = Field(
        or_null(Integer(1, 876_000)),
        "After how many hours without any server the user of a running reservation gets a message. "
        "Null: there is no message.",
        Use.NOT_IN_WARRE,
    )
    idle_end_hours = Field(
        or_null(Integer(1, 876_000)),
        "After how many hours without any server a running reservation ends early. It must be more "
        "than `idle_warn_hours`. Null: it doesn't end early.",
        Use.NOT_IN_WARRE,
    )
    before_end = Field(
        or_null(BEFORE_END),
        "What is done with the servers of a reservation before they are deleted at its end. "
        "`snapshot`: an image is made of each server. null: what the site's configuration says.",
        Use.NOT_IN_WARRE,
    )
    before_end_choice = Field(
        BOOLEAN,
        "Whether users may choose for a reservation what is done with its servers before the end.",
        Use.NOT_IN_WARRE,
        default=False,
    )
    show_in_nova = Field(
        BOOLEAN,
        "Whether Nova lists a flavor with this one's id, name and sizes, for programs whose users "
        "choose among Nova's flavors. No server boots on it.",
        Use.NOT_IN_WARRE,
        default=False,
    )


class FlavorOffered(FlavorFields):
    """A flavor in the answers under /flavors."""

    bookable: Field[bool | None] = Field(
        BOOLEAN,
        "Whether the flavor can be booked: it is active, and a host could hold an instance of it. "
        "Otherwise a booking is refused with `flavor_inactive` or `no_host_matches`.",
        Use.READ_ONLY | Use.NOT_IN_WARRE,
    )
    bookable_hosts: Field[int | None] = Field(
        Integer(0),
        "How many hosts match the flavor and hold at least one instance when empty.",
        Use.READ_ONLY | Use.NOT_IN_WARRE,
        seen_by=_CAPACITY,
    )
    warnings: Field[tuple[dict[str, Any], ...]] = Field(
        FieldKind(_warnings({code for code, _ in texts.WARNINGS} - _OF_RESERVATIONS)),
        "What is in doubt about the flavor. Only the answer to the request that makes or changes "
        "the flavor has this field. `devices_shared`: another flavor takes the same devices in "
        "other amounts, so that servers may be placed where too little is left for the next one. "
        "`name_taken`: another flavor has the same name, so that requests have to give ids. "
        "`no_candidates`: Placement finds no host on which a server could boot now. `no_hosts`: "
        "no host has been registered in Blazar yet. `not_checked`: Nova or Placement couldn't be "
        "asked whether a server could ever boot. `projects_overbooked`: projects hold more "
        "instances than a project may hold at a time now. `slots_exceed_hosts`: the hosts hold "
        "fewer instances than the flavor has slots. `slots_overbooked`: more instances are booked "
        "than the flavor has slots now. `unknown_property`: no host has a property of that name. "
        "`unknown_zone`: no host is in the availability zone.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.SOMETIMES,
        default=(),
    )


class FlavorShown(FlavorOffered):
    """The answer to a request for one flavor."""

    capacity: Field[dict[str, Any] | None] = Field(
        FieldKind(kinds.reference("Capacity")),
        "How many instances the hosts can hold, and how many are booked. Only answers to requests "
        "with `detail=capacity` have this field.",
        Use.READ_ONLY | Use.NOT_IN_WARRE | Use.SOMETIMES,
        seen_by=_CAPACITY,
    )
    limits: Field[dict[str, Any] | None] = Field(
        FieldKind(kinds.reference("FlavorLimits")),
        "What limits how many instances can be booked at the same time.",
        Use.READ_ONLY | Use.NOT_IN_WARRE,
        seen_by=_CAPACITY,
    )
