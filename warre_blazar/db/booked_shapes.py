"""Queries on the shapes that reservations were booked with."""

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db.tables import allocations, bookings
from warre_blazar.domain.flavors.flavor import Shape


def holding_hosts(db: Session, flavor_id: str) -> list[str]:
    """The shapes of a flavor's reservations that hold hosts, as JSON. Each shape occurs once."""
    query = sa.select(bookings.c.shape).where(bookings.c.flavor_id == flavor_id, _held()).distinct()
    return sorted(db.scalars(query))


def count(db: Session, flavor_id: str, shape: str) -> int:
    """The number of a flavor's reservations that hold hosts and have this shape."""
    query = (
        sa.select(sa.func.count())
        .select_from(bookings)
        .where(bookings.c.flavor_id == flavor_id, bookings.c.shape == shape, _held())
    )
    return int(db.execute(query).scalar_one())


def replace(db: Session, flavor_id: str, before: str, after: Shape) -> None:
    """Give a new shape to a flavor's reservations that hold hosts and have the shape ``before``.

    :param before: the old shape, as ``holding_hosts`` returned it.
    """
    these = (bookings.c.flavor_id == flavor_id, bookings.c.shape == before, _held())
    db.execute(bookings.update().where(*these).values(shape=after.to_json()))


def host_ids(db: Session, flavor_id: str) -> set[str]:
    """The ids of the hosts that a flavor's reservations hold."""
    query = (
        sa.select(allocations.c.compute_host_id)
        .join(bookings, bookings.c.reservation_id == allocations.c.reservation_id)
        .where(bookings.c.flavor_id == flavor_id)
        .distinct()
    )
    return set(db.scalars(query))


def _held() -> sa.ColumnElement[bool]:
    return sa.exists().where(allocations.c.reservation_id == bookings.c.reservation_id)
