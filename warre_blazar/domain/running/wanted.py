"""What Nova and Placement hold for a reservation: as it is wanted, as it is noted, as it is.

``wanted`` says once what must be there at each moment of a reservation's life. ``noted`` says what
our note lets us expect there. What Nova and Placement answer has the same form. ``steps`` in
``domain.running.steps`` makes one of the other.
"""

import dataclasses
import enum
from collections.abc import Iterable, Mapping
from typing import Any, Self

from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.backing import Note, Phase


@dataclasses.dataclass(frozen=True)
class HostUse:
    """A host on which a reservation has instances."""

    host_id: str
    #: The host's name in Nova's aggregates.
    service_name: str
    #: The name of the host's resource provider in Placement.
    hypervisor: str
    instances: int
    reservable: bool = dataclasses.field(default=True, compare=False)


@dataclasses.dataclass(frozen=True)
class NovaFlavor:
    """A Nova flavor of a reservation."""

    id: str
    name: str
    vcpus: int
    ram: int
    disk: int
    ephemeral: int
    is_public: bool
    extra_specs: Mapping[str, str]
    #: The ids of the projects that may use the Nova flavor.
    projects: frozenset[str]


@dataclasses.dataclass(frozen=True)
class NovaAggregate:
    """The aggregate of a reservation. ``hosts`` are host names of compute services."""

    #: None: Nova gives the id, or it isn't known.
    id: int | None
    name: str
    hosts: frozenset[str]
    metadata: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Backing:
    """What Nova and Placement hold for a reservation."""

    flavor: NovaFlavor | None = None
    aggregate: NovaAggregate | None = None
    resource_class: str | None = None
    #: The inventories of the resource class, by the name of their provider.
    inventories: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    #: The ids of servers. None: there may be any servers on the Nova flavor.
    servers: frozenset[str] | None = frozenset()


NOTHING = Backing()


class Moment(enum.IntEnum):
    """A moment in a reservation's life. At each of these moments, something else is wanted."""

    #: It begins much later, or it is over.
    FAR = 0
    #: It begins soon: what takes time is there, but on no host.
    SOON = 1
    #: It is about to begin: only its project's access is missing.
    STARTING = 2
    RUNNING = 3


#: Stands for the shape of a reservation whose row is gone. It is only removed.
_GONE = Shape(0, 0, 0, 0, {}, None, None)


def wanted(note: Note, hosts: Iterable[HostUse], moment: Moment) -> Backing:
    """What must be in Nova and Placement for a reservation at a moment.

    :param hosts: the hosts on which the reservation has instances.
    """
    if moment is Moment.FAR:
        return NOTHING
    used = list(hosts) if moment >= Moment.STARTING else []
    shape = note.shape or _GONE
    return Backing(
        flavor=NovaFlavor(
            id=note.nova_flavor,
            name=backing_names.FLAVOR_PREFIX + note.reservation_id,
            vcpus=shape.vcpu,
            ram=shape.memory_mb,
            disk=shape.disk_gb,
            ephemeral=shape.ephemeral_gb,
            is_public=False,
            extra_specs=backing_names.flavor_specs(note.reservation_id, shape),
            projects=frozenset({note.project_id} if moment is Moment.RUNNING else ()),
        ),
        aggregate=NovaAggregate(
            id=note.aggregate_id,
            name=note.reservation_id,
            hosts=frozenset(host.service_name for host in used),
            metadata=backing_names.aggregate_metadata(note.reservation_id, note.project_id, shape),
        ),
        resource_class=backing_names.resource_class(note.reservation_id),
        inventories={
            backing_names.PROVIDER_PREFIX + host.hypervisor: backing_names.inventory(host.instances)
            for host in used
        },
        servers=None if moment is Moment.RUNNING else frozenset(),
    )


@dataclasses.dataclass(frozen=True)
class Bounds:
    """A backing that isn't known, or needn't be, exactly."""

    #: What is there for sure, or must be there.
    least: Backing
    #: What may be there.
    most: Backing
    #: Whether there may also be something on hosts that ``most`` doesn't name.
    anywhere: bool = False

    @classmethod
    def exactly(cls, backing: Backing) -> Self:
        """A backing that is known exactly."""
        return cls(backing, backing)


def between(
    note: Note, hosts: Iterable[HostUse], first: Moment, last: Moment, *, anywhere: bool = False
) -> Bounds:
    """At least what is wanted at one moment, and at most what is wanted at another."""
    used = list(hosts)
    return Bounds(wanted(note, used, first), wanted(note, used, last), anywhere)


#: By the phase of the note: the moment whose backing is there for sure, and the moment of which at
#: most the backing is there.
_NOTED = {
    Phase.PLANNED: (Moment.FAR, Moment.FAR),
    Phase.MAKING: (Moment.FAR, Moment.SOON),
    Phase.MADE: (Moment.SOON, Moment.SOON),
    Phase.OPENING: (Moment.SOON, Moment.RUNNING),
    Phase.OPEN: (Moment.RUNNING, Moment.RUNNING),
    Phase.CLOSING: (Moment.FAR, Moment.RUNNING),
}


def noted(note: Note, hosts: Iterable[HostUse] = ()) -> Bounds:
    """What is in Nova and Placement according to a reservation's note.

    While a reservation is being opened or removed, something may be left on hosts from which the
    reservation has moved.
    """
    first, last = _NOTED[note.phase]
    anywhere = note.phase in (Phase.OPENING, Phase.CLOSING)
    return between(note, hosts, first, last, anywhere=anywhere)


def tolerated(note: Note, hosts: Iterable[HostUse], *, is_running: bool) -> Bounds:
    """What may be in Nova and Placement without being a difference.

    A manager may just be opening the reservation, or may have failed to. What isn't opened yet is
    no difference of its own.
    """
    is_open = is_running and note.phase is Phase.OPEN
    prepared = Moment.STARTING if note.phase.is_opened else Moment.SOON
    return between(
        note,
        hosts,
        Moment.RUNNING if is_open else Moment.SOON,
        Moment.RUNNING if is_running else prepared,
    )
