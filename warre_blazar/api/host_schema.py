"""The JSON Schema of hosts in the answers of the API."""

from warre_blazar.domain.booking import reservation_states
from warre_blazar.fields.kinds import Schema, Time, answer
from warre_blazar.services.hosts.host_status import HostState

_TEXT: Schema = {"type": "string"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_AMOUNT: Schema = {"type": "integer", "minimum": 0}
_TIME = Time().answer
_TIME_OR_NULL: Schema = {"anyOf": [_TIME, {"type": "null"}]}

HOST: Schema = answer(
    id=_TEXT,
    name={**_TEXT, "description": "The hypervisor hostname."},
    availability_zone=_TEXT_OR_NULL,
    state={
        "enum": [state.value for state in HostState],
        "description": "Whether flavors can be booked on the host. `draining`: an operator drains "
        "it. `failed`: Blazar has taken it out of use, usually because it failed. `abandoned`: it "
        "works again, but servers that were moved off it may still be there.",
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
            capacity=_AMOUNT,
            used_now={**_AMOUNT, "description": "How much is booked at this minute."},
            used_peak={
                **_AMOUNT,
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
