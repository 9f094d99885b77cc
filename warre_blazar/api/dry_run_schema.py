"""The JSON Schema of the answer to a dry run."""

from warre_blazar.fields.flavors import BEFORE_END
from warre_blazar.fields.kinds import Schema

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
)
# Only callers who may see the reservations of all projects get this property.
DRY_RUN["properties"]["hosts"] = {
    "type": "array",
    "items": _answer(name={"type": "string"}, instances={**_COUNT, "minimum": 1}),
    "description": "The hosts that the instances would be on now. It is empty if the request is "
    "refused, or if a change leaves the hosts as they are. Only operators get this field.",
}
