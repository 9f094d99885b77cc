"""What an older database doesn't know, beside what Nova and Placement hold now."""

import dataclasses
import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence

from warre_blazar import times
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.running import backing_names, lease_states
from warre_blazar.domain.running.lease import Lease
from warre_blazar.domain.running.mark import Mark
from warre_blazar.domain.running.wanted import Backing

_PENDING, _DELETED = "pending", "deleted"
_OWNER = "blazar:owner"


@dataclasses.dataclass(frozen=True)
class DumpedLease:
    """A lease of any type that hasn't ended, as the older database has it."""

    lease: Lease
    #: The name of its reservation, or its own.
    name: str
    project_id: str
    #: The ids of the reservations whose backing was there when the dump was made.
    made: frozenset[str] = frozenset()
    #: The ids of the servers that its reservations of this package have in Nova.
    servers: tuple[str, ...] = ()

    @property
    def live(self) -> list[str]:
        """The ids of the reservations that haven't ended."""
        return [r.id for r in self.lease.reservations if r.status != _DELETED]


@dataclasses.dataclass(frozen=True)
class Unknown:
    """A reservation that Nova and Placement know, and the database doesn't."""

    reservation_id: str
    backing: Backing

    @property
    def project_id(self) -> str | None:
        """The project that has booked it. None: its aggregate doesn't say so."""
        aggregate = self.backing.aggregate
        return aggregate.metadata.get(_OWNER) if aggregate else None

    @property
    def instances(self) -> dict[str, int]:
        """The number of instances on each host, by hypervisor hostname."""
        return {
            provider.removeprefix(backing_names.PROVIDER_PREFIX): inventory["total"]
            for provider, inventory in self.backing.inventories.items()
        }

    @property
    def is_running(self) -> bool:
        """Whether it has places on hosts, so that it has begun."""
        return bool(self.backing.inventories)

    def flavor_among(self, flavors: Iterable[Flavor]) -> Flavor | None:
        """The flavor whose instances have the same shape.

        :returns: None: there is none, or the reservation has devices or a handle. Nova and
            Placement don't say which devices its instances have.
        """
        nova = self.backing.flavor
        if nova is None or nova.is_shared or self.backing.trait or not self.project_id:
            return None
        has = (nova.vcpus, nova.ram, nova.disk, nova.ephemeral, dict(nova.extra_specs))
        for flavor in flavors:
            shape = flavor.shape
            specs = backing_names.flavor_specs(self.reservation_id, shape)
            sizes = (shape.vcpu, shape.memory_mb, shape.disk_gb, shape.ephemeral_gb, specs)
            if sizes == has and not shape.device_groups:
                return flavor
        return None


@dataclasses.dataclass(frozen=True)
class Restored:
    """What the older database doesn't know, and what would happen if managers went on with it.

    Leases that end earlier come first.
    """

    #: Until when managers have worked with the lost database, for sure. None: nobody knows.
    lost_at: datetime.datetime | None
    unknown: Sequence[Unknown]
    #: Leases that had begun, and of which nothing is left. They have ended or were deleted since.
    gone: Sequence[DumpedLease]
    #: Leases whose end has passed. They would end now, with their servers.
    overdue: Sequence[DumpedLease]
    #: Leases that would start now.
    starting: Sequence[DumpedLease]
    #: Running leases that end within a day. Perhaps they were extended.
    ending: Sequence[DumpedLease]
    #: The number of messages and notifications that wait, by channel.
    waiting: Mapping[str, int]
    #: The number of waits that may have been served since.
    waits: int = 0


def lost_at(mark: Mark, counted_until: datetime.datetime | None) -> datetime.datetime | None:
    """Until when managers have increased the mark at least, each minute once.

    :param counted_until: the minute of the last increase that the database knows.
    """
    if counted_until is None or mark.seen is None:
        return None
    return counted_until + max(mark.seen + 1 - mark.number, 0) * times.MINUTE


def compare(
    leases: Sequence[DumpedLease],
    seen: Mapping[str, Backing],
    known: Collection[str],
    lost: datetime.datetime | None,
    now: datetime.datetime,
) -> Restored:
    """Compare the leases of the older database with what Nova and Placement hold.

    :param seen: what Nova and Placement hold, by the reservation's id.
    :param known: the ids of all reservations that are in the database, of any type and status.
    :param lost: what ``lost_at`` has returned.
    """
    unknown = [Unknown(i, backing) for i, backing in sorted(seen.items()) if i not in known]
    gone, left = [], []
    for each in sorted(leases, key=lambda each: each.lease.span.end):
        if _is_gone(each, seen, lost, now):
            gone.append(each)
        else:
            servers = (s for i in each.live if i in seen for s in seen[i].servers or ())
            left.append(dataclasses.replace(each, servers=tuple(sorted(servers))))
    return Restored(
        lost_at=lost,
        unknown=unknown,
        gone=gone,
        overdue=[each for each in left if each.lease.span.end <= now],
        starting=[each for each in left if _starts(each.lease, now)],
        ending=[each for each in left if _ends_soon(each.lease, now)],
        waiting={},
    )


def _is_gone(
    each: DumpedLease,
    seen: Mapping[str, Backing],
    lost: datetime.datetime | None,
    now: datetime.datetime,
) -> bool:
    """Whether a lease of this package should have something in Nova, and has nothing.

    If its whole time has passed, it would begin too late.
    """
    lease = each.lease
    if not lease.is_ours() or any(i in seen for i in each.live):
        return False
    has_begun = lost is not None and lease.span.start <= lost
    is_past = lease.span.end <= now and lease.status == lease_states.PENDING
    return has_begun or is_past or bool(each.made)


def _starts(lease: Lease, now: datetime.datetime) -> bool:
    is_due = lease.span.start <= now < lease.span.end
    return is_due and lease.status == lease_states.PENDING


def _ends_soon(lease: Lease, now: datetime.datetime) -> bool:
    is_running = lease.status == lease_states.ACTIVE
    return is_running and now < lease.span.end <= now + times.DAY
