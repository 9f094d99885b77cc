"""Makes hosts, flavors, leases and bookings for tests, in the way in which Blazar makes them."""

import dataclasses
import datetime
import itertools
import time
from collections.abc import Callable
from concurrent import futures
from typing import Any
from unittest import mock

import sqlalchemy as sa
from blazar.db import api as db_api
from blazar.db.sqlalchemy import models
from sqlalchemy.orm import Session

from tests.fakes.cloud import Cloud
from warre_blazar.db import generations, session, sql_functions, tables
from warre_blazar.db.hosts import host_providers
from warre_blazar.db.hosts.host_providers import Reading
from warre_blazar.db.running import backings
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.quota import Rule
from warre_blazar.domain.flavors.devices import NO_DEVICES, Rules
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.hosts.aggregates import NO_AGGREGATES, HostAggregates
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import admission, changing
from warre_blazar.services.flavors import bootable, flavors
from warre_blazar.services.running import backing, blazar_start_end

#: The present of these tests.
NOW = datetime.datetime(2100, 1, 1)
LONG_AGO = datetime.datetime(2000, 1, 1)
PROJECT = "project-alpha"
NO_CLEANING = datetime.timedelta(0)
#: A quota rule with the default options, which refuses nothing.
NO_QUOTA = Rule(frozenset({"flavor:slot"}), enforced=False)
QUOTA = dataclasses.replace(NO_QUOTA, enforced=True)

_numbers = itertools.count(1)


def hours(start: float, end: float) -> Span:
    """A span between two times that are given in hours from the present."""
    return Span(NOW + datetime.timedelta(hours=start), NOW + datetime.timedelta(hours=end))


def add_host(
    cloud: Cloud | None,
    name: str,
    *,
    vcpus: int = 16,
    memory_mb: int = 65536,
    disk_gb: int = 1000,
    zone: str = "nova",
    properties: dict[str, str] | None = None,
    traits: tuple[str, ...] = (),
    more: dict[str, dict[str, Any]] | None = None,
    reservable: bool = True,
    children: tuple[Provider, ...] | None = (),
    aggregates: HostAggregates = NO_AGGREGATES,
) -> str:
    """Add a host to Blazar and to the cloud, and return its id in Blazar.

    :param more: by resource class, an inventory, or the values in which it differs from the usual.
    :param children: the providers below the host's own that are stored; None: nothing is stored
        about the host's providers.
    """
    if cloud is not None:
        cloud.placement.traits.update(traits)
    host_id = str(next(_numbers))
    totals = {"VCPU": vcpus, "MEMORY_MB": memory_mb, "DISK_GB": disk_gb}
    inventories = {cls: {"total": total} for cls, total in totals.items()}
    for cls, changes in (more or {}).items():
        inventories[cls] = {**inventories.get(cls, {"total": 0}), **changes}
    complete = {cls: {**_usual(inventory), **inventory} for cls, inventory in inventories.items()}
    with session.writer() as db:
        db.add(
            models.ComputeHost(
                id=host_id,
                vcpus=vcpus,
                cpu_info="",
                hypervisor_type="QEMU",
                hypervisor_version=1,
                hypervisor_hostname=name,
                service_name=name,
                memory_mb=memory_mb,
                local_gb=disk_gb,
                status="up",
                availability_zone=zone,
                trust_id="trust",
                reservable=reservable,
            )
        )
        # The models have no relationship that would say which rows come first.
        db.flush()
        for cls, inventory in complete.items():
            of_host = {"computehost_id": host_id, "resource_class": cls}
            db.add(models.ComputeHostResourceInventory(**of_host, **inventory))
        db.add_all(models.ComputeHostTrait(computehost_id=host_id, trait=t) for t in traits)
    if cloud is not None:
        cloud.nova.hypervisors[name] = host_id
    for key, value in (properties or {}).items():
        db_api.host_extra_capability_create(
            {"computehost_id": host_id, "property_name": key, "capability_value": value}
        )
    provider_id = f"provider-{host_id}"
    if cloud is not None:
        provider_id = cloud.add_host(name, *traits, inventories=complete)
    if children is not None:
        whole = {cls: Inventory(**inventory) for cls, inventory in complete.items()}
        root = Provider(provider_id, name, None, whole, frozenset(traits))
        store_providers(host_id, (root, *children), zone, aggregates)
    return host_id


def store_providers(
    host_id: str,
    tree: tuple[Provider, ...],
    zone: str | None = "nova",
    aggregates: HostAggregates = NO_AGGREGATES,
) -> None:
    """Store a host's providers for the first time, as if they had been read."""
    with session.writer() as db:
        db.execute(
            tables.host_providers.insert().values(
                host_id=host_id,
                **host_providers.row(Reading(tree, zone, aggregates), LONG_AGO),
            )
        )
        generations.outdate_host(db, host_id)


