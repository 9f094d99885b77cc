"""Reports of usage as tables and charts, for projects and for operators."""

import datetime
from collections.abc import Mapping
from typing import Any

from django.utils import formats, timezone
from django.utils.translation import gettext as _

from warre_blazar.client import Usage, UsageReport
from warre_blazar.dashboard import charts, moments, tables

#: A day of a report.
DAY = datetime.timedelta(days=1)


def by_day(report: UsageReport) -> charts.DayChart:
    """Return a chart of the hours for which instances were held, by day. Days without are zero."""
    held = {str(row.day): row.hours["held"] for row in report.rows}
    day, days = timezone.localtime(report.start).date(), dict[str, float]()
    while moments.midnight(day) < report.end:
        days[day.isoformat()] = held.get(day.isoformat(), 0.0)
        day += DAY
    return charts.columns(days, _("hours"))


def table(
    report: UsageReport, caption: str, names: Mapping[str, str] | None = None
) -> tables.Table:
    """Return a table of usage with a row for each project, user or flavor.

    :param names: names of projects or users, by id.
    """
    quantities = ("booked", "held", "used", "given_back", "cancelled", "lost")
    rows = [
        [
            _label(row, report.by, names or {}),
            row.reservations,
            *(f"{row.hours[quantity]:.1f}" for quantity in quantities),
            sum(row.refusals.values()),
        ]
        for row in report.rows
    ]
    headers = [
        {
            **{"flavor": _("Flavor"), "user": _("User"), "project": _("Project")},
            **{"week": _("Week from"), "month": _("Month from")},
        }[report.by or "flavor"],
        *(_("Reservations"), _("Booked"), _("Held"), _("Used"), _("Given back"), _("Canceled")),
        *(_("Lost"), _("Refused requests")),
    ]
    return tables.Table(caption, headers, rows, _("Nothing was booked in this time."))


def _label(row: Usage, by: str | None, names: Mapping[str, str]) -> Any:
    if by == "flavor":
        return row.flavor or row.flavor_id
    if row.day:
        return formats.date_format(datetime.date.fromisoformat(row.day))
    key = row.user_id if by == "user" else row.project_id
    return names.get(key or "", key or "")
