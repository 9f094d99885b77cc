"""Chooses the hosts of a booking, and finds the times at which hosts have room for one.

All functions work on what was read about the hosts and about what is already booked on them.

By default the fullest host is used first, which leaves whole hosts free for other bookings. A host
is fuller if a larger share of it is held at about the time of the booking. So bookings follow each
other closely, and few gaps are left that are too short to be booked.

If an instance takes a share of a single provider, such as some units of a GPU, the gaps are those
of providers. Then a host is as full as the fullest of its providers that can take an instance.
"""

import dataclasses
import datetime
import functools
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence

from warre_blazar import times
from warre_blazar.domain import timeline
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts.bookable_host import BookableHost, StoredPlaces
from warre_blazar.domain.hosts.holdings import around
from warre_blazar.domain.hosts.host_devices import NOTHING_KEPT, Kept
from warre_blazar.domain.hosts.shared_room import HostGroup, TimesAsked
from warre_blazar.domain.timeline import JointLevels, Levels


@dataclasses.dataclass(frozen=True)
class Packing:
    """How a booking's instances are distributed over hosts."""

    #: True: each host in turn gets one instance, the emptiest host first. False: the hosts are
    #: filled one after the other, the fullest host first. How full a host is, is the share of it
    #: that is held at about the time of the booking (``around``), or the share of one of its
    #: providers (``HostDevices.fullness``). Spreading goes by whole hosts only.
    spread: bool = False
    #: True: all instances are on one host. False: each instance is on a host of its own. None: the
    #: instances may be on any hosts.
    affinity: bool | None = None


@dataclasses.dataclass(frozen=True)
class Wanted:
    """The instances of a booking that need hosts."""

    #: What one instance asks for.
    request: PlacementRequest
    count: int
    window: timeline.Span
    #: Another span throughout which the instances must fit.
    also: timeline.Span | None = None
    #: For a booking that already has hosts: its instances by host id.
    preferred: Mapping[str, int] = dataclasses.field(default_factory=dict)
    packing: Packing = Packing()
    #: Where these instances are on the providers of their hosts, by host id.
    kept: Mapping[str, Kept] = dataclasses.field(default_factory=dict)

    @property
    def spans(self) -> list[timeline.Span]:
        """The times of the instances, as spans that don't overlap."""
        return [self.window] if self.also is None else timeline.union(self.window, self.also)


#: By host id, what each instance takes of the host's providers.
PlacesByHost = Mapping[str, Sequence[StoredPlaces]]

#: All instances keep their places.
NO_NEW_PLACES: PlacesByHost = {}


class Choice:
    """The hosts that ``choose`` chooses, and what is assigned to the instances there."""

    def __init__(self, hosts: Sequence[BookableHost], wanted: Wanted) -> None:
        self._hosts, self._wanted = hosts, wanted
        #: Instances by host id.
        self.chosen = _Choosing(hosts, wanted).make()
        #: The number of instances that have hosts. It is at most ``wanted.count``.
        self.count = sum(self.chosen.values())

    # A choice may be made only to count, so what is to be written is computed when it is needed.

    @functools.cached_property
    def places(self) -> PlacesByHost:
        """The places of the instances, on hosts where they have a choice of providers."""
        request, spans, kept = self._wanted.request, self._wanted.spans, self._wanted.kept
        return {
            host.id: [
                host.to_store(each)
                for each in host.ever_devices.places(
                    request, spans, self.chosen[host.id], kept.get(host.id, NOTHING_KEPT)
                )
            ]
            for host in self._contested
        }

    @property
    def _contested(self) -> list[BookableHost]:
        """The chosen hosts where the instances have a choice of providers."""
        request = self._wanted.request
        return [h for h in self._hosts if self.chosen.get(h.id) and h.is_contested(request)]


