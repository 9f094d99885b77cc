"""The grammar of times as people write them.

A phrase is read from its first character to its last by the rules below. It is refused if a part of
it matches no rule. (Libraries that parse times, such as dateparser and dateutil, guess which number
is the day, and skip words that they don't know. So they may take a phrase for a time that the user
doesn't mean.) ``time_input`` works out which time a phrase means on a given day.
"""

import dataclasses
import datetime
import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from warre_blazar.cli import time_zones

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTED = (
    *("one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_NUMBERS = {"a": 1, "an": 1} | {word: number for number, word in enumerate(_COUNTED, 1)}
#: The words that a misspelled word is compared with.
VOCABULARY = (*MONTHS, *WEEKDAYS, "today", "tomorrow", "now", "noon", "hours", "days", "next")


class Unclear(Exception):
    """A phrase isn't understood completely, or could mean different times.

    :param problem: what is wrong, for people.
    :param forms: phrases that the user may mean. Some of them may be refused too.
    """

    def __init__(self, problem: str, *forms: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.forms = forms


@dataclasses.dataclass(frozen=True)
class Clock:
    """A time of day. ``hour`` is 0 to 24. ``midnight``: whether the user wrote "midnight"."""

    hour: int
    minute: int = 0
    midnight: bool = False


@dataclasses.dataclass
class Phrase:
    """The parts of a phrase. A part that the phrase doesn't have is None."""

    #: The year (None if the phrase has no year), the month and the day.
    date: tuple[int | None, int, int] | None = None
    #: The number of the weekday (Monday is 0), and the word before the weekday, such as "next". The
    #: word is "" if the weekday stands alone.
    weekday: tuple[int, str] | None = None
    #: The number of days after today: 1 for "tomorrow", and -1 for "yesterday".
    days: int | None = None
    #: The number of days from now on, for "in 2 days". The time of day stays the same.
    days_on: int | None = None
    #: The time that passes from now on, for "in 2 hours".
    later: datetime.timedelta | None = None
    clock: Clock | None = None
    zone: str | None = None

    def put(self, name: str, value: Any) -> None:
        """Set a part of the phrase.

        :raises Unclear: the phrase already has this part.
        """
        if getattr(self, name) is not None:
            raise Unclear(f"there are two {_KINDS[name]} in it")
        setattr(self, name, value)


_KINDS = {
    "date": "dates",
    "weekday": "weekdays",
    "days": "days",
    "days_on": "lengths",
    "later": "lengths",
    "clock": "times of day",
    "zone": "time zones",
}


def read(text: str) -> Phrase:
    """Return the parts of a phrase.

    :raises Unclear: a part of the text isn't understood.
    """
    phrase = Phrase()
    place = 0
    while place < len(text):
        for pattern, note in _rules():
            if match := pattern.match(text, place):
                note(phrase, match)
                place = match.end()
                break
        else:
            raise _unknown(text, place)
        place = _BETWEEN.match(text, place).end()  # type: ignore[union-attr]
    return phrase


def _unknown(text: str, place: int) -> Unclear:
    """Return the error for a word that matches no rule. It suggests phrases to write instead."""
    before, rest = text[:place].rstrip(" ,"), text[place:]
    word = re.split(r"[\s,]", rest)[0]
    if before and (match := re.fullmatch(r"(\d{1,2})(\d{2})", word)):
        forms = [f"{before} {match[1]}:{match[2]}"]
    elif before and word.isdecimal():
        forms = [f"{before} {word}:00", f"{before} {word}pm"]
    elif before:
        forms = [f"{before} 9:00", f"{before} 14:00"]
    else:
        forms = [f"in {text}", f"{text}:00", f"{text}pm", f"in {text} hours"]
    return Unclear(f"{word!r} isn't clear" if before else f"{word!r} isn't a time", *forms)


def _instead(match: re.Match[str], *words: str) -> list[str]:
    """Return phrases to write instead. In each, one of the words replaces the part that matched."""
    text = match.string
    return [f"{text[: match.start()]}{word}{text[match.end() :]}".strip() for word in words]


# --- days


def _year_first(phrase: Phrase, match: re.Match[str]) -> None:
    phrase.put("date", (int(match["year"]), int(match["month"]), int(match["day"])))


def _year_last(phrase: Phrase, match: re.Match[str]) -> None:
    """Set a date such as 31/1/2027. Refuse a date such as 1/2/2027: the day may be 1 or 2."""
    first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
    readings = {(year, month, day) for day, month in ((first, second), (second, first))}
    possible = sorted(date for date in readings if 1 <= date[1] <= 12 and 1 <= date[2] <= 31)
    if len(possible) > 1:
        dates = [f"{y}-{m:02}-{d:02}" for y, m, d in possible]
        raise Unclear(f"{match[0]} may be either of two days", *_instead(match, *dates))
    phrase.put("date", possible[0] if possible else (year, second, first))


def _no_year(_: Phrase, match: re.Match[str]) -> None:
    first, second = match["first"], match["second"]
    forms = [f"{first}:{second}"] if "." in match[0] and len(second) == 2 else []
    forms += [
        f"{day} {MONTHS[int(month) - 1][:3]}"
        for day, month in ((first, second), (second, first))
        if 1 <= int(month) <= 12
    ]
    raise Unclear(f"{match[0]} has no year of four digits", *_instead(match, *forms))


def _day_and_month(phrase: Phrase, match: re.Match[str]) -> None:
    year = match["year"]
    month = _number_of(match["month"], MONTHS) + 1
    phrase.put("date", (int(year) if year else None, month, int(match["day"])))


def _weekday(phrase: Phrase, match: re.Match[str]) -> None:
    word = (match["which"] or "").strip().lower()
    phrase.put("weekday", (_number_of(match["weekday"], WEEKDAYS), word.removeprefix("on")))


def _from_today(phrase: Phrase, match: re.Match[str]) -> None:
    words = {"yesterday": -1, "today": 0, "tomorrow": 1}
    phrase.put("days", 2 if match["two"] else words[match["word"].lower()])


def _number_of(word: str, names: Sequence[str]) -> int:
    return next(n for n, name in enumerate(names) if name.startswith(word.lower()[:3]))


# --- lengths from now on


def _now(phrase: Phrase, _: re.Match[str]) -> None:
    phrase.put("later", datetime.timedelta())


def _length(phrase: Phrase, match: re.Match[str]) -> None:
    """Set a length from now on.

    Days and weeks are counted in the calendar, so the time of day stays the same. Hours and minutes
    are counted as time that passes.
    """
    days, later, seen = 0, datetime.timedelta(), set()
    for amount in _AMOUNT.finditer(match["lengths"]):
        unit = amount["unit"][0].lower()
        if amount["unit"].lower() == "m" and "h" not in seen:
            minutes_form = f"in {amount['number'] or amount['word']} minutes"
            raise Unclear("m may be minutes or months", *_instead(match, minutes_form))
        if unit in seen:
            raise Unclear(f"{match[0]} isn't one length", *_instead(match, "in 90 minutes"))
        seen.add(unit)
        count = _count(amount["number"], amount["word"])
        if unit in "dw":
            days += _whole(count * (7 if unit == "w" else 1), match)
        else:
            minutes = _whole(round(count * (60 if unit == "h" else 1), 6), match)
            later += datetime.timedelta(minutes=minutes)
    sign = -1 if (match["side"] or "").lower() == "ago" else 1
    if seen & {"d", "w"}:
        phrase.put("days_on", sign * days)
    if seen & {"h", "m"}:
        phrase.put("later", sign * later)


def _count(number: str | None, word: str | None) -> float:
    if number is not None:
        return float(number)
    return _NUMBERS.get(str(word).lower(), 0.5)


def _whole(number: float, match: re.Match[str]) -> int:
    if number != int(number):
        problem = f"{match[0]} isn't a whole number of minutes or days"
        raise Unclear(problem, *_instead(match, "in 90 minutes"))
    if number > _MOST_MINUTES:
        raise Unclear(f"{match[0]} is too long")
    return int(number)


_MOST_MINUTES = 100 * 366 * 24 * 60


# --- times of day


def _clock(phrase: Phrase, match: re.Match[str]) -> None:
    hour, minute, half = int(match["hour"]), int(match["minute"] or 0), match["half"]
    if minute > 59 or int(match["second"] or 0) > 59:
        raise Unclear(f"there is no minute or second of more than 59 in {match[0]}")
    if half:
        phrase.put("clock", _twelve_hour_clock(match, hour, minute, half[0].lower()))
        return
    _put_hour(phrase, match, hour, minute)


def _twelve_hour_clock(match: re.Match[str], hour: int, minute: int, half: str) -> Clock:
    if not 1 <= hour <= 12:
        raise Unclear(f"{match[0]} has an hour that isn't 1 to 12", *_instead(match, f"{hour}:00"))
    if (hour, minute) == (12, 0):
        raise Unclear(f"{match[0]} is noon to some, midnight to others", *_noon_or_not(match))
    return Clock(hour % 12 + (12 if half == "p" else 0), minute)


def _noon_or_not(match: re.Match[str]) -> list[str]:
    return _instead(match, "12:00", "00:00")


def _put_hour(phrase: Phrase, match: re.Match[str], hour: int, minute: int = 0) -> None:
    if hour > 24 or (hour == 24 and minute):
        raise Unclear(f"a day has no {match[0]}")
    phrase.put("clock", Clock(hour, minute))


def _french(phrase: Phrase, match: re.Match[str]) -> None:
    """Set a time of day such as 9h30.

    A phrase that has nothing else is refused, because it could also mean a length.
    """
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    if match.start() == 0 and match.end() == len(match.string):
        raise Unclear(
            f"{match[0]} is a time of day or a length", f"{hour}:{minute:02}", f"in {hour} hours"
        )
    if minute > 59:
        raise Unclear(f"there is no minute {minute}")
    _put_hour(phrase, match, hour, minute)


def _bare_hour(phrase: Phrase, match: re.Match[str]) -> None:
    """Set a time of day such as "at 14". "At 9" is refused: it may be morning or evening."""
    hour = int(match["hour"])
    if 1 <= hour <= 12:
        forms = _instead(match, f"{hour}:00", f"{hour}pm")
        raise Unclear(f"{hour} may be in the morning or the evening", *forms)
    _put_hour(phrase, match, hour)


def _noon(phrase: Phrase, _: re.Match[str]) -> None:
    phrase.put("clock", Clock(12))


def _midnight(phrase: Phrase, _: re.Match[str]) -> None:
    phrase.put("clock", Clock(0, midnight=True))


# --- zones


def _zone(phrase: Phrase, match: re.Match[str]) -> None:
    zone = match["zone"]
    if zone.isalpha() and zone.islower() and not time_zones.known(zone):
        raise _unknown(match.string, match.start())
    phrase.put("zone", zone)


def _west(_: Phrase, match: re.Match[str]) -> None:
    """Refuse an offset such as -11:00 in 9:00-11:00. It may be meant as the end of a period."""
    raise Unclear(
        f"{match[0]} may be the end of a period, or an offset from UTC",
        *_instead(match, f" UTC{match[0]}"),
    )


def _names(words: Sequence[str]) -> str:
    return "|".join(f"{word[:3]}(?:{'|'.join(_endings(word))})?" for word in words)


def _endings(word: str) -> list[str]:
    """Return the texts that may follow a word's first three letters, such as "rs" in "thurs"."""
    more = {"tuesday": ["s"], "wednesday": ["s"], "thursday": ["r", "rs"], "september": ["t"]}
    return [word[3:] or "(?!)", *more.get(word, [])]


_M, _W = rf"(?P<month>{_names(MONTHS)})\.?", rf"(?P<weekday>{_names(WEEKDAYS)})\.?"
_AT = r"(?:at\s|@\s?)?"
_HALF = r"(?P<half>[ap]\.?m\b\.?)"
_END = r"(?=[\s,]|$)"
#: The text that may follow a time of day. A zone needs no space before it.
_CLOCK_END = r"(?=[\s,+-]|z$|z\s|$)"
_WORD = "|".join(["half an", *sorted(_NUMBERS, key=len, reverse=True)])
#: A number in words needs a space after it, so that the "an" of "and" isn't taken for a number.
_ONE = rf"(?:(?<![\d.])(?P<number>\d+(?:\.\d+)?)\s?|(?<!\w)(?P<word>{_WORD})\s)"
_UNIT = r"(?P<unit>h(?:rs?|ours?)?|min(?:s|utes?)?|m|d(?:ays?)?|w(?:ks?|eeks?)?)(?![a-z])"
_FLAGS = re.IGNORECASE | re.ASCII
_AMOUNT = re.compile(rf"{_ONE}{_UNIT}", _FLAGS)
_PLAIN = re.sub(r"\(\?P<\w+>", "(?:", rf"{_ONE}{_UNIT}")
_LENGTHS = rf"(?P<lengths>{_PLAIN}(?:(?:,?\s?and\s|,\s?|\s)?{_PLAIN})*)"
_BETWEEN = re.compile(r"[\s,]*")

_Rule = Callable[[Phrase, re.Match[str]], None]
#: The rules in order. At each position, the first rule that matches is used.
_RULES: tuple[tuple[str, _Rule], ...] = (
    (
        r"(?P<year>\d{4})([-/.])(?P<month>\d{1,2})\2(?P<day>\d{1,2})(?:t(?=\d)|(?=[\s,]|$))",
        _year_first,
    ),
    (
        r"(?P<year>\d{4})\s?[年년]\s?(?P<month>\d{1,2})\s?[月월]\s?(?P<day>\d{1,2})\s?[日号일]",
        _year_first,
    ),
    (
        rf"(?P<first>\d{{1,2}})([-/.])(?P<second>\d{{1,2}})\2(?P<year>\d{{4}}){_END}",
        _year_last,
    ),
    (rf"(?P<first>\d{{1,2}})[-/.](?P<second>\d{{1,2}})(?:[-/.]\d{{0,2}})?{_END}", _no_year),
    (
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?[\s-]?(?:of\s)?{_M}"
        rf"(?:,?[\s-](?P<year>\d{{4}}))?{_END}",
        _day_and_month,
    ),
    (
        rf"{_M}\s?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s(?P<year>\d{{4}}))?{_END}",
        _day_and_month,
    ),
    (rf"(?P<which>(?:on|this|next|coming)\s)?{_W}{_END}", _weekday),
    (rf"(?P<two>(?:the\s)?day\safter\stomorrow){_END}", _from_today),
    (rf"(?P<two>(?!))?(?P<word>today|tomorrow|yesterday){_END}", _from_today),
    (rf"now{_END}", _now),
    (rf"in\s{_LENGTHS}(?P<side>(?!))?{_END}", _length),
    (rf"{_LENGTHS}\s(?P<side>from\snow|ago){_END}", _length),
    (
        rf"{_AT}(?P<hour>\d{{1,2}}):(?P<minute>\d{{2}})(?::(?P<second>\d{{2}})(?:\.\d+)?)?"
        rf"(?:\s?{_HALF})?{_CLOCK_END}",
        _clock,
    ),
    (rf"{_AT}(?P<hour>\d{{1,2}})(?P<minute>(?!))?(?P<second>(?!))?\s?{_HALF}{_END}", _clock),
    (rf"{_AT}(?P<hour>\d{{1,2}})\s?h(?:\s?(?P<minute>\d{{2}}))?{_CLOCK_END}", _french),
    (
        rf"(?P<hour>\d{{1,2}})\s?[時时点點시]\s?(?:(?P<minute>\d{{1,2}})\s?[分분])?"
        rf"(?P<second>(?!))?(?P<half>(?!))?{_END}",
        _clock,
    ),
    (rf"(?:at\s|@\s?)(?P<hour>\d{{1,2}}){_END}", _bare_hour),
    (rf"{_AT}(?:noon|midday){_END}", _noon),
    (rf"{_AT}midnight{_END}", _midnight),
    (r"(?P<zone>(?:utc|gmt)(?:\s?[+-]\d{1,2}(?::?\d{2})?)?|z|zulu)$", _zone),
    (r"(?P<zone>\+\d{1,2}(?::?\d{2})?)$", _zone),
    (r"-\s?\d{1,2}(?::?\d{2})?$", _west),
    (r"(?P<zone>[a-z_]+(?:/[a-z0-9_+-]+)+|[a-z]{2,5})$", _zone),
)


@functools.cache
def _rules() -> list[tuple[re.Pattern[str], _Rule]]:
    """Return the compiled rules. They are compiled only when a command first needs them."""
    return [(re.compile(pattern, _FLAGS), note) for pattern, note in _RULES]
