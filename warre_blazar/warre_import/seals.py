"""Seals: digests of the rows of imported things, in the column ``after`` of ``warre_imported``.

A seal shows whether the rows are still as the import left them. If they aren't, the import can't be
undone. A manager repairs a lease whose start event or end event is missing or contradicts the
lease. Such a repair isn't a change: a seal consists of two digests of the same length, one of the
rows as they are, and one of the rows as they will be after a repair.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db.tables import (
    allocations,
    backings,
    bookings,
    events,
    flavor_projects,
    flavors,
    imported,
    instance_reservations,
    leases,
    maintenance_windows,
    reservations,
    window_flavors,
)
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.lease import BEFORE_END_EVENT, END_EVENT, START_EVENT
from warre_blazar.domain.running.lease_states import Summary

#: The number of things that are read or sealed at a time.
PART = 500
#: Options for statements whose length depends on the number of rows. In SQLAlchemy's cache of
#: compiled statements, these statements would take memory and never be used again.
UNCACHED: Mapping[str, Any] = {"compiled_cache": None}

#: What managers note by themselves about running reservations. It must not prevent an undo.
_NOTED = ("counted_until", "looked_at", "look_error", "idle_from", "idle_warned_at")

#: The number of characters of each digest.
_DIGEST = 32
#: The statuses that the events of an adopted lease should have, by the status of the lease.
_TARGETS = {
    lease_states.TARGETS[summary].lease: lease_states.TARGETS[summary]
    for summary in (Summary.PENDING, Summary.ACTIVE)
}
_BOOKED = bookings.join(reservations, reservations.c.id == bookings.c.reservation_id)
_OF_LEASE = _BOOKED.join(leases, leases.c.id == reservations.c.lease_id)

#: The kinds of imported things that are sealed.
SEALED = ("flavor", "access", "window", "reservation")


def seal(db: Session, kind: str) -> None:
    """Seal all imported things of a kind that aren't sealed yet."""
    for ids in parts(db, kind, imported.c.after.is_(None)):
        digests = _digests(db, kind, ids)
        case = sa.case(
            {thing_id: sa.literal(digests[thing_id]) for thing_id in ids}, value=imported.c.id
        )
        these = (imported.c.kind == kind, imported.c.id.in_(ids))
        sealed = imported.update().where(*these).values(after=case)
        db.execute(sealed, execution_options=UNCACHED)


def move_seals(db: Session, flavor_ids: Collection[str]) -> None:
    """Remove the seals of flavors that an import is about to change.

    After the change, the import seals these flavors again (``seal``). But if a flavor has already
    changed since it was sealed, its seal stays, so that ``broken_seals`` finds the change.
    """
    intact = set(flavor_ids).difference(broken_seals(db, "flavor"))
    if intact:
        these = (imported.c.kind == "flavor", imported.c.id.in_(intact))
        db.execute(imported.update().where(*these).values(after=None))


def broken_seals(db: Session, kind: str) -> list[str]:
    """The ids of the things of a kind that have changed since they were sealed."""
    broken = []
    for ids in parts(db, kind):
        digests = _digests(db, kind, ids)
        query = sa.select(imported.c.id, imported.c.after).where(
            imported.c.kind == kind, imported.c.id.in_(ids)
        )
        for thing_id, after in db.execute(query):
            as_it_is = digests[thing_id][:_DIGEST]
            if after is None or as_it_is not in (after[:_DIGEST], after[_DIGEST:]):
                broken.append(thing_id)
    return sorted(broken)


def parts(db: Session, kind: str, *conditions: sa.ColumnElement[bool]) -> Iterator[list[str]]:
    """The ids of all imported things of a kind, in lists of at most ``PART``.

    :param conditions: further SQL conditions on the rows of ``warre_imported``.
    """
    last = ""
    query = (
        sa.select(imported.c.id).where(imported.c.kind == kind, *conditions).order_by(imported.c.id)
    )
    while ids := list(db.scalars(query.where(imported.c.id > last).limit(PART))):
        yield ids
        last = ids[-1]


def _digests(db: Session, kind: str, ids: Collection[str]) -> dict[str, str]:
    """Two digests of all rows of each thing, one after the other, by the id of the thing."""
    parts: dict[str, list[Any]] = {thing_id: [] for thing_id in ids}
    for query in _sealed_columns(kind, ids):
        for owner, *values in db.execute(query):
            parts[owner].append(values)
    events, repaired = _events(db, ids) if kind == "reservation" else ({}, {})
    return {
        thing_id: "".join(_digest(rows + more.get(thing_id, [])) for more in (events, repaired))
        for thing_id, rows in parts.items()
    }


