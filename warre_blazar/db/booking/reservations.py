"""Queries on flavor:slot reservations, whose rows are in this package's and in Blazar's tables.

Past reservations are in this package's table only. Functions that don't speak of past reservations
find only those that Blazar has.
"""

import dataclasses
import datetime
import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import generations, session
from warre_blazar.db.records import server_samples
from warre_blazar.db.tables import (
    all_bookings,
    allocations,
    bookings,
    bookings_in_leases,
    instance_reservations,
    leases,
    reservations,
)
from warre_blazar.domain import timeline
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.booking.labels import NAMES as LABEL_NAMES
from warre_blazar.domain.booking.labels import Labels
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.running import backing_names, handles
from warre_blazar.errors import exceptions

#: The times of all reservations. Those of live reservations are the times of their leases.
starts_at = sa.func.coalesce(bookings.c.start_date, leases.c.start_date)
ends_at = sa.func.coalesce(bookings.c.end_date, leases.c.end_date)

#: For each sort key, what a list of reservations is sorted by.
SORTED: dict[str, sa.ColumnElement[Any]] = {
    "start": starts_at,
    "end": ends_at,
    "created_at": bookings.c.created_at,
    "project_id": bookings.c.project_id,
    "user_id": bookings.c.user_id,
}

#: All sort keys.
SORT_KEYS = tuple(SORTED)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Filter:
    """Conditions that a reservation must meet to be listed. None means no condition."""

    project_id: str | None = None
    #: The ids in Blazar's table of reservations that count as the project's.
    shared_with_project: frozenset[str] = frozenset()
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

    def conditions(self, *, deleted: bool = False) -> list[sa.ColumnElement[bool]]:
        """The SQL conditions, for a query of ``all_bookings``.

        No past reservation passes a filter that names hosts, or a filter for idle reservations.

        :param deleted: whether to select deleted reservations, or all others. The conditions for
            deleted ones are also for a query of ``bookings`` alone.
        """
        equal = (
            (bookings.c.user_id, self.user_id),
            (bookings.c.flavor_id, self.flavor_id),
            (bookings.c.name, self.name),
            (bookings.c.series_id, self.series_id),
        )
        filters: list[sa.ColumnElement[bool]] = [c == v for c, v in equal if v is not None]
        if self.project_id is not None:
            whose = bookings.c.project_id == self.project_id
            shared = bookings.c.live_id.in_(self.shared_with_project)
            filters.append(sa.or_(whose, shared) if self.shared_with_project else whose)
        deletion = bookings.c.deleted_at
        filters.append(deletion.is_not(None) if deleted else deletion.is_(None))
        if self.after is not None:
            end = bookings.c.end_date
            filters.append(end > self.after if deleted else ends_after(self.after))
        if self.before is not None:
            start = bookings.c.start_date
            filters.append((start if deleted else starts_at) < self.before)
        if self.states is not None:
            is_last = bookings.c.status.in_(self.states)
            no_last = sa.and_(bookings.c.status.is_(None), *in_states(self.states))
            filters.append(is_last if deleted else sa.or_(is_last, no_last))
        if deleted and (self.is_idle or self.host_ids is not None):
            return [sa.false()]
        if self.is_idle:
            filters.append(server_samples.is_idle())
        if self.host_ids is not None:
            held = allocations.c.compute_host_id.in_(self.host_ids)
            filters.append(
                sa.exists().where(allocations.c.reservation_id == reservations.c.id, held)
            )
        return filters


def ends_after(moment: datetime.datetime) -> sa.ColumnElement[bool]:
    """The SQL condition that a reservation in ``all_bookings`` ends after a moment.

    It is written so that a database that has an index of final ends reads no past reservation that
    has ended before.
    """
    lives = sa.and_(bookings.c.end_date.is_(None), leases.c.end_date > moment)
    return sa.or_(bookings.c.end_date > moment, lives)


