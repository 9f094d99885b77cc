"""Queries on maintenance windows. All of them use the caller's session."""

import datetime
from collections import defaultdict
from collections.abc import Collection, Iterable

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import generations, session
from warre_blazar.db.booking import reservations
from warre_blazar.db.tables import (
    allocations,
    bookings,
    compute_hosts,
    flavors,
    leases,
    maintenance_windows,
    window_flavors,
    window_hosts,
)
from warre_blazar.db.tables import reservations as reservations_table
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.maintenance import MaintenanceWindow
from warre_blazar.domain.timeline import Span


def insert(db: Session, window: MaintenanceWindow, now: datetime.datetime) -> None:
    """Add a window and the lists of the flavors and hosts that it closes."""
    db.execute(
        maintenance_windows.insert().values(id=window.id, created_at=now, **_columns(window))
    )
    _bind(db, window)


def update(db: Session, window: MaintenanceWindow) -> None:
    """Replace a window and the lists of the flavors and hosts that it closes."""
    db.execute(
        maintenance_windows.update()
        .where(maintenance_windows.c.id == window.id)
        .values(**_columns(window))
    )
    _unbind(db, window.id)
    _bind(db, window)


def _columns(window: MaintenanceWindow) -> dict[str, datetime.datetime | str | None]:
    return {
        "start_date": window.span.start,
        "end_date": window.span.end,
        "note": window.note,
    }


def _bind(db: Session, window: MaintenanceWindow) -> None:
    rows = [{"window_id": window.id, "flavor_id": flavor_id} for flavor_id, _ in window.flavors]
    if rows:
        db.execute(window_flavors.insert(), rows)
    closed = [{"window_id": window.id, "host_id": host_id} for host_id, _ in window.hosts]
    if closed:
        db.execute(window_hosts.insert(), closed)
    generations.outdate(db, [host_id for host_id, _ in window.hosts])


def _unbind(db: Session, window_id: str) -> None:
    closed = sa.select(window_hosts.c.host_id).where(window_hosts.c.window_id == window_id)
    generations.outdate(db, db.scalars(closed).all())
    for table in (window_flavors, window_hosts):
        db.execute(table.delete().where(table.c.window_id == window_id))


def delete(db: Session, window_id: str) -> bool:
    """Delete a window. Return whether it existed."""
    _unbind(db, window_id)
    deletion = maintenance_windows.delete().where(maintenance_windows.c.id == window_id)
    return session.changed(db, deletion) == 1


#: The condition that a flavor is visible to somebody who may see all flavors.
ALL_FLAVORS = sa.true()


def find(
    db: Session, window_id: str, visible: sa.ColumnElement[bool] = ALL_FLAVORS
) -> MaintenanceWindow | None:
    """The window with this id, or None if it doesn't exist.

    :param visible: the same as for ``listing``.
    """
    query = sa.select(maintenance_windows).where(
        maintenance_windows.c.id == window_id, _shows(visible)
    )
    windows = _read(db, query, visible)
    return windows[0] if windows else None


def lock(db: Session, window_id: str) -> None:
    """Keep others from changing a window until the caller's transaction is over.

    What the transaction reads afterwards is as it was when the window was locked, provided that
    this is the transaction's first statement.
    """
    query = sa.select(maintenance_windows.c.id).where(maintenance_windows.c.id == window_id)
    db.execute(query.with_for_update()).all()


def not_over(
    db: Session, now: datetime.datetime
) -> list[tuple[MaintenanceWindow, datetime.datetime]]:
    """The windows that haven't ended, each with the time at which it was made."""
    query = sa.select(maintenance_windows).where(maintenance_windows.c.end_date > now)
    made = {row.id: row.created_at for row in db.execute(query)}
    if not made:
        return []
    return [(window, made[window.id]) for window in _read(db, query, ALL_FLAVORS)]


