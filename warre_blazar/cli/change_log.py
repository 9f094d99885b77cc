"""Shows the changes of a reservation."""

import datetime
from collections.abc import Mapping
from typing import Any

from warre_blazar.cli import columns, time_display
from warre_blazar.client.types import Document


def column(changes: list[Document]) -> columns.ShownColumn:
    """Return the changes of a reservation. A table has a line for each."""
    return columns.lines(changes, map(_line, changes))


def shown(change: Document, names: Mapping[str, str], where: datetime.tzinfo) -> Document:
    """Return a change with the user's name, and with all times in a zone.

    :param names: the known names of users by id.
    """
    user_id = change["user_id"]
    values = {
        key: change[key] and {name: _value(name, v, where) for name, v in change[key].items()}
        for key in ("before", "after")
    }
    return {
        "at": _value("start", change["at"], where),
        "user": names.get(user_id),
        "user_id": user_id,
        "change": change["change"],
        **values,
    }


def _value(name: str, value: Any, where: datetime.tzinfo) -> Any:
    if name not in ("start", "end") or not isinstance(value, str):
        return value
    return time_display.iso(datetime.datetime.fromisoformat(value), where)


#: By the reason of a change: who made it if no user is known, and why.
_REASONS = {
    "host_failed": ("host monitor or operator", "a host had failed"),
    "drain": ("operator", "a host is drained"),
    "maintenance": ("operator", "a maintenance window closes the flavor or a host"),
    "made_room": ("placing again", "another reservation needed the place"),
    "no_room": ("healing", "its host had less room than was booked"),
}


def _line(change: Document) -> str:
    """Return a line such as "2026-12-01T09:00:00+00:00  alpha  resized: instance_count 2 -> 1".

    If a reason is known, the line names who made the change and why, even if no user did.
    """
    before, after = change["before"] or {}, dict(change["after"] or {})
    reason = after.pop("reason", None)
    mover, why = _REASONS.get(reason, ("-", reason))
    who = change["user"] or change["user_id"] or mover
    parts = [
        f"{name} {_text(before.get(name))} -> {_text(value)}"
        for name, value in after.items()
        if before.get(name) != value
    ]
    details = f": {', '.join(parts)}" if parts else ""
    because = f", because {why}" if why else ""
    return f"{change['at']}  {who}  {change['change']}{details}{because}"


def _text(value: Any) -> str:
    return "none" if value is None else str(value)
