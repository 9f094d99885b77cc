"""A snapshot of reservable hosts with all that they hold, in a constant number of queries."""

import dataclasses
import datetime
import json
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from blazar.db.sqlalchemy import models as blazar
from oslo_db import exception as db_exc
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar.db import models, session
from warre_blazar.db.reservations import NO_TIME, Claims, claiming
from warre_blazar.domain import timeline
from warre_blazar.domain.flavor import Shape
from warre_blazar.domain.hosts import Holding, Host, Inventory

_H = blazar.ComputeHost.__table__
_CAPABILITY = blazar.ComputeHostExtraCapability.__table__
_PROPERTY = blazar.ResourceProperty.__table__
_INVENTORY = blazar.ComputeHostResourceInventory.__table__
_TRAIT = blazar.ComputeHostTrait.__table__
_A = blazar.ComputeHostAllocation.__table__
_I = blazar.InstanceReservations.__table__
_R = blazar.Reservation.__table__
_L = blazar.Lease.__table__
_W = models.reservations
_G = models.hosts


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """What is held at some time of a window."""

    #: The reservable hosts that match a shape, with what they hold.
    hosts: list[Host]
    #: Slots of a flavor, by the Blazar reservation that claims them.
    claims: Mapping[str, list[timeline.Claim]]


def snapshot(
    db: Session,
    flavor_id: str,
    shape: Shape,
    window: timeline.Span,
    cleaning: datetime.timedelta = NO_TIME,
) -> Snapshot:
    """The hosts that match a shape and a flavor's claimed slots, in one look.

    A reservation claims its slots as long as Blazar holds host allocations for it.

    :param cleaning: what each reservation holds after its end.
    """
    every = empty(db)
    some = [host for host in every if host.matches(shape)]
    # A thousand ids in a query cost more than the few allocations they leave out.
    ids = [host.id for host in some] if len(some) < len(every) / 2 else None
    held, claims = _held(db, flavor_id, ids, window, cleaning)
    return Snapshot([h.holding(held[h.id]) for h in some], claims)


def empty(db: Session) -> list[Host]:
    """Every reservable host, as if it held nothing."""
    capabilities: dict[str, dict[str, Any]] = defaultdict(dict)
    inventories: dict[str, dict[str, Inventory]] = defaultdict(dict)
    traits: dict[str, set[str]] = defaultdict(set)
    for kind, host_id, name, value, *amounts in db.execute(_facts()):
        if kind == "inventory":
            inventories[host_id][name] = Inventory(*amounts)
        elif kind == "capability":
            capabilities[host_id][name] = value
        else:
            traits[host_id].add(name)
    hosts = (
        sa.select(_H, sa.func.coalesce(_G.c.generation, 0).label("generation"))
        .select_from(_H.outerjoin(_G, _G.c.host_id == _H.c.id))
        .where(_H.c.reservable)
    )
    return [
        Host(
            id=row["id"],
            name=row["hypervisor_hostname"] or row["id"],
            availability_zone=row["availability_zone"],
            properties={**{c.name: row[c] for c in _H.c}, **capabilities[row["id"]]},
            inventories=inventories[row["id"]] or _hypervisor_inventories(row),
            traits=frozenset(traits[row["id"]]),
            holdings=(),
            generation=row["generation"],
        )
        for row in db.execute(hosts).mappings()
    ]


#: In the order of ``domain.hosts.Inventory``.
_AMOUNTS = (
    _INVENTORY.c.total,
    _INVENTORY.c.reserved,
    _INVENTORY.c.min_unit,
    _INVENTORY.c.max_unit,
    _INVENTORY.c.step_size,
    _INVENTORY.c.allocation_ratio,
)


def _facts() -> sa.CompoundSelect[Any]:
    """Everything that is kept of hosts in other tables: (kind, host, name, value, *amounts)."""
    no_amounts = [sa.null().label(column.name) for column in _AMOUNTS]
    inventories = sa.select(
        sa.literal_column("'inventory'"),
        _INVENTORY.c.computehost_id,
        _INVENTORY.c.resource_class,
        sa.null(),
        *_AMOUNTS,
    )
    capabilities = sa.select(
        sa.literal_column("'capability'"),
        _CAPABILITY.c.computehost_id,
        _PROPERTY.c.property_name,
        _CAPABILITY.c.capability_value,
        *no_amounts,
    ).join(_PROPERTY, _PROPERTY.c.id == _CAPABILITY.c.property_id)
    traits = sa.select(
        sa.literal_column("'trait'"),
        _TRAIT.c.computehost_id,
        _TRAIT.c.trait,
        sa.null(),
        *no_amounts,
    )
    return sa.union_all(inventories, capabilities, traits)


