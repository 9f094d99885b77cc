"""Suggests what a user could book instead if a booking is refused."""

import contextlib
import dataclasses
import datetime
from typing import Any

from warre_blazar.cli import no_free_slots, time_display, wording
from warre_blazar.cli.command_names import Fields
from warre_blazar.client import Client, Span, errors

#: Codes of errors after which the same booking may be possible at another time.
CODES = frozenset(
    {"slots_exhausted", "hosts_exhausted", "maintenance", "before_flavor_start", "after_flavor_end"}
)
_REASONS = {
    "slots_exhausted": "No slot is free then",
    "hosts_exhausted": "No host has room then",
    "maintenance": "The flavor is closed for maintenance then",
}
#: Texts to show if some of the instances could be booked, but not all. Data of the error replaces
#: the names in braces.
_PARTIAL_REASONS = {
    "slots_exhausted": "Only {free} of the flavor's {slots} slots {are} free then, and {asked} "
    "were asked for",
    "hosts_exhausted": "The hosts have room for only {free} of {asked} instances then",
}


def first(spans: list[Span], length: datetime.timedelta) -> datetime.datetime | None:
    """Return the first start at which a booking of this length fits into a span, or None."""
    return min((span.start for span in spans if span.length >= length), default=None)


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A booking that the user wants.

    ``flavor`` is an id or a name. ``where`` is the zone in which times are shown.
    """

    flavor: str
    start: datetime.datetime
    end: datetime.datetime
    count: int
    affinity: bool | None
    where: datetime.tzinfo

    @property
    def length(self) -> datetime.timedelta:
        """The time that passes from start to end, whether or not clocks are changed in between."""
        return self.end.astimezone(datetime.UTC) - self.start.astimezone(datetime.UTC)

    @property
    def period(self) -> str:
        """A text with the start and the end, in the time zone of the start, and the length."""
        return time_display.period(self.start, self.end, self.start.tzinfo or self.where)


def instead(client: Client, wanted: Wanted, error: errors.ApiError, app: object) -> str:
    """Return a text that says why a booking was refused, and when it would be possible.

    :param error: the error with which the API refused the booking. Its code is in ``CODES``.
    :param app: the running CLI. The text uses the names that commands have in this CLI.
    """
    return f"{why(error)}. {later(client, wanted, app)}"


def why(error: errors.ApiError) -> str:
    """Return a clause that says why a booking was refused.

    :param error: the error with which the API refused the booking. Its code is in ``CODES``.
    """
    if error.detail.get("asked") and error.detail.get("free") and error.code in _PARTIAL_REASONS:
        are = "is" if error.detail["free"] == 1 else "are"
        with contextlib.suppress(KeyError):
            return _PARTIAL_REASONS[error.code].format(**{**error.detail, "are": are})
    return _REASONS.get(error.code, str(error).rstrip("."))


def later(client: Client, wanted: Wanted, app: object) -> str:
    """Return a sentence with the first start at which the booking fits.

    If no such start is found, the sentence gives other advice.
    """
    verb = "is" if wanted.count == 1 else "are"
    slots, hours = wording.slots(wanted.count), _hours(wanted.length)
    free_slots, calendar = (Fields(app)[n] for n in ("flavor-free-slots", "flavor-calendar"))
    search: dict[str, Any] = {
        "start": wanted.start,
        "count": wanted.count,
        "affinity": wanted.affinity,
    }
    try:
        spans = client.flavors.free_slots(wanted.flavor, **search)
    except errors.ClientError:
        return f"{free_slots} {wanted.flavor} shows when it is free"
    start = first(spans, wanted.length)
    if start is None:
        reason = no_free_slots.reason(client, wanted.flavor, length=wanted.length, **search)
        if reason is not None and reason.code in no_free_slots.LASTING:
            return no_free_slots.explanation(
                reason, wanted.flavor, wanted.where, app, affinity=wanted.affinity
            )
        return (
            f"In the year from then on, {slots} {verb} never free for {hours} h. Try fewer slots "
            f"or hours; {calendar} {wanted.flavor} shows what is free"
        )
    return sentence(wanted.count, wanted.length, start, wanted.where)


def sentence(
    count: int, length: datetime.timedelta, start: datetime.datetime, where: datetime.tzinfo
) -> str:
    """Return a sentence with a start at which a booking fits."""
    verb = "is" if count == 1 else "are"
    return (
        f"{wording.slots(count)} {verb} free for {_hours(length)} h from "
        f"{time_display.brief(start, where)}: --start {time_display.argument(start, where)}"
    )


def _hours(length: datetime.timedelta) -> str:
    return f"{length.total_seconds() / 3600:.2f}".rstrip("0").rstrip(".")
