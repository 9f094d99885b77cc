"""Adds up usage: of projects, users, flavors or days."""

import collections
import datetime
from collections.abc import Callable, Iterator
from typing import Any

from warre_blazar.db import flavors, session
from warre_blazar.db.records import refusals
from warre_blazar.db.records import usage as stored
from warre_blazar.db.records.refusals import Counted
from warre_blazar.db.records.usage import UsageFilter, Used
from warre_blazar.domain.records.usage import Life, Record, Sum, days
from warre_blazar.domain.timeline import Span
from warre_blazar.services.records import refusals as own_refusals

#: What usage can be added up by. None: everything in one sum.
BY = ("project", "user", "flavor", "day")

#: A key of a sum: the id of a project, user or flavor, or a day. None: all, or not known.
_Key = str | datetime.date | None

_KEYS: dict[str | None, Callable[[Any], str | None]] = {
    "project": lambda item: item.project_id,
    "user": lambda item: item.user_id,
    "flavor": lambda item: item.flavor_id,
}


def report(wanted: UsageFilter, by: str | None, now: datetime.datetime) -> dict[_Key, Sum]:
    """The usage within a time, by key.

    :param by: one of ``BY``, or None.
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
        _add(sums, item, wanted.window, by, now)
    for each in refused:
        sums[_key_of_refusal(each, by)].refusals[each.code] += each.number
    return sums


def _add(
    sums: dict[_Key, Sum], item: Used, window: Span, by: str | None, now: datetime.datetime
) -> None:
    record = Record(Life.of(item.reservation, item.log), item.used, now)
    extent = record.extent
    if extent is None or not extent.overlaps(window):
        return
    amounts = item.reservation.shape.request.amounts
    for key, part in _parts(item, window, extent, by):
        total = record.over(part)
        if any(total):
            sums[key].add(total, amounts)


def _parts(item: Used, window: Span, extent: Span, by: str | None) -> Iterator[tuple[_Key, Span]]:
    """The keys of sums to which a reservation adds, each with the time that it adds."""
    common = Span(max(window.start, extent.start), min(window.end, extent.end))
    if by == "day":
        for part in days(common):
            yield part.start.date(), part
    else:
        yield (None if by is None else _KEYS[by](item.reservation)), common


def _key_of_refusal(each: Counted, by: str | None) -> _Key:
    if by is None:
        return None
    return each.at.date() if by == "day" else _KEYS[by](each)


def flavor_names(sums: dict[_Key, Sum]) -> dict[str, str]:
    """The names of the flavors by which usage was added up, also of deleted ones."""
    ids = {key for key in sums if isinstance(key, str)}
    with session.reader() as db:
        return {each.id: each.name for each in flavors.get_many(db, ids).values()}
