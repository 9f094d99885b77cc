"""Hosts of tests that fail, recover and are healed, as Blazar's host monitor does it."""

import sqlalchemy as sa
from blazar.db import api as db_api

from tests.functional.db import world
from warre_blazar.db import session, tables
from warre_blazar.db.hosts import allocations
from warre_blazar.domain.timeline import Span
from warre_blazar.services.moves import failed_hosts

ALL_TIME = Span(world.LONG_AGO, world.hours(0, 24 * 365).end)


def fail(host_id: str) -> None:
    """Write what Blazar's monitor writes about a failed host."""
    db_api.host_update(host_id, {"reservable": False})


def recover(host_id: str) -> None:
    """Write what Blazar's monitor writes about a recovered host."""
    db_api.host_update(host_id, {"reservable": True})


def heal(window: Span = ALL_TIME) -> None:
    """Heal what overlaps a window of time."""
    failed_hosts.heal(window, world.conditions(), world.NOW)


def hosts_of(lease: world.Lease) -> dict[str, int]:
    """A reservation's instances by host id."""
    with session.reader() as db:
        return allocations.allocated(db, lease.reservation_id)


def flags(lease: world.Lease) -> tuple[bool, bool, bool]:
    """Whether resources are missing, whether they changed, and whether the lease is degraded."""
    row = db_api.lease_get(lease.id)
    (reservation,) = row["reservations"]
    return reservation["missing_resources"], reservation["resources_changed"], row["degraded"]


def book_on(host_id: str, flavor, span: Span, count: int = 1) -> world.Lease:
    """Book instances on a host, while all others are out of use."""
    others = [h["id"] for h in db_api.host_list() if h["reservable"] and h["id"] != host_id]
    for other in others:
        fail(other)
    lease = world.book(world.request(flavor, span, count))
    for other in others:
        recover(other)
    assert hosts_of(lease) == {host_id: count}
    return lease


def booked_on(engine: sa.Engine, host_id: str) -> set[str]:
    """The ids of the reservations on a host."""
    held = tables.allocations.c
    query = sa.select(held.reservation_id).where(held.compute_host_id == host_id)
    with engine.connect() as connection:
        return set(connection.scalars(query))
