"""The forms of times that commands read."""

import re

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
DAYS = ("yesterday", "today", "tomorrow")
#: Patterns for the name of a month or a weekday, in full or with three letters.
MONTH = "|".join(f"{month}|{month[:3]}" for month in MONTHS)
WEEKDAY = "|".join(f"{weekday}|{weekday[:3]}" for weekday in WEEKDAYS)
#: A text with its year at the end, as the program ``date`` prints it.
_YEAR_LAST = re.compile(
    rf"((?:(?:{WEEKDAY}),? )?(?:(?:{MONTH}) \d{{1,2}}|\d{{1,2}} (?:{MONTH})))"
    r"( \d\d:\d\d:\d\d(?: [ap]m)?(?: [a-z]+| [+-]\d\d(?:\d\d)?)?) (\d{4})",
    re.IGNORECASE | re.ASCII,
)
#: All other forms of times. A space is put before a text, so that each part begins with a space.
_TIME = re.compile(
    rf"""
    (?: \ (?P<now>now)
      | \ @(?P<epoch>\d{{1,12}})(?:[.,]\d+)?
      | (?P<coming>\ in)?\ (?P<count>\d{{1,7}})\ (?P<unit>minute|hour|day|week)s?(?(coming)|\ ago)
      | (?: \ (?P<word>{"|".join(DAYS)})
          | (?:\ (?P<weekday>{WEEKDAY}),?)?
            (?: \ (?P<iso>\d{{4}}-\d\d-\d\d|\d{{8}}|\d{{4}}-W\d\d-\d|\d{{4}}W\d{{3}})
              | \ (?P<day>\d{{1,2}})\ (?P<month>{MONTH})(?:\ (?P<year>\d{{4}}))?
              | \ (?P<month_first>{MONTH})\ (?P<day_next>\d{{1,2}})(?:\ (?P<year_last>\d{{4}}))?
            )?
        )
        (?P<clock>
            (?(iso)T(?P<basic>\d\d(?:[0-5]\d){{0,2}})(?![:\d])|(?!))
          | (?(iso)[ T]|\ )
            (?: (?P<noon>noon)
              | (?P<hour12>\d{{1,2}})(?::(?P<minute12>[0-5]\d)(?P<second12>:[0-5]\d)?)?
                \ ?(?P<half>am|pm)
              | (?P<hour>\d{{1,2}}):(?P<minute>[0-5]\d)(?P<second>:[0-5]\d(?:[.,]\d+)?)?
            )
        )?
    )
    (?: (?(clock)\ ?(?P<offset>Z|[+-]\d\d(?::?\d\d)?)|(?!))
      | \ ?(?P<zone>\b(?:UTC|GMT)(?:[+-]\d{{1,2}}(?::?\d\d)?)?|\b[A-Z_]+(?:/[A-Z0-9_+-]+)*)
    )?
    (?:(?(clock)\ \((?P<label>[^()]+)\)|(?!)))?
    """,
    re.IGNORECASE | re.ASCII | re.VERBOSE,
)


def match(text: str) -> re.Match[str] | None:
    """Match a text, without spaces around it and with one space between words, with all forms."""
    return _TIME.fullmatch(" " + _YEAR_LAST.sub(r"\1 \3\2", text))