def choose(hosts: Sequence[BookableHost], wanted: Wanted) -> tuple[dict[str, int], int]:
    """Choose hosts for instances, or for fewer of them if there isn't room for all of them.

    If the booking already has instances on a host, they stay there as far as the host has room.
    The other instances go where ``wanted.packing`` says: by default to the fullest hosts first, so
    that whole hosts stay free for other bookings. Hosts that are equally full are sorted by name,
    so that the choice is repeatable.

    :param hosts: the hosts, with all holdings during the times of the instances, and during
        ``around(wanted.window)``.
    :returns: instances by host id, and their sum, which is at most ``wanted.count``.
    """
    choice = Choice(hosts, wanted)
    return choice.chosen, choice.count


def choose_whole(
    hosts: Iterable[BookableHost],
    window: timeline.Span,
    count: int,
    preferred: Collection[str] = (),
) -> list[str]:
    """Choose hosts on which nothing is held throughout a span, or fewer of them than asked for.

    :param hosts: the hosts, with all holdings during ``around(window)``. Those on which most
        reservations are held shortly before or after the span come first.
    :param preferred: the ids of hosts that come before all others.
    :returns: the ids of the hosts, at most ``count``.
    """
    free = [host for host in hosts if not any(held.span.overlaps(window) for held in host.holdings)]
    free.sort(key=lambda h: (h.id not in preferred, -len(h.holdings), h.name, h.id))
    return [host.id for host in free[:count]]


class _Choosing:
    """Chooses hosts."""

    def __init__(self, hosts: Sequence[BookableHost], wanted: Wanted) -> None:
        self._wanted = wanted
        # The room and the fullness of a host both come from what was folded once for all times.
        self._near = around(wanted.window)
        self._swept = {host.id: host.ever_swept(wanted.request) for host in hosts}
        ranks = {host.id: self._rank(host) for host in hosts}
        self._order = sorted(hosts, key=lambda h: (ranks[h.id], h.name, h.id))

    def _rank(self, host: BookableHost) -> tuple[float, float]:
        """Where a host stands in the order of hosts: those with smaller ranks are used first."""
        wanted, near, of_host = self._wanted, self._near, self._swept[host.id].fullness
        if wanted.packing.spread:
            return of_host(near), 0.0
        of_provider = None
        if host.is_contested(wanted.request):
            of_provider = host.ever_devices.fullness(wanted.request, wanted.spans, near)
        if of_provider is None:
            return -of_host(near), 0.0
        # Of hosts with empty providers, the fuller one comes first: whole hosts stay free.
        return -of_provider, 0.0 if of_provider else -of_host(near)

    def _room(self, host: BookableHost) -> int:
        wanted = self._wanted
        room = self._swept[host.id].room(wanted.window)
        if wanted.also and wanted.also != wanted.window:
            room = min(room, self._swept[host.id].room(wanted.also))
        room = min(room, wanted.count)
        if room and host.is_contested(wanted.request):
            kept = wanted.kept.get(host.id, NOTHING_KEPT)
            room = host.ever_devices.room(wanted.request, wanted.spans, room, kept)
        return room

    def make(self) -> dict[str, int]:
        """Choose hosts, and return the instances by host id."""
        count, preferred, packing = (
            self._wanted.count,
            self._wanted.preferred,
            self._wanted.packing,
        )
        order = self._order
        if packing == Packing():
            rooms = _rooms_for(order, self._room, count, preferred)
        else:
            rooms = {host.id: self._room(host) for host in order}
        if packing.affinity is False:
            rooms = {host_id: min(room, 1) for host_id, room in rooms.items()}
        elif packing.affinity and order:
            # All instances go to the host with the most room. Room for more than ``count`` doesn't
            # matter. Among equal hosts, a host that the booking already has is preferred, and after
            # that the first host in order.
            sole = max(order, key=lambda h: (min(rooms[h.id], count), h.id in preferred))
            order = [sole]
        ids = [host.id for host in order if host.id in rooms]
        kept = {i: min(preferred[i], rooms[i]) for i in ids if i in preferred}
        chosen: dict[str, int] = {}
        _fill(chosen, kept, count, at_once=count)
        # Packing fills each host before it goes on to the next. Spreading puts one instance on each
        # host, round after round.
        at_once = 1 if packing.spread else count
        _fill(chosen, {i: rooms[i] for i in ids}, count, at_once=at_once)
        return chosen