def _usual(inventory: dict[str, Any]) -> dict[str, Any]:
    """The values that an inventory has if nothing else is said."""
    return {
        "reserved": 0,
        "min_unit": 1,
        "max_unit": inventory["total"],
        "step_size": 1,
        "allocation_ratio": 1.0,
    }


def add_flavor(device_rules: Rules = NO_DEVICES, **changes: Any) -> Flavor:
    """Add a public flavor with, by default, 1 slot, 2 VCPUs, 2 GiB of memory and 20 + 0 GB.

    Nova and Placement aren't asked whether its servers could boot.
    """
    usual = {
        "name": f"flavor-{next(_numbers)}",
        "description": None,
        "vcpu": 2,
        "memory_mb": 2048,
        "disk_gb": 20,
        "ephemeral_gb": 0,
        "extra_specs": {},
        "properties": None,
        "availability_zone": None,
        "slots": 1,
        "max_length_hours": 1000,
        "start": None,
        "end": None,
        "category": None,
        "is_public": True,
        "active": True,
    }
    with mock.patch.object(bootable, "check", lambda shape: bootable.BootCheck()):
        return flavors.create({**usual, **changes}, NOW, device_rules).flavor


@dataclasses.dataclass(frozen=True)
class Lease:
    """A lease with one reservation."""

    id: str
    reservation_id: str
    span: Span


def add_lease(
    span: Span,
    *,
    project_id: str = PROJECT,
    resource_type: str = "flavor:slot",
    status: str = "CREATING",
) -> Lease:
    """Add the rows of a lease and its reservation that Blazar writes before it calls the plugin."""
    lease = db_api.lease_create(
        {
            "name": f"lease-{next(_numbers)}",
            "user_id": "user",
            "project_id": project_id,
            "trust_id": None if resource_type == "flavor:slot" else "trust",
            "start_date": span.start,
            "end_date": span.end,
            "status": status,
        }
    )
    reservation = db_api.reservation_create(
        {"lease_id": lease["id"], "resource_type": resource_type, "status": "pending"}
    )
    return Lease(lease["id"], reservation["id"], span)


def settle(lease: Lease, resource_id: str | None, status: str = "PENDING") -> None:
    """Write what Blazar writes after the plugin has booked."""
    db_api.reservation_update(lease.reservation_id, {"resource_id": resource_id})
    times = {"start_lease": lease.span.start, "end_lease": lease.span.end}
    for event, due in times.items():
        db_api.event_create(
            {"lease_id": lease.id, "event_type": event, "time": due, "status": "UNDONE"}
        )
    set_status(lease, status)


def set_status(lease: Lease, status: str) -> None:
    """Set the statuses of a lease and its reservation."""
    write_lease(lease.id, {"status": status})
    of_reservation = {"ACTIVE": "active", "PENDING": "pending", "TERMINATED": "deleted"}
    if status in of_reservation:
        db_api.reservation_update(lease.reservation_id, {"status": of_reservation[status]})


def outdate_hosts(db: Session) -> None:
    """Change the generations of all hosts, after rows were written by hand."""
    generations.outdate(db, db.scalars(sa.select(tables.compute_hosts.c.id)).all())


def write_by_hand(*statements: sa.Executable) -> None:
    """Write rows of hosts by SQL statements, and change the generations of all hosts."""
    with session.writer() as db:
        for statement in statements:
            db.execute(statement)
        outdate_hosts(db)


def write_lease(lease_id: str, values: dict[str, Any]) -> None:
    """Write values to a lease's row, whatever Blazar or this package would say to them."""
    with session.writer() as db:
        same = tables.leases.c.id == lease_id
        db.execute(tables.leases.update().where(same).values(values))
        if {"start_date", "end_date"} & values.keys():
            outdate_hosts(db)


def conditions(
    cleaning: datetime.timedelta = NO_CLEANING, rule: Rule = NO_QUOTA
) -> BookingConditions:
    """The booking conditions for a caller without special roles."""
    return BookingConditions(cleaning, rule)


def request(
    flavor: Flavor | str,
    span: Span,
    count: int = 1,
    *,
    project_id: str = PROJECT,
    cleaning: datetime.timedelta = NO_CLEANING,
    now: datetime.datetime = NOW,
    rule: Rule = NO_QUOTA,
) -> admission.BookingRequest:
    """A request for a booking."""
    ref = flavor if isinstance(flavor, str) else flavor.id
    return admission.BookingRequest(project_id, ref, count, span, now, conditions(cleaning, rule))


def book(wanted: admission.BookingRequest, lease: Lease | None = None) -> Lease:
    """Book, and make the backing, as a manager does shortly before the start."""
    booked = plan(wanted, lease)
    backing.make_planned(booked.reservation_id)
    return booked


def plan(wanted: admission.BookingRequest, lease: Lease | None = None) -> Lease:
    """Book as Blazar's manager does, with its rollback after a failure.

    :param lease: a lease that ``add_lease`` has added; None: add one.
    """
    lease = lease or add_lease(wanted.span, project_id=wanted.project_id)
    try:
        resource_id = admission.book(lease.reservation_id, wanted)
    except Exception:
        db_api.lease_destroy(lease.id)
        raise
    settle(lease, resource_id)
    return lease


