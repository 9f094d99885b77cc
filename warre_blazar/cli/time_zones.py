"""Finds time zones by their names, and chooses the time zone of a command."""

import datetime
import difflib
import functools
import os
import re
import zoneinfo

from warre_blazar.cli.failure import Failure, WrongArguments

_UTC = frozenset({"utc", "gmt", "z", "zulu", "etc/utc", "etc/gmt", "etc/zulu"})
_OFFSET = re.compile(r"(?:utc|gmt)?\s?([+-])(\d{1,2})(?::?(\d{2}))?", re.IGNORECASE | re.ASCII)
#: A zone's name. Abbreviations such as CET don't match.
_NAME = re.compile(r"[a-z_]+(/[a-z0-9_+-]+)+", re.IGNORECASE | re.ASCII)
#: The offsets from UTC of the time zones that are farthest east and farthest west.
_MOST_EAST, _MOST_WEST = datetime.timedelta(hours=14), datetime.timedelta(hours=-12)


class NoZone(WrongArguments):
    """A name isn't the name of a time zone.

    :ivar problem: what is wrong with the name, for people.
    :ivar instead: similar names, or offsets, to write instead.
    """

    def __init__(self, problem: str, instead: list[str]) -> None:
        self.problem, self.instead = problem, instead
        super().__init__(
            f"{problem}; write {' or '.join(instead) or 'a name such as Europe/Berlin, or +10:00'}"
        )


def chosen(name: str | None) -> datetime.tzinfo:
    """Return the time zone of a command.

    This is the named zone. Without a name, it is the zone in the variable TZ, or else the zone of
    the machine.

    :raises Failure: the zone doesn't exist, or the machine's zone is unknown.
    """
    if name is not None and name != "local":
        return named(name)
    variable = os.environ.get("TZ")
    return _zone_of_machine() if variable is None else _zone_of_variable(variable)


def named(name: str) -> datetime.tzinfo:
    """Return the time zone for a name such as Europe/Berlin, or for an offset such as UTC-5.

    The case of a name doesn't matter.

    :raises NoZone: the zone doesn't exist.
    """
    if is_utc(name):
        return datetime.UTC
    if match := _OFFSET.fullmatch(name):
        return _offset(name, *match.groups())
    if not _NAME.fullmatch(name):
        raise NoZone(f"{name!r} doesn't name exactly one time zone", _offsets_of(name))
    by_folded_name = {key.casefold(): key for key in zoneinfo.available_timezones()}
    try:
        return zoneinfo.ZoneInfo(by_folded_name[name.casefold()])
    except (KeyError, zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        close = difflib.get_close_matches(name.casefold(), by_folded_name, 2, 0.75)
        instead = [by_folded_name[folded] for folded in close]
        raise NoZone(f"{name!r} isn't a time zone", instead) from None


@functools.cache
def _offsets_of(abbreviation: str) -> list[str]:
    """Return the offsets from UTC for which zones use an abbreviation this year, as UTC-05:00."""
    if not 2 <= len(abbreviation) <= 5:
        return []
    year = datetime.datetime.now(datetime.UTC).year
    offsets: set[datetime.timedelta] = set()
    for key in zoneinfo.available_timezones():
        try:
            zone = zoneinfo.ZoneInfo(key)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            continue
        for month in (1, 7):
            local = datetime.datetime(year, month, 1, tzinfo=zone)
            if local.tzname() == abbreviation.upper():
                offsets.add(local.utcoffset() or datetime.timedelta())
    return [str(datetime.timezone(offset)) for offset in sorted(offsets)]


def is_utc(name: str) -> bool:
    """Whether a name is one of the names of UTC."""
    return name.casefold() in _UTC


def iana_name(zone: datetime.tzinfo) -> str | None:
    """Return the name of a zone in IANA's list. None if the zone is UTC or only an offset."""
    name = getattr(zone, "key", None)
    return name if isinstance(name, str) and not is_utc(name) else None


def label(zone: datetime.tzinfo) -> str:
    """Return a zone's name for people, such as UTC, Europe/Berlin or +10:00."""
    name = getattr(zone, "key", None) or str(zone)
    if is_utc(name):
        return "UTC"
    return str(name).removeprefix("UTC") or "UTC"


def _offset(text: str, sign: str, hours: str, minutes: str | None) -> datetime.tzinfo:
    ahead = datetime.timedelta(hours=int(hours), minutes=int(minutes or 0))
    ahead = -ahead if sign == "-" else ahead
    if int(minutes or 0) > 59 or not _MOST_WEST <= ahead <= _MOST_EAST:
        raise NoZone(f"{text!r} isn't the offset of a time zone (-12:00 to +14:00)", [])
    return datetime.timezone(ahead) if ahead else datetime.UTC


def _zone_of_variable(value: str) -> datetime.tzinfo:
    """Return the zone that the variable TZ names.

    Names without a slash, such as CET, are accepted here, because the C library accepts them too.
    """
    name = value.removeprefix(":")
    if not name or is_utc(name):
        return datetime.UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise Failure(
            f"The variable TZ is {value!r}, which isn't the name of a time zone; set it to a name "
            "such as Europe/Berlin, or give --utc or --timezone"
        ) from None


def _zone_of_machine() -> datetime.tzinfo:
    # tzlocal returns the zone with its rules. Today's offset alone isn't enough, because it may
    # change with the season.
    import tzlocal  # noqa: PLC0415

    try:
        return tzlocal.get_localzone()
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise Failure(
            "This machine doesn't say which time zone it is in; give --utc or --timezone, or set TZ"
        ) from error
