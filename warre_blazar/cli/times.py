"""Times as people write them."""

import datetime
import re
import zoneinfo

from warre_blazar.cli.failures import Failure

_ZONE = re.compile(
    r"\s*(?P<zone>\b(?:UTC|GMT|Z)|[+-]\d{2}:?\d{2}|[A-Za-z_]+/[A-Za-z_/+-]+)\s*$", re.IGNORECASE
)
_CLOCK = re.compile(r"\d:\d|\d\s*[ap]m\b|\bnoon\b|\bmidnight\b|^\s*(now|in)\b|\bago\b", re.I)
_HOUR = re.compile(r"(\d+):(\d+)")
_NUMERIC = re.compile(r"\b\d{1,4}[./-]\d{1,2}([./-]\d{1,4})?\b")
_MONTH = re.compile(r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b", re.I)
#: dateparser before 1.5 doesn't know it, and it adds nothing: a weekday is the next one.
_NEXT = re.compile(r"\bnext (?=(mon|tue|wed|thu|fri|sat|sun))", re.I)
_WORD = re.compile(
    rf"{_MONTH.pattern}|\b(mon|tue|wed|thu|fri|sat|sun)[a-z]*\b"
    r"|\b(today|tomorrow|now|noon|midnight)\b|\bin\b|\bnext\b|\d:\d|\d\s*[ap]m\b",
    re.I,
)


def zone(name: str | None) -> datetime.tzinfo:
    """A time zone; None is UTC.

    :raises Failure: there is none of that name.
    """
    if name is None or name.upper() in ("UTC", "GMT", "Z"):
        return datetime.UTC
    if name == "local":
        # The rules of a zone, not today's offset: winter ends.
        import tzlocal  # noqa: PLC0415

        return tzlocal.get_localzone()
    if re.fullmatch(r"[+-]\d{2}:?\d{2}", name):
        parsed = datetime.datetime.strptime(name, "%z").tzinfo
        assert parsed is not None
        return parsed
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise Failure(f"{name!r} isn't a time zone; give one such as Europe/Berlin") from None


def is_iso(text: str) -> bool:
    """Whether it is ISO 8601."""
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def parse(text: str, where: datetime.tzinfo, now: datetime.datetime) -> datetime.datetime:
    """A time, aware. A day without a time of day is its first minute.

    :param where: the zone if the text has none.
    :raises Failure: it is no time, or could be several.
    """
    if is_iso(text):
        parsed = datetime.datetime.fromisoformat(text)
        return parsed if parsed.tzinfo else parsed.replace(tzinfo=where)
    words, where = _apart(text, where)
    if is_iso(words):
        return datetime.datetime.fromisoformat(words).replace(tzinfo=where)
    understood = _people(words, now.astimezone(where).replace(tzinfo=None))
    if understood is None:
        raise Failure(
            f"{text!r} isn't a time. Write 2026-12-01T09:00, 'mon 9:00' or 'tomorrow 14:00'"
        )
    return understood.replace(tzinfo=where)


def _apart(text: str, where: datetime.tzinfo) -> tuple[str, datetime.tzinfo]:
    """The text without a zone at its end, and that zone."""
    found = _ZONE.search(text)
    if not found or not text[: found.start()].strip():
        return text, where
    return text[: found.start()].strip(), zone(found["zone"])


def _people(words: str, now: datetime.datetime) -> datetime.datetime | None:
    """What dateparser makes of it, kept from its guesses at nonsense and at 1/2/2027."""
    if _NUMERIC.search(_HOUR.sub("", words)):
        raise Failure(f"{words!r} could be several days; write it as 2026-12-01")
    # dateparser would take the hours of a day that hasn't so many for something else.
    if not _WORD.search(words) or any(int(h) > 23 or int(m) > 59 for h, m in _HOUR.findall(words)):
        return None
    # Late: it takes a third of a second to get ready.
    import dateparser  # noqa: PLC0415

    parsed = dateparser.parse(
        _NEXT.sub("", words),
        languages=["en"],
        settings={
            "RELATIVE_BASE": now,
            "PREFER_DATES_FROM": "future",
            "RETURN_AS_TIMEZONE_AWARE": False,
        },
    )
    if parsed is None or parsed.tzinfo:
        return None
    if _MONTH.search(words) and parsed.day not in map(int, re.findall(r"\d+", words)):
        return None
    if not _CLOCK.search(words):
        return parsed.replace(hour=0, minute=0, second=0, microsecond=0)
    return parsed.replace(second=0, microsecond=0)


def told(moment: datetime.datetime, where: datetime.tzinfo) -> str:
    """For people: with the zone, and UTC beside it."""
    utc = moment.astimezone(datetime.UTC)
    there = moment.astimezone(where)
    if there.utcoffset() == datetime.timedelta():
        return f"{utc:%a %Y-%m-%d %H:%M} UTC"
    return f"{there:%a %Y-%m-%d %H:%M %Z} ({utc:%Y-%m-%d %H:%M} UTC)"


def duration(seconds: float) -> str:
    """Such as 2 d 03:00 or 04:59."""
    whole = max(0, int(seconds))
    days, rest = divmod(whole, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, left = divmod(rest, 60)
    if days:
        return f"{days} d {hours:02}:{minutes:02} h"
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"
