"""Queries on what is stored about hosts' resource providers and zones."""

import dataclasses
import datetime
from collections.abc import Collection, Mapping

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import generations, session
from warre_blazar.db.tables import compute_hosts, host_providers
from warre_blazar.domain.hosts import provider_trees
from warre_blazar.domain.hosts.provider_trees import ProviderTree

#: The trees that this process has parsed, by digest. Parsing a tree's text takes much longer than
#: using the tree.
_parsed: dict[str, ProviderTree] = {}
#: When a process keeps more trees than this, it drops all of them.
_MOST_PARSED = 20_000


@dataclasses.dataclass(frozen=True)
class Stored:
    """What is stored about a host. A ``digest`` of None means that nothing is stored."""

    digest: str | None = None
    #: The host's zone in Nova; None if the zone wasn't known.
    zone: str | None = None


NOTHING = Stored()


@dataclasses.dataclass(frozen=True)
class Reading:
    """What was read about a host in Placement and Nova."""

    tree: ProviderTree
    #: The host's zone; None if Nova wasn't asked for it, or didn't tell it.
    zone: str | None


def trees(db: Session, digests: Mapping[str, str]) -> dict[str, ProviderTree]:
    """The trees of hosts, by host id.

    If the process has already read all these trees, this takes no SQL statement. Otherwise it takes
    one.

    :param digests: the digests of the trees, by host id.
    """
    known = {i: _parsed[digest] for i, digest in digests.items() if digest in _parsed}
    unknown = digests.keys() - known.keys()
    if not unknown:
        return known
    query = sa.select(host_providers.c.host_id, host_providers.c.digest, host_providers.c.tree)
    # If most trees are unknown, reading all texts is faster than a query with so many ids.
    if len(unknown) <= len(digests) / 2:
        query = query.where(host_providers.c.host_id.in_(unknown))
    if len(_parsed) > _MOST_PARSED:
        _parsed.clear()
    for host_id, digest, text in db.execute(query):
        if host_id in unknown:
            known[host_id] = _parsed[digest] = provider_trees.from_text(text)
    return known


def unread(db: Session) -> list[str]:
    """The ids of the reservable hosts about which nothing is stored."""
    query = (
        sa.select(compute_hosts.c.id)
        .select_from(
            compute_hosts.outerjoin(host_providers, host_providers.c.host_id == compute_hosts.c.id)
        )
        .where(compute_hosts.c.reservable, host_providers.c.host_id.is_(None))
    )
    return list(db.scalars(query))


def settling(db: Session, since: datetime.datetime) -> list[str]:
    """The ids of the reservable hosts whose latest stored reading is from ``since`` or later.

    A reading is stored if it is the host's first, or if it differs from the reading that is stored.
    """
    query = (
        sa.select(compute_hosts.c.id)
        .join(host_providers, host_providers.c.host_id == compute_hosts.c.id)
        .where(compute_hosts.c.reservable, host_providers.c.read_at >= since)
    )
    return list(db.scalars(query))


def stored(db: Session) -> dict[str, Stored]:
    """What is stored about hosts, by host id."""
    columns = (host_providers.c.host_id, host_providers.c.digest, host_providers.c.zone)
    return {i: Stored(digest, zone) for i, digest, zone in db.execute(sa.select(*columns))}


def zones(db: Session, host_ids: Collection[str]) -> dict[str, str]:
    """The availability zones of hosts, by host id, for all hosts whose zone is known.

    The zone is the one that Nova shows for the host, as it was last read. If Nova's wasn't read, it
    is the one that Blazar recorded. If a host is in several zones, their names are joined with
    commas.
    """
    zone = sa.func.coalesce(host_providers.c.zone, compute_hosts.c.availability_zone)
    query = (
        sa.select(compute_hosts.c.id, zone)
        .outerjoin(host_providers, host_providers.c.host_id == compute_hosts.c.id)
        .where(compute_hosts.c.id.in_(host_ids))
    )
    return {host_id: name for host_id, name in db.execute(query) if name}


class Overtaken(session.RowChanged):
    """The host's row has changed since this process read the row, or the host is gone."""


def store(
    db: Session, host_id: str, reading: Reading, before: Stored, now: datetime.datetime
) -> None:
    """Store what was read about a host, provided that the database still has ``before`` for it.

    The host's generation increases. So a booking that has already read the host can't claim it, and
    reads it again.

    :raises Overtaken: something else is stored by now, or the host is gone. Nothing was written.
    :raises session.LostRace: another transaction has just added the host's row to ``warre_hosts``.
    """
    values = {
        "digest": provider_trees.digest(reading.tree),
        "tree": provider_trees.to_text(reading.tree),
        "zone": reading.zone,
        "read_at": now,
    }
    if before.digest is None:
        first = host_providers.insert().values(host_id=host_id, **values)
        session.insert_or_lose(db, first, Overtaken)
    else:
        zone = host_providers.c.zone
        same_zone = zone.is_(None) if before.zone is None else zone == before.zone
        session.write_or_lose(
            db,
            host_providers.update()
            .where(
                host_providers.c.host_id == host_id,
                host_providers.c.digest == before.digest,
                same_zone,
            )
            .values(**values),
            error=Overtaken,
        )
    generations.outdate_host(db, host_id)
