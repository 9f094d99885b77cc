"""Recurrence rules, made of what people choose in a form."""

import datetime
from collections.abc import Sequence

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
_PARTS = {
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
    parts = [_PARTS[repeat]]
    if days and "WEEKLY" in parts[0]:
        parts.append(f"BYDAY={','.join(days)}")
    parts.append(f"COUNT={end}" if isinstance(end, int) else f"UNTIL={end:%Y%m%d}")
    return ";".join(parts)