def _hypervisor_inventories(row: sa.RowMapping) -> dict[str, Inventory]:
    """For a host that was added to Blazar before Blazar kept Placement's inventories."""
    return {
        "VCPU": Inventory(row["vcpus"]),
        "MEMORY_MB": Inventory(row["memory_mb"]),
        "DISK_GB": Inventory(row["local_gb"]),
    }


def _held(
    db: Session,
    flavor_id: str,
    host_ids: list[str] | None,
    window: timeline.Span,
    cleaning: datetime.timedelta,
) -> tuple[dict[str, list[Holding]], dict[str, list[timeline.Claim]]]:
    """By host, all if None, what it holds; and by reservation the flavor's slots it claims."""
    read = Claims(window, cleaning)
    held: dict[str, list[Holding]] = defaultdict(list)
    claims: dict[str, list[timeline.Claim]] = {}
    spans_of: dict[str, list[timeline.Span]] = {}
    resources_of: dict[tuple[str, str | None], Mapping[str, int] | None] = {}
    query = claiming(_allocations(flavor_id, host_ids, read), window, cleaning)
    for host_id, reservation_id, slots, resource_type, taken, *when in db.execute(query).all():
        spans = spans_of.get(reservation_id)
        if spans is None:
            spans = spans_of[reservation_id] = read.spans(*when)
            if slots is not None:
                claims[reservation_id] = [timeline.Claim(span, slots) for span in spans]
        if (resource_type, taken) not in resources_of:
            resources_of[resource_type, taken] = _resources(resource_type, taken)
        resources = resources_of[resource_type, taken]
        for span in spans:
            held[host_id].append(Holding(reservation_id, span, resources))
    return held, claims


def _virtual_instance() -> sa.ColumnElement[str]:
    """The amounts of Blazar's ``virtual:instance``; NULL if one is missing."""
    vcpus, memory, disk = (
        sa.cast(column, sa.String(20)) for column in (_I.c.vcpus, _I.c.memory_mb, _I.c.disk_gb)
    )
    return vcpus + " " + memory + " " + disk


#: What one allocation takes, as ``_resources`` reads it: a driver in Python pays for each column.
_TAKEN = (
    _R.c.resource_type,
    sa.case(
        (_W.c.id.is_not(None), _W.c.shape),
        (_R.c.resource_type == "virtual:instance", _virtual_instance()),
        (_R.c.resource_type == "flavor:instance", _I.c.resource_properties),
    ),
)


def _allocations(flavor_id: str, host_ids: list[str] | None, read: Claims) -> sa.Select[Any]:
    """Allocations: (host, reservation, slots if it is of the flavor, what is taken, when)."""
    of_flavor = _W.c.flavor_id == flavor_id
    query = sa.select(
        _A.c.compute_host_id,
        _A.c.reservation_id,
        sa.case((of_flavor, _W.c.instance_count)),
        *_TAKEN,
        *read.columns,
    ).select_from(
        _L.join(_R, _R.c.lease_id == _L.c.id)
        .join(_A, _A.c.reservation_id == _R.c.id)
        .outerjoin(_W, _W.c.reservation_id == _R.c.id)
        # Ours have such a row too, but nothing in it that we don't know.
        .outerjoin(_I, sa.and_(_I.c.reservation_id == _R.c.id, _W.c.id.is_(None)))
    )
    if host_ids is not None:
        # The flavor's slots are claimed also on hosts that match it no longer.
        query = query.where(sa.or_(_A.c.compute_host_id.in_(host_ids), of_flavor))
    return query


def _resources(resource_type: str, taken: str | None) -> Mapping[str, int] | None:
    """What one allocation row takes; None for the whole host, as for types we don't know."""
    if taken is None:
        return None
    if resource_type == "flavor:slot":
        return Shape.from_json(taken).resources
    if resource_type == "virtual:instance":
        vcpus, memory_mb, disk_gb = map(int, taken.split())
        return {"VCPU": vcpus, "MEMORY_MB": memory_mb, "DISK_GB": disk_gb}
    return _source_flavor_resources(taken)


