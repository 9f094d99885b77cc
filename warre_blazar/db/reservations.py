"""Queries on our reservations, with the Blazar lease and reservation each belongs to."""

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from blazar.db.sqlalchemy import models as blazar
from sqlalchemy.orm import Session

from warre_blazar.db import models, session
from warre_blazar.db.functions import seconds_between, utc_now
from warre_blazar.domain import states, timeline
from warre_blazar.domain.flavor import Shape
from warre_blazar.domain.quota import Amount

_W = models.reservations
_R = blazar.Reservation.__table__
_L = blazar.Lease.__table__
_A = blazar.ComputeHostAllocation.__table__
_I = blazar.InstanceReservations.__table__
_JOINED = _W.join(_R, _R.c.id == _W.c.reservation_id).join(_L, _L.c.id == _R.c.lease_id)
_WHOLE = _JOINED.outerjoin(_I, _I.c.reservation_id == _W.c.reservation_id)


@dataclasses.dataclass(frozen=True)
class Reservation:
    """A reservation with what Blazar knows of it. Times are naive UTC."""

    id: str
    reservation_id: str
    lease_id: str
    lease_name: str
    flavor_id: str
    instance_count: int
    shape: Shape
    span: timeline.Span
    project_id: str
    user_id: str | None
    state: str
    status_reason: str | None
    created_at: datetime.datetime
    #: What updates were promised, until Blazar has written it or is known not to.
    promised: timeline.Span | None = None
    #: True: all instances on one host; False: each on a host of its own; None: wherever.
    affinity: bool | None = None

    @property
    def amount(self) -> Amount:
        """What it takes of a quota."""
        return Amount(1, self.span.hours() * self.instance_count)


_COLUMNS = (
    _W,
    _R.c.lease_id,
    _R.c.status.label("reservation_status"),
    _L.c.name.label("lease_name"),
    _L.c.status.label("lease_status"),
    _L.c.start_date,
    _L.c.end_date,
    _L.c.project_id,
    _L.c.user_id,
    _I.c.affinity,
)


def _reservation(row: sa.RowMapping) -> Reservation:
    state = states.derive(row["lease_status"], row["reservation_status"])
    return Reservation(
        id=row["id"],
        reservation_id=row["reservation_id"],
        lease_id=row["lease_id"],
        lease_name=row["lease_name"],
        flavor_id=row["flavor_id"],
        instance_count=row["instance_count"],
        shape=Shape.from_json(row["shape"]),
        span=timeline.Span(row["start_date"], row["end_date"]),
        project_id=row["project_id"],
        user_id=row["user_id"],
        state=state,
        status_reason=row["status_reason"],
        created_at=row["created_at"],
        promised=_promised(row["claim_start"], row["claim_end"]),
        affinity=row["affinity"],
    )


def _promised(
    start: datetime.datetime | None, end: datetime.datetime | None
) -> timeline.Span | None:
    return timeline.Span(start, end) if start is not None and end is not None else None


NO_TIME = datetime.timedelta(0)


def claiming(
    query: sa.Select[Any], window: timeline.Span, cleaning: datetime.timedelta
) -> sa.CompoundSelect[Any]:
    """A query's rows of leases that claim any of the window: their own time, or one promised.

    For a query from leases, which joins our reservations and, first, what it is about. Either part
    reads what an index finds of leases and not everything that a flavor or host was ever booked
    for; MariaDB has to be told to keep to the order that the joins are written in.
    """
    for dialect in ("mysql", "mariadb"):
        query = query.prefix_with("STRAIGHT_JOIN", dialect=dialect)
    since = window.start - cleaning
    own = sa.and_(_L.c.start_date < window.end, _L.c.end_date > since)
    promised = sa.and_(_W.c.claim_start < window.end, _W.c.claim_end > since)
    return sa.union_all(query.where(own), query.where(promised, sa.not_(own)))