def in_states(wanted: frozenset[str]) -> list[sa.ColumnElement[bool]]:
    """SQL conditions that are true if a live reservation is in one of the ``wanted`` states.

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


#: The same for lists of deleted reservations, whose leases aren't read.
_SORTED_DELETED = SORTED | {"start": bookings.c.start_date, "end": bookings.c.end_date}


def order(
    sort: str, *, descending: bool, deleted: bool = False
) -> tuple[sa.ColumnElement[Any], ...]:
    """The columns to sort a list by.

    Reservations with equal values are sorted by start and id, so that the order is always the same.

    :param sort: one of ``SORT_KEYS``.
    :param deleted: whether it is a list of deleted reservations.
    """
    sorted_by = _SORTED_DELETED if deleted else SORTED
    columns = (sorted_by[sort], sorted_by["start"], bookings.c.id)
    return tuple(column.desc() if descending else column.asc() for column in columns)


_OF_RESERVATION = instance_reservations.c.reservation_id == bookings.c.live_id
_LIVE = bookings_in_leases.outerjoin(instance_reservations, _OF_RESERVATION)
_ALL = all_bookings.outerjoin(instance_reservations, _OF_RESERVATION)

#: The columns that ``_reservation`` reads as they are.
_OWN = (
    *("id", "reservation_id", "lease_id", "project_id", "user_id", "flavor_id", "instance_count"),
    *("shape", "claim_start", "claim_end", "before_end", "series_id", "movable_hours"),
    *("status", "status_reason", "compute_flavor", "created_at", "deleted_at", "deleted_by"),
    *(*LABEL_NAMES, *handles.NAMES),
)

_COLUMNS = (
    *(bookings.c[name] for name in _OWN),
    starts_at.label("start_date"),
    ends_at.label("end_date"),
    sa.func.coalesce(bookings.c.affinity, instance_reservations.c.affinity).label("affinity"),
    reservations.c.status.label("reservation_status"),
    reservations.c.missing_resources,
    reservations.c.resources_changed,
    leases.c.name.label("lease_name"),
    leases.c.status.label("lease_status"),
    instance_reservations.c.flavor_id.label("nova_flavor"),
)


def _reservation(row: sa.RowMapping) -> Reservation:
    is_record = row["status"] is not None
    nova_flavor = row["compute_flavor"]
    if not is_record:
        nova_flavor = row["nova_flavor"] or backing_names.nova_flavor_id(row["reservation_id"])
    return Reservation(
        id=row["id"],
        reservation_id=row["reservation_id"] or row["id"],
        lease_id=row["lease_id"] or "",
        lease_name=row["lease_name"] or "",
        flavor_id=row["flavor_id"],
        instance_count=row["instance_count"],
        shape=Shape.from_json(row["shape"]),
        span=timeline.Span(row["start_date"], row["end_date"]),
        project_id=row["project_id"],
        user_id=row["user_id"],
        state=row["status"]
        or reservation_states.derive(row["lease_status"], row["reservation_status"]),
        status_reason=row["status_reason"],
        created_at=row["created_at"],
        promised=_promised(row["claim_start"], row["claim_end"]),
        affinity=row["affinity"],
        labels=Labels.read(row),
        before_end=row["before_end"],
        series_id=row["series_id"],
        movable_hours=row["movable_hours"],
        handle=handles.read(row),
        nova_flavor=nova_flavor,
        missing_resources=bool(row["missing_resources"]),
        resources_changed=bool(row["resources_changed"]),
        is_record=is_record,
        deleted_at=row["deleted_at"],
        deleted_by=row["deleted_by"],
    )


def _promised(
    start: datetime.datetime | None, end: datetime.datetime | None
) -> timeline.Span | None:
    return timeline.Span(start, end) if start is not None and end is not None else None


def holding_slots(
    db: Session, flavor_ids: Collection[str], window: timeline.Span, limit: int
) -> tuple[list[Reservation], int]:
    """The reservations that claim slots of these flavors within a span, the earliest start first.

    :param window: the span.
    :param limit: the largest number of reservations to return.
    :returns: the reservations, and the number of reservations that there would be without a limit.
    """
    own = sa.and_(leases.c.start_date < window.end, leases.c.end_date > window.start)
    promised = sa.and_(bookings.c.claim_start < window.end, bookings.c.claim_end > window.start)
    conditions = (
        bookings.c.flavor_id.in_(flavor_ids),
        sa.exists().where(allocations.c.reservation_id == reservations.c.id),
        sa.or_(own, promised),
    )
    count = sa.select(sa.func.count()).select_from(bookings_in_leases).where(*conditions)
    query = sa.select(*_COLUMNS).select_from(_LIVE).where(*conditions)
    page = query.order_by(*order("start", descending=False)).limit(limit)
    first = [_reservation(row) for row in db.execute(page).mappings()]
    return first, db.execute(count).scalar_one()


def where(
    db: Session, conditions: Collection[sa.ColumnElement[bool]], *, past: bool = False
) -> list[Reservation]:
    """The reservations that meet SQL conditions, the earliest first.

    :param conditions: conditions on ``bookings_in_leases``.
    :param past: whether past reservations are found too. Then the conditions are on
        ``all_bookings``.
    """
    query = sa.select(*_COLUMNS).select_from(_ALL if past else _LIVE).where(*conditions)
    query = query.order_by(*order("start", descending=False))
    return [_reservation(row) for row in db.execute(query).mappings()]


def _of_lease(column: sa.Column[Any]) -> sa.ScalarSelect[Any]:
    """A value of the lease of the reservation whose id is the parameter ``of_id``."""
    tables = reservations.join(leases, leases.c.id == reservations.c.lease_id)
    query = sa.select(column).select_from(tables)
    return query.where(reservations.c.id == sa.bindparam("of_id")).scalar_subquery()


#: Statements of every booking are built once.
_INSERT = bookings.insert().values(
    lease_id=_of_lease(leases.c.id),
    project_id=_of_lease(leases.c.project_id),
    user_id=_of_lease(leases.c.user_id),
)


def insert(db: Session, reservation_id: str, values: Mapping[str, Any], shape: Shape) -> None:
    """Add a reservation that is in Blazar's table.

    :param values: values by column name, without the shape, the ids, and whose it is.
    """
    ids = dict.fromkeys(("id", "live_id", "reservation_id", "of_id"), reservation_id)
    db.execute(_INSERT, {**ids, "shape": shape.to_json(), **values})


def find(db: Session, ref: str, project_id: str | None = None) -> Reservation | None:
    """The reservation with this id in the API or in Blazar's table, or None if it doesn't exist.

    :param project_id: the project that the reservation must belong to. None: any project.
    """
    return _find(db, _LIVE, *_named(project_id), ref=ref, project_id=project_id)


def find_ever(
    db: Session, ref: str, project_id: str | None = None, *, deleted: bool = False
) -> Reservation | None:
    """The reservation that ``find`` returns, or else a past one.

    :param deleted: whether deleted reservations are found too.
    """
    conditions = _named(project_id) if deleted else (*_named(project_id), _NOT_DELETED)
    return _find(db, _ALL, *conditions, ref=ref, project_id=project_id)


_REF: sa.BindParameter[str] = sa.bindparam("ref")
_NAMED = sa.or_(bookings.c.id == _REF, bookings.c.reservation_id == _REF)
_OF_PROJECT = bookings.c.project_id == sa.bindparam("project_id")
_NOT_DELETED = bookings.c.deleted_at.is_(None)
_IN_LEASE = leases.c.id == sa.bindparam("lease_id")
_HALF_MADE = bookings.c.status == reservation_states.PENDING_CREATE
_EVER_IN_LEASE = sa.and_(
    bookings.c.lease_id == sa.bindparam("lease_id"),
    sa.or_(bookings.c.status.is_(None), sa.not_(_HALF_MADE)),
)


def _named(project_id: str | None) -> tuple[sa.ColumnElement[bool], ...]:
    return (_NAMED,) if project_id is None else (_NAMED, _OF_PROJECT)


def _find(
    db: Session, rows: sa.FromClause, *conditions: sa.ColumnElement[bool], **values: str | None
) -> Reservation | None:
    """
    :param conditions: some of the constants above, with which each query is built once.
    """
    row = db.execute(_query(rows, *conditions), values).mappings().first()
    return _reservation(row) if row else None


@functools.cache
def _query(rows: sa.FromClause, *conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return sa.select(*_COLUMNS).select_from(rows).where(*conditions)


def require(db: Session, ref: str, project_id: str | None = None) -> Reservation:
    """The reservation that ``find`` returns. A missing reservation is an error.

    :raises ReservationNotFound: the reservation doesn't exist.
    """
    reservation = find(db, ref, project_id)
    if reservation is None:
        raise exceptions.ReservationNotFound(ref)
    return reservation


def find_by_lease(db: Session, lease_id: str) -> Reservation | None:
    """The reservation of a lease, or None if it doesn't exist."""
    return _find(db, _LIVE, _IN_LEASE, lease_id=lease_id)


