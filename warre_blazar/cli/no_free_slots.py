"""Explains why a flavor has no free slots, and what to do."""

import datetime
from typing import Any

from warre_blazar.cli import time_display
from warre_blazar.cli.command_names import Fields
from warre_blazar.client import Reason, Span, errors
from warre_blazar.texts import commands

#: Codes of reasons that hold at all times. A search at another time finds nothing either.
LASTING = frozenset({"flavor_inactive", "too_long", "no_host_matches"})


def explanation(
    reason: Reason,
    flavor: str,
    where: datetime.tzinfo,
    app: object,
    *,
    affinity: bool | None = None,
) -> str:
    """Return a text that says why a flavor isn't free, and what to do.

    :param where: the zone in which times are shown.
    :param app: the running CLI. The text uses the names that commands have in this CLI.
    :param affinity: the affinity that was asked for.
    """
    if reason.detail.get("closed"):
        return reason.message  # The hosts are closed only for now.
    or_affinity = "" if affinity is None else ", or another --affinity"
    given = {**_shown(reason.detail, where), "flavor": flavor, "or_affinity": or_affinity}
    fields = Fields(app, **given)
    try:
        is_short = reason.code not in LASTING and reason.detail["longest"]
        entry = commands.NOT_THAT_LONG if is_short else commands.NOT_FREE.get(reason.code)
        text = entry.sentence(fields, time_display.reader(where)) if entry else reason.message
        next_free = "" if reason.code in LASTING else _next_free(reason, where, fields)
    except (KeyError, ValueError, TypeError):
        # The API is newer than this command, and has given a reason or data that this command
        # doesn't know.
        return reason.message
    return f"{text}{next_free}"


def reason(client: Any, flavor: str, **search: Any) -> Reason | None:
    """Ask the API why a search for free slots finds nothing.

    The result is None if the API gives no reason, or refuses to say it.
    """
    try:
        answer: Reason | None = client.flavors.why_not_free(flavor, **search)
    except errors.ClientError:
        return None
    return answer


def _next_free(reason: Reason, where: datetime.tzinfo, fields: Fields) -> str:
    next_free = reason.detail["next_free"]
    if next_free is None:
        return commands.NEVER_FREE.sentence(fields)
    span = Span.of(next_free)
    fields |= {
        "start": next_free["start"],
        "length": time_display.length(span.length),
        "argument": time_display.argument(span.start, where),
    }
    return commands.NEXT_FREE.sentence(fields, time_display.reader(where))


def _shown(detail: dict[str, Any], where: datetime.tzinfo) -> dict[str, Any]:
    """Return a reason's data with lengths and windows as text."""
    shown = dict(detail)
    if shown.get("longest"):
        shown["longest"] = time_display.length(Span.of(shown["longest"]).length)
    if "windows" in shown:
        shown["windows"] = "; ".join(_window(window, where) for window in shown["windows"])
    return shown


def _window(window: dict[str, Any], where: datetime.tzinfo) -> str:
    span = Span.of(window)
    start, end = (time_display.brief(moment, where) for moment in (span.start, span.end))
    note = f" ({window['note']})" if window.get("note") else ""
    return f"{start} to {end}{note}"
