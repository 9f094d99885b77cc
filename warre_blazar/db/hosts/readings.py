"""Reads host allocations and what they take of their hosts.

Any number of hosts takes one query. If instances have a choice of providers, the same query reads
which providers they are on.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from warre_blazar.db.booking.claims import Claims
from warre_blazar.db.tables import (
    allocations,
    assignments,
    bookings,
    instance_reservations,
    leases,
    reservations,
)
from warre_blazar.domain import timeline
from warre_blazar.domain.flavors import devices
from warre_blazar.domain.flavors.devices import Rules
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE, Shape
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Holding


def _virtual_instance() -> sa.ColumnElement[str]:
    """The amounts of a ``virtual:instance`` reservation as one text. NULL: an amount is missing."""
    vcpus, memory, disk = (
        sa.cast(column, sa.String(20))
        for column in (
            instance_reservations.c.vcpus,
            instance_reservations.c.memory_mb,
            instance_reservations.c.disk_gb,
        )
    )
    return vcpus + " " + memory + " " + disk


#: The resource type and what one allocation takes, in the form that ``_request`` reads. All
#: resource types share one column for the amounts, because a database driver written in Python
#: takes time for each further column.
_TAKEN = (
    reservations.c.resource_type,
    sa.case(
        (bookings.c.id.is_not(None), bookings.c.shape),
        (reservations.c.resource_type == "virtual:instance", _virtual_instance()),
        (
            reservations.c.resource_type == "flavor:instance",
            instance_reservations.c.resource_properties,
        ),
    ),
)

#: Which instance it is, and what it takes of one provider.
_PLACES = (
    allocations.c.id,
    assignments.c.provider_id,
    assignments.c.resource_class,
    assignments.c.amount,
)


class AllocationReading:
    """Reads host allocations and what they take."""

    def __init__(
        self,
        hosts: Iterable[BookableHost],
        claims: Claims,
        device_rules: Rules,
    ) -> None:
        """
        :param hosts: hosts on which the allocations may be.
        :param claims: reads the times.
        """
        self._hosts = {host.id: host for host in hosts}
        self._claims, self._device_rules = claims, device_rules
        #: Whether to read on which providers instances are.
        self.places = any(host.has_choices for host in self._hosts.values())

    def query(self, of_flavor: sa.ColumnElement[bool]) -> sa.Select[Any]:
        """A query of host allocations.

        The columns are the host's id, the reservation's id, the flavor's id, the number of slots,
        ``_TAKEN``, the times, and, if ``places``, ``_PLACES``. An instance that is on several
        providers has a row for each of them.

        :param of_flavor: the condition that a reservation's slots are read. For other reservations,
            the flavor's id and the number of slots are NULL.
        """
        source = (
            leases.join(reservations, reservations.c.lease_id == leases.c.id)
            .join(allocations, allocations.c.reservation_id == reservations.c.id)
            .outerjoin(bookings, bookings.c.reservation_id == reservations.c.id)
            # flavor:slot reservations have a row in instance_reservations too, but it isn't joined:
            # their row in ``bookings`` says what they take.
            .outerjoin(
                instance_reservations,
                sa.and_(
                    instance_reservations.c.reservation_id == reservations.c.id,
                    bookings.c.id.is_(None),
                ),
            )
        )
        if self.places:
            source = source.outerjoin(assignments, assignments.c.allocation_id == allocations.c.id)
        return sa.select(
            allocations.c.compute_host_id,
            allocations.c.reservation_id,
            sa.case((of_flavor, bookings.c.flavor_id)),
            sa.case((of_flavor, bookings.c.instance_count)),
            *_TAKEN,
            *self._claims.columns,
            *(_PLACES if self.places else ()),
        ).select_from(source)

    def rows(
        self, rows: Sequence[Any]
    ) -> tuple[dict[str, list[Holding]], dict[str, dict[str, list[timeline.Claim]]]]:
        """What is booked on hosts, and what is booked of flavors.

        :param rows: the rows of ``query``.
        :returns: the holdings by host id, and the claims on slots by flavor id and reservation id.
        """
        held: dict[str, list[Holding]] = defaultdict(list)
        claims: dict[str, dict[str, list[timeline.Claim]]] = defaultdict(dict)
        spans_of: dict[str, list[timeline.Span]] = {}
        requests_of: dict[tuple[str, str | None], PlacementRequest | None] = {}
        for row, stored in self._instances(rows):
            host_id, reservation_id, flavor_id, slots, resource_type, taken, *when = row
            spans = spans_of.get(reservation_id)
            if spans is None:
                spans = spans_of[reservation_id] = self._claims.spans(*when)
                if flavor_id is not None:
                    claims[flavor_id][reservation_id] = [
                        timeline.Claim(span, slots) for span in spans
                    ]
            if (resource_type, taken) not in requests_of:
                request = _request(resource_type, taken, self._device_rules)
                requests_of[resource_type, taken] = request
            request = requests_of[resource_type, taken]
            host = self._hosts.get(host_id) if stored else None
            places = host.stored_places(request, stored) if host else None
            for span in spans:
                held[host_id].append(Holding(reservation_id, span, request, places))
        return held, claims

    def _instances(self, rows: Sequence[Any]) -> Iterable[tuple[Any, Sequence[Any]]]:
        """Each instance once: its row without ``_PLACES``, and what it takes of each provider."""
        if not self.places:
            return ((row, ()) for row in rows)
        width = len(_PLACES)
        by_id: dict[str, tuple[Any, list[Any]]] = {}
        for row in rows:
            allocation_id, *place = row[-width:]
            _, stored = by_id.setdefault(allocation_id, (row[:-width], []))
            if place[0] is not None:
                stored.append(place)
        return by_id.values()


def _request(resource_type: str, taken: str | None, device_rules: Rules) -> PlacementRequest | None:
    """What one allocation takes.

    None means the whole host. This is also assumed for unknown resource types.
    """
    if taken is None:
        return None
    if resource_type == RESOURCE_TYPE:
        return Shape.from_json(taken).request
    if resource_type == "virtual:instance":
        vcpus, memory_mb, disk_gb = map(int, taken.split())
        return PlacementRequest.plain({"VCPU": vcpus, "MEMORY_MB": memory_mb, "DISK_GB": disk_gb})
    return source_flavor_request(taken, device_rules)


def source_flavor_request(text: str | None, device_rules: Rules) -> PlacementRequest | None:
    """What one instance of a ``flavor:instance`` reservation takes. None: it can't be told.

    :param text: the instance's Nova flavor, which Blazar's flavor plugin has recorded as JSON.
    """
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
            device_groups=devices.known_groups(source["extra_specs"], device_rules),
        ).request
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
