"""Offers, compared with a brute force that tries every start and every end, hour by hour."""

import dataclasses
import datetime
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from warre_blazar.domain.booking.constraints import QuotaLimit
from warre_blazar.domain.booking.quota import UNLIMITED, Amount
from warre_blazar.domain.flavors.flavor import Flavor, Shape
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.providers import Inventory
from warre_blazar.domain.slots.free_time import NOTHING, FreeTime, Question, Supply
from warre_blazar.domain.slots.offers import OfferSearch
from warre_blazar.domain.taken import TakenOverTime
from warre_blazar.domain.timeline import Claim, Span

NOW = datetime.datetime(2100, 1, 1)
#: The number of hours that the tests look at.
HORIZON = 10
UNIT = datetime.timedelta(hours=1)
SHAPE = Shape(1, 1, 1, 0, {}, None, None)


def at(number: int) -> datetime.datetime:
    return NOW + number * UNIT


def span(start: int, end: int) -> Span:
    return Span(at(start), at(end))


@st.composite
def spans(draw: st.DrawFn) -> tuple[int, int]:
    start = draw(st.integers(0, HORIZON - 1))
    return start, draw(st.integers(start + 1, HORIZON + 2))


@dataclasses.dataclass(frozen=True)
class World:
    """Hosts, what is booked, and a question. Times are numbers of hours from the present."""

    #: By host, how many instances it has room for.
    hosts: list[int]
    slots: int
    #: Bookings: the time, the host's number, and whether it is of the flavor.
    booked: list[tuple[tuple[int, int], int, bool]]
    closed: list[tuple[int, int]]
    period: tuple[int | None, int | None]
    max_length: int
    cleaning: int
    count: int
    least: int
    affinity: bool | None
    #: None: no limit.
    hours_left: int | None
    #: The flavor's max_instances_per_project.
    most: int | None = None

    @property
    def taken(self) -> list[tuple[tuple[int, int], int, bool]]:
        """The bookings with their cleaning time."""
        return [
            ((start, end + self.cleaning), host, ours)
            for (start, end), host, ours in self.booked
            if host < len(self.hosts)
        ]

    def is_bookable(self, start: int, end: int, count: int | None = None) -> bool:
        """Whether a booking would fit, by looking at each hour of it."""
        count = count or self.count
        first, last = self.period
        if (first is not None and start < first) or (last is not None and end > last):
            return False
        if end - start > self.max_length or end > HORIZON:
            return False
        if self.hours_left is not None and (end - start) * count > self.hours_left:
            return False
        if any(a < end and start < b for a, b in self.closed):
            return False
        rooms = [
            min(
                room - sum(a <= hour < b for (a, b), host, _ in self.taken if host == number)
                for hour in range(start, end + self.cleaning)
            )
            for number, room in enumerate(self.hosts)
        ]
        rooms = [max(room, 0) for room in rooms]
        slots = self.slots - max(
            sum(a <= hour < b for (a, b), _, ours in self.taken if ours)
            for hour in range(start, end + self.cleaning)
        )
        if self.affinity is False:
            rooms = [min(room, 1) for room in rooms]
        return min(slots, max(rooms) if self.affinity else sum(rooms)) >= count


WORLDS = st.builds(
    World,
    hosts=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    slots=st.integers(1, 5),
    booked=st.lists(st.tuples(spans(), st.integers(0, 2), st.booleans()), max_size=7),
    closed=st.lists(spans(), max_size=2),
    period=st.tuples(st.none() | st.integers(0, 4), st.none() | st.integers(5, HORIZON + 1)),
    max_length=st.integers(1, HORIZON),
    cleaning=st.integers(0, 1),
    count=st.integers(1, 3),
    least=st.integers(1, 4),
    affinity=st.sampled_from([None, None, True, False]),
    hours_left=st.none() | st.integers(0, 12),
    most=st.none(),
)


def search(world: World, **changes: Any) -> tuple[OfferSearch, FreeTime]:
    first, last = world.period
    flavor = Flavor(
        id="f",
        name="f",
        shape=SHAPE,
        slots=world.slots,
        max_length_hours=world.max_length,
        start=None if first is None else at(first),
        end=None if last is None else at(last),
        is_public=True,
        active=True,
        texts={},
        max_instances_per_project=world.most,
    )
    hosts = []
    claims = []
    for number, room in enumerate(world.hosts):
        inventories = {c: Inventory(room) for c in ("VCPU", "MEMORY_MB", "DISK_GB")}
        held = [
            Holding(str(n), span(*when), SHAPE.request)
            for n, (when, host, _) in enumerate(world.taken)
            if host == number
        ]
        hosts.append(
            BookableHost(str(number), f"h{number}", None, {}, inventories, frozenset(), held)
        )
    for when, _, ours in world.taken:
        if ours:
            claims.append(Claim(span(*when), 1))
    supply = Supply(
        hosts, {"f": TakenOverTime(claims)}, {"f": [span(*when) for when in world.closed]}
    )
    question = Question(
        flavor="f",
        project_id="p",
        everything=False,
        count=world.count,
        window=span(0, HORIZON),
        now=NOW,
        cleaning=world.cleaning * UNIT,
        affinity=world.affinity,
        least=world.least * UNIT,
    )
    question = dataclasses.replace(question, **changes)
    hours = UNLIMITED if world.hours_left is None else world.hours_left
    quota = QuotaLimit(Amount(UNLIMITED, hours), Amount())
    free = FreeTime(flavor, dataclasses.replace(question, any_length=True), supply)
    return OfferSearch(flavor, question, supply, quota), free


