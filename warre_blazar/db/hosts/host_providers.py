"""Queries on what is stored about hosts' resource providers, aggregates and zones."""

import dataclasses
import datetime
import hashlib
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import generations, session
from warre_blazar.db.hosts import host_marks
from warre_blazar.db.tables import compute_hosts, host_providers
from warre_blazar.domain.hosts import provider_trees
from warre_blazar.domain.hosts.aggregates import NO_AGGREGATES, HostAggregates
from warre_blazar.domain.hosts.provider_trees import ProviderTree


class Facts(NamedTuple):
    """What is stored about a host under a digest."""

    tree: ProviderTree
    aggregates: HostAggregates


#: What this process has parsed, by digest. Parsing a tree's text takes much longer than using the
#: tree.
_parsed: dict[str, Facts] = {}
#: When a process keeps the facts of more hosts than this, it drops all of them.
_MOST_PARSED = 20_000


@dataclasses.dataclass(frozen=True)
class Stored:
    """What is stored about a host. A ``digest`` of None means that nothing is stored."""

    digest: str | None = None
    #: The host's zone in Nova; None if the zone wasn't known.
    zone: str | None = None
    #: None if Nova hasn't told it.
    aggregates: HostAggregates | None = None


NOTHING = Stored()


@dataclasses.dataclass(frozen=True)
class Reading:
    """What was read about a host in Placement and Nova."""

    tree: ProviderTree
    #: The host's zone; None if Nova wasn't asked for it, or didn't tell it.
    zone: str | None
    #: What the site's aggregates say of the host; None if Nova didn't tell it.
    aggregates: HostAggregates | None = None

    @property
    def stored(self) -> Stored:
        """What is stored about a host that was read so."""
        digest = provider_trees.digest(self.tree)
        if self.aggregates is not None:
            both = digest + self.aggregates.to_text()
            digest = hashlib.sha256(both.encode()).hexdigest()
        return Stored(digest, self.zone, self.aggregates)


def facts(db: Session, digests: Mapping[str, str]) -> dict[str, Facts]:
    """The trees and aggregates of hosts, by host id.

    If the process has already read all of them, this takes no SQL statement. Otherwise it takes
    one.

    :param digests: the digests of the hosts, by host id.
    """
    known = {i: _parsed[digest] for i, digest in digests.items() if digest in _parsed}
    unknown = digests.keys() - known.keys()
    if not unknown:
        return known
    columns = host_providers.c
    query = sa.select(columns.host_id, columns.digest, columns.tree, columns.aggregates)
    # If most are unknown, reading all texts is faster than a query with so many ids.
    if len(unknown) <= len(digests) / 2:
        query = query.where(host_providers.c.host_id.in_(unknown))
    if len(_parsed) > _MOST_PARSED:
        _parsed.clear()
    for host_id, digest, tree, aggregates in db.execute(query):
        if host_id in unknown:
            found = Facts(provider_trees.from_text(tree), _aggregates(aggregates) or NO_AGGREGATES)
            known[host_id] = _parsed[digest] = found
    return known


def _aggregates(text: str | None) -> HostAggregates | None:
    return HostAggregates.from_text(text) if text else None


def unread(db: Session) -> list[str]:
    """The ids of the reservable hosts about which nothing is stored."""
    query = (
        sa.select(compute_hosts.c.id)
        .select_from(
            compute_hosts.outerjoin(host_providers, host_providers.c.host_id == compute_hosts.c.id)
        )
        .where(host_marks.works(), host_providers.c.host_id.is_(None))
    )
    return list(db.scalars(query))


def settling(db: Session, since: datetime.datetime) -> list[str]:
    """The ids of the reservable hosts whose latest stored reading is from ``since`` or later.

    A reading is stored if it is the host's first, or if it differs from the reading that is stored.
    """
    query = (
        sa.select(compute_hosts.c.id)
        .join(host_providers, host_providers.c.host_id == compute_hosts.c.id)
        .where(host_marks.works(), host_providers.c.read_at >= since)
    )
    return list(db.scalars(query))


def stored(db: Session) -> dict[str, Stored]:
    """What is stored about hosts, by host id."""
    columns = host_providers.c
    query = sa.select(columns.host_id, columns.digest, columns.zone, columns.aggregates)
    return {
        host_id: Stored(digest, zone, _aggregates(aggregates))
        for host_id, digest, zone, aggregates in db.execute(query)
    }


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


def trees(db: Session, host_ids: Collection[str]) -> dict[str, ProviderTree]:
    """The providers of hosts, by host id. Hosts that nobody has read are left out."""
    query = sa.select(host_providers.c.host_id, host_providers.c.digest)
    digests = db.execute(query.where(host_providers.c.host_id.in_(host_ids)))
    known = facts(db, dict(digests.tuples().all()))
    return {host_id: each.tree for host_id, each in known.items()}


class Overtaken(session.RowChanged):
    """The host's row has changed since this process read the row, or the host is gone."""


def row(reading: Reading, now: datetime.datetime) -> dict[str, Any]:
    """The columns of a reading."""
    return {
        "digest": reading.stored.digest,
        "tree": provider_trees.to_text(reading.tree),
        "aggregates": reading.aggregates.to_text() if reading.aggregates else None,
        "zone": reading.zone,
        "read_at": now,
    }


def store(
    db: Session, host_id: str, reading: Reading, before: Stored, now: datetime.datetime
) -> None:
    """Store what was read about a host, provided that the database still has ``before`` for it.

    The host's generation increases. So a booking that has already read the host can't claim it, and
    reads it again.

    :raises Overtaken: something else is stored by now, or the host is gone. Nothing was written.
    :raises session.LostRace: another transaction has just added the host's row to ``warre_hosts``.
    """
    values = row(reading, now)
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