def _digest(rows: Sequence[Sequence[Any]]) -> str:
    content = json.dumps(sorted(map(_plain, rows))).encode()
    return hashlib.sha256(content).hexdigest()[:_DIGEST]


_Events = dict[str, list[Sequence[Any]]]


def _events(db: Session, ids: Collection[str]) -> tuple[_Events, _Events]:
    """The events of adopted leases as they are, and as they are after a manager's repair.

    :returns: two dictionaries by the id of the reservation.
    """
    as_they_are: _Events = defaultdict(list)
    wanted: _Events = {}
    query = (
        sa.select(bookings.c.id, leases.c.status, leases.c.start_date, leases.c.end_date)
        .add_columns(events.c.event_type, events.c.status, events.c.time)
        .select_from(_OF_LEASE.outerjoin(events, events.c.lease_id == leases.c.id))
        .where(bookings.c.id.in_(ids))
    )
    for owner, lease_status, start, end, event_type, status, time in db.execute(query):
        if target := _TARGETS.get(lease_status):
            wanted[owner] = [(START_EVENT, target.start, start), (END_EVENT, target.end, end)]
        if event_type is not None:
            # The status of a before-end event isn't sealed. It changes when Blazar sends the
            # reminder that the lease is about to end. This must not prevent an undo.
            sealed_status = None if event_type == BEFORE_END_EVENT else status
            as_they_are[owner].append((event_type, sealed_status, time))
    repaired = {
        owner: rows + [event for event in as_they_are[owner] if event[0] == BEFORE_END_EVENT]
        for owner, rows in wanted.items()
    }
    return as_they_are, repaired


def _plain(values: Sequence[Any]) -> str:
    return json.dumps(values, default=str, sort_keys=True)


def _sealed_columns(kind: str, ids: Collection[str]) -> list[sa.Select[Any]]:
    """Queries for the rows that a seal covers.

    The first column of each query is the id of the imported thing. The other columns are the sealed
    values.
    """
    queries = {
        "flavor": _of_flavors,
        "access": _of_access,
        "window": _of_windows,
        "reservation": _of_reservations,
    }
    return queries[kind](ids)


def _of_flavors(ids: Collection[str]) -> list[sa.Select[Any]]:
    # When an undo removes a flavor, it also removes the access to the flavor, and takes the flavor
    # out of windows. So the seal covers access and windows too.
    bound, rights = window_flavors, flavor_projects
    # Each booking and each start of a reservation changes the flavor's generation, and nothing else
    # of the flavor.
    others = [column for column in flavors.c if column.name != "generation"]
    return [
        sa.select(flavors.c.id.label("owner"), *others).where(flavors.c.id.in_(ids)),
        sa.select(rights.c.flavor_id, rights.c.id).where(rights.c.flavor_id.in_(ids)),
        sa.select(bound.c.flavor_id, bound.c.window_id).where(bound.c.flavor_id.in_(ids)),
    ]


def _of_access(ids: Collection[str]) -> list[sa.Select[Any]]:
    return [_all_columns(flavor_projects, ids)]


def _of_windows(ids: Collection[str]) -> list[sa.Select[Any]]:
    bound = window_flavors
    return [
        _all_columns(maintenance_windows, ids),
        sa.select(bound.c.window_id, bound.c.flavor_id).where(bound.c.window_id.in_(ids)),
    ]


def _of_reservations(ids: Collection[str]) -> list[sa.Select[Any]]:
    booked, of_lease = _BOOKED, _OF_LEASE
    lease = [c for c in leases.c if c.name not in ("created_at", "updated_at", "degraded")]
    row = [c for c in instance_reservations.c if c.name not in ("created_at", "updated_at")]
    # The reconciler changes this column when the site's aggregates change.
    note = tuple(column for column in backings.c if column.name != "made_confined")
    own = [sa.null().label(c.name) if c.name in _NOTED else c for c in bookings.c]
    joins = (
        (bookings, own),
        (booked, (reservations.c.resource_type, reservations.c.status)),
        (of_lease, lease),
        (
            booked.join(
                instance_reservations, instance_reservations.c.reservation_id == reservations.c.id
            ),
            row,
        ),
        (
            booked.join(allocations, allocations.c.reservation_id == reservations.c.id),
            (allocations.c.id, allocations.c.compute_host_id),
        ),
        (
            booked.join(backings, backings.c.reservation_id == reservations.c.id),
            note,
        ),
    )
    return [
        sa.select(bookings.c.id.label("owner"), *columns)
        .select_from(joined)
        .where(bookings.c.id.in_(ids))
        for joined, columns in joins
    ]


def _all_columns(table: sa.Table, ids: Collection[str]) -> sa.Select[Any]:
    return sa.select(table.c.id.label("owner"), *table.c).where(table.c.id.in_(ids))
