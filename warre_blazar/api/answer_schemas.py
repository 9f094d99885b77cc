"""The JSON Schemas of answers that aren't resources: dry runs, limits, hosts and offers."""

from warre_blazar.domain.booking import reservation_states, verdict
from warre_blazar.domain.flavors.capacity import LimitKind
from warre_blazar.domain.hosts.host_marks import HostState
from warre_blazar.domain.running.holders import HolderKind
from warre_blazar.fields.flavors import BEFORE_END, WARNINGS, FlavorFields
from warre_blazar.fields.kinds import Integer, Schema, Time, answer, reference
from warre_blazar.services.hosts.host_status import HostState as services_HostState

_COUNT: Schema = {"type": "integer", "minimum": 0}


def _answer(**properties: Schema) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


_QUOTA: Schema = _answer(
    cost={
        **_COUNT,
        "description": "What the request needs beyond what the project uses already.",
    },
    left={
        "type": ["integer", "null"],
        "description": "What would be left. It is negative if the quota would be exceeded, and "
        "null if there is no limit.",
    },
)

DRY_RUN: Schema = _answer(
    bookable={
        "type": "boolean",
        "description": "Whether the request would be accepted at this moment.",
    },
    refusals={
        "type": "array",
        "items": _answer(
            code={"type": "string"},
            message={"type": "string", "description": "A text for people."},
            detail={
                "type": "object",
                "description": "Data for programs. The keys depend on `code`.",
            },
        ),
        "description": "Every rule that refuses the request. The request itself is refused with "
        "the first of them. If the end isn't after the start, rules that depend on the time are "
        "left out.",
    },
    warnings={
        **WARNINGS,
        "description": "What is in doubt although nothing is refused. `nova_quota`: Nova's quota "
        "doesn't allow the project all servers of the reservation.",
    },
    flavor={"$ref": "#/components/schemas/Flavor"},
    instance_count={**_COUNT, "minimum": 1},
    affinity={"type": ["boolean", "null"]},
    before_end={
        **BEFORE_END.answer,
        "description": "What would be done with the servers before they are deleted at the end.",
    },
    start={"type": "string", "format": "date-time"},
    end={"type": "string", "format": "date-time"},
    quota={
        "anyOf": [{"type": "null"}, _answer(reservations=_QUOTA, hours=_QUOTA)],
        "description": "The project's quota after the request. It is null if no quota is enforced.",
    },
    next_start={
        "type": ["string", "null"],
        "format": "date-time",
        "description": "The first start, from the wanted one on, at which the wanted length and "
        "number of instances can be booked. It is null if there is none within a year.",
    },
    wait_start={
        "type": ["string", "null"],
        "format": "date-time",
        "description": "The first start, from the wanted one on, that a wait for the same booking "
        "could get, however much others give back. It is null if a wait is never served or gets "
        "`next_start` at best, and if the request is accepted or changes a reservation.",
    },
    longest_hours={
        "type": "number",
        "minimum": 0,
        "description": "For how many hours the wanted number of instances can be booked from the "
        "wanted start on. It is 0 if they can't be booked at that start.",
    },
    most_instances={
        **_COUNT,
        "description": "The largest number of instances that can be booked for the wanted time.",
    },
    own={
        "type": "array",
        "items": _answer(
            id={"type": "string"},
            name={"type": ["string", "null"]},
            instance_count=_COUNT,
            start={"type": "string", "format": "date-time"},
            end={"type": "string", "format": "date-time"},
        ),
        "description": "If the request is refused: the first few other reservations of the flavor "
        "that the project itself has at the wanted time.",
    },
)
# Only callers who may see the reservations of all projects get this property.
DRY_RUN["properties"]["hosts"] = {
    "type": "array",
    "items": _answer(name={"type": "string"}, instances={**_COUNT, "minimum": 1}),
    "description": "The hosts that the instances would be on now. It is empty if the request is "
    "refused, or if a change leaves the hosts as they are. Only operators get this field.",
}


_NUMBER = Integer(0, None).answer
_AMOUNT: Schema = {"type": ["integer", "null"], "minimum": 0}
_TEXT: Schema = {"type": "string"}

