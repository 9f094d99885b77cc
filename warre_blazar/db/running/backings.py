"""Notes of backings. A note is kept until its backing is surely gone from Nova and Placement."""

import dataclasses
import datetime
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.running import confined_projects, shares
from warre_blazar.db.tables import (
    backings,
    bookings,
    instance_reservations,
    leases,
    reservations,
)
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.running import handles, lease_states
from warre_blazar.domain.running.backing import NOTHING_TOLD, UNMADE, Note, Phase


def insert(
    db: Session,
    reservation_id: str,
    project_id: str,
    now: datetime.datetime,
    nova_flavor: str,
    phase: Phase = Phase.PLANNED,
    told: Mapping[str, Sequence[str]] = NOTHING_TOLD,
) -> None:
    """Add the note of a backing.

    :param nova_flavor: the id of the reservation's Nova flavor.
    :param told: as in ``Note``.
    """
    db.execute(
        backings.insert().values(
            reservation_id=reservation_id,
            project_id=project_id,
            phase=phase,
            created_at=now,
            nova_flavor=nova_flavor,
            told=dict(told) or None,
        )
    )


def projects(db: Session, reservation_ids: Collection[str]) -> set[str]:
    """The projects of reservations that have a note, and the guests that may have servers."""
    query = sa.select(backings.c.project_id, backings.c.guests)
    of = backings.c.reservation_id.in_(reservation_ids)
    return {each for own, guests in db.execute(query.where(of)) for each in (own, *(guests or ()))}


def get(db: Session, reservation_id: str) -> Note | None:
    """The note of a reservation's backing, or None if the reservation has no note."""
    return read(db, backings.c.reservation_id == reservation_id).get(reservation_id)


#: The fields of notes that are read with the note.
_FIELDS = [f for f in dataclasses.fields(Note) if f.name not in ("shared_with", "handle")]


def read(db: Session, of: sa.ColumnElement[bool]) -> dict[str, Note]:
    """The notes of backings, by the reservation's id.

    :param of: a condition of the table of notes.
    """
    with_booking = backings.outerjoin(
        bookings, bookings.c.reservation_id == backings.c.reservation_id
    )
    confined = confined_projects.has(backings.c.project_id).label("confined")
    of_booking = (bookings.c.shape, *(bookings.c[name] for name in handles.NAMES))
    query = sa.select(backings, confined, *of_booking).select_from(with_booking).where(of)
    notes = {}
    for row in db.execute(query).mappings():
        values: dict[str, Any] = {field.name: row[field.name] for field in _FIELDS}
        values["handle"] = handles.read(row)
        values["shape"] = Shape.from_json(row["shape"]) if row["shape"] else None
        values["told"] = row["told"] or NOTHING_TOLD
        values["guests"] = tuple(row["guests"] or ())
        notes[row["reservation_id"]] = Note(**values)
    shared = [reservation_id for reservation_id, note in notes.items() if note.guests]
    for reservation_id, guests in shares.guests_of(db, shared).items():
        notes[reservation_id] = dataclasses.replace(notes[reservation_id], shared_with=guests)
    if lacking := [i for i, n in notes.items() if n.shape is None and n.phase is not Phase.CLOSING]:
        for reservation_id, shape in _source_shapes(db, lacking):
            notes[reservation_id] = dataclasses.replace(notes[reservation_id], shape=shape)
    return notes


def _source_shapes(db: Session, reservation_ids: Collection[str]) -> Iterator[tuple[str, Shape]]:
    """The shapes of reservations of Nova's flavors, which have no row in this package's table."""
    row = instance_reservations.c
    query = sa.select(row.reservation_id, row.resource_properties).where(
        row.reservation_id.in_(reservation_ids)
    )
    for reservation_id, source in db.execute(query):
        yield reservation_id, Shape.of_source_flavor(source)


def update(db: Session, reservation_id: str, **values: int | Phase) -> None:
    """Change columns of a note."""
    _update_if(db, reservation_id, **values)


def delete(db: Session, reservation_id: str) -> None:
    """Delete a note. The caller has made sure that nothing is left of the backing."""
    db.execute(backings.delete().where(backings.c.reservation_id == reservation_id))