def _source_flavor_resources(text: str | None) -> dict[str, int] | None:
    """What Blazar's flavor plugin keeps of the Nova flavor that was reserved, as resources."""
    try:
        source = json.loads(text or "")
        return Shape(
            vcpu=int(source["vcpus"]),
            memory_mb=int(source["ram"]),
            disk_gb=int(source["disk"]),
            ephemeral_gb=int(source["OS-FLV-EXT-DATA:ephemeral"]),
            extra_specs=source["extra_specs"],
            properties=None,
            availability_zone=None,
        ).resources
    except (ValueError, KeyError, TypeError):
        return None


def claim(db: Session, hosts: Iterable[Host]) -> None:
    """Move the generation of each host, provided it is still the one that was read.

    In order of id, so that two that claim the same hosts don't wait for each other.

    :raises session.LostRace: when another claim came between, or the host is no longer reservable.
    """
    for host in sorted(hosts, key=lambda h: h.id):
        _touch(db, host)
        moved = db.execute(
            _G.update()
            .where(_G.c.host_id == host.id, _G.c.generation == host.generation)
            .values(generation=host.generation + 1)
        )
        if moved.rowcount == 1:  # type: ignore[attr-defined]
            continue
        if host.generation:
            raise session.LostRace
        _first_claim(db, host)


def _touch(db: Session, host: Host) -> None:
    """Write a host's row in Blazar's table, provided that it is still reservable.

    Blazar moves no generation when it takes a host that has failed, or deletes one. Both write the
    same row: whichever comes first, the other waits for it or is refused when it commits.

    :raises session.LostRace:
    """
    now = timeutils.utcnow().replace(microsecond=0)
    # Galera certifies only rows that change, also when two bookings come within a second.
    later = now + datetime.timedelta(seconds=1)
    written = db.execute(
        _H.update()
        .where(_H.c.id == host.id, _H.c.reservable)
        .values(updated_at=sa.case((_H.c.updated_at == now, later), else_=now))
    )
    session.require(written)


def _first_claim(db: Session, host: Host) -> None:
    try:
        db.execute(_G.insert().values(host_id=host.id, generation=1))
    except db_exc.DBDuplicateEntry:
        raise session.LostRace from None


def allocate(db: Session, reservation_id: str, chosen: Mapping[str, int]) -> None:
    """Write Blazar's host allocations of a reservation anew: one row an instance."""
    release(db, reservation_id)
    rows = [
        {"id": str(uuid.uuid4()), "compute_host_id": host_id, "reservation_id": reservation_id}
        for host_id, count in chosen.items()
        for _ in range(count)
    ]
    db.execute(_A.insert(), rows)


def release(db: Session, reservation_id: str) -> None:
    """Give up all that a reservation claims: its hosts and so its slots."""
    db.execute(_A.delete().where(_A.c.reservation_id == reservation_id))


def allocated(db: Session, reservation_id: str) -> dict[str, int]:
    """Instances by host id of a reservation."""
    query = (
        sa.select(_A.c.compute_host_id, sa.func.count())
        .where(_A.c.reservation_id == reservation_id)
        .group_by(_A.c.compute_host_id)
    )
    return {host_id: count for host_id, count in db.execute(query)}


def still_ending(
    db: Session,
    reservation_ids: Collection[str],
    since: datetime.datetime,
    now: datetime.datetime,
) -> set[str]:
    """Those reservations on whose hosts another one is whose time is up and that isn't over.

    :param since: reservations whose time was up before that don't count.
    """
    other, host = _A.alias(), _A.c.compute_host_id
    query = (
        sa.select(_A.c.reservation_id)
        .distinct()
        .select_from(
            _A.join(other, other.c.compute_host_id == host)
            .join(_R, _R.c.id == other.c.reservation_id)
            .join(_L, _L.c.id == _R.c.lease_id)
        )
        .where(
            _A.c.reservation_id.in_(reservation_ids),
            other.c.reservation_id != _A.c.reservation_id,
            _L.c.end_date <= now,
            _L.c.end_date > since,
            _R.c.status != "deleted",
        )
    )
    return set(db.scalars(query))


def nova_names(db: Session, reservation_id: str) -> list[tuple[str, str, int]]:
    """(service host, hypervisor hostname, instances) of each host of a reservation."""
    query = (
        sa.select(_H.c.service_name, _H.c.hypervisor_hostname, sa.func.count())
        .join(_A, _A.c.compute_host_id == _H.c.id)
        .where(_A.c.reservation_id == reservation_id)
        .group_by(_H.c.service_name, _H.c.hypervisor_hostname)
    )
    return [(service, hypervisor, count) for service, hypervisor, count in db.execute(query)]
