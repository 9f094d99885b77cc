"""Explains why a flavor has no free slots, and what to do."""

import datetime
from typing import Any

from warre_blazar.cli import time_display
from warre_blazar.cli.command_names import Fields
from warre_blazar.client import Reason, Span, errors

#: The explanation for each code of a reason. The fields in braces are data of the reason's detail,
#: or names of commands.
_EXPLANATIONS = {
    "flavor_inactive": "{flavor} is closed. Book another flavor; see {flavor-list}",
    "invalid_period": "{message}",
    "after_flavor_end": "{flavor} can't be booked after {end}. Ask for an earlier time",
    "before_flavor_start": "{flavor} can't be booked before {start}. Ask for a later time",
    "too_long": "{flavor} can be booked for at most {max_length_hours} hours at a time. Give "
    "--hours {max_length_hours} or less",
    "no_host_matches": "No host matches {flavor}, so it can't be booked at any time. Book another "
    "flavor ({flavor-list}), or ask the operator",
    "count_over_slots": "{flavor} has {slots} slots, and {asked} were asked for. Give --count "
    "{slots} or less",
    "count_over_terms": "A project can hold at most {max_instances_per_project} of {flavor} at a "
    "time, and {asked} were asked for. Give --count {max_instances_per_project} or less",
    "count_over_hosts": "{asked} instances were asked for, but the hosts of {flavor} have room for "
    "only {room}, even when nothing else is on them. Give --count {room} or less{or_affinity}",
    "maintenance": "{flavor} is closed for maintenance then: {windows}",
    "not_that_long": "{flavor} is free then, but for at most {longest} at a time",
    "too_far_ahead": "{flavor} can be booked only until {latest_end} now, {max_days_ahead} days "
    "ahead. Ask for an earlier time, or later",
    "project_terms": "Other reservations of your project leave no time for more of {flavor} then",
    "all_booked": "Not enough slots of {flavor} are free then",
}
#: Codes of reasons that hold at all times. A search at another time finds nothing either.
LASTING = frozenset(
    {
        *("flavor_inactive", "too_long", "no_host_matches"),
        *("count_over_slots", "count_over_terms", "count_over_hosts"),
    }
)
#: Codes of reasons that have the next free time in their detail.
_PASSING = frozenset({"maintenance", "not_that_long", "project_terms", "all_booked"})


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
    values = _shown(reason.detail, where)
    or_affinity = "" if affinity is None else ", or another --affinity"
    texts = {"flavor": flavor, "message": reason.message, "or_affinity": or_affinity}
    fields = Fields(app, **{**values, **texts})
    try:
        text = _EXPLANATIONS[reason.code].format_map(fields)
        next_free = _next_free(reason, where, fields) if reason.code in _PASSING else ""
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
    calendar = f"{fields['flavor-calendar']} {fields['flavor']}"
    if next_free is None:
        return (
            ". Nothing that fits is free in the year after that either. Try fewer slots or hours; "
            f"{calendar} shows what is free"
        )
    span = Span.of(next_free)
    return (
        f". It is free from {time_display.brief(span.start, where)} for "
        f"{time_display.length(span.length)}: "
        f"--start {time_display.argument(span.start, where)}. {calendar} shows more"
    )


def _shown(detail: dict[str, Any], where: datetime.tzinfo) -> dict[str, Any]:
    """Return a reason's data with times and lengths as text."""
    shown = dict(detail)
    for name in ("start", "end", "latest_end"):
        if isinstance(shown.get(name), str):
            shown[name] = time_display.brief(datetime.datetime.fromisoformat(shown[name]), where)
    if "longest" in shown:
        shown["longest"] = time_display.length(Span.of(shown["longest"]).length)
    if "windows" in shown:
        shown["windows"] = "; ".join(_window(window, where) for window in shown["windows"])
    return shown


def _window(window: dict[str, Any], where: datetime.tzinfo) -> str:
    span = Span.of(window)
    start, end = (time_display.brief(moment, where) for moment in (span.start, span.end))
    note = f" ({window['note']})" if window.get("note") else ""
    return f"{start} to {end}{note}"
