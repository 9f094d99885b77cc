"""Adds up usage: of projects, users or flavors, or of days, weeks or months."""

import collections
import datetime
from collections.abc import Callable, Iterable
from typing import Any

from warre_blazar.db import flavors, session
from warre_blazar.db.records import refusals
from warre_blazar.db.records import usage as stored
from warre_blazar.db.records.refusals import Counted
from warre_blazar.db.records.usage import UsageFilter, Used
from warre_blazar.domain.records.usage import PARTS, Life, Record, Sum, first_day, parts
from warre_blazar.domain.timeline import Span
from warre_blazar.services.records import refusals as own_refusals

#: A key of a sum: the id of a project, user or flavor, or the first day of a part of the time.
#: None: all, or not known.
_Key = str | datetime.date | None

_KEYS: dict[str | None, Callable[[Any], str | None]] = {
    "project": lambda item: item.project_id,
    "user": lambda item: item.user_id,
    "flavor": lambda item: item.flavor_id,
}


def report(
    wanted: UsageFilter,
    by: str | None,
    now: datetime.datetime,
    zone: datetime.tzinfo = datetime.UTC,
) -> dict[_Key, Sum]:
    """The usage within a time, by key.

    :param by: one of ``fields.usage.KEYS``, or None.
    :param zone: the time zone of days, weeks and months.
    """
    asked = refusals.RefusalFilter(
        project_id=wanted.project_id,
        user_id=wanted.user_id,
        flavor_id=wanted.flavor_id,
        after=wanted.window.start,
        before=wanted.window.end,
    )
    own_refusals.write_numbers()
    with session.reader() as db:
        found, refused = stored.read(db, wanted), refusals.counted(db, asked)
    sums: dict[_Key, Sum] = collections.defaultdict(Sum)
    if by is None:
        sums[None] = Sum()
    for item in found:
        record = Record(Life.of(item.reservation, item.log), item.used, now)
        extent = record.extent
        if extent is None or not extent.overlaps(wanted.window):
            continue
        within = Span(max(wanted.window.start, extent.start), min(wanted.window.end, extent.end))
        for key, part in _parts(item, within, by, zone):
            total = record.over(part)
            if any(total):
                sums[key].add(total, item.reservation.shape.request.amounts)
    for each in refused:
        sums[_key_of_refusal(each, by, zone)].refusals[each.code] += each.number
    return sums


def _parts(
    item: Used, within: Span, by: str | None, zone: datetime.tzinfo
) -> Iterable[tuple[_Key, Span]]:
    """The keys of sums to which a reservation adds, each with the time that it adds."""
    if by in PARTS:
        return parts(within, by, zone)
    return [(None if by is None else _KEYS[by](item.reservation), within)]


def _key_of_refusal(each: Counted, by: str | None, zone: datetime.tzinfo) -> _Key:
    if by is None:
        return None
    return first_day(each.at, by, zone) if by in PARTS else _KEYS[by](each)


def flavor_names(sums: dict[_Key, Sum]) -> dict[str, str]:
    """The names of the flavors by which usage was added up, also of deleted ones."""
    ids = {key for key in sums if isinstance(key, str)}
    with session.reader() as db:
        return {each.id: each.name for each in flavors.get_many(db, ids).values()}
