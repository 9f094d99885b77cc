"""Finds the times at which a flavor can be booked, from what is booked already."""

import dataclasses
import datetime
import functools
import itertools
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

from warre_blazar import times
from warre_blazar.domain import timeline
from warre_blazar.domain.booking import booking_rules
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors import capacity
from warre_blazar.domain.flavors.devices import NO_DEVICES, Rules
from warre_blazar.domain.flavors.flavor import Flavor, Shape
from warre_blazar.domain.hosts import placing
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.shared_room import HostGroup
from warre_blazar.domain.moves.room_by_moves import RoomByMoves
from warre_blazar.domain.timeline import Claim, Span


@dataclasses.dataclass(frozen=True)
class ChangedReservation:
    """A reservation that is to change. What it takes itself counts as free."""

    reservation: Reservation
    #: The instances that must stay on their hosts, by host id. None: the reservation hasn't begun,
    #: so it may get other hosts.
    staying: Mapping[str, int] | None = None


@dataclasses.dataclass(frozen=True)
class Question:
    """A question: when can a number of instances of a flavor be booked?"""

    #: An id or a name. If the question is about many flavors, it doesn't matter.
    flavor: str
    project_id: str | None
    #: Whether to also find private flavors to which the project has no access.
    everything: bool
    #: The number of instances.
    count: int
    #: The time within which free slots are searched.
    window: Span
    now: datetime.datetime
    #: Blazar's cleaning_time.
    cleaning: datetime.timedelta
    #: True: all instances are on one host. False: each instance is on a host of its own. None: the
    #: instances may be on any hosts.
    affinity: bool | None = None
    #: The shortest length of the spans to find.
    least: datetime.timedelta = times.NO_TIME
    #: Whether the project is exempt from the flavor's max_length_hours.
    any_length: bool = False
    #: How devices in reservations of stock resource types are counted.
    device_rules: Rules = NO_DEVICES
    #: None: the question is about a new booking.
    own: ChangedReservation | None = None
    #: How many reservations that haven't begun may be placed again for a booking. With 0, only room
    #: counts that is there without that.
    moves: int = 0

    @property
    def minute(self) -> datetime.datetime:
        """The present minute, which is the earliest start of a booking."""
        return self.now.replace(second=0, microsecond=0)

    @property
    def future(self) -> Span:
        """The part of the window that hasn't passed. It is empty if all of it has passed."""
        start = max(self.window.start, self.minute)
        return Span(start, max(self.window.end, start))

    def is_too_long(self, flavor: Flavor) -> bool:
        """Whether a reservation of the flavor can't be as long as the question asks."""
        return self.least > flavor.max_length and not self.any_length


@dataclasses.dataclass(frozen=True)
class Supply:
    """What decides when flavors can be booked, as it was read at one moment."""

    #: Reservable hosts, with what is booked on them. Hosts that match no flavor may be left out.
    hosts: Sequence[BookableHost]
    #: The claims on slots: by the flavor's id, and by the reservation's id in Blazar's table.
    claims: Mapping[str, Mapping[str, Sequence[Claim]]]
    #: The times at which maintenance windows close flavors, by the flavor's id.
    closed: Mapping[str, Sequence[Span]]
    #: What the project has booked of flavors with terms that depend on it: by the flavor's id, and
    #: by the reservation's id.
    booked: Mapping[str, Mapping[str, Sequence[Claim]]] = dataclasses.field(default_factory=dict)
    #: What hosts have room for if reservations are placed again, without what the question's own
    #: reservation takes. None: nothing is placed again.
    vacating: RoomByMoves | None = None
    #: The ids of the reservable hosts about whose providers nothing is stored.
    unread: Collection[str] = ()

    def matching(self, shape: Shape, project_id: str | None) -> HostGroup:
        """The hosts that match a shape, for a project; None: for any project.

        Shapes and projects that the same hosts match share one group.
        """
        project_id = project_id if self._tells_projects_apart else None
        key = shape.host_conditions, project_id
        group = self._matching.get(key)
        if group is None:
            hosts = tuple(host for host in self.hosts if host.matches(shape, project_id))
            group = self._groups.setdefault(tuple(host.id for host in hosts), HostGroup(hosts))
            self._matching[key] = group
        return group

    @functools.cached_property
    def _tells_projects_apart(self) -> bool:
        return any(host.aggregates.tells_projects_apart for host in self.hosts)

    @functools.cached_property
    def _matching(self) -> dict[Hashable, HostGroup]:
        """The groups that were asked for, by all on which ``BookableHost.matches`` depends."""
        return {}

    @functools.cached_property
    def _groups(self) -> dict[tuple[str, ...], HostGroup]:
        """The same groups, by the ids of their hosts."""
        return {}


