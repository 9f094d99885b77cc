"""Counts how much of each flavor and of each host is booked.

The count checks whether the admission of bookings works, so it shares no code with the admission.
It goes through the moments at which a reservation starts or ends, and adds up what all reservations
take at each of these moments.
"""

import dataclasses
import datetime
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from warre_blazar.domain.audit.differences import Difference, DifferenceKind
from warre_blazar.domain.audit.facts import KnownHost, Offered, PlacementFacts, Taking
from warre_blazar.domain.flavors import devices
from warre_blazar.domain.hosts import provider_trees
from warre_blazar.domain.timeline import Span
from warre_blazar.domain.wording import counted


def highest(
    takings: Iterable[tuple[Sequence[Span], int]], now: datetime.datetime
) -> tuple[int, datetime.datetime]:
    """The largest amount that is taken at any moment from now on.

    :param takings: pairs of some spans and an amount. The amount is taken during each of the spans.
        The spans of one pair must not overlap.
    :returns: the amount, and the first moment at which it is taken.
    """
    changes: dict[datetime.datetime, int] = defaultdict(int)
    for spans, amount in takings:
        for span in spans:
            if span.end > now:
                changes[max(span.start, now)] += amount
                changes[span.end] -= amount
    most, when, taken = 0, now, 0
    for moment in sorted(changes):
        taken += changes[moment]
        if taken > most:
            most, when = taken, moment
    return most, when


def oversold_flavors(
    flavors: Iterable[Offered], slots: Iterable[Taking], now: datetime.datetime
) -> Iterator[Difference]:
    """Find flavors with more booked instances than slots at some moment from now on.

    :param slots: what reservations take of flavors' slots.
    """
    by_flavor = defaultdict(list)
    for taking in slots:
        assert taking.amounts is not None
        by_flavor[taking.of].append((taking.spans, taking.amounts[taking.of]))
    for flavor in flavors:
        most, when = highest(by_flavor[flavor.id], now)
        if most > flavor.slots:
            text = (
                f"Flavor {flavor.name} ({flavor.id}) has {counted(flavor.slots, 'slot')}, but "
                f"{most} instances are booked at {when}"
            )
            yield Difference(DifferenceKind.FLAVOR_OVERSOLD, flavor.id, text)


@dataclasses.dataclass(frozen=True)
class Overbooked:
    """A resource class of which more is booked on a host than the host has."""

    host: KnownHost
    resource_class: str
    capacity: int
    #: The most that is booked at any moment.
    booked: int
    #: The first moment at which that much is booked.
    when: datetime.datetime
    #: The reservations that take some of the class at that moment, with their times.
    takings: tuple[Taking, ...]

    def text(self) -> str:
        """A sentence that names the reservations and their times."""
        reservations = ", ".join(
            f"{taking.reservation_id} ({span.start} to {span.end})"
            for taking in self.takings
            for span in taking.spans
            if span.start <= self.when < span.end
        )
        return f"{self.summary()}, by these reservations: {reservations}"

    def summary(self) -> str:
        """A sentence about the host and the class."""
        return (
            f"Host {self.host.name} has {self.capacity} of {self.resource_class}, but "
            f"{self.booked} are booked at {self.when}"
        )


def overbooked(
    hosts: Iterable[KnownHost], takings: Iterable[Taking], now: datetime.datetime
) -> Iterator[Overbooked]:
    """Find resource classes of which more is booked on a host than the host has.

    Only the time from ``now`` on counts.
    """
    by_host = _by_host(takings)
    for host in hosts:
        on_host = by_host[host.id]
        for cls in sorted({cls for taking in on_host for cls in taking.amounts or ()}):
            of_class = [t for t in on_host if t.amounts and t.amounts.get(cls)]
            taken = [(t.spans, t.amounts[cls]) for t in of_class if t.amounts]
            capacity = host.capacities.get(cls, 0)
            most, when = highest(taken, now)
            if most > capacity:
                then = {
                    taking.reservation_id: taking
                    for taking in of_class
                    if any(span.start <= when < span.end for span in taking.spans)
                }
                yield Overbooked(host, cls, capacity, most, when, tuple(then.values()))


