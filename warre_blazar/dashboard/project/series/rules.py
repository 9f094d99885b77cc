"""Recurrence rules, made of what people choose in a form."""

import datetime
from collections.abc import Sequence

from django.utils import formats
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

#: The values of the field "repeat", and what people read.
CHOICES = (
    ("weekly", _("every week")),
    ("fortnightly", _("every two weeks")),
    ("daily", _("every day")),
    ("monthly", _("every month, on the same day of the month")),
    ("own", _("by my own rule")),
)
#: The days of the week in rules, and what people read.
DAYS = (
    ("MO", _("Monday")),
    ("TU", _("Tuesday")),
    ("WE", _("Wednesday")),
    ("TH", _("Thursday")),
    ("FR", _("Friday")),
    ("SA", _("Saturday")),
    ("SU", _("Sunday")),
)
_RULES = {
    "weekly": "FREQ=WEEKLY",
    "fortnightly": "FREQ=WEEKLY;INTERVAL=2",
    "daily": "FREQ=DAILY",
    "monthly": "FREQ=MONTHLY",
}


#: How a series ends, and what people read.
ENDS = (
    ("after", _("after a number of times")),
    ("on", _("on a day")),
)


def rule(repeat: str, days: Sequence[str], end: int | datetime.date) -> str:
    """Return the rule of a series.

    :param repeat: one of ``CHOICES`` but ``own``.
    :param days: days of the week, if it repeats by weeks. None: the day of the first start.
    :param end: how many reservations there are, or the last day on which one starts.
    """
    parts = [_RULES[repeat]]
    if days and "WEEKLY" in parts[0]:
        parts.append(f"BYDAY={','.join(days)}")
    parts.append(f"COUNT={end}" if isinstance(end, int) else f"UNTIL={end:%Y%m%d}")
    return ";".join(parts)


#: The same days, by their names in rules.
_DAY_NAMES = dict(DAYS)


def words(text: str) -> str:
    """Return a rule in words, such as ``every week, 8 times``. A rule of another kind stays."""
    parts = _parts(text)
    end = {name: parts.pop(name, "") for name in ("COUNT", "UNTIL")}
    days = parts.pop("BYDAY", "")
    repeat = next((k for k, v in _RULES.items() if _parts(v) == parts), None)
    names = [_DAY_NAMES.get(day) for day in days.split(",") if day]
    if repeat is None or None in names or (names and "WEEKLY" not in _RULES[repeat]):
        return text
    said = [str(dict(CHOICES)[repeat])]
    if names:
        said.append(", ".join(map(str, names)))
    if end["COUNT"]:
        times = int(end["COUNT"])
        said.append(ngettext("%(count)d time", "%(count)d times", times) % {"count": times})
    if end["UNTIL"]:
        day = datetime.datetime.strptime(end["UNTIL"][:8], "%Y%m%d").date()
        said.append(gettext("until %(day)s") % {"day": formats.date_format(day)})
    return ", ".join(said)


def _parts(text: str) -> dict[str, str]:
    """The values of a rule's parts, by name."""
    return {name: value for name, _sign, value in (p.partition("=") for p in text.split(";"))}
