"""The values that an audit reads. Times are naive datetimes in UTC."""

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any, Self

from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.hosts import provider_trees
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.provider_trees import ProviderTree
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.backing import Note
from warre_blazar.domain.running.holders import Server, Taken
from warre_blazar.domain.running.wanted import HostUse, NovaAggregate, NovaFlavor
from warre_blazar.domain.timeline import Span


@dataclasses.dataclass(frozen=True)
class InstanceReservation:
    """A reservation's row in Blazar's table instance_reservations.

    Blazar's own plugins read from this table how much of each host is booked.
    """

    amount: int | None
    vcpus: int | None
    memory_mb: int | None
    disk_gb: int | None
    aggregate_id: int | None
    flavor_id: str | None


@dataclasses.dataclass(frozen=True)
class Booking:
    """A flavor:slot reservation that hasn't ended. No manager is working on its lease."""

    reservation_id: str
    lease_id: str
    #: The status of Blazar's reservation: "pending", "active" or "error".
    status: str
    #: None if the reservation has no row in this package's table. In that case ``count`` is 0.
    shape: Shape | None
    count: int
    places: tuple[HostUse, ...]
    note: Note | None
    row: InstanceReservation | None


@dataclasses.dataclass(frozen=True)
class SeenLease:
    """A lease as an audit has seen it, with its state.

    The age in ``state`` tells how long ago the lease was last written. The audit measures this time
    by its own clock.
    """

    id: str
    state: lease_states.State
    #: When the lease's next start or end is due. None if no event of the lease waits for its time.
    due: datetime.datetime | None
    #: Whether an end or a deletion of the lease has been requested and waits for a manager.
    is_requested: bool
    #: The lease as it was read, for the remedy.
    read: Any = dataclasses.field(default=None, compare=False, repr=False)

    @property
    def is_worked_on(self) -> bool:
        """Whether a manager works on the lease, or will soon begin to work on it."""
        state = self.state
        return (
            state.claim is lease_states.ClaimState.LIVE
            or self.is_requested
            or (
                state.statuses.lease in lease_states.TRANSITIONAL
                and state.age is not lease_states.Age.STUCK
                and state.claim is not lease_states.ClaimState.DEAD
            )
        )


@dataclasses.dataclass(frozen=True)
class HaltedLease:
    """A lease without flavor:slot reservations whose status says that somebody works on it.

    But no living manager has noted that it does.
    """

    id: str
    status: str
    #: When the lease was last written.
    written: datetime.datetime
    #: The resource types of its reservations, by their ids.
    reservations: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class WithoutBooking:
    """The reservations for which an audit has no ``Booking``."""

    #: The ids of reservations that an audit ignores. These are reservations of other resource
    #: types, our reservations that aren't deleted or on whose lease a manager is working, and those
    #: whose traces a manager may still be removing.
    left_alone: frozenset[str]
    #: The ids of reservations of this package that have ended.
    over: frozenset[str]
    #: The ids of reservations that have ended or are deleted, but whose backing has a note.
    leftovers: frozenset[str]


@dataclasses.dataclass(frozen=True)
class NovaFacts:
    """What Nova holds for reservations, and all servers."""

    flavors: tuple[NovaFlavor, ...]
    aggregates: tuple[NovaAggregate, ...]
    servers: tuple[Server, ...]
    #: The hosts that are kept for bookings, by the host names of their compute services. None:
    #: Nova has no freepool.
    kept: frozenset[str] | None = None
    #: Why Nova boots no server on hosts, by the host names of their compute services.
    out_of_service: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class PlacementFacts:
    """What Placement holds for reservations, and the inventories of reservable hosts."""

    #: The names of the reservations' resource classes.
    classes: frozenset[str]
    #: The inventories by class of the reservable hosts' own providers, and of the providers that
    #: Blazar has made below them, by the provider's name.
    providers: Mapping[str, Mapping[str, Mapping[str, Any]]]
    #: By hypervisor hostname, the providers of each reservable host, without those that Blazar has
    #: made. Hosts that couldn't be read are left out.
    trees: Mapping[str, ProviderTree] = dataclasses.field(default_factory=dict)
    #: What is taken of each registered host, by hypervisor hostname.
    taken: Mapping[str, Taken] = dataclasses.field(default_factory=dict)
    #: The ids of the providers that have the trait of a reservation, by the trait's name.
    carriers: Mapping[str, frozenset[str]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Taking:
    """What a reservation of any resource type takes of one host, or of one flavor's slots.

    For a host, ``amounts`` has the amounts by resource class. None means the whole host. For a
    flavor, ``amounts`` has the number of slots, with the flavor's id as the key.
    """

    #: The id of the host or the flavor.
    of: str
    reservation_id: str
    spans: tuple[Span, ...]
    amounts: Mapping[str, int] | None


@dataclasses.dataclass(frozen=True)
class InWindow:
    """A reservation that is older than a maintenance window and overlaps it."""

    reservation_id: str
    lease_id: str
    span: Span
    window_id: str
    window: Span


@dataclasses.dataclass(frozen=True)
class KnownHost:
    """A host as it is in this package's tables, or in Blazar's."""

    id: str
    name: str
    hypervisor: str
    #: By resource class, how much can be taken at a time from all providers of the host together.
    capacities: Mapping[str, int]
    #: The host name of the host's compute service.
    service_name: str = ""

    @classmethod
    def of(cls, host: BookableHost) -> Self:
        """What is known of a host, with the capacities of its providers.

        If the providers haven't been read, the capacities are those that Blazar has recorded.
        """
        recorded = {name: inventory.capacity for name, inventory in host.inventories.items()}
        capacities = provider_trees.totals(host.providers) if host.providers else recorded
        names = (str(host.properties[name]) for name in ("hypervisor_hostname", "service_name"))
        hypervisor, service = names
        return cls(host.id, host.name, hypervisor, capacities, service)


@dataclasses.dataclass(frozen=True)
class TrustedLease:
    """A live lease of a stock resource type, on which Blazar works with a Keystone trust."""

    id: str
    name: str
    status: str
    #: The user whose roles the trust delegates to Blazar.
    user_id: str | None
    project_id: str | None
    end: datetime.datetime
    trust_id: str


@dataclasses.dataclass(frozen=True)
class Offered:
    """A flavor that isn't deleted."""

    id: str
    name: str
    slots: int


@dataclasses.dataclass(frozen=True)
class Promised:
    """A promise that still exists, although its update isn't under way any more."""

    reservation_id: str
    span: Span
    #: The promise as it was read, for the remedy.
    read: Any = dataclasses.field(default=None, compare=False, repr=False)


@dataclasses.dataclass(frozen=True)
class LostNotices:
    """The notices that a channel has given up."""

    channel: str
    count: int
    #: What the newest of them is about: the id of a reservation or of a lease.
    subject: str
    #: What the newest of them tells, and why it was given up.
    kind: str
    error: str