def oversold_hosts(
    hosts: Sequence[KnownHost], takings: Sequence[Taking], now: datetime.datetime
) -> Iterator[Difference]:
    """Find hosts on which more is booked than they have.

    Only the time from ``now`` on counts. Reservations of a whole host that overlap other
    reservations on the host are found too.
    """
    by_host = _by_host(takings)
    for host in hosts:
        yield from _whole_and_shared(host, by_host[host.id], now)
    for each in overbooked(hosts, takings, now):
        subject = f"{each.host.name} {each.resource_class}"
        yield Difference(DifferenceKind.HOST_OVERSOLD, subject, each.summary())


def _by_host(takings: Iterable[Taking]) -> dict[str, list[Taking]]:
    by_host: dict[str, list[Taking]] = defaultdict(list)
    for taking in takings:
        by_host[taking.of].append(taking)
    return by_host


def _whole_and_shared(
    host: KnownHost, takings: Sequence[Taking], now: datetime.datetime
) -> Iterator[Difference]:
    """Find reservations of a whole host that overlap other reservations on the host."""
    for whole in (taking for taking in takings if taking.amounts is None):
        others = {
            taking.reservation_id
            for taking in takings
            if taking.reservation_id != whole.reservation_id and _overlap(whole, taking, now)
        }
        if others:
            text = (
                f"Reservation {whole.reservation_id} has the whole host {host.name}, but other "
                f"reservations overlap it there: {', '.join(sorted(others))}"
            )
            subject = f"{host.name} {whole.reservation_id}"
            yield Difference(DifferenceKind.HOST_OVERSOLD, subject, text)


def _overlap(one: Taking, other: Taking, now: datetime.datetime) -> bool:
    return any(a.overlaps(b) and min(a.end, b.end) > now for a in one.spans for b in other.spans)


def shrunk_hosts(hosts: Iterable[KnownHost], placement: PlacementFacts) -> Iterator[Difference]:
    """Find hosts that have less in Placement than in the tables."""
    for host in hosts:
        tree = placement.trees.get(host.hypervisor)
        if tree is None:
            continue  # The tree couldn't be read, or the host isn't in Placement.
        actual = provider_trees.totals(tree)
        for cls, known in sorted(in_placement(host).items()):
            if actual.get(cls, 0) < known:
                text = (
                    f"Host {host.name} has {actual.get(cls, 0)} of {cls} in Placement, and "
                    f"{known} in the tables"
                )
                yield Difference(DifferenceKind.HOST_SHRANK, f"{host.name} {cls}", text)


def in_placement(host: KnownHost) -> dict[str, int]:
    """A host's capacities that Placement should have too.

    Devices that are known only from the host's capabilities in Blazar are left out.
    """
    return {
        cls: amount
        for cls, amount in host.capacities.items()
        if not cls.startswith(devices.CAPABILITY_PREFIX)
    }


def with_actual_capacities(
    hosts: Iterable[KnownHost], placement: PlacementFacts | None
) -> list[KnownHost]:
    """Lower the hosts' capacities to those in Placement, if Placement has less than the tables.

    All hosts are returned. The amounts of devices that only Blazar knows of stay the same.
    """
    return [_with_actual_capacities(host, placement) for host in hosts]


def _with_actual_capacities(host: KnownHost, placement: PlacementFacts | None) -> KnownHost:
    tree = placement.trees.get(host.hypervisor) if placement else None
    if tree is None:
        return host
    actual = provider_trees.totals(tree)
    lower = {cls: min(amount, actual.get(cls, 0)) for cls, amount in in_placement(host).items()}
    return dataclasses.replace(host, capacities={**host.capacities, **lower})
