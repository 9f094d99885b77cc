"""The text that commands show for an error of the API, with advice on what to do."""

import datetime
import json
import shlex
from typing import Any

from warre_blazar.cli import time_display
from warre_blazar.cli.command_names import Fields
from warre_blazar.client import errors

NO_CREDENTIALS = (
    "No credentials: set OS_AUTH_TYPE=password, OS_AUTH_URL, OS_USERNAME, OS_PASSWORD, "
    "OS_PROJECT_NAME, OS_USER_DOMAIN_ID and OS_PROJECT_DOMAIN_ID (your cloud's openrc file sets "
    "these), or set OS_CLOUD"
)
#: The API's own text names a field of the request.
_NO_BEFORE_END = (
    "The flavor doesn't let you choose what is done with the servers before the end. Leave out "
    "--before-end"
)

#: The advice for each error code of the API. The fields in braces are data of the error's detail,
#: or names of commands. ``of_project`` is the option that names the project that was booked for, or
#: empty if that is the user's own.
_ADVICE = {
    "invalid_period": "The earliest start is --start now",
    "flavor_inactive": "The operator has closed the flavor; see {flavor-list} for others",
    "flavor_not_accessible": "Ask the operator for access (operators grant it with "
    "{flavor-access-grant})",
    "too_far_ahead": "Choose an earlier end",
    "too_early_to_extend": "See {reservation-show} for the end",
    "too_many_instances": "See {reservation-list}{of_project} for the project's reservations",
    "gap_too_short": "See {reservation-list}{of_project}, and {reservation-offers} for other "
    "flavors",
    "maintenance": "See {maintenance-window-list}, and {flavor-free-slots} for other times",
    "flavor_in_use": "See {reservation-list} --all-projects --flavor {flavor}",
    "try_again": "Try again",
    "window_conflict": "See {reservation-list} --all-projects for what is booked then",
    "lease_shared": "The commands for the whole lease are {lease-update} and {lease-delete}",
    "access_exists": "See {flavor-access-list}",
    "limits_not_registered": "The operator has to register them, see the installation guide",
    "quota_exceeded": "See {limits-show}{of_project}; delete a reservation, or ask the operator "
    "for more (operators set it with {reservation-quota-set})",
    "no_answer": "See {reservation-list}",
    "forbidden": "Your role doesn't allow this; ask the operator",
    "service_unavailable": "Try again later",
}

#: The command that lists the objects of a kind, by the name of the kind in paths.
_LISTS = {
    "flavors": "flavor-list",
    "flavorprojects": "flavor-access-list",
    "reservations": "reservation-list",
    "maintenancewindows": "maintenance-window-list",
}


def ambiguous(error: errors.ClientError) -> str | None:
    """Return a text for the error that a flavor's name is ambiguous, or None for other errors.

    The text lists the flavors that the name may mean.
    """
    if not isinstance(error, errors.ApiError) or error.code != "flavor_ambiguous":
        return None
    flavors = error.detail.get("flavors", [])
    name = error.detail.get("flavor")
    lines = [f"{name!r} could be several flavors; give the ID of one:"]
    for flavor in flavors:
        sizes = "{vcpu} vCPUs, {memory_mb} MiB, {disk_gb} GB".format(**flavor)
        others = [flavor[key] for key in ("category", "availability_zone") if flavor.get(key)]
        lines.append(f"  {flavor['id']}  {', '.join([sizes, *others])}")
    return "\n".join(lines)


def both_values(error: errors.ClientError, where: datetime.tzinfo, show: str) -> str | None:
    """Return a text for the error that somebody else has changed a field, or None for other errors.

    The text has the present value and the wanted one of each such field.

    :param where: the zone in which times are shown.
    :param show: the command that shows the present values.
    """
    if not isinstance(error, errors.ApiError) or error.code != "changed_since_shown":
        return None
    lines = []
    for name, values in error.detail.get("fields", {}).items():
        now, sent = (_shown(name, values[key], where) for key in ("now", "sent"))
        lines.append(f"  {name}: now {now}, you asked for {sent}")
    return "\n".join([f"{error}:", *lines, f"{show} shows all present values"])


def _shown(name: str, value: Any, where: datetime.tzinfo) -> str:
    if name in time_display.FIELDS and isinstance(value, str):
        return time_display.brief(datetime.datetime.fromisoformat(value), where)
    return "nothing" if value is None else json.dumps(value, ensure_ascii=False)


def text(error: errors.ClientError, app: object, project: str | None = None) -> str:
    """Return the error's own text, followed by the advice for the error's code, if any.

    :param app: the running CLI. The advice uses the names that commands have in this CLI.
    :param project: the project that the request is about. None: the user's own.
    """
    message = str(error)
    if isinstance(error, errors.Unanswered):
        return f"{message}: {Fields(app)[_LISTS[error.noun]]}"
    if isinstance(error, errors.NoSuchReservation):
        listing = f"{Fields(app)['reservation-list']} --name {shlex.quote(error.ref)}"
        return f"{message}. To list the IDs: {listing}, for operators also with --all-projects"
    if isinstance(error, errors.DeletedReservation):
        names = Fields(app)
        which = error.ids[0] if len(error.ids) == 1 else "ID"
        return (
            f"{message}. {names['reservation-show']} {which} shows what is kept of it, and "
            f"{names['reservation-list']} --deleted lists deleted reservations"
        )
    code = error.code if isinstance(error, errors.ApiError) else ""
    if code == "no_before_end_choice":
        return _NO_BEFORE_END
    if not isinstance(error, errors.ApiError) or code not in _ADVICE:
        return message
    action = error.detail.get("action")
    refusal = f"Policy doesn't allow {action} to be performed"
    if message == refusal:
        return f"Your role doesn't allow this ({action}); ask the operator"
    if message.endswith(f" ({refusal})"):  # The text before it says why, and what to do.
        return message.removesuffix(f" ({refusal})")
    of_project = f" --project {shlex.quote(project)}" if project else ""
    try:
        advice = _ADVICE[code].format_map(Fields(app, **error.detail, of_project=of_project))
    except (KeyError, ValueError, TypeError):
        return message
    # Some of the API's own messages already contain the advice.
    return message if advice.lower() in message.lower() else f"{message.rstrip('.')}. {advice}"
