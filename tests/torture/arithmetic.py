"""The judge's arithmetic: what is sold at every moment of the future, counted moment by moment."""

import datetime
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from tests.torture.reading import Amounts, LeaseRow, ReservationRow, Snapshot, Span, Time

CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB", "devices")
SLOTS = "flavor:slot"
#: Statuses of leases and reservations that somebody counts on.
_HELD_LEASES = ("PENDING", "STARTING", "ACTIVE", "UPDATING")
_HELD = ("pending", "active")


class Oversold(NamedTuple):
    """Something of which more is sold than there is."""

    what: str
    when: Time
    sold: int
    there: int

    def __str__(self) -> str:
        return f"{self.what}: {self.sold} sold of {self.there} at {self.when}"


def is_held(snapshot: Snapshot, reservation: ReservationRow) -> bool:
    """Whether a reservation takes slots and hosts: it has hosts, or somebody counts on it."""
    lease = snapshot.leases.get(reservation.lease_id)
    if lease is None:
        return False
    counted_on = lease.status in _HELD_LEASES and reservation.status in _HELD
    return bool(reservation.hosts) or counted_on


def spans(snapshot: Snapshot, reservation: ReservationRow) -> list[Span]:
    """The times that a reservation takes, none of them twice."""
    lease = snapshot.leases[reservation.lease_id]
    own = (lease.start, lease.end)
    promised = reservation.promised
    if promised is None:
        return [own]
    if promised[0] <= own[1] and own[0] <= promised[1]:
        return [(min(own[0], promised[0]), max(own[1], promised[1]))]
    return [own, promised]


def moments(taken: Iterable[tuple[list[Span], int]], now: Time) -> Iterator[tuple[Time, int]]:
    """Every moment from now on at which something begins, and what is taken then in all."""
    taken = list(taken)
    begins = {now} | {start for each, _ in taken for start, _ in each if start > now}
    for moment in sorted(begins):
        yield (
            moment,
            sum(
                amount
                for each, amount in taken
                if any(start <= moment < end for start, end in each)
            ),
        )


class Slots:
    """Whether more instances of a flavor are sold than it has slots."""

    name = "slots of a flavor at a moment"

    @staticmethod
    def check(snapshot: Snapshot, checked: Counter[str]) -> Iterator[Oversold]:
        """What is oversold; counts what was looked at."""
        taken = defaultdict(list)
        for r in snapshot.reservations.values():
            if r.flavor_id in snapshot.flavors and is_held(snapshot, r):
                taken[r.flavor_id].append((spans(snapshot, r), r.count or 0))
        for flavor_id, mine in taken.items():
            flavor = snapshot.flavors[flavor_id]
            for moment, sold in moments(mine, snapshot.now):
                checked[Slots.name] += 1
                if sold > flavor.slots:
                    yield Oversold(f"flavor {flavor.name}", moment, sold, flavor.slots)


class Hosts:
    """Whether more of a host is sold than Placement says that it has."""

    name = "classes of a host at a moment"

    @staticmethod
    def check(snapshot: Snapshot, checked: Counter[str]) -> Iterator[Oversold]:
        """What is oversold; counts what was looked at."""
        held = [r for r in snapshot.reservations.values() if r.hosts and is_held(snapshot, r)]
        for host, there in snapshot.capacities.items():
            mine = [r for r in held if host in r.hosts]
            for number, cls in enumerate(CLASSES):
                taken = [
                    (spans(snapshot, r), r.hosts[host] * _sizes(snapshot, r, there)[number])
                    for r in mine
                ]
                for moment, sold in moments(taken, snapshot.now) if taken else ():
                    checked[Hosts.name] += 1
                    if sold > there[number]:
                        yield Oversold(f"{cls} of host {host}", moment, sold, there[number])


def _sizes(snapshot: Snapshot, reservation: ReservationRow, whole: Amounts) -> Amounts:
    """What one instance takes; the whole host where nothing says it."""
    flavor = snapshot.flavors.get(reservation.flavor_id or "")
    if flavor is not None:
        return flavor.sizes
    return reservation.sizes or whole


class Quotas:
    """Whether a project holds more than it may."""

    name = "quotas of a project"

    @staticmethod
    def check(
        snapshot: Snapshot, limits: Mapping[str, tuple[int, int]], checked: Counter[str]
    ) -> Iterator[Oversold]:
        """What is oversold; counts what was looked at.

        :param limits: reservations and hours by project.
        """
        for project, (most, hours) in limits.items():
            held = [
                (snapshot.leases[r.lease_id], r)
                for r in snapshot.reservations.values()
                if r.resource_type == SLOTS and r.status in _HELD and r.count
            ]
            held = [
                (lease, r)
                for lease, r in held
                if lease.project_id == project and lease.status in _HELD_LEASES
            ]
            used = sum(_hours(lease, r) for lease, r in held)
            checked[Quotas.name] += 1
            if len(held) > most:
                what = f"reservations of project {project}"
                yield Oversold(what, snapshot.now, len(held), most)
            if used > hours:
                yield Oversold(f"hours of project {project}", snapshot.now, used, hours)


def _hours(lease: LeaseRow, reservation: ReservationRow) -> int:
    """Started hours times instances, of the lease's time or a longer one that was promised."""
    times = [(lease.start, lease.end)]
    if reservation.promised:
        times.append(reservation.promised)
    hour = datetime.timedelta(hours=1)
    return max(-((start - end) // hour) for start, end in times) * (reservation.count or 0)
