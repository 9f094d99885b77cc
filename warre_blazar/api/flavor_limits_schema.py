"""The JSON Schema of a flavor's limits: how many instances each host holds, and why not more."""

from warre_blazar.domain.flavors.capacity import LimitKind
from warre_blazar.domain.hosts.host_marks import HostState
from warre_blazar.fields.kinds import Integer, Schema, answer

_COUNT = Integer(0, None).answer
_AMOUNT: Schema = {"type": ["integer", "null"], "minimum": 0}
_TEXT: Schema = {"type": "string"}

_LIMIT = answer(
    kind={"enum": [kind.name.lower() for kind in LimitKind]},
    name={
        **_TEXT,
        "description": "For `zone`: the flavor's availability zone. For `property`: the comparison "
        "that the host's properties don't satisfy. For `required_trait` and `forbidden_trait`: the "
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
)

_HOST = answer(
    name=_TEXT,
    state={
        "enum": [state.value for state in HostState],
        "description": "Whether flavors can be booked on the host now, as in `GET /v2/hosts`.",
    },
    instances={**_COUNT, "description": "How many instances the host holds when it is empty."},
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
            **_COUNT,
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