def begin_removing(db: Session, reservation_id: str) -> Note | None:
    """Write that a backing is being removed. A note of a planned backing is deleted instead.

    :returns: the note as it was. None: nothing has to be removed.
    """
    if delete_planned(db, reservation_id):
        return None
    read = get(db, reservation_id)
    if read is not None:
        update(db, reservation_id, phase=Phase.CLOSING)
    return read


def delete_planned(db: Session, reservation_id: str) -> bool:
    """Delete the note of a planned backing, and say whether there was one."""
    planned = (backings.c.reservation_id == reservation_id, backings.c.phase == Phase.PLANNED)
    return session.changed(db, backings.delete().where(*planned)) == 1


def note_removal(
    db: Session, reservation_id: str, project_id: str, nova_flavor: str, now: datetime.datetime
) -> None:
    """Write that what there is of a backing is to be removed, even if there is no note yet."""
    if not _update_if(db, reservation_id, phase=Phase.CLOSING):
        insert(db, reservation_id, project_id, now, nova_flavor, Phase.CLOSING)


def begin_making(
    db: Session, reservation_id: str, until: datetime.datetime, given_up: datetime.datetime | None
) -> bool:
    """Write that requests to make a backing may be sent from now on.

    :param until: the time until which a service may carry out these requests.
    :param given_up: if another manager is making the backing, and its ``until`` is later than this
        time, the backing is left to it. None: the backing isn't left to anybody.
    :returns: whether it was written. If not, the backing is made, or is left to another manager.
    """
    conditions: list[sa.ColumnElement[bool]] = [backings.c.phase.in_(UNMADE)]
    if given_up is not None:
        conditions.append(sa.not_(awaits_late(given_up)))
    return _update_if(db, reservation_id, *conditions, phase=Phase.MAKING, late_until=until)


def finish_making(db: Session, reservation_id: str, *, confined: bool) -> None:
    """Write that a backing is made. Nothing is written if somebody else has written it before.

    The phase stays ``CLOSING`` if the backing has been given up meanwhile.

    :param confined: whether the aggregate's metadata were written for a confined project.
    """
    phase = sa.case((backings.c.phase == Phase.MAKING, Phase.MADE), else_=backings.c.phase)
    values = {"phase": phase, "late_until": None, "made_confined": confined}
    _update_if(db, reservation_id, _BEING_MADE, **values)


def set_late(db: Session, reservation_id: str, until: datetime.datetime | None) -> None:
    """Write until when a service may still carry out a request to make a backing.

    :param until: None: no service does.
    """
    _update_if(db, reservation_id, _BEING_MADE, late_until=until)


#: The SQL condition that a backing is being made, even if it is removed meanwhile.
_BEING_MADE = backings.c.phase.in_((Phase.MAKING, Phase.CLOSING))


def _update_if(
    db: Session, reservation_id: str, *conditions: sa.ColumnElement[bool], **values: Any
) -> bool:
    """Change columns of a note, if it meets conditions. Return whether it was changed."""
    mine = backings.c.reservation_id == reservation_id
    return session.changed(db, backings.update().where(mine, *conditions).values(**values)) == 1


def to_make(db: Session, before: datetime.datetime, given_up: datetime.datetime) -> list[str]:
    """The ids of reservations that begin before a time, and whose backing isn't made yet.

    Those whose backing is left to another manager aren't among them.

    :param given_up: as in ``begin_making``.
    """
    query = (
        sa.select(backings.c.reservation_id)
        .select_from(
            backings.join(reservations, reservations.c.id == backings.c.reservation_id)
            .join(leases, leases.c.id == reservations.c.lease_id)
            .outerjoin(bookings, bookings.c.reservation_id == reservations.c.id)
        )
        .where(
            backings.c.phase.in_(UNMADE),
            sa.not_(awaits_late(given_up)),
            reservations.c.status == "pending",
            leases.c.status == lease_states.PENDING,
            sa.or_(
                leases.c.start_date <= before,
                sa.and_(bookings.c.visible_before_start, _is_next(leases.c.start_date)),
            ),
        )
        .order_by(leases.c.start_date)
    )
    return list(db.scalars(query))


#: Aliases are made once, because SQLAlchemy copies all columns of their tables.
_NOTES, _LEASES, _RESERVATIONS = backings.alias(), leases.alias(), reservations.alias()


