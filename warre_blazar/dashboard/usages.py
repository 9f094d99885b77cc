"""Reports of usage as tables and charts, for projects and for operators."""

import contextlib
import csv
import datetime
from collections.abc import Mapping
from typing import Any

from django import http
from django.utils import formats, timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import Usage, UsageReport
from warre_blazar.dashboard import charts, moments, tables
from warre_blazar.dashboard import forms as fields

#: A day of a report.
DAY = datetime.timedelta(days=1)


class PeriodForm(fields.BaseForm):
    """The time of a report: this month, if nothing is given."""

    since = fields.DayField(label=gettext_lazy("From"))
    until = fields.DayField(label=gettext_lazy("To"))

    def __init__(self, given: Mapping[str, str], **defaults: str) -> None:
        """
        :param given: the query of the page's address.
        :param defaults: the values of further fields.
        """
        today = moments.today()
        days = {"since": today.replace(day=1).isoformat(), "until": today.isoformat()}
        super().__init__({n: given.get(n, value) for n, value in {**days, **defaults}.items()})

    def clean(self) -> dict[str, Any]:
        wanted: dict[str, Any] = super().clean() or self.cleaned_data
        if "since" in wanted and "until" in wanted:
            # The last day is included. The first and the last days of the calendar have no UTC.
            with contextlib.suppress(OverflowError):
                since, until = (moments.midnight(wanted[name]) for name in ("since", "until"))
                wanted["span"] = {"since": since, "until": until + DAY}
            if "span" not in wanted or wanted["span"]["until"] <= wanted["span"]["since"]:
                self.add_error("until", _("This day is before the first one."))
        return wanted

    def span(self) -> dict[str, Any]:
        """The valid form's time, for the client of the API, with the zone of its days."""
        return {**self.cleaned_data["span"], "timezone": timezone.get_current_timezone_name()}


def as_csv(shown: tables.Table) -> http.HttpResponse:
    """Return a table as a file for spreadsheets."""
    answer = http.HttpResponse(content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="usage.csv"'
    csv.writer(answer).writerows([shown.headers, *shown.rows])
    return answer


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
        # Requests for flavors that aren't there count too.
        return row.flavor or row.flavor_id or _("unknown flavor")
    if row.day:
        return formats.date_format(datetime.date.fromisoformat(row.day))
    key = row.user_id if by == "user" else row.project_id
    return names.get(key or "", key or "")
