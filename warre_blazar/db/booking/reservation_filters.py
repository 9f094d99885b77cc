"""Filters and sort orders for lists of reservations."""

import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa

from warre_blazar.db.records import server_samples
from warre_blazar.db.tables import allocations, bookings, leases, reservations
from warre_blazar.domain.booking import reservation_states

#: For each sort key, the column that a list of reservations is sorted by.
SORTED: dict[str, sa.ColumnElement[Any]] = {
    "start": leases.c.start_date,
    "end": leases.c.end_date,
    "created_at": bookings.c.created_at,
    "project_id": leases.c.project_id,
    "user_id": leases.c.user_id,
}

#: All sort keys.
SORT_KEYS = tuple(SORTED)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Filter:
    """Conditions that a reservation must meet to be listed. None means no condition."""

    project_id: str | None = None
    user_id: str | None = None
    flavor_id: str | None = None
    #: The exact name that a user has given the reservation.
    name: str | None = None
    #: The series of which the reservation is an occurrence.
    series_id: str | None = None
    #: The reservation is in any of these states of ``domain.booking.reservation_states``.
    states: frozenset[str] | None = None
    #: The reservation ends after this time.
    after: datetime.datetime | None = None
    #: The reservation starts before this time.
    before: datetime.datetime | None = None
    #: The reservation holds at least one of the hosts that have these ids in Blazar's table.
    host_ids: frozenset[str] | None = None
    #: The reservation is running, and had no server at the last sample.
    is_idle: bool = False

    def conditions(self) -> list[sa.ColumnElement[bool]]:
        """The SQL conditions, for a query that joins ``bookings_in_leases``."""
        equal = (
            (leases.c.project_id, self.project_id),
            (leases.c.user_id, self.user_id),
            (bookings.c.flavor_id, self.flavor_id),
            (bookings.c.name, self.name),
            (bookings.c.series_id, self.series_id),
        )
        filters: list[sa.ColumnElement[bool]] = [c == v for c, v in equal if v is not None]
        if self.after is not None:
            filters.append(leases.c.end_date > self.after)
        if self.before is not None:
            filters.append(leases.c.start_date < self.before)
        if self.states is not None:
            filters += _in_states(self.states)
        if self.is_idle:
            filters.append(server_samples.is_idle())
        if self.host_ids is not None:
            held = allocations.c.compute_host_id.in_(self.host_ids)
            filters.append(
                sa.exists().where(allocations.c.reservation_id == reservations.c.id, held)
            )
        return filters


def _in_states(wanted: frozenset[str]) -> list[sa.ColumnElement[bool]]:
    """SQL conditions that are true if a reservation is in one of the ``wanted`` states.

    The conditions agree with ``reservation_states.derive``, which returns a reservation's state.
    """
    deciding, others = reservation_states.sources(wanted)
    of_others = reservations.c.status.in_(others)
    if reservation_states.ERROR in wanted:
        unknown = reservations.c.status.not_in(reservation_states.KNOWN_RESERVATIONS)
        of_others = sa.or_(of_others, unknown, reservations.c.status.is_(None))
    return [
        # This condition is implied by the next one, but it lets the database use an index.
        leases.c.status.in_([*deciding, *reservation_states.PASSING_LEASES]),
        sa.or_(
            leases.c.status.in_(deciding),
            sa.and_(leases.c.status.in_(reservation_states.PASSING_LEASES), of_others),
        ),
    ]


def order(sort: str, *, descending: bool) -> tuple[sa.ColumnElement[Any], ...]:
    """The columns to sort a list by.

    Reservations with equal values are sorted by start and id, so that the order is always the same.

    :param sort: one of ``SORT_KEYS``.
    """
    columns = (SORTED[sort], leases.c.start_date, bookings.c.id)
    return tuple(column.desc() if descending else column.asc() for column in columns)
