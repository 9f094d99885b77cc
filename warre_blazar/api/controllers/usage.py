"""The controller of /usage: what became of the instances that were booked."""

import datetime
from typing import Any

import pecan
from oslo_utils import timeutils

from warre_blazar import policy, texts, times
from warre_blazar.api import parsing, views
from warre_blazar.api.controllers import base
from warre_blazar.db.records.usage import UsageFilter
from warre_blazar.domain.records.usage import first_day, midnight
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.policies import usage as policies
from warre_blazar.services.records import usage

QUERY = {
    "all_projects": parsing.boolean,
    "project_id": parsing.project_id,
    "user_id": parsing.word,
    "flavor_id": parsing.word,
    "from": parsing.moment,
    "to": parsing.moment,
    "by": parsing.usage_key,
    "timezone": parsing.timezone,
}


class UsageController(base.Controller):
    """Usage: what became of the instances that were booked, added up over a time."""

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        policy.authorize(base.context(), policies.GET)
        query = parsing.query(pecan.request, QUERY)
        now = timeutils.utcnow()
        zone = query.get("timezone", datetime.UTC)
        wanted = UsageFilter(
            window=_window(query, now, zone),
            project_id=base.listed_project(query, policies.GET_OTHER, texts.permissions.SEE_USAGE),
            user_id=query.get("user_id"),
            flavor_id=query.get("flavor_id"),
        )
        by = query.get("by")
        sums = usage.report(wanted, by, now, zone)
        names = usage.flavor_names(sums) if by == "flavor" else {}
        return views.usage(wanted, by, sums, names)


def _window(query: dict[str, Any], now: datetime.datetime, zone: datetime.tzinfo) -> Span:
    """The time that a query asks for: by default from the start of the month to the present."""
    end = query.get("to", now.replace(microsecond=0))
    default = midnight(first_day(end - times.SECOND, "month", zone), zone)
    window = Span(query.get("from", default), end)
    if window.end <= window.start:
        raise exceptions.InvalidField("to", texts.expected.AFTER(other="from"))
    if window.end - window.start > times.USAGE_LENGTH_LIMIT:
        raise exceptions.InvalidField(
            "to", texts.expected.FEWER_DAYS(most=times.USAGE_LENGTH_LIMIT.days)
        )
    return window
