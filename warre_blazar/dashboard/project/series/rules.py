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


def rule(repeat: str, days: Sequence[str], times: int | None, until: datetime.date | None) -> str:
    """Return the rule of a series.

    :param repeat: one of ``CHOICES`` but ``own``.
    :param days: days of the week, if it repeats by weeks. None: the day of the first start.
    :param times: how many reservations there are.
    :param until: the last day on which one starts.
    """
    parts = [_PARTS[repeat]]
    if days and "WEEKLY" in parts[0]:
        parts.append(f"BYDAY={','.join(days)}")
    if times is not None:
        parts.append(f"COUNT={times}")
    if until is not None:
        parts.append(f"UNTIL={until:%Y%m%d}")
    return ";".join(parts)