def listing(
    db: Session,
    limit: int | None,
    offset: int,
    visible: sa.ColumnElement[bool] = ALL_FLAVORS,
) -> tuple[list[MaintenanceWindow], int]:
    """A page of windows, sorted by start, and the number of windows on all pages.

    :param visible: a condition on flavors. Other flavors are left out of the windows, and so are
        windows that close only other flavors. Only somebody who may see all flavors gets hosts, and
        windows that close hosts alone.
    """
    shown = _shows(visible)
    count = sa.select(sa.func.count()).select_from(maintenance_windows).where(shown)
    query = (
        sa.select(maintenance_windows)
        .where(shown)
        .order_by(maintenance_windows.c.start_date, maintenance_windows.c.id)
    )
    if limit is not None:
        query = query.limit(limit).offset(offset)
    return _read(db, query, visible), db.execute(count).scalar_one()


def _shows(visible: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """The condition that a window closes nothing, or at least one of the visible flavors."""
    if visible is ALL_FLAVORS:
        return sa.true()
    closed = sa.select(window_flavors.c.window_id)
    visibly_closed = closed.join(flavors, flavors.c.id == window_flavors.c.flavor_id).where(visible)
    of_hosts = sa.select(window_hosts.c.window_id)
    nothing = maintenance_windows.c.id.not_in(closed) & maintenance_windows.c.id.not_in(of_hosts)
    return sa.or_(nothing, maintenance_windows.c.id.in_(visibly_closed))


def _read(
    db: Session,
    query: sa.Select[tuple[object, ...]],
    visible: sa.ColumnElement[bool] = ALL_FLAVORS,
) -> list[MaintenanceWindow]:
    rows = db.execute(query).mappings().all()
    bound: dict[str, list[tuple[str, str]]] = defaultdict(list)
    closed_flavors = (
        sa.select(window_flavors.c.window_id, flavors.c.id, flavors.c.name)
        .join(flavors, flavors.c.id == window_flavors.c.flavor_id)
        .where(
            window_flavors.c.window_id.in_([row["id"] for row in rows]),
            flavors.c.deleted == "",
            visible,
        )
        .order_by(flavors.c.name)
    )
    for window_id, flavor_id, name in db.execute(closed_flavors):
        bound[window_id].append((flavor_id, name))
    ids = [row["id"] for row in rows]
    hosts = _hosts_of(db, ids) if visible is ALL_FLAVORS else {}
    return [
        MaintenanceWindow(
            id=row["id"],
            span=Span(row["start_date"], row["end_date"]),
            note=row["note"],
            flavors=tuple(bound[row["id"]]),
            hosts=tuple(hosts.get(row["id"], ())),
        )
        for row in rows
    ]


def _hosts_of(db: Session, window_ids: Collection[str]) -> dict[str, list[tuple[str, str]]]:
    """The ids and names of the hosts that windows close, by window and sorted by name."""
    query = (
        sa.select(window_hosts.c.window_id, compute_hosts.c.id, compute_hosts.c.hypervisor_hostname)
        .join(compute_hosts, compute_hosts.c.id == window_hosts.c.host_id)
        .where(window_hosts.c.window_id.in_(window_ids))
        .order_by(compute_hosts.c.hypervisor_hostname, compute_hosts.c.id)
    )
    closed: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for window_id, host_id, name in db.execute(query):
        closed[window_id].append((host_id, name))
    return closed


def closes(
    flavor_id: sa.ColumnElement[str],
    start: sa.ColumnElement[datetime.datetime],
    end: sa.ColumnElement[datetime.datetime],
) -> sa.ColumnElement[bool]:
    """The condition that a window overlaps a span and closes a flavor."""
    return sa.exists().where(
        window_flavors.c.window_id == maintenance_windows.c.id,
        window_flavors.c.flavor_id == flavor_id,
        maintenance_windows.c.start_date < end,
        maintenance_windows.c.end_date > start,
    )


def closing(db: Session, flavor_id: str, during: Span) -> list[Span]:
    """The times of the windows that overlap a span and close a flavor."""
    values = {"flavor_id": flavor_id, "start": during.start, "end": during.end}
    return [Span(start, end) for start, end in db.execute(_CLOSING, values)]


_CLOSING = (
    sa.select(maintenance_windows.c.start_date, maintenance_windows.c.end_date)
    .join(window_flavors, window_flavors.c.window_id == maintenance_windows.c.id)
    .where(
        window_flavors.c.flavor_id == sa.bindparam("flavor_id"),
        maintenance_windows.c.start_date < sa.bindparam("end"),
        maintenance_windows.c.end_date > sa.bindparam("start"),
    )
)


def closing_each(db: Session, during: Span) -> dict[str, list[Span]]:
    """The times of the windows that overlap a span, by the id of each flavor that they close."""
    query = (
        sa.select(
            window_flavors.c.flavor_id,
            maintenance_windows.c.start_date,
            maintenance_windows.c.end_date,
        )
        .join(window_flavors, window_flavors.c.window_id == maintenance_windows.c.id)
        .where(
            maintenance_windows.c.start_date < during.end,
            maintenance_windows.c.end_date > during.start,
        )
    )
    spans: dict[str, list[Span]] = defaultdict(list)
    for flavor_id, start, end in db.execute(query):
        spans[flavor_id].append(Span(start, end))
    return spans


def closing_flavor(db: Session, flavor_id: str, during: Span) -> list[MaintenanceWindow]:
    """The windows that overlap a span and close a flavor, sorted by start."""
    query = (
        sa.select(maintenance_windows)
        .join(window_flavors, window_flavors.c.window_id == maintenance_windows.c.id)
        .where(
            window_flavors.c.flavor_id == flavor_id,
            maintenance_windows.c.start_date < during.end,
            maintenance_windows.c.end_date > during.start,
        )
        .order_by(maintenance_windows.c.start_date, maintenance_windows.c.id)
    )
    return _read(db, query)


def compare_note(db: Session, note: str | None) -> None:
    """Raise an error if the database can't store a note."""
    session.compare(db, {maintenance_windows.c.note: note})


def living_flavors(db: Session, ids: Iterable[str]) -> list[tuple[str, str]]:
    """The ids and names of flavors, sorted by name. Deleted flavors are left out."""
    query = (
        sa.select(flavors.c.id, flavors.c.name)
        .where(flavors.c.id.in_(set(ids)), flavors.c.deleted == "")
        .order_by(flavors.c.name)
    )
    return [(flavor_id, name) for flavor_id, name in db.execute(query)]


def hosts_named(db: Session, ref: str) -> list[tuple[str, str]]:
    """The ids and names of the hosts with this id or hypervisor hostname."""
    named = sa.or_(compute_hosts.c.id == ref, compute_hosts.c.hypervisor_hostname == ref)
    query = sa.select(compute_hosts.c.id, compute_hosts.c.hypervisor_hostname).where(named)
    return [(host_id, name) for host_id, name in db.execute(query)]


def met(
    db: Session, flavor_ids: Collection[str], host_ids: Collection[str], during: Span
) -> list[Reservation]:
    """The flavor:slot reservations of these flavors, or on these hosts, that overlap a span.

    A reservation counts at its own time and at the time that was promised to an update, as long as
    it has host allocations. The earliest start comes first.
    """
    held = allocations.c.reservation_id == reservations_table.c.id
    on_host = sa.exists().where(held, allocations.c.compute_host_id.in_(host_ids))
    own = sa.and_(leases.c.start_date < during.end, leases.c.end_date > during.start)
    promised = sa.and_(bookings.c.claim_start < during.end, bookings.c.claim_end > during.start)
    return reservations.where(
        db,
        [
            sa.exists().where(held),
            sa.or_(bookings.c.flavor_id.in_(flavor_ids), on_host),
            sa.or_(own, promised),
        ],
    )