def phase(lease: Lease) -> str | None:
    """The phase of the lease's backing, or None if there is no note of a backing."""
    with session.reader() as db:
        note = backings.get(db, lease.reservation_id)
    return note.phase.value if note else None


def set_event(lease: Lease, event_type: str, to: str) -> None:
    """Set the status of a lease's event."""
    event = db_api.event_get_first_sorted_by_filters(
        "lease_id", "asc", {"lease_id": lease.id, "event_type": event_type}
    )
    db_api.event_update(event["id"], {"status": to})


def begin(lease: Lease) -> None:
    """Start a lease as Blazar's executor does."""
    set_status(lease, "STARTING")
    blazar_start_end.start(lease.reservation_id, lease.span.start)
    set_status(lease, "ACTIVE")


def finish(lease: Lease, patience: float = 10) -> None:
    """End a lease as Blazar's executor does."""
    set_status(lease, "TERMINATING")
    blazar_start_end.end(lease.reservation_id, patience, lease.span.end)
    set_status(lease, "TERMINATED")


def move(
    lease: Lease,
    span: Span,
    cleaning: datetime.timedelta = NO_CLEANING,
    rule: Rule = NO_QUOTA,
    count: int | None = None,
) -> Lease:
    """Move a lease as Blazar's manager does, which sets the status back after a refusal."""
    before = db_api.lease_get(lease.id)["status"]
    write_lease(lease.id, {"status": "UPDATING"})
    try:
        changing.move(lease.reservation_id, span, conditions(cleaning, rule), NOW, count)
    except exceptions.WarreError:
        write_lease(lease.id, {"status": before})
        raise
    write_dates(lease, span)
    write_lease(lease.id, {"status": before})
    return dataclasses.replace(lease, span=span)


def write_dates(lease: Lease, span: Span) -> None:
    """Write new dates of a lease and its events."""
    write_same_dates([lease], span)


def write_same_dates(leases: list[Lease], span: Span) -> None:
    """Write the same new dates of several leases and their events, in one transaction."""
    ids = [lease.id for lease in leases]
    events = tables.events
    with session.writer() as db:
        for kind, due in (("start_lease", span.start), ("end_lease", span.end)):
            same = (events.c.lease_id.in_(ids), events.c.event_type == kind)
            db.execute(events.update().where(*same).values(time=due))
        dates = {"start_date": span.start, "end_date": span.end}
        db.execute(tables.leases.update().where(tables.leases.c.id.in_(ids)).values(dates))
        outdate_hosts(db)


def add_stock(
    host_ids: list[str],
    span: Span,
    resource_type: str,
    *,
    vcpus: int = 2,
    memory_mb: int = 2048,
    disk_gb: int = 20,
    source: str | None = None,
) -> Lease:
    """Add a lease of a stock plugin, with an allocation on each of ``host_ids``.

    :param source: the JSON of the Nova flavor, for flavor:instance.
    """
    lease = add_lease(span, resource_type=resource_type)
    if resource_type == "physical:host":
        made = db_api.host_reservation_create(
            {
                "reservation_id": lease.reservation_id,
                "count_range": "1-1",
                "hypervisor_properties": "",
                "resource_properties": "",
                "before_end": "default",
            }
        )
    else:
        made = db_api.instance_reservation_create(
            {
                "reservation_id": lease.reservation_id,
                "vcpus": vcpus,
                "memory_mb": memory_mb,
                "disk_gb": disk_gb,
                "amount": len(host_ids),
                "affinity": None,
                "resource_properties": source if source is not None else "",
            }
        )
    for host_id in host_ids:
        db_api.host_allocation_create(
            {"compute_host_id": host_id, "reservation_id": lease.reservation_id}
        )
    settle(lease, made["id"])
    return lease


def age_promise(lease: Lease, seconds: int) -> None:
    """Make a reservation's promise older, by the database's clock."""
    with session.writer() as db:
        now = db.execute(sa.select(sql_functions.utc_now())).scalar_one()
        then = now - datetime.timedelta(seconds=seconds)
        is_this_reservation = tables.bookings.c.reservation_id == lease.reservation_id
        db.execute(tables.bookings.update().where(is_this_reservation).values(promised_at=then))


def until(probe: Callable[[], bool], seconds: float = 120, what: str = "a condition") -> None:
    """Wait until a condition holds that must come to hold."""
    deadline = time.monotonic() + seconds
    while not probe():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.05)


def is_anybodys_turn() -> bool:
    """Whether another thread of this process could book at this moment."""
    lock: Any = session.claims_lock

    def take() -> bool:
        is_free = lock.acquire(blocking=False)
        if is_free:
            lock.release()
        return bool(is_free)

    with futures.ThreadPoolExecutor(1) as other:
        return other.submit(take).result()