def _is_next(start: sa.ColumnElement[datetime.datetime]) -> sa.ColumnElement[bool]:
    """The SQL condition that no earlier reservation with the same handle is left."""
    return sa.not_(
        sa.exists()
        .where(
            _NOTES.c.nova_flavor == backings.c.nova_flavor,
            _RESERVATIONS.c.id == _NOTES.c.reservation_id,
            _LEASES.c.id == _RESERVATIONS.c.lease_id,
            _RESERVATIONS.c.status != "deleted",
            _LEASES.c.start_date < start,
        )
        .correlate_except(_NOTES, _LEASES, _RESERVATIONS)
    )


def show(db: Session, reservation_id: str) -> bool:
    """Write that a reservation has the Nova flavor of its handle from now on, if it is its turn.

    :returns: whether it is: it is visible before the start, and no earlier reservation is left.
    """
    start = (
        sa.select(leases.c.start_date)
        .join(reservations, reservations.c.lease_id == leases.c.id)
        .where(reservations.c.id == reservation_id)
    )
    query = (
        sa.select(bookings.c.visible_before_start)
        .join(backings, backings.c.reservation_id == bookings.c.reservation_id)
        .where(bookings.c.reservation_id == reservation_id, _is_next(start.scalar_subquery()))
    )
    is_shown = bool(db.scalar(query))
    if is_shown:
        take_flavor(db, reservation_id)
        update(db, reservation_id, shown=True)
    return is_shown


def take_flavor(db: Session, reservation_id: str) -> None:
    """Write that no other reservation with the handle has the Nova flavor any more.

    Those that had it before their start get it again when it is their turn.
    """
    nova_flavor = db.scalar(
        sa.select(backings.c.nova_flavor).where(backings.c.reservation_id == reservation_id)
    )
    others = (backings.c.nova_flavor == nova_flavor, backings.c.reservation_id != reservation_id)
    phase = sa.case((backings.c.phase == Phase.MADE, Phase.MAKING), else_=backings.c.phase)
    taken = backings.update().where(*others, backings.c.shown)
    db.execute(taken.values(phase=phase, shown=False))


def awaits_late(now: datetime.datetime) -> sa.ColumnElement[bool]:
    """``Backing.awaits_late`` as an SQL condition."""
    return sa.func.coalesce(backings.c.late_until > now, sa.false())