def find_ever_in_lease(db: Session, lease_id: str) -> Reservation | None:
    """The reservation that a lease has, or had when it was deleted.

    A lease that was deleted half made counts as one that never was.
    """
    return _find(db, _ALL, _EVER_IN_LEASE, lease_id=lease_id)


def listing(
    db: Session,
    wanted: Filter,
    *,
    sort: str = "start",
    descending: bool = False,
    limit: int | None = None,
    offset: int = 0,
    deleted: bool = False,
) -> tuple[list[Reservation], int]:
    """A page of live and past reservations, and the number of reservations on all pages.

    :param sort: one of ``SORT_KEYS``.
    :param deleted: whether deleted reservations are listed, or all others.
    """
    rows = bookings if deleted else all_bookings
    conditions = wanted.conditions(deleted=deleted)
    in_order = order(sort, descending=descending, deleted=deleted)
    # The ids of the page are found first, so that the database needn't sort whole rows.
    page = sa.select(bookings.c.id).select_from(rows).where(*conditions).order_by(*in_order)
    if limit is not None:
        page = page.limit(limit).offset(offset)
    ids = page.subquery()
    query = sa.select(*_COLUMNS).select_from(_ALL.join(ids, ids.c.id == bookings.c.id))
    found = [_reservation(row) for row in db.execute(query.order_by(*in_order)).mappings()]
    if (limit is None or len(found) < limit) and (found or not offset):
        return found, offset + len(found)
    total = sa.select(sa.func.count()).select_from(rows).where(*conditions)
    return found, db.execute(total).scalar_one()


