"""What queries about free time ask, for the controllers of one flavor and of many."""

import datetime
from typing import Any

from oslo_utils import timeutils

from warre_blazar import texts
from warre_blazar.api.controllers import base
from warre_blazar.domain.slots import free_time
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.site_rules import conditions


def now() -> datetime.datetime:
    """The present minute."""
    return timeutils.utcnow().replace(second=0, microsecond=0)


def window(query: dict[str, Any], length: datetime.timedelta, first: str, last: str) -> Span:
    """The time that a query is about. It starts now if the query has no start.

    :param length: the length of the time if the query has no end.
    :param first: the name of the query's start.
    :param last: the name of the query's end.
    :raises InvalidField: the end isn't after the start.
    """
    start = query.get(first, now())
    span = Span(start, query.get(last, start + length))
    if span.end <= span.start:
        raise exceptions.InvalidField(last, texts.expected.AFTER(other=first))
    return span


def question(
    query: dict[str, Any], asked: Span, least: datetime.timedelta, flavor: str, *, everything: bool
) -> free_time.Question:
    """What a query asks about the time in which the caller's project can book.

    :param asked: the time that the query is about.
    :param least: the shortest length that is of use if the query doesn't say it.
    :param flavor: a flavor's id or name, or an empty string for all flavors.
    :param everything: as in ``free_time.Question``.
    """
    project_id = base.context().project_id
    return free_time.Question(
        flavor=flavor,
        project_id=project_id,
        everything=everything,
        count=query.get("count", 1),
        window=asked,
        now=now(),
        cleaning=conditions.cleaning(),
        affinity=query.get("affinity"),
        least=query.get("hours", least),
        any_length=project_id in conditions.projects_of_any_length(),
        device_rules=conditions.device_rules_of_stock(),
        moves=conditions.moves() if query.get("placing_again", True) else 0,
    )
