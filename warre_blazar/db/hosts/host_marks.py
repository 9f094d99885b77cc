"""Reads and writes why hosts can't be booked, and reads which reservations are on hosts.

This package's table ``warre_hosts`` has three marks of a host: ``draining`` (an operator drains the
host), ``abandoned`` (servers may be left on it), and ``gone`` (the host has left Nova).
"""

import datetime
from collections import defaultdict
from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import generations, session
from warre_blazar.db.tables import (
    allocations,
    bookings,
    compute_hosts,
    flavors,
    host_generations,
    host_providers,
    leases,
    reservations,
)
from warre_blazar.domain.hosts.host_marks import Abandoned, Drain, Marks, OnHost
from warre_blazar.domain.timeline import Span

#: An alias is made once, because SQLAlchemy copies all of its table's columns.
_MARKS = host_generations.alias()


def works() -> sa.ColumnElement[bool]:
    """The SQL condition that a host in Blazar's table hasn't failed, and hasn't left Nova."""
    has_left = sa.exists().where(_MARKS.c.host_id == compute_hosts.c.id, _MARKS.c.gone)
    return sa.and_(compute_hosts.c.reservable, sa.not_(has_left))


def every(db: Session) -> dict[str, Marks]:
    """The marks of all hosts, by host id."""
    columns = (
        *(compute_hosts.c.id, compute_hosts.c.reservable),
        sa.func.coalesce(host_generations.c.draining, sa.false()),
        *(host_generations.c.drained_by, host_generations.c.drained_at),
        host_generations.c.drain_reason,
        sa.func.coalesce(host_generations.c.abandoned, sa.false()),
        host_providers.c.read_at,
        sa.func.coalesce(host_generations.c.gone, sa.false()),
        host_generations.c.missing_since,
    )
    query = sa.select(*columns).select_from(
        compute_hosts.outerjoin(
            host_generations, host_generations.c.host_id == compute_hosts.c.id
        ).outerjoin(host_providers, host_providers.c.host_id == compute_hosts.c.id)
    )
    rows = db.execute(query)
    return {
        host_id: Marks(
            bool(reservable),
            Drain(by, at, why) if draining else None,
            bool(abandoned),
            read_at,
            bool(gone),
            missing,
        )
        for host_id, reservable, draining, by, at, why, abandoned, read_at, gone, missing in rows
    }


def set_draining(db: Session, host_id: str, drain: Drain | None) -> None:
    """Mark a host as draining, or remove this mark.

    :param drain: None: nobody drains the host any more.
    :raises session.LostRace: another transaction has just added the host's row to ``warre_hosts``,
        or the host is gone.
    """
    said = drain or Drain(None, None, None)
    generations.outdate_host(
        db,
        host_id,
        draining=drain is not None,
        drained_by=said.by,
        drained_at=said.at,
        drain_reason=said.reason,
    )


def miss(db: Session, host_id: str, since: datetime.datetime) -> None:
    """Note that Placement has no resource provider for a host. The host can still be booked.

    :raises session.LostRace: as in ``set_draining``.
    """
    generations.outdate_host(db, host_id, missing_since=since)


def lose(db: Session, host_id: str) -> None:
    """Mark a host as gone. It has failed, as far as its reservations are concerned.

    :raises session.LostRace: as in ``set_draining``.
    """
    generations.outdate_host(db, host_id, gone=True)


def find_again(db: Session, host_id: str) -> None:
    """Note that Nova has a host again, in the freepool. Remove the mark ``gone``, if it is there.

    :raises session.LostRace: as in ``set_draining``.
    """
    generations.outdate_host(db, host_id, gone=False, missing_since=None)


def missing(db: Session) -> list[str]:
    """The ids of the hosts that may be about to leave Nova, but haven't been marked as gone."""
    is_missing = (host_generations.c.missing_since.is_not(None), sa.not_(host_generations.c.gone))
    return list(db.scalars(sa.select(host_generations.c.host_id).where(*is_missing)))