NOTHING = Supply((), {}, {})


def bookable(flavor: Flavor, question: Question) -> Span | None:
    """The part of ``question.window`` in which the flavor's terms allow bookings, or None."""
    own, window = question.own, question.window
    # A reservation may keep its start, even if it has passed.
    keeps_start = own is not None and window.start == own.reservation.span.start
    first = window.start if keeps_start else max(window.start, question.minute)
    span = Span(
        max(first, flavor.start or first),
        min(question.window.end, flavor.latest_end(question.minute) or question.window.end),
    )
    return span if flavor.active and span.start < span.end else None


class FreeTime:
    """When a flavor can be booked, and what prevents bookings at other times.

    All spans are as long as possible, and may overlap. For example, one host may be free until
    Friday, and another host from Wednesday on.
    """

    def __init__(self, flavor: Flavor, question: Question, supply: Supply) -> None:
        self._flavor, self._question, self._supply = flavor, question, supply
        self._own = question.own
        self._shape = question.own.reservation.shape if question.own else flavor.shape
        self.bookable = bookable(flavor, question)
        #: The end of the time that was searched, and the present minute.
        self.horizon, self.minute = question.window.end, question.minute

    @property
    def unread(self) -> Collection[str]:
        """The ids of the reservable hosts about whose providers nothing is stored."""
        return self._supply.unread

    def spans(
        self,
        *,
        count: int | None = None,
        least: datetime.timedelta | None = None,
        with_windows: bool = True,
        with_project: bool = True,
    ) -> list[Span]:
        """All spans within which the instances can be booked, sorted by start.

        :param count: a smaller number of instances than the question's.
        :param least: the shortest length of the spans to find, in place of the question's.
        :param with_windows: whether maintenance windows count. If false, they are ignored.
        :param with_project: whether what the project has booked counts.
        """
        if self.bookable is None:
            return []
        least = self._question.least if least is None else least
        fitting = self.of_slots(count)
        if with_windows:
            fitting = timeline.intersect(fitting, self.outside_windows)
        if with_project and self._flavor.has_project_terms:
            fitting = timeline.intersect(fitting, self.of_project(count))
        if not is_any_long(fitting, least):
            return []
        fitting = timeline.intersect(fitting, self.of_hosts(count, least))
        return [span for span in timeline.widest(fitting) if span.end - span.start >= least]

    def most(self, span: Span) -> int:
        """The largest number of instances that can be booked for a span, by one booking.

        :param span: a part of the question's window.
        """
        if not self.bookable or not self.bookable.contains(span):
            return 0
        if any(span.overlaps(closed) for closed in self._supply.closed.get(self._flavor.id, ())):
            return 0
        padded = self._padded(span)
        free = self._free_slots.lowest(padded)
        allowed = booking_rules.project_room(self._flavor, self._booked, span)
        if allowed is not None:
            free = min(free, allowed)
        most = self._room.most(padded, free)
        vacating = self._supply.vacating
        if vacating is None or most >= free:
            return most
        request, affinity = self._shape.request, self._question.affinity
        window = self._padded(self.bookable)
        return vacating.most(request, self._ids, window, padded, affinity, most, free)

    def of_slots(self, count: int | None = None) -> list[Span]:
        """The spans for which the flavor has enough slots, whatever its hosts have."""
        if self.bookable is None:
            return []
        free = self._free_slots.runs(count or self._question.count, self._padded(self.bookable).end)
        return self._cleaned(free)

    def of_project(self, count: int | None = None) -> list[Span]:
        """The spans for which the project's other reservations of the flavor allow a booking."""
        if self.bookable is None:
            return []
        wanted = count or self._question.count
        return booking_rules.project_times(self._flavor, self._booked, wanted, self.bookable)

    @functools.cached_property
    def _booked(self) -> list[Claim]:
        own_id = self._own.reservation.reservation_id if self._own else None
        by_reservation = self._supply.booked.get(self._flavor.id, {})
        others = (claims for owner, claims in by_reservation.items() if owner != own_id)
        return list(itertools.chain.from_iterable(others))

    @functools.cached_property
    def _free_slots(self) -> timeline.Levels:
        assert self.bookable is not None
        own_id = self._own.reservation.reservation_id if self._own else None
        by_reservation = self._supply.claims.get(self._flavor.id, {})
        others = (claims for owner, claims in by_reservation.items() if owner != own_id)
        claims = itertools.chain.from_iterable(others)
        return timeline.Levels.left(self._flavor.slots, claims, self._padded(self.bookable))

    @property
    def has_hosts(self) -> bool:
        """Whether any host that can be booked has the flavor's properties, zone and traits."""
        return bool(self._hosts)

    def fits_empty_hosts(self) -> bool:
        """Whether the hosts would have room if nothing else were on them."""
        request = self._shape.request
        own = self._own
        if own and own.staying is not None:
            by_host = {host.id: host.when_empty(request) for host in self._hosts}
            return all(by_host.get(i, 0) >= count for i, count in own.staying.items())
        rooms = self._group.when_empty(request)
        return capacity.most_instances(rooms, self._question.affinity) >= self._question.count

    def of_hosts(
        self, count: int | None = None, least: datetime.timedelta = times.NO_TIME
    ) -> list[Span]:
        """The spans for which hosts have room, whatever slots the flavor has.

        :param least: spans that are shorter may be left out.
        """
        if self.bookable is None:
            return []
        question, own, window = self._question, self._own, self._padded(self.bookable)
        vacating = self._supply.vacating
        if own and own.staying is not None:
            found = _staying_room(self._hosts, own.reservation, own.staying, window)
            if vacating and found != [window]:
                vacated = vacating.staying(own.staying)
                more = _staying_room(vacated, own.reservation, own.staying, window)
                found = timeline.widest([*found, *more])
            return self._cleaned(found)
        wanted, least = count or question.count, least + question.cleaning
        found = self._room.of(wanted, least)
        if vacating and found != [window]:
            request, affinity = self._shape.request, question.affinity
            more = vacating.spans(request, wanted, self._ids, window, affinity, least)
            found = timeline.widest([*found, *more])
        return self._cleaned(found)

    @property
    def _hosts(self) -> Sequence[BookableHost]:
        """The hosts on which the instances may be."""
        return self._group.hosts

    @functools.cached_property
    def _group(self) -> HostGroup:
        own, shape, project_id = self._own, self._shape, self._question.project_id
        if own is None:
            return self._supply.matching(shape, project_id)
        staying = own.staying or ()
        hosts = [h for h in self._supply.hosts if h.id in staying or h.matches(shape, project_id)]
        return HostGroup(host.without(own.reservation.reservation_id) for host in hosts)

    @functools.cached_property
    def _ids(self) -> frozenset[str]:
        return frozenset(host.id for host in self._hosts)

    @functools.cached_property
    def _room(self) -> placing.FreeSpans:
        assert self.bookable is not None
        shape = self._shape
        question, window = self._question, self._padded(self.bookable)
        return placing.FreeSpans(
            self._group, shape.request, question.count, window, question.affinity
        )

    @functools.cached_property
    def outside_windows(self) -> list[Span]:
        """The spans in which no maintenance window closes the flavor."""
        if self.bookable is None:
            return []
        return timeline.outside(self._supply.closed.get(self._flavor.id, ()), self.bookable)

    def _padded(self, span: Span) -> Span:
        return span.padded(self._question.cleaning)

    def _cleaned(self, spans: Sequence[Span]) -> list[Span]:
        """The spans without the cleaning time at their ends."""
        cleaning = self._question.cleaning
        if not cleaning:
            return list(spans)
        return [
            Span(span.start, span.end - cleaning)
            for span in spans
            if span.end - cleaning > span.start
        ]


def is_any_long(spans: Iterable[Span], least: datetime.timedelta) -> bool:
    """Whether any of the spans is at least so long."""
    return any(span.end - span.start >= least for span in spans)


def _staying_room(
    hosts: Sequence[BookableHost],
    reservation: Reservation,
    staying: Mapping[str, int],
    window: Span,
) -> list[Span]:
    """The parts of a span during which instances have room on the hosts where they are."""
    spans = [window]
    by_id = {host.id: host for host in hosts}
    for host_id, count in staying.items():
        on_host = [by_id[host_id]] if host_id in by_id else []
        room = placing.free_spans(on_host, reservation.shape.request, count, window)
        spans = timeline.widest(timeline.intersect(spans, room))
    return spans
