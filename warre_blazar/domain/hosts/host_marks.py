"""Why hosts can't be booked, and which reservations are on hosts."""

import dataclasses
import datetime
import enum
from collections.abc import Mapping

from warre_blazar.domain.booking import reservation_states


class HostState(enum.Enum):
    """Whether a host can be booked, and if not, why."""

    BOOKABLE = "bookable"
    #: An operator drains the host.
    DRAINING = "draining"
    #: Blazar has taken the host out of use, usually because it failed.
    FAILED = "failed"
    #: Nova doesn't have the host any more, or it has come back and isn't in the freepool yet.
    GONE = "gone"
    #: Reservations have left the host while they were running, and servers of them may be there.
    ABANDONED = "abandoned"


@dataclasses.dataclass(frozen=True)
class Drain:
    """Who drains a host, since when, and why."""

    by: str | None
    at: datetime.datetime | None
    reason: str | None


@dataclasses.dataclass(frozen=True)
class Marks:
    """What the tables say about whether a host can be booked."""

    #: What Blazar says. Its host monitor takes a host that fails out of use.
    reservable: bool
    #: None: nobody drains the host.
    drain: Drain | None
    #: Whether running reservations have left the host, and servers of them may still be there.
    abandoned: bool
    #: When the host's resource providers were last read and had changed. None: never.
    read_at: datetime.datetime | None
    #: Whether the host has left Nova.
    gone: bool = False
    #: Since when Placement has had no resource provider for the host. None: it has one.
    missing_since: datetime.datetime | None = None

    @property
    def state(self) -> HostState:
        """Whether the host can be booked, and if not, why."""
        if self.gone:
            return HostState.GONE
        if not self.reservable:
            return HostState.FAILED
        if self.abandoned:
            return HostState.ABANDONED
        return HostState.BOOKABLE if self.drain is None else HostState.DRAINING


@dataclasses.dataclass(frozen=True)
class Abandoned:
    """A host that works again, but may still have servers of reservations that were moved away."""

    id: str
    #: The hypervisor hostname.
    name: str
    generation: int
    #: The number of each reservation's instances on the host, by the reservation's id in Blazar's
    #: table.
    held: Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class OnHost:
    """A reservation of any resource type that has instances on a host."""

    reservation_id: str
    #: For a flavor:slot reservation, the id in the v2 API. For a reservation of another resource
    #: type, the same id as ``reservation_id``.
    shown_id: str
    resource_type: str
    #: The id and the name of the flavor. None: the reservation is of another resource type.
    flavor_id: str | None
    flavor_name: str | None
    project_id: str
    user_id: str
    #: Blazar's status of the lease.
    lease_status: str
    #: Blazar's status of the reservation.
    status: str
    instances: int
    start: datetime.datetime
    end: datetime.datetime

    @property
    def state(self) -> str:
        """The state of the reservation in the v2 API, also if it is of another resource type."""
        return reservation_states.derive(self.lease_status, self.status)
