"""Time zones: by what people call them, and the one that a command works in."""

import datetime
import os
import re
import zoneinfo

from warre_blazar.cli.failures import Failure

_UTC = frozenset({"utc", "gmt", "z", "zulu", "etc/utc", "etc/gmt", "etc/zulu"})
_OFFSET = re.compile(r"(?:utc|gmt)?\s?([+-])(\d{1,2})(?::?(\d{2}))?", re.IGNORECASE | re.ASCII)
#: A zone's name; an abbreviation such as CET is none.
_NAME = re.compile(r"[a-z_]+(/[a-z0-9_+-]+)+", re.IGNORECASE | re.ASCII)
#: The farthest that any zone is from UTC.
_MOST_EAST, _MOST_WEST = datetime.timedelta(hours=14), datetime.timedelta(hours=-12)
#: Where abbreviations are used, to say what can be written instead: most mean several zones.
_ABBREVIATIONS = {
    "AEDT": ("Australia/Sydney", "+11:00"),
    "AEST": ("Australia/Brisbane", "+10:00"),
    "AST": ("America/Halifax", "Asia/Riyadh"),
    "BST": ("Europe/London", "Asia/Dhaka"),
    "CEST": ("Europe/Berlin", "+02:00"),
    "CET": ("Europe/Berlin", "+01:00"),
    "CDT": ("America/Chicago", "America/Havana"),
    "CST": ("America/Chicago", "Asia/Shanghai"),
    "EDT": ("America/New_York", "UTC-04:00"),
    "EEST": ("Europe/Kyiv", "+03:00"),
    "EET": ("Europe/Kyiv", "+02:00"),
    "EST": ("America/New_York", "UTC-05:00"),
    "IST": ("Asia/Kolkata", "Asia/Jerusalem", "Europe/Dublin"),
    "JST": ("Asia/Tokyo", "+09:00"),
    "KST": ("Asia/Seoul", "+09:00"),
    "MDT": ("America/Denver", "UTC-06:00"),
    "MSK": ("Europe/Moscow", "+03:00"),
    "MST": ("America/Denver", "America/Phoenix"),
    "NZDT": ("Pacific/Auckland", "+13:00"),
    "NZST": ("Pacific/Auckland", "+12:00"),
    "PDT": ("America/Los_Angeles", "UTC-07:00"),
    "PST": ("America/Los_Angeles", "Asia/Manila"),
    "SGT": ("Asia/Singapore", "+08:00"),
    "WEST": ("Europe/Lisbon", "+01:00"),
    "WET": ("Europe/Lisbon", "+00:00"),
}


class NoZone(Failure):
    """A name that is no time zone's.

    :ivar problem: what is wrong with it, for people.
    """

    def __init__(self, problem: str, instead: str) -> None:
        self.problem = problem
        super().__init__(f"{problem}; write {instead}")


def chosen(name: str | None) -> datetime.tzinfo:
    """The zone a command works in: the one that is named, else ``$TZ``'s, else the machine's.

    :raises Failure: there is no such zone, or the machine doesn't say.
    """
    if name is not None and name != "local":
        return named(name)
    variable = os.environ.get("TZ")
    return _machine() if variable is None else _of_variable(variable)


def named(name: str) -> datetime.tzinfo:
    """UTC, an offset such as +10:00 or UTC-5, or a name such as Europe/Berlin in any case.

    :raises NoZone: there is no such zone.
    """
    if is_utc(name):
        return datetime.UTC
    if found := _OFFSET.fullmatch(name):
        return _offset(name, *found.groups())
    if not _NAME.fullmatch(name):
        instead = alternatives(name) or ("Europe/Berlin", "+10:00")
        raise NoZone(f"{name!r} isn't one time zone", " or ".join(instead))
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        pass
    known = {key.casefold(): key for key in zoneinfo.available_timezones()}
    if name.casefold() in known:
        return zoneinfo.ZoneInfo(known[name.casefold()])
    raise NoZone(f"{name!r} isn't a time zone", "a name such as Europe/Berlin, or +10:00")


def alternatives(abbreviation: str) -> tuple[str, ...]:
    """Zones that an abbreviation may mean, none if it isn't known."""
    return _ABBREVIATIONS.get(abbreviation.upper(), ())


def known(word: str) -> bool:
    """Whether a word is UTC's, or an abbreviation of zones."""
    return is_utc(word) or bool(alternatives(word))


def is_utc(name: str) -> bool:
    """Whether it is one of UTC's names."""
    return name.casefold() in _UTC


def label(zone: datetime.tzinfo) -> str:
    """What people call a zone: UTC, Europe/Berlin, +10:00."""
    name = getattr(zone, "key", None) or str(zone)
    if is_utc(name):
        return "UTC"
    return str(name).removeprefix("UTC") or "UTC"


def _offset(text: str, sign: str, hours: str, minutes: str | None) -> datetime.tzinfo:
    ahead = datetime.timedelta(hours=int(hours), minutes=int(minutes or 0))
    ahead = -ahead if sign == "-" else ahead
    if int(minutes or 0) > 59 or not _MOST_WEST <= ahead <= _MOST_EAST:
        raise NoZone(f"{text!r} is no zone's offset", "one from -12:00 to +14:00")
    return datetime.timezone(ahead) if ahead else datetime.UTC


def _of_variable(value: str) -> datetime.tzinfo:
    """As the C library reads ``$TZ``, which takes names without a slash too."""
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


def _machine() -> datetime.tzinfo:
    # The rules of a zone, not today's offset: winter ends.
    import tzlocal  # noqa: PLC0415

    try:
        return tzlocal.get_localzone()
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise Failure(
            "This machine doesn't say which time zone it is in; give --utc or --timezone, or set TZ"
        ) from error