class Claims:
    """Reads what leases, and our claims, hold of a window, thousands of them.

    Times come from the database as whole seconds from the window's start: a driver in Python takes
    longer to read a DateTime than the server to find the row.
    """

    def __init__(self, window: timeline.Span, cleaning: datetime.timedelta) -> None:
        self._origin = window.start.replace(microsecond=0)
        self._cleaning = cleaning
        self._known: dict[int, datetime.datetime] = {}
        origin = sa.literal(self._origin, sa.DateTime())
        #: What ``spans`` takes: a lease's own time, and what an update was promised.
        self.columns = tuple(
            seconds_between(origin, column)
            for column in (_L.c.start_date, _L.c.end_date, _W.c.claim_start, _W.c.claim_end)
        )

    def spans(self, start: int, end: int, *claim: int | None) -> list[timeline.Span]:
        """What a lease and our claim hold, cleaning time and all, as spans that don't meet.

        A lease holds its own time and what an update was promised, counted once where the two
        overlap, which for an extended or shortened lease they do.
        """
        own = self._span(start, end)
        claim_start, claim_end = claim
        if claim_start is None or claim_end is None:
            return [own]
        return timeline.union(own, self._span(claim_start, claim_end))

    def _span(self, start: int, end: int) -> timeline.Span:
        return timeline.Span(self._moment(start), self._moment(end)).padded(self._cleaning)

    def _moment(self, seconds: int) -> datetime.datetime:
        """The same object for the same time: comparing and hashing these is most of a sweep."""
        found = self._known.get(seconds)
        if found is None:
            found = self._known[seconds] = self._origin + datetime.timedelta(seconds=seconds)
        return found


def slot_claims(
    db: Session,
    flavor_id: str,
    window: timeline.Span,
    cleaning: datetime.timedelta = NO_TIME,
) -> list[timeline.Claim]:
    """Slots of a flavor that are claimed at some time of the window.

    A reservation claims its slots as long as Blazar holds host allocations for it.

    :param cleaning: what each claims after its end.
    """
    held = sa.exists().where(_A.c.reservation_id == _R.c.id)
    claims = Claims(window, cleaning)
    query = (
        sa.select(_W.c.instance_count, *claims.columns)
        .select_from(_L.join(_R, _R.c.lease_id == _L.c.id).join(_W, _W.c.reservation_id == _R.c.id))
        .where(_W.c.flavor_id == flavor_id, held)
    )
    return [
        timeline.Claim(span, count)
        for count, *claim in db.execute(claiming(query, window, cleaning)).all()
        for span in claims.spans(*claim)
    ]


def insert(db: Session, values: Mapping[str, Any], shape: Shape) -> None:
    """Add a reservation; ``values`` are columns."""
    db.execute(_W.insert().values(shape=shape.to_json(), **values))


def find(db: Session, ref: str, project_id: str | None = None) -> Reservation | None:
    """A reservation by its id or by Blazar's id of it.

    :param project_id: only one of this project.
    """
    query = (
        sa.select(*_COLUMNS)
        .select_from(_WHOLE)
        .where(sa.or_(_W.c.id == ref, _W.c.reservation_id == ref))
    )
    if project_id is not None:
        query = query.where(_L.c.project_id == project_id)
    row = db.execute(query).mappings().first()
    return _reservation(row) if row else None


def find_by_lease_name(db: Session, name: str) -> Reservation | None:
    """The reservation of the lease of that name."""
    query = sa.select(*_COLUMNS).select_from(_WHOLE).where(_L.c.name == name)
    row = db.execute(query).mappings().first()
    return _reservation(row) if row else None