def _rooms_for(
    order: Sequence[BookableHost],
    room: Callable[[BookableHost], int],
    count: int,
    preferred: Mapping[str, int],
) -> dict[str, int]:
    """The rooms of those hosts that a booking may get if hosts are filled one after the other.

    The room on other hosts doesn't matter, and may take a long search.

    :param order: the hosts in the order in which they are filled.
    :param room: tells how many instances fit on a host.
    """
    rooms = {host.id: room(host) for host in order if host.id in preferred}
    found = sum(min(preferred[host_id], n) for host_id, n in rooms.items())
    for host in order:
        if found >= count:
            break
        if host.id not in rooms:
            rooms[host.id] = room(host)
        found += rooms[host.id] - min(preferred.get(host.id, 0), rooms[host.id])
    return rooms


def kept(held: Mapping[str, int], used: Mapping[str, int], count: int) -> dict[str, int]:
    """Choose the instances that a booking keeps when it gives up some of them.

    The hosts with the most servers keep their instances first, and after them the hosts with the
    most instances. In this way whole hosts become free. Each mapping has numbers of instances, by
    host id.

    :param held: the instances that the booking has.
    :param used: how many of these instances have servers. Instances with servers stay.
    :param count: how many instances the booking is to keep.
    :returns: the instances to keep. Their number is ``count``, or more if more instances have
        servers.
    """
    chosen = {i: min(used[i], n) for i, n in held.items() if used.get(i)}
    order = sorted(held, key=lambda i: (-chosen.get(i, 0), -held[i], i))
    _fill(chosen, {i: held[i] for i in order}, max(count, sum(chosen.values())), at_once=count)
    return chosen


