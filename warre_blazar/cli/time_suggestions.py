"""Suggests what to write instead of a text that has none of the forms of a time.

A suggestion has all parts of the text: if a word of the text isn't understood, nothing is
suggested. Suggestions may be refused too. The caller tries each.
"""

import datetime
import difflib
import re

from warre_blazar.cli.time_forms import DAYS, MONTH, MONTHS, WEEKDAY, WEEKDAYS

_NAMES = (*MONTHS, *WEEKDAYS)
_UNITS = ("minute", "hour", "day", "week")
#: Digits such as those of 9:00 aren't a day, and those of +01:00 aren't a time of day.
_BEGIN, _END = r"(?<![\w:./+-])", r"(?![\w:/+-]|\.\d)"
_DIGITS = re.compile(rf"{_BEGIN}(\d{{1,4}})[./-](\d{{1,2}})[./-](\d{{1,4}}){_END}")
_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_DATE = rf"(?:{MONTH})[ -]\d{{1,2}}(?:[ -]\d{{4}})?|\d{{4}}-\d\d-\d\d"
#: Days. In "9 dec 10", both "9 dec" and "dec 10" are found, the second one in ``_NEXT``.
_DAY = re.compile(
    rf"{_BEGIN}(?:(?:(?:{WEEKDAY}) )?(?:\d{{1,2}}[ -](?:{MONTH})(?:[ -]\d{{4}})?|{_DATE})"
    rf"|{'|'.join(DAYS)}|(?:next )?(?:{WEEKDAY})){_END}"
)
_NEXT = re.compile(rf"{_BEGIN}\d{{1,2}} (?:{MONTH}) \d{{1,2}}(?: ?[ap]m)?{_END}")
_CLOCK = re.compile(
    rf"{_BEGIN}(?:\d{{1,2}}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[ap]m)?|\d{{1,2}} ?[ap]m|noon)"
    r"(?![\w:/]|\.\d)"
)
_HOUR = re.compile(
    rf"{_BEGIN}(?:([01]?\d|2[0-3])(?: ?[h.] ?([0-5]\d)|( ?h| uhr| o'clock)?)|(0\d|1[0-8])([0-5]\d))"
    rf"{_END}"
)
_VAGUE = {
    "morning": ("9:00",),
    "afternoon": ("14:00",),
    "evening": ("18:00", "20:00"),
    "midnight": ("0:00", "24:00"),
}
#: Words that are recognized even if they are misspelled.
_KNOWN = (*_NAMES, *_UNITS, *(f"{unit}s" for unit in _UNITS), *DAYS, *_VAGUE)
_LENGTH = re.compile(
    r"(?:in |\+)?((?:\d+(?:\.\d+)? ?[mhdw](?:in|inute|r|our|ay|k|eek)?s?(?: and)? ?)+)( from now)?"
)
_LENGTHS = re.compile(r"(\d+(?:\.\d+)?) ?([mhdw])")
#: Words that can be left out.
_FILLERS = frozenset({"at", "on", "the", "of", "this"})


def examples(day: datetime.date) -> str:
    """Return a phrase with texts in the forms that people use most."""
    return (
        f"such as 'mon 9am', 'tomorrow 14:00', 'in 2 hours', {day}T09:00 or "
        f"'{day} 09:00 Europe/Berlin'"
    )


def has_date_of_digits(text: str) -> bool:
    """Whether a text has a date such as 1/12/2026, whose day and month may be meant either way."""
    return any(_dates_of_digits(text))


def similar(text: str, today: datetime.date) -> list[str]:
    """Return texts with the parts of a text: the day, the time of day and the zone.

    If the text has a part twice, or a word that isn't a part, the result has no text that is
    understood.
    """
    if re.fullmatch(r"\d{9,11}", text):
        return [f"@{text}"]
    if re.fullmatch(r"\d{4}-\d\d", text):
        return [f"{text}-01"]
    spelled = _spelled(text)
    if lengths := _lengths(spelled):
        return lengths
    days, rest = _days(spelled, today)
    clocks, rest = _clocks(rest)
    words = [word for word in rest.split() if word not in _FILLERS]
    if len(words) > 1 or not (days or clocks):
        return []
    if clocks == [*_VAGUE["midnight"]] and days == [""]:
        clocks = clocks[:1]  # The next midnight.
    # The last word may be a zone, in the case in which it was typed.
    typed = {word.lower(): word for word in text.split()}
    zone = typed.get(words[0], words[0].upper()) if words else ""
    forms = [f"{day} {clock}".strip() for day in days for clock in clocks]
    return [f"{form} {zone}".strip() for form in forms]


