"""Reads why hosts can't be booked, and which reservations are on hosts, for operators."""

import dataclasses
import datetime
from collections import defaultdict
from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db.healing import Drain, OnHost, on_hosts
from warre_blazar.db.tables import compute_hosts, host_generations, host_providers
from warre_blazar.domain.timeline import Span


@dataclasses.dataclass(frozen=True)
class Marks:
    """What the tables say about whether a host can be booked."""

    #: What Blazar says. Its host monitor takes a host that fails out of use.
    reservable: bool
    #: None: nobody drains the host.
    drain: Drain | None
    #: Whether the host has failed, and servers that were on it may still be there.
    abandoned: bool
    #: When the host's resource providers were last read and had changed. None: never.
    read_at: datetime.datetime | None


def every(db: Session) -> dict[str, Marks]:
    """The marks of all hosts, by host id."""
    columns = (
        *(compute_hosts.c.id, compute_hosts.c.reservable),
        sa.func.coalesce(host_generations.c.draining, sa.false()),
        *(host_generations.c.drained_by, host_generations.c.drained_at),
        host_generations.c.drain_reason,
        sa.func.coalesce(host_generations.c.abandoned, sa.false()),
        host_providers.c.read_at,
    )
    query = sa.select(*columns).select_from(
        compute_hosts.outerjoin(
            host_generations, host_generations.c.host_id == compute_hosts.c.id
        ).outerjoin(host_providers, host_providers.c.host_id == compute_hosts.c.id)
    )
    return {
        host_id: Marks(
            bool(reservable), Drain(by, at, why) if draining else None, bool(abandoned), read_at
        )
        for host_id, reservable, draining, by, at, why, abandoned, read_at in db.execute(query)
    }


def reservations(db: Session, window: Span) -> dict[str, Sequence[OnHost]]:
    """The reservations on hosts that overlap a span, by host id and sorted by start."""
    found: dict[str, list[OnHost]] = defaultdict(list)
    for host_id, each in on_hosts(db):
        if Span(each.start, each.end).overlaps(window):
            found[host_id].append(each)
    return dict(found)