def _fill(chosen: dict[str, int], rooms: Mapping[str, int], count: int, at_once: int) -> None:
    """Add instances to ``chosen``, until it has ``count`` instances or the hosts have no room left.

    :param rooms: by host id, how many instances the host may have in all. The order of the hosts is
        the order of preference.
    :param at_once: how many instances a host gets before it is the next host's turn.
    """
    left = count - sum(chosen.values())
    while left and (more := {i: n for i, n in _more(chosen, rooms).items() if n > 0}):
        # As many rounds as all of these hosts have room for are one step.
        rounds = max(min(*more.values(), left // len(more)), 1) if at_once == 1 else 1
        for host_id, room in more.items():
            added = min(room, left, at_once * rounds)
            if added:
                chosen[host_id] = chosen.get(host_id, 0) + added
                left -= added


def _more(chosen: Mapping[str, int], rooms: Mapping[str, int]) -> dict[str, int]:
    """How many more instances each host may have."""
    return {host_id: room - chosen.get(host_id, 0) for host_id, room in rooms.items()}


def free_spans(
    hosts: Sequence[BookableHost],
    request: PlacementRequest,
    count: int,
    window: timeline.Span,
    affinity: bool | None = None,
) -> list[timeline.Span]:
    """The spans within ``window`` throughout which ``count`` more instances fit on the hosts.

    Each span is as long as possible. The spans may overlap.

    :param request: what one instance asks for.
    :param affinity: as in ``Packing``.
    """
    return FreeSpans(HostGroup(hosts), request, count, window, affinity).of(count)


class FreeSpans:
    """When instances fit on a group of hosts, for any number of instances up to a largest one."""

    def __init__(
        self,
        group: HostGroup,
        request: PlacementRequest,
        most: int,
        window: timeline.Span,
        affinity: bool | None = None,
        also: Sequence[timeline.Span] = (),
    ) -> None:
        """
        :param also: other times throughout which instances must have the same providers.

        The other parameters are those of ``free_spans``.
        """
        self._hosts, self._group, self._also = group.hosts, group, tuple(also)
        self._request, self._window = request, window
        self._most, self._affinity = 1 if affinity is False else most, affinity

    def of(self, count: int, least: datetime.timedelta = times.NO_TIME) -> list[timeline.Span]:
        """The spans throughout which ``count`` more instances fit.

        :param least: spans that are shorter may be left out.
        """
        if not self._group.is_summed(self._request, min(count, self._most)):
            request, window = self._request, self._window
            levels = [h.levels(request, window, count, also=self._also) for h in self._hosts]
            return _spans_of_levels(levels, count, window, self._affinity)
        # Instances stay on their hosts. So each instance of a booking needs a time that contains
        # the booking, and at which its host has room for it beside those of the booking's instances
        # that are on the host too.
        first, last = (count if self._affinity else 1), min(count, self._most)
        needed = 1 if self._affinity else count
        room = self._group.during(self._window)
        return room.spans(TimesAsked(self._request, self._also, first, last, needed, least))

    def most(self, span: timeline.Span, limit: int) -> int:
        """The largest number of instances that fit throughout a part of the window.

        :param limit: larger numbers don't matter.
        """
        request, affinity = self._request, self._affinity
        if not self._group.is_contested(request):
            return self._group.during(self._window).most(request, span, limit, affinity)
        total, largest = 0, 0
        for host in self._hosts:
            room = min(host.swept(request, self._window).room(span), limit)
            room = host.lasting_room(request, [span, *self._also], room)
            if affinity is False:
                room = min(room, 1)
            total, largest = total + room, max(largest, room)
        return min(largest if affinity else total, limit)


def _spans_of_levels(
    levels: Sequence[Levels | JointLevels],
    count: int,
    window: timeline.Span,
    affinity: bool | None,
) -> list[timeline.Span]:
    if affinity:
        alone = [timeline.maximal_spans([level], count, window) for level in levels]
        return timeline.widest(span for spans in alone for span in spans)
    if affinity is False:
        levels = [level.at_most(1) for level in levels]
    return timeline.maximal_spans(levels, count, window)


class Rooms:
    """The room on hosts throughout a span, for any number of requests.

    Most hosts of a site are alike. If hosts have equal providers, and the same is held on them, the
    room for a request is computed once for all of them.
    """

    def __init__(self, hosts: Iterable[BookableHost], window: timeline.Span) -> None:
        """
        :param hosts: the hosts, with all holdings during the window.
        """
        self._window = window
        self._hosts = [self._during(host) for host in hosts]
        self._known: dict[Hashable, int] = {}

    def _during(self, host: BookableHost) -> tuple[BookableHost, Hashable]:
        """The host with what is held on it during the window, and a key of what is held."""
        first, last = self._window.start, self._window.end
        held = [holding for holding in host.holdings if holding.span.overlaps(self._window)]
        closed = [holding for holding in host.closed if holding.span.overlaps(self._window)]
        kinds = Counter(
            (max(span.start, first), min(span.end, last), request, places)
            for _, span, request, places in [*held, *closed]
        )
        return host.holding(held), frozenset(kinds.items())

    def room(self, request: PlacementRequest, among: Collection[str], most: int) -> int:
        """How many more instances of a request fit on some of the hosts.

        :param among: the ids of these hosts.
        :param most: larger numbers don't matter.
        """
        found = 0
        for host, held in self._hosts:
            if found >= most:
                break
            if host.id in among:
                found += self._on(host, held, request)
        return min(found, most)

    def _on(self, host: BookableHost, held: Hashable, request: PlacementRequest) -> int:
        key = (host.tree, held, request)
        room = self._known.get(key)
        if room is None:
            room = self._known[key] = host.room(request, self._window)
        return room
