"""Queries on waits. All of them use the caller's session."""

import dataclasses
import datetime
from collections import defaultdict
from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.tables import bookings, compute_hosts, flavors, host_generations, leases, waits
from warre_blazar.db.tables import maintenance_windows as windows
from warre_blazar.domain.booking.labels import Labels
from warre_blazar.domain.booking.offered import KeptOffers
from warre_blazar.domain.timeline import Claim, Span
from warre_blazar.domain.waits import OPEN, SERVED, Mode, Wait, WaitState
from warre_blazar.errors import exceptions

#: The columns that are attributes of the same name.
_PLAIN = (
    *("id", "project_id", "user_id", "flavor_id", "category", "instance_count", "created_at"),
    *("expires_at", "affinity", "before_end", "status_reason", "found_flavor_id"),
    *("reservation_id", "ended_at", "ended_by", "kept_until", "number"),
)


@dataclasses.dataclass(frozen=True)
class WaitFilter:
    """Which waits to list. None: all."""

    project_id: str | None = None
    user_id: str | None = None
    states: frozenset[str] | None = None

    def conditions(self) -> list[sa.ColumnElement[bool]]:
        """The filter as SQL conditions."""
        found = []
        if self.project_id is not None:
            found.append(waits.c.project_id == self.project_id)
        if self.user_id is not None:
            found.append(waits.c.user_id == self.user_id)
        if self.states is not None:
            found.append(waits.c.state.in_(sorted(self.states)))
        return found


def insert(db: Session, wait: Wait) -> None:
    """Add a wait.

    :raises LostRace: there is a wait with this id.
    """
    values = {name: getattr(wait, name) for name in _PLAIN if name != "number"}
    session.insert_or_lose(
        db,
        waits.insert().values(
            minutes=wait.length // times.MINUTE,
            earliest=wait.window.start,
            latest=wait.window.end,
            mode=wait.mode.value,
            state=wait.state.value,
            **dataclasses.asdict(wait.labels),
            **values,
        ),
    )


def find(db: Session, wait_id: str) -> Wait | None:
    """The wait with this id, or None."""
    row = db.execute(sa.select(waits).where(waits.c.id == wait_id)).mappings().first()
    return _wait(row) if row else None


def listing(
    db: Session, wanted: WaitFilter, limit: int | None, offset: int
) -> tuple[list[Wait], int]:
    """A page of waits, the oldest first, and the number of waits on all pages."""
    conditions = wanted.conditions()
    total = db.scalar(sa.select(sa.func.count()).select_from(waits).where(*conditions)) or 0
    query = sa.select(waits).where(*conditions).order_by(waits.c.number)
    return _read(db, query.limit(limit).offset(offset)), total


def every_open(db: Session) -> list[Wait]:
    """All waits that can still be served, the oldest first."""
    return _read(db, sa.select(waits).where(waits.c.state.in_(OPEN)).order_by(waits.c.number))


def is_any_open(db: Session) -> bool:
    """Whether anybody waits."""
    query = sa.select(waits.c.id).where(waits.c.state.in_(OPEN)).limit(1)
    return db.execute(query).first() is not None


def served_since(db: Session, moment: datetime.datetime) -> list[Wait]:
    """The waits that were served after a moment."""
    return _read(db, sa.select(waits).where(waits.c.state.in_(SERVED), waits.c.ended_at > moment))


def is_any_offered(since: Any) -> sa.ColumnElement[bool]:
    """The SQL condition that anybody was told of room after a moment."""
    told = (waits.c.state == WaitState.TOLD.value, waits.c.ended_at > since)
    return sa.exists().where(*told)


def was_told_in_vain(db: Session, wait: Wait, flavor_id: str, since: datetime.datetime) -> bool:
    """Whether a wait's project was told of a flavor after a moment, and hasn't booked it since."""
    told = (
        waits.c.state == WaitState.TOLD.value,
        waits.c.ended_at > since,
        waits.c.project_id == wait.project_id,
        waits.c.found_flavor_id == flavor_id,
    )
    return bool(db.scalar(sa.select(sa.exists().where(*told, ~_is_booked()))))


def _is_booked() -> sa.ColumnElement[bool]:
    """Whether a project has booked the flavor that it was told of since then."""
    its = (
        bookings.c.project_id == waits.c.project_id,
        bookings.c.flavor_id == waits.c.found_flavor_id,
        bookings.c.created_at >= waits.c.ended_at,
    )
    return sa.exists().where(*its).correlate(waits)


def release(db: Session, wait: Wait, now: datetime.datetime) -> bool:
    """Keep no longer what a wait was told of. Return whether it was kept until now."""
    kept = waits.update().where(waits.c.id == wait.id, waits.c.kept_until > now)
    return session.changed(db, kept.values(kept_until=None)) == 1


#: The query of what is kept for others than a project. Each search sends it, so it is built once.
_OFFERED = sa.select(
    waits.c.found_flavor_id,
    waits.c.start_date,
    waits.c.end_date,
    waits.c.instance_count,
    waits.c.kept_until,
).where(
    # The third condition implies the first two, for which there is an index.
    waits.c.state == WaitState.TOLD.value,
    waits.c.ended_at > sa.bindparam("since"),
    waits.c.kept_until > sa.bindparam("now"),
    waits.c.found_flavor_id.in_(sa.bindparam("flavor_ids", expanding=True)),
    waits.c.project_id != sa.bindparam("project_id"),
    ~_is_booked(),
)


