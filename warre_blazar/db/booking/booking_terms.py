"""Reads what decides about a booking, apart from slots and hosts."""

import dataclasses
import datetime
import functools
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import flavors, maintenance, waits
from warre_blazar.db import tables as t
from warre_blazar.db.booking import quotas
from warre_blazar.db.booking.claims import Claims, claiming
from warre_blazar.db.tables import allocations, bookings, leases, reservations
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.timeline import Claim, Span

#: By flavor id and by the reservation's id in Blazar's table, what a project has booked.
Booked = Mapping[str, Mapping[str, list[Claim]]]


def of_project(
    db: Session, project_id: str | None, flavor_ids: Collection[str], window: Span
) -> Booked:
    """What a project has or had booked of some flavors within a span.

    This has the reservations that hold hosts, those that have ended, and of the deleted ones the
    time until their deletion. It takes two statements, or none if there are no flavors.
    """
    found: dict[str, dict[str, list[Claim]]] = defaultdict(dict)
    if not flavor_ids or project_id is None:
        return found
    read = Claims(window, times.NO_TIME)
    holds = sa.exists().where(allocations.c.reservation_id == reservations.c.id)
    query = (
        sa.select(bookings.c.flavor_id, reservations.c.id, bookings.c.instance_count, *read.columns)
        .select_from(
            leases.join(reservations, reservations.c.lease_id == leases.c.id).join(
                bookings, bookings.c.reservation_id == reservations.c.id
            )
        )
        .where(
            leases.c.project_id == project_id,
            bookings.c.flavor_id.in_(flavor_ids),
            sa.or_(holds, leases.c.status == "TERMINATED"),
        )
    )
    for flavor_id, reservation_id, count, *when in db.execute(
        claiming(query, window, times.NO_TIME)
    ):
        found[flavor_id][reservation_id] = [Claim(span, count) for span in read.spans(*when)]
    until = sa.case(
        (bookings.c.deleted_at < bookings.c.end_date, bookings.c.deleted_at),
        else_=bookings.c.end_date,
    )
    past = sa.select(
        bookings.c.flavor_id, bookings.c.id, bookings.c.instance_count, bookings.c.start_date, until
    ).where(
        bookings.c.project_id == project_id,
        bookings.c.flavor_id.in_(flavor_ids),
        bookings.c.live_id.is_(None),
        bookings.c.start_date < window.end,
        bookings.c.end_date > window.start,
    )
    for flavor_id, record_id, count, start, end in db.execute(past):
        # A reservation that was deleted before its start took nothing.
        if start < end:
            found[flavor_id].setdefault(record_id, [Claim(Span(start, end), count)])
    return found


def with_handle(
    db: Session, project_id: str, handle: str, window: Span, without: str | None
) -> list[Span]:
    """The times within a span of a project's reservations with a handle that hold hosts.

    :param without: the id of a reservation in Blazar's table that is left out.
    """
    read = Claims(window, times.NO_TIME)
    query = (
        sa.select(reservations.c.id, *read.columns)
        .select_from(
            leases.join(reservations, reservations.c.lease_id == leases.c.id).join(
                bookings, bookings.c.reservation_id == reservations.c.id
            )
        )
        .where(
            leases.c.project_id == project_id,
            bookings.c.handle == handle,
            sa.exists().where(allocations.c.reservation_id == reservations.c.id),
        )
    )
    rows = db.execute(claiming(query, window, times.NO_TIME))
    return [span for key, *when in rows if key != without for span in read.spans(*when)]


def of_all_projects(db: Session, flavor_id: str, window: Span) -> dict[str, list[Claim]]:
    """What each project holds of a flavor within a span, by project id."""
    found: dict[str, list[Claim]] = defaultdict(list)
    read = Claims(window, times.NO_TIME)
    query = (
        sa.select(leases.c.project_id, bookings.c.instance_count, *read.columns)
        .select_from(
            leases.join(reservations, reservations.c.lease_id == leases.c.id).join(
                bookings, bookings.c.reservation_id == reservations.c.id
            )
        )
        .where(
            bookings.c.flavor_id == flavor_id,
            sa.exists().where(allocations.c.reservation_id == reservations.c.id),
        )
    )
    for project_id, count, *when in db.execute(claiming(query, window, times.NO_TIME)):
        found[project_id] += [Claim(span, count) for span in read.spans(*when)]
    return found


@dataclasses.dataclass(frozen=True)
class ProjectUse:
    """How much of its quota a project uses, and the project's generation."""

    used: Amount
    generation: int


@dataclasses.dataclass(frozen=True)
class Terms:
    """A flavor that a project can book, and what else decides about a booking of it."""

    flavor: Flavor
    #: Whether a maintenance window closes the flavor at some time of the booking.
    is_closed: bool
    #: Whether anybody was told a few minutes ago that something of any flavor is free.
    is_any_offered: bool
    #: None if nobody asked for it.
    usage: ProjectUse | None


def read(
    db: Session,
    ref: str,
    project_id: str,
    span: Span,
    counted: Collection[str] | None,
    now: datetime.datetime,
) -> list[Terms]:
    """The terms of the flavors with an id or a name, as ``flavors.find`` finds them.

    Private flavors to which the project has no access are left out.

    :param counted: the resource types whose reservations count against the project's quota. None:
        the usage isn't read.
    """
    query = _query(None if counted is None else frozenset(counted))
    values: dict[str, Any] = {
        "ref": ref,
        "project_id": project_id,
        "start": span.start,
        "end": span.end,
    }
    values["since"] = now - times.TOLD_FIRST_FOR
    rows = db.execute(query, values).mappings().all()
    found = [_terms(row, with_usage=counted is not None) for row in rows]
    return [terms for terms in found if terms.flavor.id == ref] or found


@functools.cache
def _query(counted: frozenset[str] | None) -> sa.Select[Any]:
    """The query of ``read``. SQLAlchemy needs longer to build it than to read its rows."""
    ref: sa.BindParameter[str] = sa.bindparam("ref")
    project_id: sa.BindParameter[str] = sa.bindparam("project_id")
    start: sa.BindParameter[datetime.datetime] = sa.bindparam("start")
    end: sa.BindParameter[datetime.datetime] = sa.bindparam("end")
    is_closed = maintenance.closes(t.flavors.c.id, start, end).label("is_closed")
    is_any_offered = waits.is_any_offered(sa.bindparam("since")).label("is_any_offered")
    columns: list[Any] = [t.flavors, is_closed, is_any_offered]
    source: Any = t.flavors
    if counted is not None:
        usage = quotas.standing(project_id, counted).subquery()
        columns += usage.c
        source = t.flavors.join(usage, sa.true())
    conditions = [*flavors.named(ref), flavors.accessible_to(project_id)]
    return sa.select(*columns).select_from(source).where(*conditions).order_by(t.flavors.c.id)


def _terms(row: sa.RowMapping, *, with_usage: bool) -> Terms:
    usage = None
    if with_usage:
        used = quotas.amount(row["used_reservations"], row["used_hours"])
        usage = ProjectUse(used, row["project_generation"] or 0)
    return Terms(flavors.of_row(row), bool(row["is_closed"]), bool(row["is_any_offered"]), usage)