def latest(world: World, start: int, count: int, least: int) -> int | None:
    """The latest end of a booking from a start on; None: there is none of this length."""
    ends = range(start + least, HORIZON + 1)
    return max((e for e in ends if world.is_bookable(start, e, count)), default=None)


def expected(world: World, count: int, least: int) -> list[tuple[int, int]]:
    """The starts from which a booking can end later than from any earlier start."""
    found: list[tuple[int, int]] = []
    unlimited = dataclasses.replace(world, max_length=99, hours_left=None)
    until = 0
    for start in range(HORIZON):
        end = latest(unlimited, start, count, least)
        if end is not None and end > until:
            until = end
            limited = latest(world, start, count, least)
            if limited is not None:
                found.append((start, limited))
    return found


@hypothesis.settings(max_examples=300, deadline=None)
@hypothesis.given(WORLDS)
def test_offers_are_the_starts_that_a_brute_force_finds(world: World):
    found, _ = search(world)
    shown = [(offer.span.start, offer.span.end) for offer in found.offers()]
    wanted = expected(world, world.count, world.least)
    assert shown == [(at(start), at(end)) for start, end in wanted]
    # Every start that can be booked is within an offer, with an end that the offer allows.
    spans_ = [(s, e) for s in range(HORIZON) for e in range(s + world.least, HORIZON + 1)]
    assert bool(shown) == any(world.is_bookable(s, e) for s, e in spans_)


@hypothesis.settings(max_examples=300, deadline=None)
@hypothesis.given(WORLDS)
def test_what_is_missing_could_be_booked_with_less(world: World):
    found, _ = search(world)
    if found.offers():
        return
    missing = found.missing(lambda: NOTHING)
    smaller = [n for n in range(1, world.count) if expected(world, n, world.least)]
    if smaller:
        start, end = expected(world, max(smaller), world.least)[0]
        assert missing.fewer_instances is not None
        assert missing.fewer_instances.count == max(smaller)
        assert missing.fewer_instances.span == span(start, end)
    else:
        assert missing.fewer_instances is None
    shorter = expected(world, world.count, 1) if world.least > 1 else []
    assert (missing.fewer_hours and missing.fewer_hours.span) == (
        span(*shorter[0]) if shorter else None
    )
    # The reason is what keeps everything else from sufficing.
    if missing.why.code == "quota_exceeded":
        assert world.hours_left is not None
        assert world.hours_left < world.count * world.least
    elif missing.why.code == "too_long":
        assert world.least > world.max_length


@hypothesis.settings(max_examples=200, deadline=None)
@hypothesis.given(WORLDS)
def test_as_many_are_free_in_a_part_as_a_brute_force_counts(world: World):
    _, free = search(world)
    unlimited = dataclasses.replace(world, max_length=99, hours_left=None)
    for start in range(0, HORIZON, 2):
        counts = (n for n in range(9, 0, -1) if unlimited.is_bookable(start, start + 2, n))
        assert free.most(span(start, start + 2)) == next(counts, 0)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"slots": 1, "count": 2}, "slots_exhausted"),
        ({"slots": 1, "booked": [((0, HORIZON), 0, True)]}, "slots_exhausted"),
        ({"hosts": [1], "count": 2}, "hosts_exhausted"),
        ({"hosts": [2, 1], "count": 3, "affinity": True}, "hosts_exhausted"),
        ({"hosts": [1], "booked": [((0, HORIZON), 0, False)]}, "hosts_exhausted"),
        ({"hosts": []}, "no_host_matches"),
        ({"hosts": [], "count": 4}, "no_host_matches"),
        ({"hosts": [], "least": 4, "max_length": 3}, "no_host_matches"),
        ({"most": 2, "count": 3}, "too_many_instances"),
        ({"most": 4, "count": 4}, "slots_exhausted"),
        ({"closed": [(0, HORIZON)]}, "maintenance"),
        ({"least": 4, "max_length": 3}, "too_long"),
        ({"hours_left": 1, "least": 2}, "quota_exceeded"),
        ({"hours_left": 0}, "quota_exceeded"),
        ({"period": (None, 1), "least": 2}, "after_flavor_end"),
        ({"period": (HORIZON - 1, None), "least": 2}, "before_flavor_start"),
        ({"least": HORIZON + 1, "max_length": HORIZON + 1}, "invalid_period"),
    ],
)
def test_reason_is_the_code_of_the_refusal(changes: dict[str, Any], code: str):
    plain = World([3], 3, [], [], (None, None), HORIZON, 0, 1, 1, None, None)
    found, _ = search(dataclasses.replace(plain, **changes))
    assert found.offers() == []
    assert found.missing(lambda: NOTHING).why.code == code