def listing(
    db: Session,
    *,
    project_id: str | None,
    flavor_id: str | None,
    limit: int | None,
    offset: int,
) -> tuple[list[Reservation], int]:
    """A page of reservations by start, and how many there are in all.

    :param project_id: None for those of all projects.
    """
    conditions = []
    if project_id is not None:
        conditions.append(_L.c.project_id == project_id)
    if flavor_id is not None:
        conditions.append(_W.c.flavor_id == flavor_id)
    count = sa.select(sa.func.count()).select_from(_JOINED).where(*conditions)
    query = (
        sa.select(*_COLUMNS)
        .select_from(_WHOLE)
        .where(*conditions)
        .order_by(_L.c.start_date, _W.c.id)
    )
    if limit is not None:
        query = query.limit(limit).offset(offset)
    found = [_reservation(row) for row in db.execute(query).mappings()]
    return found, db.execute(count).scalar_one()


def live_count(db: Session, flavor_id: str) -> int:
    """How many reservations of a flavor are still to be used, or in error and not cleared."""
    query = (
        sa.select(_L.c.status, _R.c.status, sa.func.count())
        .select_from(_JOINED)
        .where(_W.c.flavor_id == flavor_id)
        .group_by(_L.c.status, _R.c.status)
    )
    return sum(
        count
        for lease, reservation, count in db.execute(query)
        if states.derive(lease, reservation) != states.COMPLETE
    )


def lease_size(db: Session, lease_id: str) -> int:
    """How many reservations, of any type, a lease holds."""
    query = sa.select(sa.func.count()).select_from(_R).where(_R.c.lease_id == lease_id)
    return db.execute(query).scalar_one()


def promise(db: Session, reservation: Reservation, span: timeline.Span) -> None:
    """Claim a span beside the lease's own, in place of what was promised before.

    :raises session.LostRace: when another update was promised something meanwhile.
    """
    before = reservation.promised
    start, end = (before.start, before.end) if before else (None, None)
    promised = db.execute(
        _W.update()
        .where(
            _W.c.reservation_id == reservation.reservation_id,
            _W.c.claim_start.is_(None) if start is None else _W.c.claim_start == start,
            _W.c.claim_end.is_(None) if end is None else _W.c.claim_end == end,
        )
        .values(claim_start=span.start, claim_end=span.end, promised_at=utc_now())
    )
    session.require(promised)


@dataclasses.dataclass(frozen=True)
class Promise:
    """What an update was promised, of a lease that is not UPDATING."""

    reservation_id: str
    span: timeline.Span
    #: Whether the lease's own time says the same.
    is_kept: bool
    #: Seconds since it was made.
    age: int
    #: How many reservations the lease holds.
    lease_size: int


def promises(db: Session) -> list[Promise]:
    """What updates were promised that aren't under way as far as Blazar says."""
    others = _R.alias()
    size = sa.select(sa.func.count()).where(others.c.lease_id == _L.c.id).scalar_subquery()
    kept = sa.and_(_W.c.claim_start == _L.c.start_date, _W.c.claim_end == _L.c.end_date)
    query = (
        sa.select(
            _W.c.reservation_id,
            _W.c.claim_start,
            _W.c.claim_end,
            kept,
            seconds_between(_W.c.promised_at, utc_now()),
            size,
        )
        .select_from(_JOINED)
        .where(_W.c.claim_end.is_not(None), _L.c.status != "UPDATING")
    )
    return [
        Promise(reservation_id, timeline.Span(start, end), bool(is_kept), age or 0, lease_size)
        for reservation_id, start, end, is_kept, age, lease_size in db.execute(query)
    ]


def drop_promise(db: Session, promise: Promise) -> None:
    """Forget a promise, unless it has changed since it was read."""
    db.execute(
        _W.update()
        .where(
            _W.c.reservation_id == promise.reservation_id,
            _W.c.claim_start == promise.span.start,
            _W.c.claim_end == promise.span.end,
        )
        .values(claim_start=None, claim_end=None, promised_at=None)
    )


def set_reason(db: Session, reservation_id: str, reason: str | None) -> None:
    """Keep why a reservation is in error."""
    db.execute(
        _W.update().where(_W.c.reservation_id == reservation_id).values(status_reason=reason)
    )