_LIMIT = answer(
    kind={"enum": [kind.name.lower() for kind in LimitKind]},
    name={
        **_TEXT,
        "description": "For `zone`: the flavor's availability zone. For `aggregate`: the key and "
        "value that no aggregate of the host has. For `property`: the comparison that the host's "
        "properties don't satisfy. For `isolation`, `required_trait` and `forbidden_trait`: the "
        "trait. For `resource_class`: the resource class. For `groups`: the resource classes of "
        "the request groups, separated by commas.",
    },
    providers={
        "type": "array",
        "items": _TEXT,
        "description": "The names of resource providers. For a resource class: the providers that "
        "have it. For a required trait: providers that lack it. For a forbidden trait: providers "
        "that have it. Otherwise the list is empty.",
    },
    asked={**_AMOUNT, "description": "How much of the resource class an instance takes."},
    capacity={**_AMOUNT, "description": "How much of the class the providers have together."},
    have={"type": ["string", "null"], "description": "For `property`: the host's own value."},
)

_HOST = answer(
    name=_TEXT,
    state={
        "enum": [state.value for state in HostState],
        "description": "Whether flavors can be booked on the host now, as in `GET /v2/hosts`.",
    },
    instances={**_NUMBER, "description": "How many instances the host holds when it is empty."},
    limits={
        "type": "array",
        "items": _LIMIT,
        "description": "What limits the number of instances on the host. The list has several "
        "limits if all of them permit the same number.",
    },
)

FLAVOR_LIMITS: Schema = {
    **answer(
        by={
            "enum": ["slots", "hosts"],
            "description": "Whether the flavor's slots or its hosts limit how many instances can "
            "be booked at the same time.",
        },
        instances={
            **_NUMBER,
            "description": "How many instances the hosts that can be booked hold when "
            "nothing else is on them.",
        },
        hosts={
            "type": "array",
            "items": _HOST,
            "description": "All hosts, sorted by name.",
        },
    ),
    "description": "What limits how many instances can be booked at the same time. Only callers "
    "who may see the flavor's capacity get this field.",
}


_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_QUANTITY: Schema = {"type": "integer", "minimum": 0}
_TIME = Time().answer
_TIME_OR_NULL: Schema = {"anyOf": [_TIME, {"type": "null"}]}

HOST: Schema = answer(
    id=_TEXT,
    name={**_TEXT, "description": "The hypervisor hostname."},
    availability_zone=_TEXT_OR_NULL,
    state={
        "enum": [state.value for state in services_HostState],
        "description": "Whether flavors can be booked on the host. `draining`: an operator drains "
        "it. `failed`: Blazar has taken it out of use, usually because it failed. `gone`: it has "
        "left Nova, or has come back and isn't in the freepool yet. `abandoned`: it works, but "
        "servers of reservations that were moved off it may still be there.",
    },
    draining={
        "anyOf": [
            answer(by=_TEXT_OR_NULL, at=_TIME_OR_NULL, reason=_TEXT_OR_NULL),
            {"type": "null"},
        ],
        "description": "Who drains the host, since when, and why.",
    },
    providers_read_at={
        **_TIME_OR_NULL,
        "description": "When a change of the host's resource providers was last read.",
    },
    resources={
        "type": "array",
        "items": answer(
            resource_class=_TEXT,
            capacity=_QUANTITY,
            used_now={**_QUANTITY, "description": "How much is booked at this minute."},
            used_peak={
                **_QUANTITY,
                "description": "The largest amount that is booked at the same moment between "
                "`start` and `end`.",
            },
        ),
        "description": "What the host has, and how much of it reservations take.",
    },
    reservations={
        "type": "array",
        "items": answer(
            id=_TEXT,
            resource_type=_TEXT,
            flavor={
                "anyOf": [answer(id=_TEXT, name=_TEXT), {"type": "null"}],
                "description": "Null for other resource types than `flavor:slot`.",
            },
            project_id=_TEXT_OR_NULL,
            user_id=_TEXT_OR_NULL,
            status={
                "enum": list(reservation_states.ALL),
                "description": "The same as for `/reservations`, also for other resource types.",
            },
            instance_count={"type": "integer", "minimum": 1},
            start=_TIME,
            end=_TIME,
        ),
        "description": "The reservations of all resource types on the host between `start` and "
        "`end`, sorted by start.",
    },
)
# Only answers about one host have these properties.
HOST["properties"]["compute_service"] = {
    **_TEXT_OR_NULL,
    "description": "The state of the host's compute service in Nova: `up`, or why no server boots "
    "on the host: `disabled`, `forced down` or `down`. It is null if Nova can't be asked. Only "
    "answers to requests with `host` have this field.",
}
HOST["properties"]["room_taken"] = {
    "type": ["array", "null"],
    "items": answer(
        kind={
            "enum": [kind.value for kind in HolderKind],
            "description": "What Placement has as the consumer. `migration`: what a server had "
            "before a move that isn't confirmed or goes on. `unknown`: Nova knows no such server.",
        },
        consumer_id={**_TEXT, "description": "The consumer's id in Placement."},
        server_id=_TEXT_OR_NULL,
        server_name=_TEXT_OR_NULL,
        project_id=_TEXT_OR_NULL,
        resources={
            "type": "object",
            "additionalProperties": _QUANTITY,
            "description": "What is taken of the host, by resource class.",
        },
        text={**_TEXT, "description": "The same for people."},
        remedy={**_TEXT, "description": "What frees the room."},
        needs={
            **_TEXT,
            "description": "What is needed for it: options of `warre-blazar-manage audit`, or "
            "`a person`.",
        },
    ),
    "description": "Who holds room of the host now without a reservation that is there now, as an "
    "audit says with `room-taken`. It is null if Nova or Placement can't be asked. Only answers to "
    "requests with `host` have this field.",
}


