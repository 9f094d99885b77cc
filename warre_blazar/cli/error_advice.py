"""The text that commands show for an error of the API, with advice on what to do."""

import datetime
import json
import shlex
from typing import Any

from warre_blazar.cli import time_display
from warre_blazar.cli.command_names import Fields
from warre_blazar.client import errors
from warre_blazar.texts import commands, permissions

NO_CREDENTIALS = (
    "No credentials: set OS_AUTH_TYPE=password, OS_AUTH_URL, OS_USERNAME, OS_PASSWORD, "
    "OS_PROJECT_NAME, OS_USER_DOMAIN_ID and OS_PROJECT_DOMAIN_ID (your cloud's openrc file sets "
    "these), or set OS_CLOUD"
)
#: The command that lists the objects of a kind, by the name of the kind in paths.
_LISTS = {
    "flavors": "flavor-list",
    "flavorprojects": "flavor-access-list",
    "reservations": "reservation-list",
    "maintenancewindows": "maintenance-window-list",
    "series": "reservation-series-list",
    "waits": "reservation-wait-list",
    "shares": "reservation-share-list",
}

#: The kinds of objects of which operators can list those of all projects.
_OF_PROJECTS = ("series", "wait")

#: The options for what only operators may ask the API for, by the reason of the refusal.
_OPTIONS = {
    "other_flavors": {"all_projects": "--all"},
    "other_projects": {"all_projects": "--all-projects", "project_id": "--project"},
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


def _where_ids_are(error: errors.NoSuchName, app: object) -> str:
    """What follows the error for a name that nothing has: the commands that list the ids."""
    if error.kind == "reservation":
        listing = Fields(app)["reservation-list"]
        everywhere = f"{listing} --name {shlex.quote(error.ref)} --all-projects"
        return f". To list the IDs: {listing}; for operators: {everywhere}"
    if error.kind not in _OF_PROJECTS:
        return ""
    end = "" if str(error).endswith("?") else "."
    listing = Fields(app)[f"reservation-{error.kind}-list"]
    return f"{end} To list the IDs: {listing}; for operators also with --all-projects"


def _with_options(said: str, error: errors.ApiError) -> str:
    """Return a refusal that names options in place of the API's parameters."""
    for name, option in _OPTIONS.get(error.detail.get("reason", ""), {}).items():
        said = said.replace(name, option)
    return said


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
        if not error.has_arrived or error.noun not in _LISTS:
            return message
        return f"{message}: {Fields(app)[_LISTS[error.noun]]}"
    if isinstance(error, errors.NoSuchName):
        return message + _where_ids_are(error, app)
    if isinstance(error, errors.NotFound) and error.detail.get("reason") == "deleted":
        which = error.ids[0] if isinstance(error, errors.Over) else error.detail["reservation"]
        return f"{message}. {Fields(app)['reservation-show']} {which} shows what is kept of it"
    code = error.code if isinstance(error, errors.ApiError) else ""
    if code in commands.INSTEAD:
        return commands.INSTEAD[code].sentence({})
    if not isinstance(error, errors.ApiError) or code not in commands.ADVICE:
        return message
    action = error.detail.get("action")
    refusal = permissions.FORBIDDEN.sentence({"action": action})
    if message == refusal:
        return f"Your role doesn't allow this ({action}); ask the operator"
    if message.endswith(f" ({refusal})"):  # The text before it says why, and what to do.
        return _with_options(message.removesuffix(f" ({refusal})"), error)
    of_project = f" --project {shlex.quote(project)}" if project else ""
    try:
        fields = Fields(app, **error.detail, of_project=of_project)
        advice = commands.ADVICE[code].sentence(fields)
    except (KeyError, ValueError, TypeError):
        return message
    # Some of the API's own messages already contain the advice.
    return message if advice.lower() in message.lower() else f"{message.rstrip('.')}. {advice}"
