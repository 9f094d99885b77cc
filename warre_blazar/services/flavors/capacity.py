"""The capacity of flavors and hosts, for operators."""

import dataclasses
import datetime
from collections.abc import Iterable, Mapping, Sequence

from warre_blazar import times
from warre_blazar.db import flavors, session
from warre_blazar.db.booking import booking_terms
from warre_blazar.db.hosts import host_marks, kept_hosts, reservable_hosts
from warre_blazar.domain.flavors import capacity
from warre_blazar.domain.flavors.capacity import HostLimits, HostRoom, Sharing
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.host_marks import HostState
from warre_blazar.domain.slots.free_time import Supply
from warre_blazar.domain.timeline import Span
from warre_blazar.services.hosts import new_hosts
from warre_blazar.texts import Said, warnings


@dataclasses.dataclass(frozen=True)
class Capacity:
    """A flavor's capacity, and how much of the flavor is booked within a span of time."""

    #: The span of time for which the bookings are counted.
    window: Span
    #: By host, how many instances the host holds when nothing else is on it.
    rooms: Sequence[HostRoom]
    #: How many instances all these hosts hold when nothing else is on them.
    instances: int
    #: The smaller of ``instances`` and the flavor's slots.
    bookable: int
    booked_now: int
    booked_peak: int
    utilisation: float | None
    sharing: Sequence[Sharing]


def of_flavor(flavor: Flavor, window: Span, now: datetime.datetime) -> Capacity:
    """A flavor's capacity, and how much of the flavor is booked within a span of time.

    Hosts that a maintenance window closes for all of this time are left out.

    :param window: the span of time for which the bookings are counted.
    :param now: the start of the minute for which ``booked_now`` is read.
    """
    open_hosts = [h for h in _open_hosts() if not h.is_closed(window)]
    rooms = capacity.when_empty(open_hosts, flavor.shape)
    with session.reader() as db:
        others = [f for f in flavors.every(db) if f.id != flavor.id]
        use = capacity.use(flavors.claims_of(db, flavor.id, _with_minute(window, now)), window, now)
    instances = sum(room.instances for room in rooms)
    bookable = min(instances, flavor.slots)
    return Capacity(
        window=window,
        rooms=rooms,
        instances=instances,
        bookable=bookable,
        booked_now=use.now,
        booked_peak=use.peak,
        utilisation=use.utilisation(bookable, window),
        sharing=capacity.sharing(rooms, others),
    )


def _with_minute(window: Span, now: datetime.datetime) -> Span:
    return window.hull(Span(now, now + times.MINUTE))


def bookable_hosts(of: Iterable[Flavor]) -> dict[str, int]:
    """By flavor id, how many hosts can hold an instance of the flavor when they are empty.

    The number of queries is the same for any number of flavors.
    """
    flavors_wanted = list(of)
    if not flavors_wanted:
        return {}
    supply = Supply(_open_hosts(), {}, {})
    return {f.id: sum(map(bool, supply.rooms(f.shape, None))) for f in flavors_wanted}


def _open_hosts() -> list[BookableHost]:
    """The hosts that can be booked, with or without what is booked on them."""
    found = _known_hosts()
    if unread := [host.id for host in found if not host.is_read]:
        new_hosts.wait(unread)
        found = _known_hosts()
    return found


def _known_hosts() -> list[BookableHost]:
    with session.reader() as db:
        return kept_hosts.empty(db)


@dataclasses.dataclass(frozen=True)
class FlavorLimits:
    """The limits on the number of instances of a flavor that can be booked at the same time."""

    #: How many instances all hosts hold when nothing else is on them.
    instances: int
    #: Whether the slots are a limit too. They are if their number isn't larger than ``instances``.
    by_slots: bool
    #: For each host, even if it can't be booked now: how many instances it holds when it is empty,
    #: and what limits this number. Sorted by the host's name.
    hosts: Sequence[HostLimits]
    #: Whether each host can be booked, and if not, why, by host id.
    states: Mapping[str, HostState]


def limits(flavor: Flavor) -> FlavorLimits:
    """The limits on the number of instances of a flavor that can be booked at the same time."""
    with session.reader() as db:
        marks = host_marks.every(db)
        all_hosts = reservable_hosts.empty(db, closed=None)
    states = {host.id: marks[host.id].state for host in all_hosts}
    of_hosts = [capacity.limits(host, flavor.shape) for host in all_hosts]
    of_hosts.sort(key=lambda each: (each.host.name, each.host.id))
    instances = sum(
        each.instances for each in of_hosts if states[each.host.id] is HostState.BOOKABLE
    )
    return FlavorLimits(instances, flavor.slots <= instances, of_hosts, states)


def doubts_about_slots(flavor: Flavor, now: datetime.datetime) -> list[Said]:
    """Doubts about a flavor with fewer slots than are booked, or more than its hosts hold."""
    doubts = []
    with session.reader() as db:
        all_hosts = reservable_hosts.empty(db)
        claims = flavors.claims_of(db, flavor.id, Span(now, datetime.datetime.max))
    beyond = capacity.overbooked(claims, flavor.slots)
    if beyond is not None:
        doubts.append(
            warnings.SLOTS_OVERBOOKED(booked=beyond.peak, slots=flavor.slots, until=beyond.until)
        )
    held = sum(room.instances for room in capacity.when_empty(all_hosts, flavor.shape))
    if 0 < held < flavor.slots:
        doubts.append(warnings.SLOTS_EXCEED_HOSTS(slots=flavor.slots, instances=held))
    return doubts


def doubts_about_projects(flavor: Flavor, now: datetime.datetime) -> list[Said]:
    """Doubts about a flavor of which projects hold more than one project may hold."""
    most = flavor.max_instances_per_project
    if most is None:
        return []
    with session.reader() as db:
        held = booking_terms.of_all_projects(db, flavor.id, Span(now, datetime.datetime.max))
    beyond = [found for own in held.values() if (found := capacity.overbooked(own, most))]
    if not beyond:
        return []
    return [
        warnings.PROJECTS_OVERBOOKED(
            projects=len(beyond),
            booked=max(each.peak for each in beyond),
            max_instances_per_project=most,
            until=max(each.until for each in beyond),
        )
    ]


@dataclasses.dataclass(frozen=True)
class Survey:
    """The result of comparing all active flavors with all reservable hosts."""

    #: All reservable hosts.
    hosts: Sequence[BookableHost]
    #: Flavors whose properties, zone or traits no host satisfies.
    unmatched: Sequence[Flavor]
    #: Flavors that have more slots than the number of instances that their hosts hold when nothing
    #: else is on them. With each flavor comes this number of instances.
    overpromised: Sequence[tuple[Flavor, int]]


def survey() -> Survey:
    """Compare all active flavors with all reservable hosts, in a constant number of queries."""
    new_hosts.read()
    with session.reader() as db:
        all_hosts = reservable_hosts.empty(db)
        active = [f for f in flavors.every(db) if f.active]
    unmatched = [f for f in active if not any(h.matches(f.shape, None) for h in all_hosts)]
    held = {f.id: sum(r.instances for r in capacity.when_empty(all_hosts, f.shape)) for f in active}
    overpromised = [(f, held[f.id]) for f in active if f not in unmatched and f.slots > held[f.id]]
    return Survey(all_hosts, unmatched, overpromised)
