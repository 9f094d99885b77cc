"""The forms of what Blazar 18 answers over v1 about leases of ``flavor:instance``.

A form is a type, a pattern of a text, or an object or a list of forms.
"""

import json
import re
from typing import Any

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}")
_WRITTEN = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
NONE = type(None)

SOURCE = {
    "id": str,
    "name": str,
    "vcpus": int,
    "ram": int,
    "disk": int,
    "OS-FLV-EXT-DATA:ephemeral": int,
    "swap": str,
    "OS-FLV-DISABLED:disabled": bool,
    "rxtx_factor": float,
    "os-flavor-access:is_public": bool,
    "extra_specs": dict,
}
RESERVATION = {
    "id": _ID,
    "lease_id": _ID,
    "resource_id": _ID,
    "resource_type": re.compile("flavor:instance"),
    "status": str,
    "missing_resources": bool,
    "resources_changed": bool,
    "created_at": _WRITTEN,
    "updated_at": (_WRITTEN, NONE),
    "vcpus": int,
    "memory_mb": int,
    "disk_gb": int,
    "amount": int,
    # Blazar's plugin can't reserve with an affinity.
    "affinity": (bool, NONE),
    "resource_properties": str,
    "flavor_id": _ID,
    # Blazar's plugin makes the aggregate at the booking, and this package shortly before the start.
    "aggregate_id": (int, NONE),
    "server_group_id": NONE,
}
EVENT = {
    "id": _ID,
    "lease_id": _ID,
    "event_type": re.compile("start_lease|end_lease|before_end_lease"),
    "time": _DATE,
    "status": str,
    "created_at": _WRITTEN,
    "updated_at": (_WRITTEN, NONE),
}
LEASE = {
    "id": _ID,
    "name": str,
    "user_id": str,
    "project_id": str,
    "start_date": _DATE,
    "end_date": _DATE,
    "trust_id": str,
    "status": re.compile(
        "PENDING|ACTIVE|TERMINATED|ERROR|CREATING|STARTING|UPDATING|TERMINATING|DELETING"
    ),
    "degraded": bool,
    "created_at": _WRITTEN,
    "updated_at": (_WRITTEN, NONE),
    "reservations": [RESERVATION],
    "events": [EVENT],
}


def differences(value: Any, form: Any, path: str = "lease") -> list[str]:
    """The paths at which a value doesn't have a form, with what is there."""
    match form:
        case dict():
            if not isinstance(value, dict) or value.keys() != form.keys():
                return [f"{path}: {value}"]
            return [d for name in form for d in differences(value[name], form[name], name)]
        case [each]:
            return [d for item in value for d in differences(item, each, path)]
        case tuple():
            found = [differences(value, each, path) for each in form]
            return [] if [] in found else found[0]
        case re.Pattern():
            fits = isinstance(value, str) and form.fullmatch(value)
            return [] if fits else [f"{path}: {value}"]
    return [] if type(value) is form else [f"{path}: {value}"]


def of_lease(lease: dict[str, Any]) -> list[str]:
    """The paths at which a lease, and the Nova flavors of its reservations, have other forms."""
    sources = [json.loads(each["resource_properties"]) for each in lease["reservations"]]
    return differences(lease, LEASE) + [d for s in sources for d in differences(s, SOURCE)]
