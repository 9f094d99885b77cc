"""Says why each host can't hold more instances of a flavor."""

from collections import defaultdict

from warre_blazar.cli import columns
from warre_blazar.client.types import Document

#: The largest number of hosts' names in one line.
_MOST_NAMES = 4
#: Why a host can't be booked, by its state.
_STATES = {
    "draining": "drained",
    "failed": "failed",
    "gone": "not in Nova",
    "abandoned": "servers may be left on it",
}


def column(limits: Document) -> columns.ShownColumn:
    """Return a flavor's field ``limits``. A table shows a heading, and then ``lines``."""
    if limits["by"] == "slots":
        first = "the slots limit it; the hosts can hold as many or more"
    else:
        first = "the hosts limit it"
    return columns.lines(limits, [first, *lines(limits)])


def lines(limits: Document) -> list[str]:
    """Return lines that say how many instances each host can hold, and why it can't hold more.

    Hosts with the same number and the same reasons share a line.

    :param limits: the field ``limits`` of a flavor, as the API returns it.
    """
    hosts: dict[tuple[int, str], list[str]] = defaultdict(list)
    for host in limits["hosts"]:
        state = host.get("state", "bookable")
        closed = [] if state == "bookable" else [f"can't be booked: {_STATES.get(state, state)}"]
        reasons = "; ".join([*closed, *(_reason(limit) for limit in host["limits"])])
        hosts[host["instances"], reasons].append(host["name"])
    return [
        f"{_names(names)}: {instances}" + (f" ({reasons})" if reasons else "")
        for (instances, reasons), names in sorted(hosts.items(), key=lambda item: -item[0][0])
    ]


def _names(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


#: By kind, what is said about a limit.
_REASONS = {
    "zone": "not in zone {name}",
    "aggregate": "in no aggregate with {name}",
    "isolation": "only for servers that require {name}",
    "property": "not {name}",
    "missing_property": "no property {name}",
    "required_trait": "no trait {name}",
    "forbidden_trait": "has trait {name}",
    "resource_class": "{capacity} {name}, {asked} asked",
    "groups": "no provider with enough of {name} together",
}


def _reason(limit: Document) -> str:
    if limit["kind"] == "resource_class" and not limit["providers"]:
        return f"no {limit['name']}"
    if limit.get("have") is not None:
        return f"not {limit['name']}, but {limit['have']}"
    return _REASONS.get(limit["kind"], "{kind} {name}").format(**limit)
