"""Reads reservations that can be placed again, because nothing of them is on their hosts yet."""

import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db.tables import (
    backings,
    bookings,
    executions,
    instance_reservations,
    leases,
    reservations,
)
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.backing import Phase

_UNOPENED = (Phase.PLANNED, Phase.MAKING, Phase.MADE)


class Unbegun(NamedTuple):
    """A reservation that hasn't begun, and that nobody is changing."""

    reservation_id: str
    lease_id: str
    flavor_id: str
    project_id: str
    instance_count: int
    shape: Shape
    affinity: bool | None


def read(db: Session, now: datetime.datetime) -> list[Unbegun]:
    """The reservations that can be placed again.

    Left out are those of leases that a manager is starting or ending, and those to which an update
    was promised another time. Their times aren't read, because the holdings of the hosts tell them,
    and a database driver written in Python takes long to read thousands of DateTimes.
    """
    is_single = (
        sa.select(sa.func.count())
        .where(_OTHERS.c.lease_id == leases.c.id)
        .correlate(leases)
        .scalar_subquery()
        == 1
    )
    query = (
        sa.select(
            bookings.c.reservation_id,
            leases.c.id,
            bookings.c.flavor_id,
            bookings.c.project_id,
            bookings.c.instance_count,
            bookings.c.shape,
            instance_reservations.c.affinity,
        )
        .select_from(
            leases.join(reservations, reservations.c.lease_id == leases.c.id)
            .join(bookings, bookings.c.reservation_id == reservations.c.id)
            .join(backings, backings.c.reservation_id == reservations.c.id)
            .join(
                instance_reservations, instance_reservations.c.reservation_id == reservations.c.id
            )
            .outerjoin(executions, executions.c.lease_id == leases.c.id)
        )
        .where(
            leases.c.status == lease_states.PENDING,
            leases.c.start_date > now,
            reservations.c.status == "pending",
            bookings.c.claim_start.is_(None),
            backings.c.phase.in_(_UNOPENED),
            executions.c.lease_id.is_(None),
            is_single,
        )
    )
    return [
        Unbegun(
            reservation_id, lease_id, flavor_id, project_id, count, Shape.from_json(shape), near
        )
        for reservation_id, lease_id, flavor_id, project_id, count, shape, near in db.execute(query)
    ]


_OTHERS = reservations.alias()
