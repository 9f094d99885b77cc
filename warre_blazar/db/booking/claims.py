"""Reads the times for which leases claim slots and hosts.

There can be thousands of claims, so the queries are written for speed.
"""

import datetime
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db.sql_functions import seconds_between
from warre_blazar.db.tables import allocations, bookings, leases, reservations
from warre_blazar.domain import timeline


def claiming(
    query: sa.Select[Any],
    window: timeline.Span,
    cleaning: datetime.timedelta,
    parts: Sequence[timeline.Span] = (),
) -> sa.CompoundSelect[Any]:
    """Restrict a query to leases that claim slots or hosts at some time within a span.

    A lease claims its own time, and the time that was promised to an update. The result is a UNION
    of two queries, one for each of these times. So each query can use an index of times. Without an
    index, it would read all reservations that were ever booked. For leases' own times,
    ``STRAIGHT_JOIN`` tells MariaDB to keep the order in which the joins are written. The few
    promises are found by their own index, from which MariaDB must begin.

    :param query: a query that selects from ``leases`` first, and joins ``bookings``.
    :param window: the span.
    :param cleaning: the time for which each reservation keeps its claim after its end.
    :param parts: if given, parts of the span. Leases that claim nothing at these times are left
        out.
    """
    straight = query
    for dialect in ("mysql", "mariadb"):
        straight = straight.prefix_with("STRAIGHT_JOIN", dialect=dialect)
    own, promised = (
        _overlaps(start, end, window, parts, cleaning)
        for start, end in (
            (leases.c.start_date, leases.c.end_date),
            (bookings.c.claim_start, bookings.c.claim_end),
        )
    )
    return sa.union_all(straight.where(own), query.where(promised, sa.not_(own)))


def _overlaps(
    start: sa.Column[Any],
    end: sa.Column[Any],
    window: timeline.Span,
    parts: Sequence[timeline.Span],
    cleaning: datetime.timedelta,
) -> sa.ColumnElement[bool]:
    """The condition that a claim overlaps a span, and one of ``parts`` if there are any."""
    one_of = [sa.and_(start < part.end, end > part.start - cleaning) for part in parts]
    within = sa.and_(start < window.end, end > window.start - cleaning)
    return sa.and_(within, sa.or_(*one_of)) if one_of else within


class Claims:
    """A reader of the times for which leases claim slots and hosts within a span.

    Times are read as whole seconds since the start of the span, not as DateTimes. A database driver
    written in Python needs more time to convert one DateTime than the database needs to find the
    row.
    """

    def __init__(self, window: timeline.Span, cleaning: datetime.timedelta) -> None:
        self._origin = window.start.replace(microsecond=0)
        self._cleaning = cleaning
        self._known: dict[int, datetime.datetime] = {}
        origin = sa.literal(self._origin, sa.DateTime())
        #: The columns to select: a lease's own start and end, and the start and end of a promise.
        #: Their values are the arguments of ``spans``.
        self.columns = tuple(
            seconds_between(origin, column)
            for column in (
                leases.c.start_date,
                leases.c.end_date,
                bookings.c.claim_start,
                bookings.c.claim_end,
            )
        )

    def spans(self, start: int | None, end: int | None, *claim: int | None) -> list[timeline.Span]:
        """The times for which a lease claims slots and hosts, with the cleaning time after them.

        A lease claims its own time and the time that was promised to an update. When a lease is
        extended or shortened, the two times overlap, and their common part is claimed only once.

        :param start: the lease's own start, in seconds since the start of the reader's span. None:
            the lease has no time, because its row was damaged, so it claims nothing.
        :param end: the lease's own end, in the same unit.
        :param claim: the start and the end of the promise, in the same unit. Both are None if there
            is no promise.
        :returns: spans that don't overlap.
        """
        if start is None or end is None:
            return []
        own = self._span(start, end)
        claim_start, claim_end = claim
        if claim_start is None or claim_end is None:
            return [own]
        return timeline.union(own, self._span(claim_start, claim_end))

    def _span(self, start: int, end: int) -> timeline.Span:
        return timeline.Span(self._moment(start), self._moment(end)).padded(self._cleaning)

    def _moment(self, seconds: int) -> datetime.datetime:
        """The time that is a number of seconds after the start of the reader's span.

        For equal times, this returns the same object. ``domain.timeline`` mostly compares and
        hashes times, and both are faster if equal times are the same object.
        """
        moment = self._known.get(seconds)
        if moment is None:
            moment = self._known[seconds] = self._origin + seconds * times.SECOND
        return moment


def slot_claims(db: Session, flavor_id: str, window: timeline.Span) -> list[timeline.Claim]:
    """The claims on a flavor's slots that overlap a span, without the cleaning time after them.

    A reservation claims its slots as long as it has host allocations in Blazar's table.
    """
    held = sa.exists().where(allocations.c.reservation_id == reservations.c.id)
    claims = Claims(window, times.NO_TIME)
    query = (
        sa.select(bookings.c.instance_count, *claims.columns)
        .select_from(
            leases.join(reservations, reservations.c.lease_id == leases.c.id).join(
                bookings, bookings.c.reservation_id == reservations.c.id
            )
        )
        .where(bookings.c.flavor_id == flavor_id, held)
    )
    return [
        timeline.Claim(span, count)
        for count, *claim in db.execute(claiming(query, window, times.NO_TIME)).all()
        for span in claims.spans(*claim)
    ]
