"""Filters for the templates of this package."""

import datetime
from typing import Any

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from warre_blazar.client import Reservation
from warre_blazar.dashboard import moments, tables

register = template.Library()


@register.filter
def when(moment: datetime.datetime | None) -> str:
    """A moment in the user's zone."""
    return "" if moment is None else moments.when(moment)


@register.filter
def hours(number: float) -> str:
    """A number of hours, without a fraction that is zero."""
    return f"{round(number, 2):g}" if number < 100_000 else f"{number:.0f}"


@register.filter
def lasting(length: datetime.timedelta) -> str:
    """A length in days, hours or minutes, such as a person would say it."""
    minutes = max(0, round(length.total_seconds() / 60))
    if minutes >= 2 * 24 * 60:
        days = minutes // (24 * 60)
        return ngettext("%(count)d day", "%(count)d days", days) % {"count": days}
    if minutes >= 2 * 60:
        whole = minutes // 60
        return ngettext("%(count)d hour", "%(count)d hours", whole) % {"count": whole}
    return ngettext("%(count)d minute", "%(count)d minutes", minutes) % {"count": minutes}


@register.filter
def titled(reservation: Reservation) -> str:
    """A reservation's name. One without a name is known by its flavor and its start."""
    return reservation.name or f"{reservation.flavor.name}, {moments.when(reservation.start)}"


#: What people read in place of the API's names of states.
_STATES = {
    "PENDING_CREATE": lambda: _("being made"),
    "ALLOCATED": lambda: _("booked"),
    "ACTIVE": lambda: _("running"),
    "COMPLETE": lambda: _("over"),
    "ERROR": lambda: _("failed"),
    "DELETED": lambda: _("deleted"),
}


@register.filter
def state(status: str) -> str:
    """A reservation's state for people."""
    return _STATES[status]() if status in _STATES else status


@register.filter
def is_link(cell: Any) -> bool:
    """Whether a cell of a table leads to another page."""
    return isinstance(cell, tables.Link)


@register.filter
def is_moment(cell: Any) -> bool:
    """Whether a cell of a table is a moment."""
    return isinstance(cell, datetime.datetime)
