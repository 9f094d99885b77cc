"""Flavors and shapes: what an operator offers, and what one instance takes from a host."""

import dataclasses
import datetime
import functools
import json
from collections.abc import Hashable, Mapping
from typing import Any, Self

from warre_blazar import times
from warre_blazar.domain.flavors import extra_specs_check, nova_requests, request_groups
from warre_blazar.domain.hosts import host_properties

#: The name of this package's resource type in Blazar: a slot of a flavor.
RESOURCE_TYPE = "flavor:slot"
#: Blazar's resource type of which reservations can be beside those of this package in a lease. Then
#: this package starts and ends all of them.
BESIDE = "flavor:instance"


@dataclasses.dataclass(frozen=True)
class Shape:
    """The size of one instance and what its host must have.

    A reservation keeps the shape that it was booked with, even if the flavor changes later.
    ``vcpu`` is a number of virtual CPUs, ``memory_mb`` is in MiB, ``disk_gb`` and ``ephemeral_gb``
    are in GiB.
    """

    vcpu: int
    memory_mb: int
    disk_gb: int
    ephemeral_gb: int
    extra_specs: Mapping[str, str]
    properties: str | None
    availability_zone: str | None
    #: The request groups of the devices that the extra specs name, one group for each device. The
    #: devices were resolved when the flavor was made or changed.
    device_groups: tuple[request_groups.Group, ...] = ()

    @classmethod
    @functools.lru_cache(maxsize=4096)
    def from_json(cls, text: str) -> Self:
        """The shape that ``to_json`` wrote as ``text``.

        The result is cached, because thousands of reservations share a few shapes.
        """
        values = json.loads(text)
        groups = values.pop("device_groups", ())
        return cls(**values, device_groups=tuple(map(request_groups.Group.from_dict, groups)))

    @classmethod
    def of_source_flavor(cls, text: str) -> Self:
        """The shape of a Nova flavor as Blazar's flavor plugin has stored it."""
        source = json.loads(text)
        ephemeral = source["OS-FLV-EXT-DATA:ephemeral"]
        sizes = (source["vcpus"], source["ram"], source["disk"], ephemeral)
        return cls(
            *sizes, extra_specs=source["extra_specs"], properties=None, availability_zone=None
        )

    def to_json(self) -> str:
        """The whole shape as JSON. Equal shapes give equal texts."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        groups = [group.to_dict() for group in values.pop("device_groups")]
        # If there are no devices, the key ``device_groups`` is left out. So shapes without devices
        # have the same text as before this key existed.
        return json.dumps(values | ({"device_groups": groups} if groups else {}), sort_keys=True)

    @functools.cached_property
    def request(self) -> request_groups.PlacementRequest:
        """What one instance needs from a host, in the form of Nova's request to Placement."""
        sizes = {
            "VCPU": self.vcpu,
            "MEMORY_MB": self.memory_mb,
            "DISK_GB": self.disk_gb + self.ephemeral_gb,
        }
        return nova_requests.request(sizes, self.extra_specs, self.device_groups)

    @functools.cached_property
    def aggregate_specs(self) -> tuple[tuple[str, str], ...]:
        """The keys and values that the metadata of a host's aggregates must have."""
        return nova_requests.aggregate_specs(self.extra_specs)

    @functools.cached_property
    def host_conditions(self) -> Hashable:
        """All in a shape on which ``BookableHost.matches`` depends."""
        request = None if self.request.is_plain else self.request
        comparisons = tuple(self.comparisons)
        return self.availability_zone, comparisons, self.aggregate_specs, request

    @functools.cached_property
    def comparisons(self) -> list[host_properties.Comparison]:
        """The comparisons that a host's properties must satisfy."""
        return host_properties.parse(self.properties)


@dataclasses.dataclass(frozen=True)
class Flavor:
    """What an operator offers for booking.

    ``start`` and ``end`` are naive datetimes in UTC; None means that there is no bound.
    """

    id: str
    name: str
    shape: Shape
    slots: int
    max_length_hours: int
    start: datetime.datetime | None
    end: datetime.datetime | None
    is_public: bool
    active: bool
    #: The fields that no rule reads, such as the description, by name.
    texts: Mapping[str, str | None]
    generation: int = 0
    #: Reservations must end within so many days. None: there is no such limit.
    max_days_ahead: int | None = None
    #: Reservations must begin at least so many hours after they are booked.
    notice_hours: int = 0
    #: The text of ``domain.booking.weekly_hours``. None: also long reservations lie at any time.
    weekly_hours: str | None = None
    #: A reservation can be extended only when at most so many hours are left. None: always.
    extend_within_hours: int | None = None
    #: The number of instances that one project can hold at the same time. None: any number.
    max_instances_per_project: int | None = None
    #: The hours that must pass between two reservations of a project. None: they may overlap.
    gap_hours: int | None = None
    #: After how many hours without a server the users of a running reservation are warned, and
    #: after how many it ends. None: never.
    idle_warn_hours: int | None = None
    idle_end_hours: int | None = None
    #: What is done with servers before the end of a reservation. None: what the site's
    #: configuration says.
    before_end: str | None = None
    #: Whether users may choose otherwise for a reservation.
    before_end_choice: bool = False
    #: Whether a Nova flavor shows it, on which no server boots.
    show_in_nova: bool = False

    @property
    def values(self) -> dict[str, Any]:
        """All of its values, with those of its shape and its texts."""
        return {**vars(self.shape), **self.texts, **vars(self)}

    @property
    def gap(self) -> datetime.timedelta:
        """The time that must pass between two reservations of a project."""
        return (self.gap_hours or 0) * times.HOUR

    @property
    def has_project_terms(self) -> bool:
        """Whether other reservations of a project decide whether it may book the flavor."""
        return self.max_instances_per_project is not None or self.gap_hours is not None

    @property
    def max_length(self) -> datetime.timedelta:
        """The longest time of one reservation."""
        return self.max_length_hours * times.HOUR


def check_extra_specs(extra_specs: Mapping[str, str], vcpu: int | None = None) -> None:
    """Refuse extra specs that Nova or Placement would refuse later, when a booking uses them.

    :param vcpu: the flavor's number of virtual CPUs. If it is None, this function doesn't check
        whether the extra specs fit the number.
    :raises ValueError: an extra spec is wrong. The error says what was expected.
    """
    extra_specs_check.check(extra_specs)
    if vcpu is not None:
        extra_specs_check.check_cpus(vcpu, extra_specs)


@dataclasses.dataclass(frozen=True)
class ProjectAccess:
    """A project's right to book a private flavor."""

    id: str
    flavor_id: str
    project_id: str