def live_count(db: Session, flavor_id: str) -> int:
    """The number of a flavor's reservations that haven't ended. Reservations in ERROR count too."""
    query = (
        sa.select(leases.c.status, reservations.c.status, sa.func.count())
        .select_from(bookings_in_leases)
        .where(bookings.c.flavor_id == flavor_id, bookings.c.live_id.is_not(None))
        .group_by(leases.c.status, reservations.c.status)
    )
    return sum(
        count
        for lease, reservation, count in db.execute(query)
        if reservation_states.derive(lease, reservation) != reservation_states.COMPLETE
    )


def in_stock_form(db: Session, reservation_ids: Collection[str]) -> set[str]:
    """Which of these reservations clients of Blazar's ``flavor:instance`` have booked."""
    query = sa.select(bookings.c.reservation_id).where(
        bookings.c.reservation_id.in_(reservation_ids), bookings.c.sent_flavor.is_not(None)
    )
    return set(db.scalars(query))


def lease_size(db: Session, lease_id: str) -> int:
    """The number of a lease's reservations of all resource types."""
    query = (
        sa.select(sa.func.count())
        .select_from(reservations)
        .where(reservations.c.lease_id == lease_id)
    )
    return db.execute(query).scalar_one()


def set_count(db: Session, reservation_id: str, count: int) -> None:
    """Write how many instances a reservation has."""
    db.execute(
        bookings.update()
        .where(bookings.c.reservation_id == reservation_id)
        .values(instance_count=count)
    )
    generations.outdate_hosts_of(db, reservations.c.id == reservation_id)


def set_values(
    db: Session,
    reservation_id: str,
    values: Mapping[str, Any],
    check: Callable[[Mapping[str, Any]], None] = lambda _: None,
) -> dict[str, Any]:
    """Write those of some values that a reservation doesn't have yet.

    :param values: new values by their columns.
    :param check: is called with the present values of these columns, which nobody else can change
        then. It may raise an error.
    :returns: what the written ones were before. This is empty if the reservation is gone.
    """
    same_reservation = bookings.c.reservation_id == reservation_id
    present = sa.select(*(bookings.c[name] for name in values)).where(same_reservation)
    row = dict(db.execute(present.with_for_update()).mappings().first() or {})
    check(row)
    before = {name: old for name, old in row.items() if old != values[name]}
    if before:
        new = {name: values[name] for name in before}
        db.execute(bookings.update().where(same_reservation).values(**new))
    return before


def compare_labels(db: Session, labels: Labels) -> None:
    """Raise an error if the database can't store the labels."""
    session.compare(db, {bookings.c[name]: text for name, text in vars(labels).items()})


def webhook(db: Session, reservation_id: str) -> str | None:
    """The webhook that a reservation has now, also if it is past."""
    return db.scalar(
        sa.select(bookings.c.webhook).where(bookings.c.reservation_id == reservation_id)
    )


def set_reason(db: Session, reservation_id: str, reason: str | None) -> None:
    """Write why a reservation is in ERROR or isn't open yet. None removes the reason."""
    set_reasons(db, [reservation_id], reason)


def set_reasons(db: Session, reservation_ids: Collection[str], reason: str | None) -> None:
    """Write the same reason for reservations, as ``set_reason`` does for one."""
    db.execute(
        bookings.update()
        .where(bookings.c.reservation_id.in_(reservation_ids))
        .values(status_reason=reason)
    )
