"""Suggests what to write instead of a time that was refused.

A suggestion may be refused too. The caller tries each.
"""

import datetime
import difflib
import re

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT = tuple(name[:3] for name in (*MONTHS, *WEEKDAYS))
_UNITS = ("minute", "hour", "day", "week")
_KNOWN = (
    *(*MONTHS, *WEEKDAYS, *_SHORT, *_UNITS, *(f"{unit}s" for unit in _UNITS), "month", "months"),
    *("today", "tomorrow", "yesterday", "noon", "now", "ago", "morning"),
)
_MONTH = rf"(?:{'|'.join(MONTHS)}|{'|'.join(_SHORT[:12])})"
_DAY = re.compile(
    rf"\b(?:\d{{4}}-\d\d-\d\d|today|tomorrow|{'|'.join(WEEKDAYS)}|{'|'.join(_SHORT[12:])}"
    rf"|\d{{1,2}} {_MONTH}(?: \d{{4}})?|{_MONTH} \d{{1,2}}(?: \d{{4}})?)(?=[\st]|$)"
)
_DIGITS = re.compile(r"\b(\d{1,4})[./-](\d{1,2})[./-](\d{1,4})\b")
_CLOCK = re.compile(r"\b\d{1,2}:\d\d(?: ?[ap]m)?\b|\b\d{1,2} ?[ap]m\b|\bnoon\b")
_HOUR = re.compile(r"\b([01]?\d|2[0-3])(?: ?[h.] ?|(?=\d\d\b))?([0-5]\d)?\b")
_LENGTH = re.compile(r"(\d+(?:\.\d+)?) ?(m|h|d|w)(?:in|inute|r|our|ay|k|eek)?s?(?:\b|(?=\d+ ?m))")
_MINUTES = {"m": 1, "h": 60, "d": 1440, "w": 10080}
_PERIOD = re.compile(r"\b(last|this|next) (week|month)\b")
_ZONE = re.compile(r" ?(?:\b(?:utc|gmt)\S*|\b[a-z_]+/\S+|[+-]\d\d:\d\d)$", re.IGNORECASE)


def examples(today: datetime.date) -> list[str]:
    """Return texts in the forms that people use most."""
    return [f"{today + datetime.timedelta(days=1)} 09:00", "tomorrow 9am", "in 2 hours"]


def has_date_of_digits(text: str) -> bool:
    """Whether a text has a date such as 1/12/2026, whose day and month may be meant either way."""
    return any(_days_of_digits(text))


def similar(text: str, today: datetime.date) -> list[str]:
    """Return texts with the day, the time of day and the zone that are found in a text."""
    zone = match[0].strip() if (match := _ZONE.search(text)) else ""
    text = _spelled(text[: -len(zone)] if zone else text)
    text = text.replace("day after tomorrow", str(today + datetime.timedelta(days=2)))
    days = _DAY.findall(_PERIOD.sub(" ", text)) or _days_of_digits(text)
    rest = _DIGITS.sub(" ", _DAY.sub(" ", text))
    if not days and (lengths := _LENGTH.findall(text)):
        minutes = round(sum(float(count) * _MINUTES[unit] for count, unit in lengths))
        days = _later(minutes, lengths[0][1], today, ago="ago" in text.split())
        rest = _LENGTH.sub(" ", rest)
    if not days and (match := _PERIOD.search(text)):
        days = [str(_first_day(match[1], match[2], today))]
    if "yesterday" in text.split():
        days = [str(today - datetime.timedelta(days=1))]
    days = [date for day in days for date in _dates(day, today, later="next" in text.split())]
    clocks = _CLOCK.findall(rest)
    if not clocks and ":" not in rest and (days or not re.search(r"\d{3}", rest)):
        clocks = _hours(rest)
    if clocks and not days and not re.search("[a-z]{3}|^in ", _CLOCK.sub(" ", rest)):
        days = ["today", "tomorrow"]
    if re.search("morning|evening|night", rest):
        clocks = clocks or ["9:00", "14:00"]
    forms = [f"{day} {clock}" for day in days for clock in clocks] or days
    return [f"{form} {zone}".strip() for form in forms]


def _spelled(text: str) -> str:
    """Return a text in lower case, with known words in place of words that are spelled alike."""
    text = re.sub(r"\b([ap])\.m\.?|(?<=\d)([ap])\.m\.?", r"\1\2m", text.lower())
    text = re.sub(r"(?<=\d)(?:st|nd|rd|th)\b|[,@]|\.(?!\d)", " ", text)
    text = re.sub(r"(?<=[a-z])-|-(?=[a-z])|(?<=\d)(?=[a-z]{3})", " ", text)
    text = text.replace("midday", "noon").replace(" of ", " ").replace("half an hour", "30 min")
    text = re.sub(r"\b(?:an?|one) (?=minute|hour|day|week)", "1 ", text)

    def corrected(match: re.Match[str]) -> str:
        return next(iter(difflib.get_close_matches(match[0], _KNOWN, 1, 0.8)), match[0])

    return " ".join(re.sub("[a-z]{3,}", corrected, text).split())


def _days_of_digits(text: str) -> list[str]:
    """Return the dates that a text such as 1/2/2027 may mean."""
    orders = [
        dates
        for first, second, third in _DIGITS.findall(text)
        for dates in ((first, second, third), (third, second, first), (third, first, second))
    ]
    return sorted(f"{year}-{month:0>2}-{day:0>2}" for year, month, day in orders if len(year) == 4)


def _first_day(which: str, period: str, today: datetime.date) -> datetime.date:
    """Return the first day of last, this or next week or month."""
    step = ("last", "this", "next").index(which) - 1
    if period == "week":
        return today + datetime.timedelta(days=7 * step - today.weekday())
    year, month = divmod(12 * today.year + today.month - 1 + step, 12)
    return datetime.date(year, month + 1, 1)


def _dates(name: str, today: datetime.date, *, later: bool) -> list[str]:
    """Return both dates that a weekday may mean if it is today's or after "next"."""
    for number, weekday in enumerate(WEEKDAYS):
        if name in (weekday, weekday[:3]) and (later or number == today.weekday()):
            day = today + datetime.timedelta(days=(number - today.weekday()) % 7)
            return [str(day), str(day + datetime.timedelta(days=7))]
    return [name]


def _hours(text: str) -> list[str]:
    """Return times of day for numbers such as 9, 0900 and 9h30."""
    clocks = []
    for hour, minute in _HOUR.findall(text):
        clocks.append(f"{int(hour)}:{minute or '00'}")
        if not minute and int(hour) < 12:
            clocks.append(f"{int(hour)}pm")
    return clocks


def _later(minutes: int, first: str, today: datetime.date, *, ago: bool) -> list[str]:
    """Return a text for a time from now. The first unit that was typed is kept if possible."""
    if ago:
        return [str(today - datetime.timedelta(minutes=min(minutes, 10**6)))]
    count, rest = divmod(minutes, _MINUTES[first])
    unit = next(unit for unit in _UNITS if unit.startswith("m" if rest else first))
    count = minutes if rest else count
    return [f"in {count} {unit}{'' if count == 1 else 's'}"] if count else []