def is_whole(reservation_id: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """The SQL condition that a reservation has a note, and its backing isn't being removed."""
    return sa.exists().where(
        backings.c.reservation_id == reservation_id, backings.c.phase != Phase.CLOSING
    )


def ended(db: Session) -> list[str]:
    """The ids of reservations that have ended or are deleted, and whose backing has a note."""
    query = (
        sa.select(backings.c.reservation_id)
        .select_from(
            backings.outerjoin(reservations, reservations.c.id == backings.c.reservation_id)
        )
        .where(sa.or_(reservations.c.id.is_(None), reservations.c.status == "deleted"))
    )
    return list(db.scalars(query))


def over(db: Session, reservation_ids: Collection[str]) -> set[str]:
    """Which of the given ids belong to flavor:slot reservations that have ended or are deleted."""
    has_ended = (
        sa.select(reservations.c.id)
        .join(bookings, bookings.c.reservation_id == reservations.c.id)
        .where(reservations.c.id.in_(reservation_ids), reservations.c.status == "deleted")
    )
    was_deleted = sa.select(bookings.c.reservation_id).where(
        bookings.c.reservation_id.in_(reservation_ids), bookings.c.deleted_at.is_not(None)
    )
    return set(db.scalars(sa.union(has_ended, was_deleted)))


def half_open(db: Session) -> list[str]:
    """The ids of running reservations that aren't completely opened to their project.

    A reservation is left out while its lease is being changed, ended or deleted, because that work
    may have marked the reservation with ``half_close``.
    """
    query = (
        sa.select(backings.c.reservation_id)
        .select_from(
            backings.join(reservations, reservations.c.id == backings.c.reservation_id).join(
                leases, leases.c.id == reservations.c.lease_id
            )
        )
        .where(
            reservations.c.status == "active",
            backings.c.phase.not_in((Phase.OPEN, Phase.CLOSING)),
            leases.c.status == lease_states.ACTIVE,
        )
    )
    return list(db.scalars(query))


def opened(db: Session, now: datetime.datetime) -> dict[str, Note]:
    """The notes of running reservations that are completely open, by the reservation's id.

    Those whose end has come are left out.
    """
    goes_on = (
        sa.select(reservations.c.id)
        .join(leases, leases.c.id == reservations.c.lease_id)
        .where(leases.c.end_date > now)
    )
    is_left = backings.c.reservation_id.in_(goes_on)
    return read(db, sa.and_(is_open(backings.c.reservation_id), is_left))


def is_open(reservation_id: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """The SQL condition that a reservation is running and completely open."""
    return reservation_id.in_(
        sa.select(_NOTES.c.reservation_id)
        .join(reservations, reservations.c.id == _NOTES.c.reservation_id)
        .where(_NOTES.c.phase == Phase.OPEN, reservations.c.status == "active")
    )


def unopened(db: Session, reservation_ids: Collection[str]) -> set[str]:
    """Which of these running reservations are still to be opened to their project.

    Those that are open except for places that lack room aren't among them.
    """
    query = (
        sa.select(backings.c.reservation_id)
        .join(reservations, reservations.c.id == backings.c.reservation_id)
        .where(
            backings.c.reservation_id.in_(reservation_ids),
            backings.c.phase.not_in((Phase.OPEN, Phase.CLOSING)),
            reservations.c.missing_resources.is_(sa.false()),
        )
    )
    return set(db.scalars(query))


def make_again(db: Session, reservation_id: str) -> bool:
    """Write that an open reservation lacks a part of its backing. Return whether it was written.

    It isn't written if somebody is working on the backing.
    """
    return _update_if(db, reservation_id, backings.c.phase == Phase.OPEN, phase=Phase.MAKING)


def open_again_told(db: Session, reservation_ids: Collection[str]) -> None:
    """Write of some reservations that they aren't completely open, as far as they have traits."""
    db.execute(
        backings.update()
        .where(
            backings.c.reservation_id.in_(reservation_ids),
            backings.c.told.is_not(None),
            backings.c.phase == Phase.OPEN,
        )
        .values(phase=Phase.OPENING)
    )


def outdated(db: Session) -> list[str]:
    """The ids of reservations whose aggregate's metadata were written before aggregates changed."""
    confined = confined_projects.has(backings.c.project_id)
    query = sa.select(backings.c.reservation_id).where(
        backings.c.phase.in_((Phase.MADE, Phase.OPENING, Phase.OPEN)),
        sa.or_(
            sa.and_(backings.c.made_confined.is_(sa.true()), sa.not_(confined)),
            sa.and_(backings.c.made_confined.is_(sa.false()), confined),
        ),
    )
    return list(db.scalars(query))


def begin_opening(db: Session, reservation_id: str) -> bool:
    """Write that a reservation is being opened. Return whether it was written.

    It isn't written if the backing is being removed.
    """
    return _update_if(db, reservation_id, backings.c.phase != Phase.CLOSING, phase=Phase.OPENING)


def finish_opening(db: Session, opened: Mapping[str, bool]) -> list[str]:
    """Write that reservations are completely open. Return the ids of those for which it is written.

    It isn't written for a reservation whose backing is being removed, or that was shared for the
    first time.

    :param opened: whether each reservation had guests when it was opened, by the reservation's id.
    """
    with_guests = [i for i, has_guests in opened.items() if has_guests]
    mine = backings.c.reservation_id
    # The lock also shows what others have written since this transaction has begun.
    query = (
        sa.select(mine)
        .where(
            mine.in_(opened),
            backings.c.phase.in_((Phase.OPENING, Phase.OPEN)),
            sa.or_(backings.c.guests.is_(None), mine.in_(with_guests)),
        )
        .order_by(mine)
        .with_for_update()
    )
    found = list(db.scalars(query))
    db.execute(backings.update().where(mine.in_(found)).values(phase=Phase.OPEN))
    return found


def half_close(db: Session, reservation_id: str) -> bool:
    """Mark an open reservation as not completely open.

    The mark is also a lock: only one caller can set it.

    :returns: True if this caller has set the mark. False if the reservation wasn't completely
        open.
    """
    return _update_if(db, reservation_id, backings.c.phase == Phase.OPEN, phase=Phase.OPENING)
