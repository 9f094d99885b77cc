"""Foresees what a function would write, in a copy of the tables.

The copy is a database in memory with all that is booked from now on. So a preview can run the same
code as what it foresees, and takes no lock of a row for which a booking would have to wait.
"""

import contextlib
import datetime
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import sqlalchemy as sa
from oslo_db.sqlalchemy import enginefacade
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import clock, session, tables
from warre_blazar.db.tables import (
    allocations,
    assignments,
    bookings,
    flavors,
    leases,
    log_entries,
    reservations,
)

R = TypeVar("R")


#: The tables that are copied as a whole. The other tables are copied as far as they are about
#: leases that aren't over for long.
_WHOLE = {
    *("computehosts", "computehost_extra_capabilities", "computehost_resource_inventory"),
    *("computehost_trait", "resource_properties", "warre_flavors", "warre_flavor_projects"),
    *("warre_hosts", "warre_host_providers", "warre_projects", "warre_channels"),
    "warre_confined_projects",
    *("warre_windows", "warre_window_flavors", "warre_window_hosts"),
}

_Rows = list[dict[str, Any]]


def foreseen(write: Callable[[], R], cleaning: datetime.timedelta = times.NO_TIME) -> R:
    """Call a function that sees and writes only a copy of the tables, and return its result.

    :param write: a function that writes by this package's sessions, and asks no other service.
    :param cleaning: Blazar's cleaning_time.
    """
    with session.reader() as db:
        rows = dict(_present(db, cleaning))
    with _in_memory(rows) as copy, session.instead(copy):
        return write()


class _Copy:
    """Makes sessions for a database in memory, as Blazar's facade makes those for its database."""

    def __init__(self) -> None:
        self._facade = enginefacade.transaction_context()
        self._facade.configure(connection="sqlite://")
        self._context = threading.local()

    def writer(self) -> Any:
        return self._facade.writer.using(self._context)

    def reader(self) -> Any:
        return self._facade.reader.using(self._context)


@contextlib.contextmanager
def _in_memory(rows: dict[sa.Table, _Rows]) -> Iterator[_Copy]:
    copy = _Copy()
    with copy.writer() as db:
        engine = db.get_bind()
    try:
        tables.metadata.create_all(engine)
        with copy.writer() as db:
            for table, of_table in rows.items():
                if of_table:
                    db.execute(table.insert(), of_table)
        yield copy
    finally:
        engine.dispose()


def _present(db: Session, cleaning: datetime.timedelta) -> Iterator[tuple[sa.Table, _Rows]]:
    """The rows to copy, by table."""
    gap = db.scalar(sa.select(sa.func.max(flavors.c.gap_hours))) or 0
    back = times.HOST_CHOICE_MARGIN + cleaning + gap * times.HOUR
    now = clock.utcnow()
    since = now - min(back, now - datetime.datetime.min)
    promised = (
        sa.select(reservations.c.lease_id)
        .join(bookings, bookings.c.reservation_id == reservations.c.id)
        .where(bookings.c.claim_end > since)
    )
    lasting = sa.or_(leases.c.end_date > since, leases.c.id.in_(promised))
    lease_ids = sa.select(leases.c.id).where(lasting)
    reservation_ids = sa.select(reservations.c.id).where(reservations.c.lease_id.in_(lease_ids))
    for table in tables.metadata.sorted_tables:
        query = sa.select(table)
        if table is leases:
            query = query.where(lasting)
        elif table is bookings:
            # What was deleted before its start has taken nothing, and there may be much of it.
            had_begun = sa.or_(
                bookings.c.deleted_at.is_(None), bookings.c.deleted_at > bookings.c.start_date
            )
            past = sa.and_(bookings.c.live_id.is_(None), bookings.c.end_date > since, had_begun)
            query = query.where(sa.or_(bookings.c.live_id.in_(reservation_ids), past))
        elif table is log_entries:
            is_of_these = log_entries.c.subject.in_(reservation_ids)
            query = query.where(log_entries.c.is_logged == sa.true(), is_of_these)
        elif table is assignments:
            of_these = allocations.c.reservation_id.in_(reservation_ids)
            ids = sa.select(allocations.c.id).where(of_these)
            query = query.where(assignments.c.allocation_id.in_(ids))
        elif "lease_id" in table.c:
            query = query.where(table.c.lease_id.in_(lease_ids))
        elif "reservation_id" in table.c:
            query = query.where(table.c.reservation_id.in_(reservation_ids))
        elif table.name not in _WHOLE:
            continue
        yield table, [dict(row) for row in db.execute(query).mappings()]
