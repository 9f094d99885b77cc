"""Offers, compared with a brute force that tries every minute as a start, and every end after it.

The flavor has fair terms, the project has a quota, and maintenance windows close hosts and flavor.
The brute force shares no code with the package: it keeps a list with an entry for each minute.
"""

import dataclasses
import datetime
import math

import hypothesis
from hypothesis import strategies as st

from warre_blazar.domain.booking.constraints import QuotaLimit
from warre_blazar.domain.booking.quota import UNLIMITED, Amount
from warre_blazar.domain.flavors.flavor import Flavor, Shape
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.providers import Inventory
from warre_blazar.domain.slots.free_time import NOTHING, Question, Supply
from warre_blazar.domain.slots.offers import OfferSearch
from warre_blazar.domain.taken import TakenOverTime
from warre_blazar.domain.timeline import Claim, Span

FIRST = datetime.datetime(2100, 1, 1)
MINUTE = datetime.timedelta(minutes=1)
#: The length of the searched time in minutes.
LAST = 240
SHAPE = Shape(1, 1, 1, 0, {}, None, None)


def span(start: int, end: int) -> Span:
    return Span(FIRST + start * MINUTE, FIRST + end * MINUTE)


@st.composite
def times(draw: st.DrawFn) -> tuple[int, int]:
    """A start and an end, in minutes. Multiples of 30 are likely, so that some times touch."""
    minute = st.integers(0, LAST) | st.integers(0, LAST // 30).map(lambda n: 30 * n)
    start, end = draw(minute), draw(minute)
    return min(start, end), max(start, end) + (start == end)


@dataclasses.dataclass(frozen=True)
class Booking:
    """A booking of one instance."""

    time: tuple[int, int]
    host: int
    of_flavor: bool
    #: Whether it belongs to the project that asks.
    own: bool


@dataclasses.dataclass(frozen=True)
class World:
    """What is booked and closed, and a question. Times are minutes from the search's start."""

    rooms: list[int]
    slots: int
    booked: list[Booking]
    #: The windows of the flavor.
    closed: list[tuple[int, int]]
    #: The windows of hosts, with the host's number.
    shut: list[tuple[int, tuple[int, int]]]
    max_length_hours: int
    #: The minute at which the flavor's max_days_ahead ends. None: there is no such term.
    days_end: int | None
    most: int | None
    gap_hours: int | None
    hours_left: int | None
    reservations_left: int | None
    cleaning: int
    count: int
    least: int
    affinity: bool | None

    @property
    def present(self) -> list[Booking]:
        return [b for b in self.booked if b.host < len(self.rooms)]


WORLDS = st.builds(
    World,
    rooms=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    slots=st.integers(1, 6),
    booked=st.lists(
        st.builds(Booking, times(), st.integers(0, 2), st.booleans(), st.booleans()), max_size=6
    ),
    closed=st.lists(times(), max_size=1),
    shut=st.lists(st.tuples(st.integers(0, 2), times()), max_size=2),
    max_length_hours=st.integers(1, 4),
    days_end=st.none() | st.integers(60, LAST + 30),
    most=st.none() | st.integers(1, 4),
    gap_hours=st.none() | st.integers(0, 2),
    hours_left=st.none() | st.integers(1, 12),
    reservations_left=st.sampled_from([None, None, None, None, 1, 0]),
    cleaning=st.sampled_from([0, 0, 5, 30]),
    count=st.sampled_from([1, 1, 1, 2, 2, 3]),
    least=st.sampled_from([1, 1, 20, 60]),
    affinity=st.sampled_from([None, None, True, False]),
)


class ByMinute:
    """The brute force."""

    def __init__(self, world: World) -> None:
        self._world = world
        length = LAST + world.cleaning
        self._free = [self._of_host(n, room, length) for n, room in enumerate(world.rooms)]
        ours = [b for b in world.present if b.of_flavor]
        held = [[b for b in ours if self._holds(b, minute)] for minute in range(length)]
        self._slots = [world.slots - len(each) for each in held]
        self._own = [
            sum(b.own and b.time[0] <= minute < b.time[1] for b in ours) for minute in range(LAST)
        ]
        self._barred = [self._is_barred(minute, ours) for minute in range(LAST)]

    def _holds(self, booking: Booking, minute: int) -> bool:
        start, end = booking.time
        return start <= minute < end + self._world.cleaning

    def _of_host(self, number: int, room: int, length: int) -> list[int]:
        shut = [time for host, time in self._world.shut if host == number]
        on_host = [b for b in self._world.present if b.host == number]
        return [
            0
            if any(a <= minute < b for a, b in shut)
            else max(room - sum(self._holds(b, minute) for b in on_host), 0)
            for minute in range(length)
        ]

    def _is_barred(self, minute: int, ours: list[Booking]) -> bool:
        """Whether no booking of the project may contain a minute."""
        world = self._world
        if any(a <= minute < b for a, b in world.closed):
            return True
        if world.days_end is not None and minute >= world.days_end:
            return True
        if world.gap_hours is None:
            return False
        gap = 60 * world.gap_hours
        return any(b.own and b.time[0] - gap <= minute < b.time[1] + gap for b in ours)

    def latest(self, start: int) -> int | None:
        """The latest end of a booking from a start, as the hosts, slots and terms allow it."""
        world, found = self._world, None
        lows = [free[start] for free in self._free]
        slots, own = self._slots[start], 0
        for minute in range(start, start + world.cleaning):
            lows = [min(low, free[minute]) for low, free in zip(lows, self._free, strict=True)]
            slots = min(slots, self._slots[minute])
        for minute in range(start, LAST):
            after = minute + world.cleaning
            lows = [min(low, free[after]) for low, free in zip(lows, self._free, strict=True)]
            slots, own = min(slots, self._slots[after]), max(own, self._own[minute])
            if self._barred[minute] or not self._fits(lows, slots, own):
                break
            found = minute + 1
        return found

    def _fits(self, lows: list[int], slots: int, own: int) -> bool:
        world = self._world
        if world.most is not None and own + world.count > world.most:
            return False
        if world.affinity is False:
            lows = [min(low, 1) for low in lows]
        return min(slots, max(lows) if world.affinity else sum(lows)) >= world.count

    def limited(self, start: int, end: int) -> int | None:
        """The latest end that the longest time and the quota allow. None: there is none."""
        world = self._world
        if world.reservations_left == 0:
            return None
        ends = (
            minute
            for minute in range(end, start + world.least - 1, -1)
            if minute - start <= 60 * world.max_length_hours
            and (
                world.hours_left is None
                or math.ceil((minute - start) / 60) * world.count <= world.hours_left
            )
        )
        return next(ends, None)

    def offers(self) -> list[tuple[int, int]]:
        """Each start from which a booking can end later than from all earlier starts."""
        found, until = [], 0
        for start in range(LAST):
            end = self.latest(start)
            if end is not None and end - start >= self._world.least and end > until:
                until = end
                limited = self.limited(start, end)
                if limited is not None:
                    found.append((start, limited))
        return found


def search(world: World) -> OfferSearch:
    # The present is such that max_days_ahead ends within the searched time.
    days_end = 0 if world.days_end is None else world.days_end
    flavor = Flavor(
        id="f",
        name="f",
        shape=SHAPE,
        slots=world.slots,
        max_length_hours=world.max_length_hours,
        start=None,
        end=None,
        is_public=True,
        active=True,
        texts={},
        max_days_ahead=None if world.days_end is None else 1,
        max_instances_per_project=world.most,
        gap_hours=world.gap_hours,
    )
    with_cleaning = [(b, span(b.time[0], b.time[1] + world.cleaning)) for b in world.present]
    hosts = [
        BookableHost(
            str(number),
            f"h{number}",
            None,
            {},
            {c: Inventory(room) for c in ("VCPU", "MEMORY_MB", "DISK_GB")},
            frozenset(),
            [Holding("r", when, SHAPE.request) for b, when in with_cleaning if b.host == number],
            [Holding("w", span(*time), None) for host, time in world.shut if host == number],
        )
        for number, room in enumerate(world.rooms)
    ]
    ours = [(str(n), b, when) for n, (b, when) in enumerate(with_cleaning) if b.of_flavor]
    supply = Supply(
        hosts,
        {"f": TakenOverTime(Claim(when, 1) for _, _, when in ours)},
        {"f": [span(*time) for time in world.closed]},
        {"f": {number: [Claim(span(*b.time), 1)] for number, b, _ in ours if b.own}},
    )
    question = Question(
        flavor="f",
        project_id="p",
        everything=False,
        count=world.count,
        window=span(0, LAST),
        now=FIRST + (days_end - 24 * 60) * MINUTE,
        cleaning=world.cleaning * MINUTE,
        affinity=world.affinity,
        least=world.least * MINUTE,
    )
    limits = (UNLIMITED if n is None else n for n in (world.reservations_left, world.hours_left))
    return OfferSearch(flavor, question, supply, QuotaLimit(Amount(*limits), Amount()))


@hypothesis.settings(max_examples=120, deadline=None)
@hypothesis.given(WORLDS)
def test_offers_are_those_that_trying_every_minute_finds(world: World):
    found = search(world).offers()
    assert [offer.span for offer in found] == [span(*each) for each in ByMinute(world).offers()]


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(WORLDS)
def test_without_the_named_reason_there_would_be_an_offer(world: World):
    looked = search(world)
    if looked.offers():
        return
    code = looked.missing(lambda: NOTHING).why.code
    relieved = {
        "quota_exceeded": {"hours_left": None, "reservations_left": None},
        "maintenance": {"closed": []},
        "too_many_instances": {"most": None},
        "gap_too_short": {"gap_hours": None},
        "slots_exhausted": {"slots": 9},
        "hosts_exhausted": {"rooms": [9] * 5, "shut": []},
        "too_long": {"max_length_hours": 9},
    }.get(code)
    if relieved is None:
        return
    # Other reasons may be there too. They are named only once this one is gone.
    better = search(dataclasses.replace(world, **relieved))
    assert better.offers() or better.missing(lambda: NOTHING).why.code != code
