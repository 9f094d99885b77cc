"""A snapshot of reservable hosts with all that they hold, in a constant number of queries."""

import datetime
import json
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from blazar.db.sqlalchemy import models as blazar
from oslo_db import exception as db_exc
from sqlalchemy.orm import Session

from warre_blazar.db import models, session
from warre_blazar.db.reservations import (
    CLAIM_COLUMNS,
    NO_TIME,
    claimed_during,
    claimed_spans,
    claiming_leases,
    in_order,
)
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


def snapshot(
    db: Session,
    shape: Shape,
    window: timeline.Span,
    cleaning: datetime.timedelta = NO_TIME,
) -> list[Host]:
    """The reservable hosts that match a shape, with what they hold at some time of the window.

    :param cleaning: what each reservation holds after its end.
    """
    bare = _bare_hosts(db)
    matching = [host for host in bare if host.matches(shape)]
    # A thousand ids in a query cost more than the few allocations they leave out.
    some = [host.id for host in matching] if len(matching) < len(bare) / 2 else None
    held = _holdings(db, some, window, cleaning)
    return [
        Host(
            id=h.id,
            name=h.name,
            availability_zone=h.availability_zone,
            properties=h.properties,
            inventories=h.inventories,
            traits=h.traits,
            holdings=held[h.id],
            generation=h.generation,
        )
        for h in matching
    ]


def _bare_hosts(db: Session) -> list[Host]:
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


def _holdings(
    db: Session, host_ids: list[str] | None, window: timeline.Span, cleaning: datetime.timedelta
) -> dict[str, list[Holding]]:
    """What hosts, all if None, hold at some time of the window."""
    some = claiming_leases(window, cleaning)
    query = (
        sa.select(
            _A.c.compute_host_id,
            _A.c.reservation_id,
            _R.c.resource_type,
            _I.c.vcpus,
            _I.c.memory_mb,
            _I.c.disk_gb,
            _I.c.resource_properties,
            _W.c.shape,
            *CLAIM_COLUMNS,
        )
        .select_from(
            some.join(_L, _L.c.id == some.c.id)
            .join(_R, _R.c.lease_id == _L.c.id)
            .join(_A, _A.c.reservation_id == _R.c.id)
            .outerjoin(_I, _I.c.reservation_id == _R.c.id)
            .outerjoin(_W, _W.c.reservation_id == _R.c.id)
        )
        .where(claimed_during(window, cleaning))
    )
    if host_ids is not None:
        query = query.where(_A.c.compute_host_id.in_(host_ids))
    held: dict[str, list[Holding]] = defaultdict(list)
    for row in db.execute(in_order(query)):
        resources = _held_resources(row)
        for span in claimed_spans(row[-len(CLAIM_COLUMNS) :], cleaning):
            held[row.compute_host_id].append(Holding(row.reservation_id, span, resources))
    return held


def _held_resources(row: Any) -> Mapping[str, int] | None:
    """What one allocation row takes; None for the whole host, as for types we don't know."""
    if row.shape is not None:
        return Shape.from_json(row.shape).resources
    if row.resource_type == "virtual:instance" and row.vcpus is not None:
        return {"VCPU": row.vcpus, "MEMORY_MB": row.memory_mb, "DISK_GB": row.disk_gb}
    if row.resource_type == "flavor:instance":
        return _source_flavor_resources(row.resource_properties)
    return None


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

    :raises session.LostRace: when another claim came between.
    """
    for host in sorted(hosts, key=lambda h: h.id):
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


def nova_names(db: Session, reservation_id: str) -> list[tuple[str, str, int]]:
    """(service host, hypervisor hostname, instances) of each host of a reservation."""
    query = (
        sa.select(_H.c.service_name, _H.c.hypervisor_hostname, sa.func.count())
        .join(_A, _A.c.compute_host_id == _H.c.id)
        .where(_A.c.reservation_id == reservation_id)
        .group_by(_H.c.service_name, _H.c.hypervisor_hostname)
    )
    return [(service, hypervisor, count) for service, hypervisor, count in db.execute(query)]
