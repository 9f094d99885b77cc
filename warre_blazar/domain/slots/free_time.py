"""Finds the times at which a flavor can be booked, from what is booked already."""

import dataclasses
import datetime
import functools
import itertools
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

from warre_blazar import texts, times
from warre_blazar.domain import timeline
from warre_blazar.domain.booking import constraints, verdict
from warre_blazar.domain.booking.constraints import Case, Constraint, QuotaLimit, Search, Times
from warre_blazar.domain.booking.offered import KeptOffers, RoomBesideOffers
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.devices import NO_DEVICES, Rules
from warre_blazar.domain.flavors.flavor import Flavor, Shape
from warre_blazar.domain.hosts import placing
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.host_devices import NOTHING_KEPT, Kept, places_of
from warre_blazar.domain.hosts.shared_room import HostGroup
from warre_blazar.domain.moves.room_by_moves import RoomByMoves
from warre_blazar.domain.taken import TakenOverTime
from warre_blazar.domain.timeline import Claim, Span
from warre_blazar.errors import exceptions


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
    #: Whether maintenance windows are of no matter.
    in_windows: bool = False
    #: Whether the flavor is public, or the project has access to it.
    accessible: bool = True

    @property
    def minute(self) -> datetime.datetime:
        """The present minute, which is the earliest start of a booking."""
        return self.now.replace(second=0, microsecond=0)

    @property
    def future(self) -> Span:
        """The part of the window that hasn't passed. It is empty if all of it has passed."""
        start = max(self.window.start, self.minute)
        return Span(start, max(self.window.end, start))

    def case(self, flavor: Flavor) -> Case:
        """Whose booking of which flavor the question is about."""
        before = self.own.reservation.span if self.own else None
        return Case(flavor, self.now, self.accessible, self.any_length, before)


@dataclasses.dataclass(frozen=True)
class Supply:
    """What decides when flavors can be booked, as it was read at one moment."""

    #: Reservable hosts, with what is booked on them. Hosts that match no flavor may be left out.
    hosts: Sequence[BookableHost]
    #: What others have taken of slots, by the flavor's id.
    taken: Mapping[str, TakenOverTime]
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
    #: What is kept for others who have waited, by the flavor's id.
    offers: Mapping[str, KeptOffers] = dataclasses.field(default_factory=dict)

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

    def rooms(self, shape: Shape, project_id: str | None) -> list[int]:
        """How many instances each host that matches a shape holds when it is empty."""
        return self.matching(shape, project_id).when_empty(shape.request)

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
    return _hull(_rules(flavor, question), question)


def _rules(flavor: Flavor, question: Question) -> list[Constraint]:
    """The constraints that don't depend on what is booked."""
    case, own = question.case(flavor), question.own
    # A reservation may keep its start, even if it has passed.
    keeps_start = own is not None and question.window.start == own.reservation.span.start
    past = [] if keeps_start else [constraints.past(question.now)]
    return [*constraints.access(case), *past, *constraints.terms(case)]


def _hull(rules: Sequence[Constraint], question: Question) -> Span | None:
    search = Search(question.count, times.NO_TIME, question.window)
    spans = verdict.find(rules, search).spans
    return Span(spans[0].start, spans[-1].end) if spans else None