def gone(db: Session) -> list[str]:
    """The ids of the hosts that have left Nova."""
    return list(db.scalars(sa.select(host_generations.c.host_id).where(host_generations.c.gone)))


def abandon(db: Session, host_id: str) -> None:
    """Mark a host as abandoned.

    Servers may be left on the host. They belong to running reservations that were moved off it.

    :raises session.LostRace: another transaction has just added the host's row to ``warre_hosts``,
        or the host is gone.
    """
    generations.outdate_host(db, host_id, abandoned=True)


def abandoned(db: Session) -> list[Abandoned]:
    """The hosts that are marked as abandoned and work."""
    hosts = db.execute(
        sa.select(
            compute_hosts.c.id, compute_hosts.c.hypervisor_hostname, host_generations.c.generation
        )
        .join(host_generations, host_generations.c.host_id == compute_hosts.c.id)
        .where(host_generations.c.abandoned, works())
    )
    return [
        Abandoned(host_id, name, generation, _held(db, host_id))
        for host_id, name, generation in hosts.all()
    ]


def service_name(db: Session, host_id: str) -> str:
    """The host name of a host's compute service."""
    query = sa.select(compute_hosts.c.service_name).where(compute_hosts.c.id == host_id)
    return str(db.scalar(query))


def _held(db: Session, host_id: str) -> dict[str, int]:
    """The number of each reservation's instances on a host, by the reservation's id."""
    query = (
        sa.select(allocations.c.reservation_id, sa.func.count())
        .where(allocations.c.compute_host_id == host_id)
        .group_by(allocations.c.reservation_id)
    )
    return {reservation_id: count for reservation_id, count in db.execute(query)}


def take_back(db: Session, host: Abandoned) -> bool:
    """Remove the mark ``abandoned`` of a host, so that the host can be booked again.

    The caller has checked that no servers are left on the host. A booking that has read the hosts
    before this write doesn't use the host. That does no harm, so the host's generation stays the
    same.

    :returns: False if the host has changed since it was read. In that case nothing is written.
    """
    taken_back = (
        host_generations.update()
        .where(
            host_generations.c.host_id == host.id, host_generations.c.generation == host.generation
        )
        .values(abandoned=False)
    )
    return session.changed(db, taken_back) == 1


def on_host(db: Session, host_id: str) -> list[OnHost]:
    """The reservations on a host, sorted by start."""
    return [each for _, each in on_hosts(db, host_id)]


def on_hosts(db: Session, host_id: str | None = None) -> list[tuple[str, OnHost]]:
    """The reservations on hosts, each with the host's id, sorted by start.

    :param host_id: the only host to look at. None: all hosts.
    """
    columns = (
        reservations.c.id,
        sa.func.coalesce(bookings.c.id, reservations.c.id),
        reservations.c.resource_type,
        flavors.c.id,
        flavors.c.name,
        leases.c.project_id,
        leases.c.user_id,
        leases.c.status,
        reservations.c.status,
        leases.c.start_date,
        leases.c.end_date,
    )
    query = (
        sa.select(allocations.c.compute_host_id, *columns[:-2], sa.func.count(), *columns[-2:])
        .select_from(
            allocations.join(reservations, reservations.c.id == allocations.c.reservation_id)
            .join(leases, leases.c.id == reservations.c.lease_id)
            .outerjoin(bookings, bookings.c.reservation_id == reservations.c.id)
            .outerjoin(flavors, flavors.c.id == bookings.c.flavor_id)
        )
        .group_by(allocations.c.compute_host_id, *columns)
        .order_by(leases.c.start_date, reservations.c.id)
    )
    if host_id is not None:
        query = query.where(allocations.c.compute_host_id == host_id)
    return [(each_host, OnHost(*row)) for each_host, *row in db.execute(query)]


def reservations_during(db: Session, window: Span) -> dict[str, Sequence[OnHost]]:
    """The reservations on hosts that overlap a span, by host id and sorted by start."""
    found: dict[str, list[OnHost]] = defaultdict(list)
    for host_id, each in on_hosts(db):
        if Span(each.start, each.end).overlaps(window):
            found[host_id].append(each)
    return dict(found)
