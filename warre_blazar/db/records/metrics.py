"""What metrics read from the tables, and the table of what they count.

A metric that counts must never fall, and what is counted must not wait for the count. So whoever
counts adds a row, in the transaction in which the thing happens, and writes no row that anybody
else writes. ``merge`` keeps the table small.
"""

import dataclasses
import datetime
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import clock, session, sql_functions
from warre_blazar.db.booking import reservations as reservations_of
from warre_blazar.db.tables import bookings, bookings_in_leases, leases, managers, reservations
from warre_blazar.db.tables import tallies as db_tallies
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.records.tallies import DELAYS, Name, Tally, bucket
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.execution import END, LEAD, START

#: The largest number of rows that ``merge`` replaces in one transaction.
_BATCH = 1000


def add_tally(db: Session, name: Name, label: str, value: float = 0.0) -> None:
    """Count something once.

    :param value: what was measured.
    """
    _add(db, [_values(name, label, value)])


def _values(name: Name, label: str, value: float) -> dict[str, Any]:
    return {"name": name.value, "label": label, "count": 1, "total": value}


def _add(db: Session, rows: list[dict[str, Any]]) -> None:
    if rows:
        db.execute(db_tallies.insert(), rows)


def tallies(db: Session) -> dict[tuple[str, str], Tally]:
    """All tallies, by name and label."""
    query = sa.select(
        db_tallies.c.name,
        db_tallies.c.label,
        sa.func.sum(db_tallies.c.count),
        sa.func.sum(db_tallies.c.total),
    ).group_by(db_tallies.c.name, db_tallies.c.label)
    return {
        (name, label): Tally(int(count), float(total))
        for name, label, count, total in db.execute(query)
    }


def merge_tallies(db: Session) -> bool:
    """Replace rows of the same name and label by their sum, the oldest rows first.

    :returns: whether there may be more to replace.
    :raises session.LostRace: another manager has replaced the rows.
    """
    # The rows are deleted by their ids, so that this doesn't lock the place of new rows.
    query = sa.select(db_tallies).order_by(db_tallies.c.id).limit(_BATCH)
    rows = db.execute(query).mappings().all()
    sums: dict[tuple[str, str], Tally] = {}
    for row in rows:
        key = (row["name"], row["label"])
        before = sums.get(key, Tally(0, 0.0))
        sums[key] = Tally(before.count + row["count"], before.total + row["total"])
    if len(sums) == len(rows):
        return False
    ids = [row["id"] for row in rows]
    session.write_or_lose(db, db_tallies.delete().where(db_tallies.c.id.in_(ids)), len(ids))
    merged = [
        {"name": name, "label": label, "count": tally.count, "total": tally.total}
        for (name, label), tally in sums.items()
    ]
    db.execute(db_tallies.insert(), merged)
    return len(rows) == _BATCH


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
    in_state = reservations_of.in_states(frozenset({state}))
    query = sa.select(sa.func.count()).select_from(bookings_in_leases)
    return query.where(*in_state, condition).scalar_subquery()


def heartbeats(db: Session) -> list[tuple[str, int]]:
    """The machine of each manager, and the seconds since the manager's last heartbeat.

    Managers that died over a day ago aren't in the table any more.
    """
    silent = sql_functions.seconds_between(managers.c.heartbeat, sql_functions.utc_now())
    query = sa.select(managers.c.host, silent)
    return [(host, int(seconds)) for host, seconds in db.execute(query)]


def count_delays(db: Session, action: str, due: Iterable[datetime.datetime]) -> None:
    """Count how late starts or ends are, which are finished now.

    An end that is too early isn't counted: the repairer has requested it.

    :param due: the starts or the ends of the reservations.
    """
    delays = [(clock.utcnow() - time).total_seconds() for time in due]
    if action == END:
        delays = [delay for delay in delays if delay >= -LEAD[END].total_seconds()]
    in_time = (max(delay, 0.0) for delay in delays)
    _add(db, [_values(DELAYS[action], bucket(delay), delay) for delay in in_time])