class RoomOnHosts(Constraint):
    """The hosts of a flavor, with what is booked on them."""

    def __init__(
        self, shape: Shape, question: Question, supply: Supply, bookable: Span | None
    ) -> None:
        """
        :param bookable: as ``bookable`` returns it.
        """
        self._shape, self._question, self._supply = shape, question, supply
        self._own, self._bookable = question.own, bookable

    @functools.cached_property
    def fit_empty(self) -> bool:
        """Whether any host that matches has room for an instance if nothing else is on it."""
        return any(self._group.when_empty(self._shape.request))

    def most(self, span: Span, limit: int) -> int:
        assert self._bookable is not None
        padded = self._padded(span)
        most = self._room.most(padded, limit)
        vacating = self._supply.vacating
        if vacating is None or most >= limit:
            return most
        request, affinity = self._shape.request, self._question.affinity
        window = self._padded(self._bookable)
        return vacating.most(request, self._ids, window, padded, affinity, most, limit)

    def error(self, span: Span, count: int) -> exceptions.WarreError:
        matching = len(self._hosts)
        if not self.fit_empty:
            return exceptions.NoHostMatches(count, matching)
        stays = self._own and self._own.staying is not None
        free = 0
        if count > 1 and not stays and self._bookable and self._bookable.overlaps(span):
            first, last = max(span.start, self._bookable.start), min(span.end, self._bookable.end)
            free = self.most(Span(first, last), count - 1)
        return exceptions.HostsExhausted(count, free, matching, self._question.affinity)

    def times(self, search: Search) -> Sequence[Times]:
        return (Times(self._spans(search.count, search.least)),)

    def _spans(self, count: int, least: datetime.timedelta) -> list[Span]:
        """The spans for which hosts have room. Those that are shorter may be left out."""
        if self._bookable is None:
            return []
        question, own, window = self._question, self._own, self._padded(self._bookable)
        vacating = self._supply.vacating
        if own and own.staying is not None:
            found = self._staying_room(self._hosts, own.staying, window)
            if vacating and found != [window]:
                vacated = vacating.staying(own.staying)
                more = self._staying_room(vacated, own.staying, window)
                found = timeline.widest([*found, *more])
            return self._cleaned(found)
        least += question.cleaning
        found = self._room.of(count, least)
        if vacating and found != [window]:
            request, affinity = self._shape.request, question.affinity
            more = vacating.spans(request, count, self._ids, window, affinity, least)
            found = timeline.widest([*found, *more])
        return self._cleaned(found)

    def _staying_room(
        self, hosts: Sequence[BookableHost], staying: Mapping[str, int], window: Span
    ) -> list[Span]:
        """The parts of a span during which instances have room on the hosts where they are.

        They keep their devices.
        """
        assert self._own is not None
        own, request, spans = self._own.reservation.reservation_id, self._shape.request, [window]
        kept = {
            host.id: Kept(places_of(host.holdings, own), must_stay=True)
            for host in self._supply.hosts
            if host.id in staying and host.is_contested(request)
        }
        by_id = {host.id: host for host in hosts}
        for host_id, count in staying.items():
            room: list[Span] = []
            if host_id in by_id:
                of_host = kept.get(host_id, NOTHING_KEPT)
                levels = by_id[host_id].levels(request, window, count, of_host)
                room = timeline.maximal_spans([levels], count, window)
            spans = timeline.widest(timeline.intersect(spans, room))
        return spans

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
        assert self._bookable is not None
        shape = self._shape
        question, window = self._question, self._padded(self._bookable)
        # Until its new time is written, a reservation needs its devices at its present time too.
        also = [self._padded(self._own.reservation.span)] if self._own else []
        return placing.FreeSpans(
            self._group, shape.request, question.count, window, question.affinity, also
        )

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


