"""Reads how much of its quota a project uses."""

import functools
from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import sql_functions
from warre_blazar.db.tables import (
    allocations,
    bookings,
    instance_reservations,
    leases,
    project_generations,
    reservations,
)
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE


def usage(
    db: Session, project_id: str, types: Collection[str], excluded: Collection[str] = ()
) -> Amount:
    """How much of its quota a project uses for reservations of these resource types.

    This takes one query.

    :param excluded: the ids of reservations in Blazar's table that aren't counted.
    """
    query = _usage_of_project(frozenset(types))
    if excluded:
        query = query.where(reservations.c.id.not_in(excluded))
    return amount(*db.execute(query, {"project_id": project_id}).one())


@functools.cache
def _usage_of_project(types: frozenset[str]) -> sa.Select[Any]:
    """The query of ``usage``. To build it takes longer than to read its row."""
    return _usage(types).where(leases.c.project_id == sa.bindparam("project_id"))


def usage_by_project(db: Session, types: Collection[str]) -> dict[str, Amount]:
    """How much of its quota each project uses, as in ``usage``. This takes one query.

    Projects that use nothing are left out.
    """
    query = _usage(types).add_columns(leases.c.project_id).group_by(leases.c.project_id)
    return {project: amount(count, hours) for count, hours, project in db.execute(query)}


def amount(count: int, hours: Any) -> Amount:
    """The usage that a query of this module has read."""
    # A sum is a Decimal on some databases, and the sum of no rows is NULL on all of them.
    return Amount(count, int(hours or 0))


def _usage(types: Collection[str]) -> sa.Select[Any]:
    """A query of the number of live reservations, and of the sum of their hours.

    The hours of a reservation are its length in hours times its number of instances. A reservation
    that is being created counts as soon as its number of instances is known.
    """
    tables = reservations.join(leases, leases.c.id == reservations.c.lease_id)
    instances: dict[str, sa.ColumnElement[Any]] = {}
    if RESOURCE_TYPE in types:
        tables = tables.outerjoin(bookings, bookings.c.reservation_id == reservations.c.id)
        instances[RESOURCE_TYPE] = bookings.c.instance_count
    stock = {"virtual:instance", "flavor:instance"}.intersection(types)
    if stock:
        tables = tables.outerjoin(
            instance_reservations, instance_reservations.c.reservation_id == reservations.c.id
        )
        instances |= dict.fromkeys(stock, instance_reservations.c.amount)
    if "physical:host" in types:
        hosts = sa.select(sa.func.count()).where(allocations.c.reservation_id == reservations.c.id)
        instances["physical:host"] = sa.func.nullif(hosts.scalar_subquery(), 0)
    count: Any = sa.case(*((reservations.c.resource_type == t, i) for t, i in instances.items()))
    return (
        sa.select(sa.func.count(), sa.func.sum(_hours(RESOURCE_TYPE in types) * count))
        .select_from(tables)
        .where(reservations.c.resource_type.in_(instances), count.is_not(None), _live())
    )


def _hours(with_ours: bool) -> sa.ColumnElement[int]:
    """A lease's length in hours, or the length of its promised time if that is longer.

    :param with_ours: whether the query joins ``bookings``, which has the promises.
    """
    own = sql_functions.hours_between(leases.c.start_date, leases.c.end_date)
    if not with_ours:
        return own
    promised = sql_functions.hours_between(bookings.c.claim_start, bookings.c.claim_end)
    return sa.case(
        (sa.and_(bookings.c.claim_end.is_not(None), promised > own), promised),
        else_=own,
    )


def _live() -> sa.ColumnElement[bool]:
    """The SQL condition that the state of a reservation is in ``reservation_states.LIVE``.

    A reservation whose own status is "deleted" is left out, whatever the status of its lease.
    """
    return sa.and_(
        reservations.c.status != "deleted",
        sa.or_(
            leases.c.status.in_(reservation_states.LIVE_LEASES),
            sa.and_(
                leases.c.status.not_in(reservation_states.DECISIVE_LEASES),
                reservations.c.status.in_(reservation_states.LIVE_RESERVATIONS),
            ),
        ),
    )


def standing(project_id: sa.BindParameter[str], types: Collection[str]) -> sa.Select[Any]:
    """A query of a project's usage, as in ``usage``, and of its generation.

    The columns are ``used_reservations``, ``used_hours`` (NULL: none) and ``project_generation``
    (NULL: the project's quota was never claimed).
    """
    generation = sa.select(project_generations.c.generation).where(
        project_generations.c.project_id == project_id
    )
    usage = _usage(types).where(leases.c.project_id == project_id).subquery()
    return sa.select(
        usage.c[0].label("used_reservations"),
        usage.c[1].label("used_hours"),
        generation.scalar_subquery().label("project_generation"),
    )