def offered(
    db: Session, flavor_ids: Collection[str], project_id: str | None, now: datetime.datetime
) -> dict[str, KeptOffers]:
    """What others than a project were told to be free of flavors, and haven't booked yet.

    :param project_id: None: nobody is concerned, so the result is empty.
    :returns: by the flavor's id. Flavors of which nothing is offered are left out.
    """
    if project_id is None:
        return {}
    values = {
        "since": now - times.TOLD_FIRST_FOR,
        "now": now,
        "flavor_ids": list(flavor_ids),
        "project_id": project_id,
    }
    by_flavor: dict[str, list[sa.Row[Any]]] = defaultdict(list)
    for row in db.execute(_OFFERED, values):
        by_flavor[row.found_flavor_id].append(row)
    return {
        key: KeptOffers(
            [Claim(Span(row.start_date, row.end_date), row.instance_count) for row in told],
            max(row.kept_until for row in told),
        )
        for key, told in by_flavor.items()
    }


def count_open(db: Session, project_id: str) -> int:
    """How many waits of a project can still be served."""
    query = sa.select(sa.func.count()).select_from(waits)
    return db.scalar(query.where(waits.c.project_id == project_id, waits.c.state.in_(OPEN))) or 0


def begin_booking(db: Session, wait_id: str, project_id: str, reservation_id: str) -> None:
    """Note that a wait is booked, in the transaction that books.

    :param reservation_id: the id of the new reservation.
    :raises WaitOver: nobody waits any more.
    """
    claimed = (
        waits.update()
        .where(
            waits.c.id == wait_id,
            waits.c.project_id == project_id,
            waits.c.mode == Mode.BOOK,
            waits.c.state == WaitState.WAITING,
        )
        .values(state=WaitState.BOOKING.value, reservation_id=reservation_id)
    )
    if not session.changed(db, claimed):
        raise exceptions.WaitOver(wait_id)


def reopen(db: Session, lease_id: str) -> None:
    """Let a wait go on if the lease that was begun for it is removed without having been made.

    Leases that weren't made for a wait change nothing.
    """
    db.execute(
        waits.update()
        .where(waits.c.id == lease_id, waits.c.state == WaitState.BOOKING)
        .values(state=WaitState.WAITING.value, reservation_id=None)
    )


def move(db: Session, wait: Wait, state: WaitState, **values: Any) -> bool:
    """Write another state of a wait, unless it is no longer in the state that was read.

    :param values: further values, by column.
    :returns: whether it was written.
    """
    moved = waits.update().where(waits.c.id == wait.id, waits.c.state == wait.state.value)
    return session.changed(db, moved.values(state=state.value, **values)) == 1


def note_reason(db: Session, wait: Wait, reason: str | None) -> None:
    """Write why a wait couldn't be served, if it still waits."""
    db.execute(
        waits.update()
        .where(waits.c.id == wait.id, waits.c.state == WaitState.WAITING)
        .values(status_reason=reason)
    )


def delete_old(db: Session, before: datetime.datetime) -> int:
    """Delete the waits that ended before a moment, and return their number."""
    return session.changed(
        db, waits.delete().where(waits.c.state.not_in(OPEN), waits.c.ended_at < before)
    )


def categories(db: Session) -> dict[str, str | None]:
    """The categories of all flavors that aren't deleted, by the flavor's id."""
    query = sa.select(flavors.c.id, flavors.c.category).where(flavors.c.deleted == "")
    return {flavor_id: category for flavor_id, category in db.execute(query)}


def what_moves_room(db: Session) -> tuple[Any, ...]:
    """Values that differ once something has happened that may have made room.

    Blazar writes times in whole seconds. So two changes of leases within a second may leave the
    values as they are.
    """
    number, largest, total = sa.func.count(), sa.func.max, sa.func.sum
    usable = sa.func.coalesce(compute_hosts.c.reservable, sa.false())
    counted = (
        sa.select(number, largest(leases.c.created_at), largest(leases.c.updated_at)),
        sa.select(number, total(flavors.c.generation)),
        sa.select(number, total(host_generations.c.generation)),
        sa.select(number, largest(compute_hosts.c.updated_at)).where(usable),
        sa.select(windows.c.id, windows.c.start_date, windows.c.end_date).order_by(windows.c.id),
    )
    return tuple(tuple(row) for query in counted for row in db.execute(query))


def _read(db: Session, query: sa.Select[Any]) -> list[Wait]:
    return [_wait(row) for row in db.execute(query).mappings()]


def _wait(row: sa.RowMapping) -> Wait:
    start, end = row["start_date"], row["end_date"]
    return Wait(
        **{name: row[name] for name in _PLAIN},
        length=row["minutes"] * times.MINUTE,
        window=Span(row["earliest"], row["latest"]),
        mode=Mode(row["mode"]),
        labels=Labels.read(row),
        state=WaitState(row["state"]),
        found=Span(start, end) if start and end else None,
    )
