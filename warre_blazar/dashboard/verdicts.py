"""What the API says about a booking or a change before it is made, for the templates."""

import datetime
from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from warre_blazar import texts
from warre_blazar.client import DryRun
from warre_blazar.dashboard import connection, moments
from warre_blazar.dashboard.templatetags.flavor_reservations import hours


def brief(code: str) -> str:
    """Return a clause that says why nothing can be booked, from the code of a refusal."""
    entry = texts.BRIEF.get(code)
    return (entry.sentence({}, connection.READER) if entry else "") or code


def of(foreseen: DryRun) -> dict[str, Any]:
    """Return the values of the template ``_verdict.html``."""
    return {
        "bookable": foreseen.bookable,
        "refusals": [reason.message for reason in foreseen.refusals],
        "start": foreseen.start,
        "end": foreseen.end,
        "before_end": foreseen.before_end,
        "quota": _quota(foreseen.quota or {}),
    }


def _quota(quota: dict[str, Any]) -> list[dict[str, Any]]:
    names = {"reservations": _("reservations"), "hours": _("hours")}
    return [
        {"name": names.get(name, name), "cost": each["cost"], "left": each["left"]}
        for name, each in quota.items()
    ]


def instead(
    foreseen: DryRun, start: datetime.datetime, given: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what could be booked in place of what was refused.

    :param start: the start that was asked for.
    :param given: what was asked for: ``hours`` and ``count``.
    :returns: texts, each with the fields of a form that it changes.
    """
    if foreseen.bookable:
        return
    later = foreseen.next_start
    if later is not None and later > start:
        text = _("Start at %(time)s") % {"time": moments.when(later)}
        yield text, {"start": moments.query(later)}
    if 0 < foreseen.longest_hours < given["hours"]:
        longest = hours(foreseen.longest_hours)
        yield _("Book only %(hours)s hours") % {"hours": longest}, {"hours": longest}
    most = foreseen.most_instances
    if 0 < most < given["count"]:
        text = ngettext("Book only %(count)d instance", "Book only %(count)d instances", most)
        yield text % {"count": most}, {"count": most}
