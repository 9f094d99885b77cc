"""Reads on which hosts reservations run, and where they begin soon."""

import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db.tables import (
    allocations,
    bookings_in_leases,
    compute_hosts,
    leases,
    reservations,
)


def starts(
    db: Session, now: datetime.datetime, until: datetime.datetime
) -> dict[str, datetime.datetime]:
    """When the first reservation begins or has begun on each host, if it does so by a moment.

    Reservations that have ended are left out.

    :returns: by the host name of the compute service. Hosts without such a reservation are left
        out.
    """
    query = (
        sa.select(compute_hosts.c.service_name, sa.func.min(leases.c.start_date))
        .select_from(bookings_in_leases)
        .join(allocations, allocations.c.reservation_id == reservations.c.id)
        .join(compute_hosts, compute_hosts.c.id == allocations.c.compute_host_id)
        .where(
            reservations.c.status.in_(["pending", "active"]),
            leases.c.start_date <= until,
            leases.c.end_date > now,
        )
        .group_by(compute_hosts.c.service_name)
    )
    return {host: start for host, start in db.execute(query)}
