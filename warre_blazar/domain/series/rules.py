"""Reads the rule of a series as people and calendar programs write it.

The rule is an RRULE of RFC 5545. Calendar programs write it on a line of its own, beside lines with
the start (DTSTART) and the days that are left out (EXDATE). People also write those as parts of the
rule. Spaces and semicolons at the end don't matter.
"""

import dataclasses
import datetime
import re
import zoneinfo
from collections.abc import Sequence

from warre_blazar import texts
from warre_blazar.errors import exceptions
from warre_blazar.texts import Said

FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
PARTS = {
    *("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", "BYMONTHDAY", "BYYEARDAY"),
    *("BYWEEKNO", "BYMONTH", "BYSETPOS", "BYHOUR", "BYMINUTE"),
}
NAME = "rrule"
#: The longest rule that is stored.
LONGEST = 255
WHOLE = re.compile(r"[1-9]\d{0,3}", re.ASCII)

_PROPERTIES = "DTSTART|DTEND|DURATION|RRULE|EXDATE|RDATE|EXRULE"
_LINE_BEGINS = re.compile(rf"(?=(?:{_PROPERTIES})[;:])", re.IGNORECASE)
_LINE = re.compile(r"(\w+)(?:;(?:TZID=([^;:]+)|VALUE=[A-Z-]+))*:(.*)", re.IGNORECASE)
_MOMENT = re.compile(r"(\d{8})(?:T(\d{6})(Z?))?", re.ASCII)


@dataclasses.dataclass(frozen=True)
class GivenRule:
    """What a text says about the times of a series."""

    #: The parts of the rule, without spaces and in upper case.
    rule: str
    #: The days on which nothing is booked (2026-12-24), and the local starts at which nothing is
    #: (2026-12-24T09:00), in order.
    exdates: tuple[str, ...]


def read(text: str, start: datetime.datetime, timezone: str) -> GivenRule:
    """Read a rule.

    :param start: the local start of the first occurrence.
    :param timezone: the name of the time zone of all local times.
    :raises InvalidField: the text has something that this package doesn't take, or another start.
    """
    # Python and dateutil read the digits of all scripts.
    if not text.isascii():
        raise refused(texts.expected.RULE_ASCII())
    rule = ""
    exdates: set[str] = set()
    for line in filter(None, _LINE_BEGINS.split(re.sub(r"\\n|\s", "", text))):
        match = _LINE.fullmatch(line)
        if match is None or match[1].upper() == NAME.upper():
            rule = f"{rule};{match[3] if match else line}"
        else:
            exdates.update(_other(match[1].upper(), match[3], start, timezone, match[2]))
    kept = []
    for part in filter(None, rule.upper().split(";")):
        name, _, value = part.partition("=")
        if name in ("DTSTART", "EXDATE"):
            exdates.update(_other(name, value, start, timezone, None))
        else:
            kept.append(part)
    rule = ";".join(kept)
    parts(rule)
    if len(rule) > LONGEST:
        raise refused(texts.expected.LENGTH(least=1, most=LONGEST))
    return GivenRule(rule, tuple(sorted(exdates)))


def _other(
    name: str, value: str, start: datetime.datetime, timezone: str, of_value: str | None
) -> Sequence[str]:
    """The days and starts that another property than the rule leaves out.

    :param of_value: the name of the time zone in which the value is. None: ``timezone``.
    """
    if name not in ("DTSTART", "EXDATE"):
        raise refused(texts.expected.RULE_NO_PART(part=name, known=sorted(PARTS)))
    found = [_local(each, timezone, of_value) for each in filter(None, value.split(","))]
    if name == "EXDATE":
        return found
    if found not in ([f"{start:%Y-%m-%d}"], [start.isoformat(timespec="minutes")]):
        at = f"{start:%Y-%m-%d %H:%M}"
        raise refused(texts.expected.RULE_OTHER_START(start=at, timezone=timezone))
    return ()


def _local(text: str, timezone: str, of_text: str | None) -> str:
    """A date or a date-time of RFC 5545 as a local day, or as a local time in whole minutes."""
    match = _MOMENT.fullmatch(text.upper())
    try:
        if match is None:
            raise ValueError(text)
        moment = datetime.datetime.strptime(match[1] + (match[2] or "000000"), "%Y%m%d%H%M%S")
        if not match[2]:
            return f"{moment:%Y-%m-%d}"
        if match[3] or of_text:
            there = moment.replace(tzinfo=datetime.UTC if match[3] else zone(of_text or ""))
            moment = there.astimezone(zone(timezone)).replace(tzinfo=None)
        return moment.isoformat(timespec="minutes")
    except (ValueError, OverflowError):
        raise refused(texts.expected.RULE_EXDATE()) from None


def parts(rule: str) -> dict[str, str]:
    """The parts of a rule by name.

    :param rule: parts in upper case, without spaces.
    :raises InvalidField: a part isn't of a rule that this package takes.
    """
    if "FREQ=" not in rule:
        raise refused(texts.expected.RULE_FREQ())
    found: dict[str, str] = {}
    for part in rule.split(";"):
        name, equals, value = part.partition("=")
        if name not in PARTS:
            raise refused(texts.expected.RULE_NO_PART(part=name, known=sorted(PARTS)))
        if not equals or not value or name in found:
            raise refused(texts.expected.RULE_PARTS(part=name))
        found[name] = value
    if found.get("FREQ") not in FREQUENCIES:
        raise refused(texts.expected.RULE_FREQ_OF(known=FREQUENCIES))
    if not WHOLE.fullmatch(found.get("INTERVAL", "1")):
        raise refused(texts.expected.RULE_INTERVAL())
    return found


def until(text: str, timezone: str) -> datetime.datetime:
    """The last local start that an UNTIL allows. A date includes the whole day.

    :raises InvalidField: it isn't a date or a date-time.
    """
    match = _MOMENT.fullmatch(text)
    try:
        if match is None:
            raise ValueError(text)
        moment = datetime.datetime.strptime(match[1] + (match[2] or "235959"), "%Y%m%d%H%M%S")
        if not match[3]:
            return moment
        there = moment.replace(tzinfo=datetime.UTC).astimezone(zone(timezone))
        return there.replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise refused(texts.expected.RULE_UNTIL()) from None


def zone(name: str) -> zoneinfo.ZoneInfo:
    """The time zone with a name.

    :raises InvalidField: there is none.
    """
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise exceptions.InvalidField("timezone", texts.expected.TIMEZONE()) from None


def refused(expected: Said) -> exceptions.InvalidField:
    """The refusal of a rule."""
    return exceptions.InvalidField(NAME, expected)