class FreeTime:
    """When a flavor can be booked, and what prevents bookings at other times.

    All spans are as long as possible, and may overlap. For example, one host may be free until
    Friday, and another host from Wednesday on.
    """

    def __init__(
        self,
        flavor: Flavor,
        question: Question,
        supply: Supply,
        quota: QuotaLimit | None = None,
        handle: Sequence[Constraint] = (),
    ) -> None:
        """
        :param quota: the project's limits. None: they are of no matter.
        :param handle: the constraint by the handle of the booking, if it has one.
        """
        self._flavor, self._question, self._supply = flavor, question, supply
        self._own, self._quota, self._handle = question.own, quota, handle
        self._shape = question.own.reservation.shape if question.own else flavor.shape
        self._rules = _rules(flavor, question)
        # The constraint doesn't refer to this object. Otherwise the garbage collector would have to
        # find out that the two can be deleted, and all that was read with them.
        self._hosts = RoomOnHosts(self._shape, question, supply, _hull(self._rules, question))

    @property
    def unread(self) -> Collection[str]:
        """The ids of the reservable hosts about whose providers nothing is stored."""
        return self._supply.unread

    @functools.cached_property
    def constraints(self) -> list[Constraint]:
        """All constraints. Those that take the longest time come last."""
        flavor, supply, question = self._flavor, self._supply, self._question
        closed = () if question.in_windows else supply.closed.get(flavor.id, ())
        return [
            *self._rules,
            *constraints.windows(closed),
            *self._of_project(),
            *self._handle,
            *([self._quota] if self._quota else []),
            self._slots,
            self._hosts,
            *self._beside_offers(),
        ]

    @property
    def _slots(self) -> Constraint:
        taken = self._supply.taken.get(self._flavor.id, TakenOverTime())
        return constraints.slots(self._flavor, taken, self._question.cleaning)

    def _beside_offers(self) -> list[Constraint]:
        offers = self._supply.offers.get(self._flavor.id)
        if offers is None:
            return []
        asked, own = self._question, self._question.own
        # What is offered may be on any hosts, wherever this reservation has to be.
        question = dataclasses.replace(
            asked,
            count=asked.count + offers.most,
            affinity=None,
            own=own and dataclasses.replace(own, staying=None),
        )
        hull = _hull(self._rules, asked)
        hosts = RoomOnHosts(self._shape, question, self._supply, hull)
        return [RoomBesideOffers(offers, [self._slots, hosts])]

    def _of_project(self) -> list[Constraint]:
        if not self._flavor.has_project_terms:
            return []
        own_id = self._own.reservation.reservation_id if self._own else None
        by_reservation = self._supply.booked.get(self._flavor.id, {})
        others = (held for owner, held in by_reservation.items() if owner != own_id)
        return constraints.of_project(self._flavor, list(itertools.chain.from_iterable(others)))

    def find(
        self,
        *,
        count: int | None = None,
        least: datetime.timedelta | None = None,
        within: Span | None = None,
    ) -> verdict.FoundTimes:
        """Find the times at which the instances can be booked.

        :param count: a smaller number of instances than the question's.
        :param least: the shortest length of a booking, in place of the question's.
        :param within: a part of the question's window, in place of all of it.
        """
        question = self._question
        least = question.least if least is None else least
        search = Search(count or question.count, least, within or question.window)
        return verdict.find(self.constraints, search)

    def spans(self) -> list[Span]:
        """All spans within which the instances can be booked, sorted by start."""
        return self.find().spans

    def latest_end(self, start: datetime.datetime) -> tuple[datetime.datetime, Constraint | None]:
        """The latest end of a booking from a start on, and what stops it (``verdict``)."""
        question = self._question
        search = Search(question.count, times.NO_TIME, question.window)
        return verdict.latest_end(self.constraints, start, search)

    def most(self, span: Span) -> int:
        """The largest number of instances that can be booked for a span, by one booking."""
        return verdict.most(self.constraints, span, self._flavor.slots)

    def why_not(self, span: Span) -> exceptions.WarreError:
        """Why the instances can't be booked for a span: the refusal of the first constraint.

        :raises StopIteration: they can be booked.
        """
        refusals = (each.refusal(span, self._question.count) for each in self.constraints)
        return next(filter(None, refusals))

    def why(self, blamed: Constraint, within: Span | None = None) -> exceptions.WarreError:
        """Why nothing was found.

        :param blamed: the constraint to blame.
        :param within: as for ``find``.
        """
        question, window = self._question, within or self._question.window
        is_closed = not self._flavor.active or not question.accessible
        if not is_closed and not self._hosts.fit_empty:
            blamed = self._hosts  # No other booking helps.
        elif question.least > window.end - window.start:
            asked = Span(window.start, window.start + question.least)
            found = verdict.find(self._rules, Search(question.count, question.least, asked))
            if found.blamed is None:
                return exceptions.InvalidPeriod(texts.refusals.TOO_SHORT())
            blamed = found.blamed
        return blamed.error(window, question.count)

    def wait_start(
        self, wanted: Span, everything: Callable[[], Supply]
    ) -> datetime.datetime | None:
        """The first start, from a wanted one on, that a wait for a new booking could get.

        Others may give back all that they have booked, and windows may be deleted. None: that
        doesn't help.

        :param everything: reads all hosts, also closed ones, as if nothing was booked on them.
        """
        question, shape = self._question, self._shape
        length = wanted.end - wanted.start
        ahead = min(times.WAIT_LENGTH, datetime.datetime.max - wanted.start)
        if length > ahead:
            return None  # A wait would be over before its first start.
        window = Span(wanted.start, wanted.start + ahead)
        case = dataclasses.replace(question.case(self._flavor), until=window.end - length)
        quota = [dataclasses.replace(self._quota, used=Amount())] if self._quota else []
        rules = [*constraints.alone(case), *quota]
        first = verdict.find(rules, Search(question.count, length, window)).first(wanted)
        if first is None:
            return None
        hosts = (
            constraints.empty_hosts(read().rooms(shape, question.project_id), question.affinity)
            for read in (lambda: self._supply, everything)
        )
        fits = any(each.most(wanted, question.count) >= question.count for each in hosts)
        return first if fits else None