def _spelled(text: str) -> str:
    """Return a text in lower case, with known words in place of words that are spelled alike."""
    text = re.sub(r"\b([ap])\.m\.?|(?<=\d)([ap])\.m\.?", r"\1\2m", text.lower())
    # As people write it in German: 30.11. 9 Uhr.
    text = re.sub(r"\b(\d{1,2})\.(0?[1-9]|1[0-2])\.(?!\d)", _day_and_month, text)
    text = re.sub(r"\b(\d{1,2}) uhr\b", r"\1:00", text)
    text = re.sub(r"(?<=\d)(?:st|nd|rd|th)\b|,(?!\d)|@|\.(?!\d)", " ", text)
    text = text.replace("midday", "noon").replace("tonight", "today evening")
    text = re.sub(r"\bhalf an hour\b", "30 min", text)
    text = re.sub(r"\b(?:an?|one) (?=minute|hour|day|week)", "1 ", text)
    return " ".join(_corrected(word) for word in text.split())


def _day_and_month(digits: re.Match[str]) -> str:
    return f"{digits[1]} {MONTHS[int(digits[2]) - 1][:3]}"


def _corrected(word: str) -> str:
    # Short words may be zones: SAST is like sat.
    known = [name for name in _NAMES if len(word) > 3 and name.startswith(word)]
    if len(word) >= 5 and word.isalpha():
        known += difflib.get_close_matches(word, _KNOWN, 1, 0.8)
    return known[0] if known else word


def _lengths(text: str) -> list[str]:
    """Return the time from now that a text names, such as "in 1h30m". Empty if it names none."""
    match = _LENGTH.fullmatch(text)
    if not match or not (text.startswith(("in ", "+")) or match[2]):
        return []
    parts = _LENGTHS.findall(match[1])
    minutes = sum(float(count) * (60 if unit == "h" else 1) for count, unit in parts)
    units = {unit for _, unit in parts}
    if units <= {"m", "h"}:
        number, unit = (minutes / 60, "hour") if minutes % 60 == 0 else (minutes, "minute")
    else:
        # Not all days have 24 hours, so days and hours aren't added.
        number, unit = float(parts[0][0]), "day" if units == {"d"} else "week"
        if len(parts) > 1:
            return []
    return [f"in {number:.0f} {unit}{'' if number == 1 else 's'}"] if number == int(number) else []


def _days(text: str, today: datetime.date) -> tuple[list[str], str]:
    """Return the days that a text may mean, and the rest of the text. Without a day, it is ""."""
    text = text.replace("day after tomorrow", str(today + datetime.timedelta(days=2)))
    if text.startswith("next week") and not _DAY.search(text):
        # Without a day, it may begin on any day. Most people's weeks begin on Monday.
        monday = today + datetime.timedelta(days=7 - today.weekday())
        text = text.replace("next week", str(monday))
    for word, months in (("last month", -1), ("this month", 0), ("next month", 1)):
        if text.startswith(word):
            year, month = divmod(12 * today.year + today.month - 1 + months, 12)
            text = text.replace(word, f"{year}-{month + 1:02}-01")
    found = [*_DAY.finditer(text)]
    if not found and (match := _DIGITS.search(text)):
        dates = _dates_of_digits(match[0])
        return dates, f"{text[: match.start()]} {text[match.end() :]}"
    if not found:
        return [""], text
    if _NEXT.search(text):
        return [], text
    day = found[0]
    name = day[0] if _ISO.search(day[0]) else day[0].replace("-", " ")
    days = [name]
    if name.startswith("next "):
        number = next(n for n, weekday in enumerate(WEEKDAYS) if weekday.startswith(name[5:8]))
        first = today + datetime.timedelta(days=(number - today.weekday()) % 7)
        days = [str(first), str(first + datetime.timedelta(days=7))]
    return days, f"{text[: day.start()]} {text[day.end() :]}"


def _dates_of_digits(text: str) -> list[str]:
    """Return the dates that a text such as 1/2/2027 may mean."""
    orders = [
        dates
        for first, second, third in _DIGITS.findall(text)
        for dates in ((first, second, third), (third, second, first), (third, first, second))
    ]
    return sorted(f"{year}-{month:0>2}-{day:0>2}" for year, month, day in orders if len(year) == 4)


def _clocks(text: str) -> tuple[list[str], str]:
    """Return the times of day that a text may mean, and the rest. Without one, it is ""."""
    for pattern in (_CLOCK, _HOUR):
        if match := pattern.search(text):
            rest = f"{text[: match.start()]} {text[match.end() :]}"
            # The hour says more than "evening".
            rest = " ".join(word for word in rest.split() if word not in _VAGUE)
            return [match[0]] if pattern is _CLOCK else _hours(*match.groups()), rest
    for word in text.split():
        if word in _VAGUE:
            return [*_VAGUE[word]], text.replace(word, " ", 1)
    return [""], text


def _hours(hour: str, minute: str, mark: str, first: str, last: str) -> list[str]:
    """Return times of day for numbers such as 9, 9h30, 9h and 0900."""
    clock = f"{int(first or hour)}:{last or minute or '00'}"
    if mark or minute or first or not 1 <= int(hour) < 12:
        return [clock]
    return [clock, f"{int(hour)}pm"]
