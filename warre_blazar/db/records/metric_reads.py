"""Reads for metrics how many reservations there are, which are overdue, and which managers live."""

import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import sql_functions
from warre_blazar.db.booking.reservation_filters import Filter
from warre_blazar.db.tables import bookings, bookings_in_leases, leases, managers, reservations
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.execution_timing import END, START

_UNFINISHED = sorted({*lease_states.TRANSITIONAL, *lease_states.STABLE} - {lease_states.TERMINATED})


@dataclasses.dataclass(frozen=True)
class ReservationGroup:
    """The reservations of a flavor that have the same statuses in Blazar's tables."""

    flavor_id: str
    lease_status: str
    reservation_status: str
    reservations: int
    instances: int


def groups(db: Session) -> list[ReservationGroup]:
    """All reservations that aren't over, in groups."""
    keys = (bookings.c.flavor_id, leases.c.status, reservations.c.status)
    query = (
        sa.select(*keys, sa.func.count(), sa.func.sum(bookings.c.instance_count))
        .select_from(
            leases.join(reservations, reservations.c.lease_id == leases.c.id).join(
                bookings, bookings.c.reservation_id == reservations.c.id
            )
        )
        # The statuses are listed, and not excluded, so that the database can use an index. Without
        # STRAIGHT_JOIN, MariaDB would begin with all bookings, those that are over included.
        .where(leases.c.status.in_(_UNFINISHED))
        .group_by(*keys)
    )
    for dialect in ("mysql", "mariadb"):
        query = query.prefix_with("STRAIGHT_JOIN", dialect=dialect)
    return [ReservationGroup(*row[:3], *map(int, row[3:])) for row in db.execute(query)]


def overdue(db: Session, before: datetime.datetime) -> dict[str, int]:
    """By action, the reservations that should have started or ended before a time, and haven't.

    A reservation that has started, but couldn't be opened completely yet, is overdue too.
    """
    query = sa.select(
        _number(reservation_states.ALLOCATED, leases.c.start_date < before),
        _number(
            reservation_states.ACTIVE,
            sa.and_(leases.c.start_date < before, bookings.c.status_reason.is_not(None)),
        ),
        _number(reservation_states.ACTIVE, leases.c.end_date < before),
    )
    waiting, not_open, running = db.execute(query).one()
    return {START: waiting + not_open, END: running}


def _number(state: str, condition: sa.ColumnElement[bool]) -> sa.ScalarSelect[Any]:
    """The number of reservations in a state that meet a condition."""
    in_state = Filter(states=frozenset({state})).conditions()
    query = sa.select(sa.func.count()).select_from(bookings_in_leases)
    return query.where(*in_state, condition).scalar_subquery()


def heartbeats(db: Session) -> list[tuple[str, int]]:
    """The machine of each manager, and the seconds since the manager's last heartbeat.

    Managers that died over a day ago aren't in the table any more.
    """
    silent = sql_functions.seconds_between(managers.c.heartbeat, sql_functions.utc_now())
    query = sa.select(managers.c.host, silent)
    return [(host, int(seconds)) for host, seconds in db.execute(query)]