_INSTANCES: Schema = {"type": "integer", "minimum": 1}
_NATURAL: Schema = {"type": "integer", "minimum": 0}
_MOMENT: Schema = {"type": "string", "format": "date-time"}
_SHOWN = ("id", "name", "category", "vcpu", "memory_mb", "disk_gb", "availability_zone", "slots")
_FLAVOR: Schema = answer(**{name: getattr(FlavorFields, name).kind.answer for name in _SHOWN})

OFFER: Schema = answer(
    flavor=_FLAVOR,
    instance_count=_INSTANCES,
    start=_MOMENT,
    latest_end={
        **_MOMENT,
        "description": "A booking from `start` on can end until this time. Hosts, slots, windows, "
        "the flavor's terms and the project's quota allow no later end.",
    },
    longest_hours={"type": "number", "minimum": 0},
)
_OR_NULL: Schema = {"anyOf": [{"type": "null"}, reference("Offer")]}
_MISSING: Schema = answer(
    flavor=_FLAVOR,
    reason={
        "enum": list(verdict.CODES),
        "description": "The code of the refusal that a booking would get.",
    },
    wait_start={
        "type": ["string", "null"],
        "format": "date-time",
        "description": "The first start that a wait could get, however much others give back. It "
        "is null if a wait is never served.",
    },
    fewer_instances={
        **_OR_NULL,
        "description": "The first offer of the largest number of instances, below `count`, of "
        "which there are offers.",
    },
    fewer_hours={
        **_OR_NULL,
        "description": "The first offer for fewer hours, but for at least one.",
    },
)

OFFERS: Schema = answer(
    results={"type": "array", "items": reference("Offer")},
    total={**_NATURAL, "description": "The number of offers, even of those beyond `limit`."},
    missing={
        "type": "array",
        "items": _MISSING,
        "description": "The flavors of which there are no offers, and why.",
    },
    longest={
        "type": "array",
        "items": reference("Offer"),
        "description": "For each flavor with offers the offer with the most hours, wherever in the "
        "time that was searched, even beyond `limit`. If there are several, the first of them.",
    },
)

EXTENSION: Schema = answer(
    latest_end={
        **_MOMENT,
        "description": "The latest end that the reservation could get at this moment. It is the "
        "present end if the reservation can't be extended.",
    },
    stopped_by={
        "enum": [*verdict.CODES, None],
        "description": "What stops a later end: the code of the refusal that it would get. Null: "
        "nothing within a year.",
    },
    extend_from={
        "type": ["string", "null"],
        "format": "date-time",
        "description": "From when on the flavor's `extend_within_hours` allows an extension. Null: "
        "it allows one now.",
    },
)

AVAILABILITY: Schema = answer(
    results={
        "type": "array",
        "items": answer(
            flavor=_FLAVOR,
            free={
                "type": "array",
                "items": answer(
                    start=_MOMENT,
                    end=_MOMENT,
                    instances={
                        **_NATURAL,
                        "description": "How many instances one booking can have throughout the "
                        "part.",
                    },
                    can_start={
                        "type": ["boolean", "null"],
                        "description": "Whether a booking of `count` instances for `hours` can "
                        "begin in the part. Null: the query has no `hours`.",
                    },
                    reason={
                        "enum": [*verdict.CODES, None],
                        "description": "If fewer than `count` are free: the code of the refusal.",
                    },
                ),
            },
        ),
    },
    missing={
        "type": "array",
        "items": _MISSING,
        "description": "The other flavors, of which so many instances are never free for an hour, "
        "and why.",
    },
)
