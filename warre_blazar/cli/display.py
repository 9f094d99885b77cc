"""How commands show times and lengths: the one place that decides it."""

import datetime
from typing import Any

from warre_blazar.cli import zones

#: Fields of the API's documents that are times.
FIELDS = frozenset({"start", "end", "created_at"})
#: Lengths in hours are shown in steps that are whole minutes, so that --hours takes them.
_STEP_MINUTES = 3


def field(name: str, value: Any, where: datetime.tzinfo) -> Any:
    """A field of a document: times in a zone, with their offset; anything else as it is."""
    if name not in FIELDS or not isinstance(value, str):
        return value
    return iso(datetime.datetime.fromisoformat(value), where)


def iso(moment: datetime.datetime, where: datetime.tzinfo) -> str:
    """For tables and programs: 2026-12-01T10:00:00+01:00."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return moment.astimezone(where).isoformat()


def brief(moment: datetime.datetime, where: datetime.tzinfo) -> str:
    """Within a sentence: 2026-12-01 10:00 +01:00, or UTC in place of its offset."""
    there = moment.astimezone(where)
    return f"{there:%Y-%m-%d %H:%M} {_offset(there)}"


def plain(moment: datetime.datetime, where: datetime.tzinfo) -> str:
    """To be read twice: with the weekday, the offset and the name of the zone."""
    there = moment.astimezone(where)
    name = zones.label(where)
    named = f" ({name})" if name not in ("UTC", _offset(there)) else ""
    return f"{there:%a} {brief(moment, where)}{named}"


def period(start: datetime.datetime, end: datetime.datetime, where: datetime.tzinfo) -> str:
    """From a start to an end, to be read twice, with its length."""
    # Between times of one zone Python counts what clocks show, not what passes.
    lasting = end.astimezone(datetime.UTC) - start.astimezone(datetime.UTC)
    return f"{plain(start, where)} to {plain(end, where)}, {length(lasting)}"


def argument(moment: datetime.datetime, where: datetime.tzinfo) -> str:
    """To be given to a command: 2026-12-01T10:00+01:00."""
    text = moment.astimezone(where).isoformat(timespec="minutes")
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


def length(lasting: datetime.timedelta) -> str:
    """24 hours, 1 hour 30 minutes."""
    hours, minutes = divmod(int(lasting.total_seconds()) // 60, 60)
    counted = ((hours, "hour"), (minutes, "minute"))
    parts = [f"{count} {unit}{'' if count == 1 else 's'}" for count, unit in counted if count]
    return " ".join(parts) or "0 minutes"


def hours(lasting: datetime.timedelta) -> float:
    """Rounded down to a number that ``--hours`` takes, and that fits."""
    minutes = int(lasting.total_seconds()) // 60
    return round((minutes - minutes % _STEP_MINUTES) / 60, 2)


def left(seconds: float) -> str:
    """What is left of a wait: 2 d 03:00 h or 4:59."""
    whole = max(0, int(seconds))
    days, rest = divmod(whole, 86400)
    count, rest = divmod(rest, 3600)
    minutes, second = divmod(rest, 60)
    if days:
        return f"{days} d {count:02}:{minutes:02} h"
    return f"{count}:{minutes:02}:{second:02}" if count else f"{minutes}:{second:02}"


def slots(count: int) -> str:
    """1 slot, 2 slots."""
    return f"{count} slot{'' if count == 1 else 's'}"


def _offset(there: datetime.datetime) -> str:
    if there.tzinfo is datetime.UTC or there.tzname() in ("UTC", "GMT"):
        return "UTC"
    return there.isoformat()[-6:]
