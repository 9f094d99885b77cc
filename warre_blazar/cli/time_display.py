"""Formats all times and lengths that commands show."""

import datetime
import functools
from collections.abc import Callable
from typing import Any

from warre_blazar import texts
from warre_blazar.cli import time_zones, times
from warre_blazar.fields import declaration, flavors, others, reservations, usage, waits
from warre_blazar.fields.kinds import Time

#: The fields of the API's documents that are times. The first ones are fields of offers, of dry
#: runs and of what a window does.
FIELDS = frozenset({"latest_end", "next_start", "new_start", "new_end"}) | frozenset(
    field.name
    for resource in (
        *(
            flavors.FlavorFields,
            reservations.ReservationFields,
            others.WindowFields,
            usage.RefusalFields,
            waits.WaitFields,
        ),
    )
    for field in declaration.fields(resource)
    if isinstance(field.kind, Time)
)


def field(name: str, value: Any, where: datetime.tzinfo) -> Any:
    """Return a field of a document as it is shown. A time is converted to the zone."""
    if name not in FIELDS or not isinstance(value, str):
        return value
    return iso(datetime.datetime.fromisoformat(value), where)


def iso(moment: datetime.datetime, where: datetime.tzinfo) -> str:
    """Return a time for tables and programs, such as 2026-12-01T10:00:00+01:00."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return moment.astimezone(where).isoformat()


def brief(moment: datetime.datetime, where: datetime.tzinfo) -> str:
    """Return a time for a sentence, such as 2026-12-01 10:00 +01:00 or 2026-12-01 09:00 UTC."""
    local = moment.astimezone(where)
    return f"{local:%Y-%m-%d %H:%M} {_offset(local)}"


def reader(where: datetime.tzinfo, user: Callable[[str], str] = str) -> texts.Reader:
    """The reader of sentences whose times are shown in a zone.

    :param user: returns the name of a user, given by the id.
    """
    return texts.reader(functools.partial(brief, where=where), user=user)


def plain(moment: datetime.datetime, where: datetime.tzinfo) -> str:
    """Return a time in full, with weekday, offset and the name of the zone, for confirmations."""
    local = moment.astimezone(where)
    name = time_zones.label(where)
    named = f" ({name})" if name not in ("UTC", _offset(local)) else ""
    return f"{local:%a} {brief(moment, where)}{named}"


def period(
    start: datetime.datetime,
    end: datetime.datetime,
    where: datetime.tzinfo,
    present: tuple[datetime.datetime, datetime.datetime] | None = None,
) -> str:
    """Return a text for confirmations, with the start and the end in full, and the length.

    :param present: the present start and end of an object whose times are about to change. The
        times that change are shown beside the new ones, and the difference in words.
    """
    # The length is calculated in UTC. Within a zone, Python would subtract the times that clocks
    # show. If clocks are changed in between, the result isn't the time that passes.
    lasting = end.astimezone(datetime.UTC) - start.astimezone(datetime.UTC)
    before = [moment.astimezone(datetime.UTC) for moment in present or (start, end)]
    moments = (
        plain(new, where)
        # Python takes times in two zones for different if clocks show one of them twice.
        + ("" if new.astimezone(datetime.UTC) == old else f" (before: {brief(old, where)})")
        for new, old in zip((start, end), before, strict=True)
    )
    return f"{' to '.join(moments)}, {length(lasting)}{_difference(lasting, start, before)}"


def _difference(
    lasting: datetime.timedelta, start: datetime.datetime, before: list[datetime.datetime]
) -> str:
    """Return how a period differs from the one before, such as ": 8 hours shorter". Else ""."""
    long_before = before[1] - before[0]
    parts = []
    if lasting != long_before:
        longer = "longer" if lasting > long_before else "shorter"
        parts.append(f"{length(abs(lasting - long_before))} {longer}")
    if shift := start.astimezone(datetime.UTC) - before[0]:
        later = "later" if shift > datetime.timedelta() else "earlier"
        parts.append(f"begins {length(abs(shift))} {later}")
    instead = f" instead of {length(long_before)}" if lasting != long_before else ""
    return f"{instead}: {', '.join(parts)}" if parts else ""


def argument(moment: datetime.datetime, where: datetime.tzinfo) -> str:
    """Return a time as an argument of a command, such as 2026-12-01T10:00+01:00."""
    text = moment.astimezone(where).isoformat(timespec="minutes")
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


def length(lasting: datetime.timedelta) -> str:
    """Return a length in words, such as "24 hours" or "1 hour 30 minutes"."""
    hours, minutes = divmod(int(lasting.total_seconds()) // 60, 60)
    counted = ((hours, "hour"), (minutes, "minute"))
    parts = [f"{count} {unit}{'' if count == 1 else 's'}" for count, unit in counted if count]
    return " ".join(parts) or "0 minutes"


def hours(lasting: datetime.timedelta) -> float:
    """Return a length in hours, rounded down to a number that ``--hours`` accepts."""
    minutes = int(lasting.total_seconds()) // 60
    return round((minutes - minutes % times.SHOWN_STEP_MINUTES) / 60, 2)


def left(seconds: float) -> str:
    """Return the time that is left, in a short form such as "2 d 03:00 h" or "4:59"."""
    whole = max(0, int(seconds))
    days, rest = divmod(whole, 86400)
    count, rest = divmod(rest, 3600)
    minutes, second = divmod(rest, 60)
    if days:
        return f"{days} d {count:02}:{minutes:02} h"
    return f"{count}:{minutes:02}:{second:02}" if count else f"{minutes}:{second:02}"


def _offset(local: datetime.datetime) -> str:
    if local.tzinfo is datetime.UTC or local.tzname() in ("UTC", "GMT"):
        return "UTC"
    return local.isoformat()[-6:]
