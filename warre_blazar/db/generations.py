"""Generations: numbers by which a transaction knows that what it has read is still so.

Flavors, hosts and projects have a generation each. Whoever books increases the generations of all
that the decision depends on, provided that they are as they were read. So of two bookings that have
read the same, one loses the race, and decides again.

Each process keeps what it has read of a host, by the host's generation (``hosts.kept_hosts``). So
whoever changes anything that is read of a host calls ``outdate`` or a similar function, in the
transaction that makes the change.
"""

import random
import types
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.tables import (
    allocations,
    compute_hosts,
    flavors,
    host_generations,
    project_generations,
    reservations,
)
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.hosts.bookable_host import BookableHost

_NOTHING: Mapping[str, Any] = types.MappingProxyType({})


def increase_flavor(db: Session, flavor: Flavor, values: Mapping[str, Any] = _NOTHING) -> None:
    """Increase a flavor's generation, provided that it is as it was read.

    :param values: the flavor's columns to write.
    :raises session.LostRace: the flavor was claimed or changed since it was read.
    """
    _increase(db, flavors.c.id, flavor.id, flavor.generation, values)


def increase_hosts(db: Session, hosts: Iterable[BookableHost]) -> None:
    """Increase the generation of each host, provided that it is as it was read.

    The hosts are written in the order of their ids, so that two transactions that claim the same
    hosts can't deadlock.

    :raises session.LostRace: a host was claimed since it was read, or is no longer reservable.
    """
    for host in sorted(hosts, key=lambda each: each.id):
        _touch(db, host)
        _claim(db, host_generations.c.host_id, host.id, host.generation)


def outdate_host(db: Session, host_id: str, **marks: Any) -> None:
    """Increase a host's generation, so that whoever has read the host can't claim it.

    :param marks: the host's columns in ``warre_hosts`` to write.
    :raises session.LostRace: another transaction has just added the host's row to ``warre_hosts``,
        or the host is gone.
    """
    outdate(db, [host_id], **marks)


def outdate(db: Session, host_ids: Collection[str], **marks: Any) -> None:
    """Increase the generations of hosts, as ``outdate_host`` does."""
    ids = sorted(set(host_ids))
    if not ids:
        return
    table = host_generations
    later = table.update().where(table.c.host_id.in_(ids))
    values = {"generation": table.c.generation + 1, **marks}
    if session.changed(db, later.values(**values)) == len(ids):
        return
    known = set(db.scalars(sa.select(table.c.host_id).where(table.c.host_id.in_(ids))))
    first = [{"host_id": i, "generation": _first(), **marks} for i in ids if i not in known]
    session.insert_or_lose(db, table.insert().values(first))


def outdate_hosts_of(db: Session, of: sa.ColumnElement[bool]) -> None:
    """Increase the generations of the hosts on which reservations have instances.

    :param of: the condition of Blazar's table of reservations.
    :raises session.LostRace: as in ``outdate_host``.
    """
    outdate(db, hosts_of(db, of))


def outdate_known(db: Session, of: sa.ColumnElement[bool]) -> Mapping[str, int]:
    """Do what ``outdate_hosts_of`` does, and say which generations the hosts had.

    :returns: by host id, the generation, which is greater by one now. Empty if it isn't known
        because another transaction has changed one of them meanwhile.
    """
    table = host_generations
    query = (
        sa.select(allocations.c.compute_host_id, table.c.generation)
        .distinct()
        .join(reservations, reservations.c.id == allocations.c.reservation_id)
        .outerjoin(table, table.c.host_id == allocations.c.compute_host_id)
        .where(of)
    )
    known = {host_id: generation for host_id, generation in db.execute(query)}
    as_read = sa.tuple_(table.c.host_id, table.c.generation).in_(sorted(known.items()))
    later = table.update().where(as_read).values(generation=table.c.generation + 1)
    if None not in known.values() and session.changed(db, later) == len(known):
        return known
    outdate(db, known)
    return {}


def hosts_of(db: Session, of: sa.ColumnElement[bool]) -> Sequence[str]:
    """The ids of the hosts on which reservations have instances.

    :param of: the condition of Blazar's table of reservations.
    """
    query = sa.select(allocations.c.compute_host_id).distinct()
    on_reservations = reservations.c.id == allocations.c.reservation_id
    return db.scalars(query.join(reservations, on_reservations).where(of)).all()


def _first() -> int:
    """The first generation of a host, or of a project.

    It is random. If a host is deleted and registered again under the same id, it has another
    generation than before, and no process uses what it has kept of the former host.
    """
    return random.randrange(1, 2**30)  # noqa: S311


def of_project(db: Session, project_id: str) -> int:
    """The generation of a project, or 0 if its quota was never claimed.

    The caller must read the generation before it reads the project's usage.
    """
    query = sa.select(project_generations.c.generation).where(
        project_generations.c.project_id == project_id
    )
    return db.execute(query).scalar_one_or_none() or 0


def increase_project(db: Session, project_id: str, generation: int) -> None:
    """Increase a project's generation, provided that it is as it was read.

    :raises session.LostRace: the project's quota was claimed after the generation was read.
    """
    _claim(db, project_generations.c.project_id, project_id, generation)


def _claim(db: Session, key: sa.Column[str], value: str, generation: int) -> None:
    """Increase a generation of a table that has no row before the first claim.

    :param generation: as it was read. 0: there was no row.
    """
    if generation:
        _increase(db, key, value, generation, {})
    else:
        first = {key.name: value, "generation": _first()}
        session.insert_or_lose(db, sa.insert(key.table).values(first))


def _increase(
    db: Session, key: sa.Column[str], value: str, generation: int, values: Mapping[str, Any]
) -> None:
    session.write_or_lose(
        db,
        sa.update(key.table)
        .where(key == value, key.table.c.generation == generation)
        .values(generation=generation + 1, **values),
    )


def _touch(db: Session, host: BookableHost) -> None:
    """Write a host's row in Blazar's table, provided that the host is still reservable.

    When Blazar takes a failed host out of use or deletes a host, it doesn't change the generation,
    but it writes this row. If two transactions write the row at the same time, the second waits for
    the first, or is refused at its commit.

    :raises session.LostRace: the host is no longer reservable.
    """
    now = timeutils.utcnow().replace(microsecond=0)
    # Galera certifies only rows whose values change, so the time must differ even if the row was
    # last written within the same second.
    later = now + times.SECOND
    session.write_or_lose(
        db,
        compute_hosts.update()
        .where(compute_hosts.c.id == host.id, compute_hosts.c.reservable)
        .values(updated_at=sa.case((compute_hosts.c.updated_at == now, later), else_=now)),
    )
