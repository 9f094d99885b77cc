"""Charges of leases, made of what Blazar passes to filters."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from oslo_serialization import jsonutils
from oslo_utils import strutils

from warre_blazar.db.hosts import readings
from warre_blazar.domain.credits.charges import Charge, ChargedReservation, Host
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.domain.timeline import Span
from warre_blazar.openstack import nova
from warre_blazar.services.booking.admission import BookingDecision
from warre_blazar.site_rules import conditions

_Values = Mapping[str, Any]

#: The types that take hosts. Others, such as floating IPs, cost no credits.
CHARGED_TYPES = ("flavor:instance", RESOURCE_TYPE, "physical:host", "virtual:instance")

#: What services read of a host, if Blazar has it. ``su_factor`` is an extra capability.
_OF_HOST = ("id", "hypervisor_hostname", "vcpus", "su_factor")


def of_new(
    lease: _Values, lease_id: str, ids: Iterable[str], decisions: Iterable[BookingDecision]
) -> Charge:
    """The charge of a new lease.

    :param lease: what Blazar passes to ``check_create``.
    :param ids: the ids that its reservations will have.
    :param decisions: what was decided about its reservations of this package, in their order.
    """
    decided = iter(decisions)
    reservations = tuple(
        _of_decision(next(decided), each, reservation_id)
        if each["resource_type"] == RESOURCE_TYPE
        else _of_stock(each, reservation_id)
        for each, reservation_id in zip(lease["reservations"], ids, strict=True)
        if each["resource_type"] in CHARGED_TYPES
    )
    span = Span(lease["start_date"], lease["end_date"])
    return Charge(lease_id, str(lease["name"]), span, reservations)


def amounts_of_change(lease: _Values) -> dict[str, int]:
    """The new numbers of instances that a change asks for, by the reservation's id.

    A number that isn't valid is left out. The plugin refuses it.
    """
    found = ((r.get("id"), str(r.get("amount", ""))) for r in lease["reservations"])
    return {str(i): int(text) for i, text in found if text.isascii() and text.isdigit()}


def _of_decision(
    decision: BookingDecision, values: _Values, reservation_id: str
) -> ChargedReservation:
    flavor, place = decision.flavor, decision.require()
    shape = flavor.shape
    by_id = {host.id: {**host.properties, "id": host.id} for host in place.hosts}
    hosts = (by_id[host_id] for host_id, n in place.chosen.items() for _ in range(n))
    size = {"vcpus": shape.vcpu, "ram": shape.memory_mb, "disk": shape.disk_gb}
    return ChargedReservation(
        id=reservation_id,
        resource_type=values["resource_type"],
        amount=decision.request.count,
        flavor_id=flavor.id,
        affinity=decision.request.affinity,
        resources=shape.request.amounts,
        vcpus=shape.vcpu,
        memory_mb=shape.memory_mb,
        disk_gb=shape.disk_gb,
        properties={"id": flavor.id, "name": flavor.name, **size},
        hosts=[_host(each) for each in hosts],
    )


def _of_stock(values: _Values, reservation_id: str) -> ChargedReservation:
    """The charge of a reservation of one of Blazar's types. Its plugin has checked the values.

    If a lease has several reservations of a type, Blazar passes the last one's hosts for each.
    """
    if values["resource_type"] == "physical:host":
        return _of_whole_hosts(values, reservation_id)
    amount = int(values["amount"])
    if values["resource_type"] == "flavor:instance":
        source: _Values | None = nova.flavor(str(values["flavor_id"]))
        assert source is not None
        sizes = {"vcpus": source["vcpus"], "memory_mb": source["ram"], "disk_gb": source["disk"]}
        rules = conditions.device_rules_of_stock()
        request = readings.source_flavor_request(jsonutils.dumps(source), rules)
        resources = dict(request.amounts) if request else _plain(sizes)
    else:
        source = None
        sizes = {name: int(values[name]) for name in ("vcpus", "memory_mb", "disk_gb")}
        resources = _plain(sizes)
    hosts = itertools.islice(itertools.cycle(values["allocations"]), amount)
    return ChargedReservation(
        id=reservation_id,
        resource_type=values["resource_type"],
        amount=amount,
        flavor_id=str(values.get("flavor_id", "")) or values["resource_type"],
        affinity=strutils.bool_from_string(values.get("affinity"), default=None),
        resources=resources,
        **sizes,
        properties=source,
        hosts=[_host(each) for each in hosts],
    )


def _of_whole_hosts(values: _Values, reservation_id: str) -> ChargedReservation:
    """The charge of a reservation of whole hosts, each of which costs what they cost on average."""
    hosts = values["allocations"]
    number = max(len(hosts), 1)
    columns = {"vcpus": "vcpus", "memory_mb": "memory_mb", "disk_gb": "local_gb"}
    sums = {name: sum(h[column] for h in hosts) for name, column in columns.items()}
    sizes = {name: total // number for name, total in sums.items()}
    return ChargedReservation(
        id=reservation_id,
        resource_type=values["resource_type"],
        amount=len(hosts),
        flavor_id=values["resource_type"],
        affinity=None,
        resources={name: total / number for name, total in _plain(sums).items()},
        **sizes,
        properties=None,
        hosts=[_host(each) for each in hosts],
    )


def _plain(sizes: Mapping[str, int]) -> dict[str, float]:
    names = {"vcpus": "VCPU", "memory_mb": "MEMORY_MB", "disk_gb": "DISK_GB"}
    return {names[name]: size for name, size in sizes.items()}


def _host(values: _Values) -> Host:
    return dict(_parts(values))


def _parts(values: _Values) -> Iterator[tuple[str, Any]]:
    yield from ((name, values[name]) for name in _OF_HOST if values.get(name) is not None)
