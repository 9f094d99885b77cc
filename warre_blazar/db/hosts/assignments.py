"""Writes and reads which resource providers booked instances are assigned to."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db.hosts import host_providers
from warre_blazar.db.tables import allocations, assignments, backings
from warre_blazar.domain.hosts import device_traits
from warre_blazar.domain.hosts.bookable_host import StoredPlaces
from warre_blazar.domain.hosts.placing import PlacesByHost


def assign(db: Session, places: Mapping[str, PlacesByHost]) -> None:
    """Replace the places of instances that stay on their hosts.

    :param places: the places of all instances of reservations on some hosts, by reservation id.
    """
    on = [(owner, host_id) for owner, by_host in places.items() for host_id in by_host]
    if not on:
        return
    found = ids(
        db,
        allocations.c.reservation_id.in_(list(places)),
        allocations.c.compute_host_id.in_({host_id for _, host_id in on}),
    )
    changed = [allocation_id for place in on for allocation_id in found[place]]
    remove(db, changed)
    write(db, [(found[owner, host_id], places[owner][host_id]) for owner, host_id in on])


def ids(db: Session, *conditions: sa.ColumnElement[bool]) -> dict[tuple[str, str], list[str]]:
    """The ids of allocations by reservation id and host id."""
    query = (
        sa.select(allocations.c.reservation_id, allocations.c.compute_host_id, allocations.c.id)
        .where(*conditions)
        .order_by(allocations.c.id)
    )
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for reservation_id, host_id, allocation_id in db.execute(query):
        found[reservation_id, host_id].append(allocation_id)
    return found


def write(db: Session, instances: Iterable[tuple[Sequence[str], Sequence[StoredPlaces]]]) -> None:
    """Write places.

    :param instances: the ids of allocations, and the places of as many instances or fewer.
    """
    rows = [
        {
            "allocation_id": allocation_id,
            "provider_id": provider_id,
            "resource_class": resource_class,
            "amount": amount,
        }
        for ids, places in instances
        for allocation_id, of_instance in zip(ids, places, strict=False)
        for provider_id, resource_class, amount in of_instance
    ]
    if rows:
        db.execute(assignments.insert(), rows)


def carriers(
    db: Session, reservation_ids: Collection[str]
) -> dict[tuple[str, str], frozenset[str]]:
    """The ids of the providers that carry traits of reservations, by reservation id and host id."""
    query = sa.select(backings.c.reservation_id, backings.c.told)
    told = db.execute(query.where(backings.c.reservation_id.in_(reservation_ids)))
    groups = {reservation_id: each or {} for reservation_id, each in told}
    rows = (
        sa.select(
            allocations.c.reservation_id,
            allocations.c.compute_host_id,
            allocations.c.id,
            assignments.c.provider_id,
            assignments.c.resource_class,
        )
        .outerjoin(assignments, assignments.c.allocation_id == allocations.c.id)
        .where(allocations.c.reservation_id.in_(reservation_ids))
    )
    instances: dict[tuple[str, str], dict[str, set[tuple[str, str]]]] = defaultdict(dict)
    for reservation_id, host_id, allocation_id, provider_id, cls in db.execute(rows):
        of_instance = instances[reservation_id, host_id].setdefault(allocation_id, set())
        if provider_id is not None:
            of_instance.add((provider_id, cls))
    trees = host_providers.trees(db, {host_id for _, host_id in instances})
    return {
        (reservation_id, host_id): device_traits.carriers(
            trees.get(host_id, ()), of_host.values(), groups[reservation_id]
        )
        for (reservation_id, host_id), of_host in instances.items()
    }


def remove(db: Session, allocation_ids: Collection[str]) -> None:
    """Delete the places of instances."""
    if allocation_ids:
        db.execute(assignments.delete().where(assignments.c.allocation_id.in_(allocation_ids)))
