"""Simulated people who share a small cluster, without and with waits, idle ends and series.

Researchers ask for some instances for some hours within the next days. Without waits, who finds no
room asks again each day. Some never boot a server, some finish early and leave the reservation as
it is, and some delete it. Teachers need the same hours each week. Without series, they book each
lesson a few days ahead. Times are whole hours from the start of the simulation.

The decisions are those of the package: ``free_time`` finds room, ``placing`` chooses hosts,
``waits.in_line`` sorts those who wait, and ``idle`` says when a reservation ends early. The people
and the chances are the same in every run.
"""

import collections
import dataclasses
import datetime
import heapq
import itertools
import random
import statistics
from collections.abc import Callable, Iterator

import matplotlib
from matplotlib.figure import Figure

from warre_blazar.domain import waits
from warre_blazar.domain.flavors.flavor import Flavor, Shape
from warre_blazar.domain.hosts import placing
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.providers import Inventory
from warre_blazar.domain.running import idle
from warre_blazar.domain.slots.free_time import FreeTime, Question, Supply
from warre_blazar.domain.taken import TakenOverTime
from warre_blazar.domain.timeline import Claim, Span

_FIRST = datetime.datetime(2100, 1, 4)
_HOUR = datetime.timedelta(hours=1)
_DAY, _WEEK = 24, 7 * 24
_SHAPE = Shape(8, 1, 1, 0, {}, None, None)
_ON_HOST = 2
IDLE_WARN, IDLE_END = 4, 8
#: So many hours ahead, a teacher without series books a lesson.
_LESSON_AHEAD = 3 * _DAY


@dataclasses.dataclass(frozen=True)
class Terms:
    """What the site offers."""

    name: str
    waits: bool = False
    idle_ends: bool = False
    series: bool = False


TERMS = (
    Terms("None"),
    Terms("Waits", waits=True),
    Terms("Idle ends", idle_ends=True),
    Terms("Series", series=True),
    Terms("Waits and idle ends", waits=True, idle_ends=True),
    Terms("All", waits=True, idle_ends=True, series=True),
)


@dataclasses.dataclass(frozen=True)
class Wish:
    """What somebody wants to book."""

    number: int
    project: str
    asked_at: int
    #: The earliest start and the latest end.
    window: tuple[int, int]
    count: int
    hours: int
    #: For how many hours servers run. 0: none is ever booted.
    used: int
    #: Whether the reservation is deleted when its servers have gone.
    tidy: bool
    is_lesson: bool = False


@dataclasses.dataclass
class Booked:
    """A wish that was fulfilled."""

    wish: Wish
    start: int
    end: int
    hosts: dict[str, int]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    terms: Terms
    capacity: int
    sold: int
    used: int
    wishes: int
    refused: int
    lessons: int
    lessons_refused: int
    #: The hours from the earliest start that researchers wanted to the start that they got.
    waited: list[int]

    @property
    def row(self) -> tuple[str, ...]:
        """The outcome as a row of the table with ``HEADER``."""
        return (
            self.terms.name,
            f"{self.sold:,} ({self.sold / self.capacity:.0%})",
            f"{self.used:,} ({self.used / self.capacity:.0%})",
            f"{self.refused:,} of {self.wishes:,} ({self.refused / self.wishes:.0%})",
            f"{self.lessons_refused:,} of {self.lessons:,}",
            f"{statistics.median(self.waited):.0f} h",
            f"{self.late:.0f} h",
        )

    @property
    def late(self) -> float:
        """The waiting time that nine of ten researchers don't exceed."""
        return statistics.quantiles(self.waited, n=10)[-1]


HEADER = (
    "Terms",
    "Hours sold",
    "Hours used",
    "Researchers refused",
    "Lessons refused",
    "Waiting time, median",
    "Waiting time, of nine in ten at most",
)


def people(weeks: int, hosts: int, dice: random.Random) -> list[Wish]:
    """Researchers and teachers who want somewhat more than there is."""
    wishes, number = [], itertools.count()
    each_day = hosts * _ON_HOST * _DAY / 42
    for day in range(7 * weeks - 10):
        for _ in range(round(dice.gauss(each_day, each_day / 3))):
            asked = day * _DAY + dice.randrange(8, 19)
            earliest, hours = asked + dice.randrange(0, 72), dice.choice((6, 12, 24, 24, 48, 72))
            used = 0 if dice.random() < 0.2 else max(1, round(hours * dice.uniform(0.4, 1)))
            window = (earliest, earliest + hours + dice.choice((12, 48, 96)))
            project, count = f"p{dice.randrange(12)}", dice.choice((1, 1, 2, 3))
            tidy = dice.random() < 0.3
            wishes.append(Wish(next(number), project, asked, window, count, hours, used, tidy))
    for course in range(max(hosts // 3, 1)):
        first = dice.randrange(5) * _DAY + dice.choice((9, 11, 14))
        for week in range(1, weeks - 1):
            start = first + week * _WEEK
            window, project = (start, start + 3), f"course{course}"
            wishes.append(Wish(next(number), project, 0, window, 6, 3, 3, False, is_lesson=True))
    return wishes


class Simulation:
    """A run under some terms."""

    def __init__(self, terms: Terms, hosts: int, weeks: int) -> None:
        self._terms, self._weeks = terms, weeks
        inventories = {"VCPU": Inventory(8 * _ON_HOST)}
        inventories |= {cls: Inventory(_ON_HOST) for cls in ("MEMORY_MB", "DISK_GB")}
        self._hosts = [
            BookableHost(f"h{n}", f"h{n:03}", None, {}, inventories, frozenset(), ())
            for n in range(hosts)
        ]
        self._slots = hosts * _ON_HOST
        self._flavor = Flavor(
            id="flavor",
            name="flavor",
            shape=_SHAPE,
            slots=self._slots,
            max_length_hours=_WEEK,
            start=None,
            end=None,
            is_public=True,
            active=True,
            texts={},
        )
        self._now = 0
        self._live: dict[int, Booked] = {}
        self._all: list[Booked] = []
        self._waiting: dict[int, waits.Wait] = {}
        self._served: list[waits.Wait] = []
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._refused: list[Wish] = []

    def run(self, wishes: list[Wish]) -> Outcome:
        """Let everybody ask, and count what became of it."""
        self._wishes = {wish.number: wish for wish in wishes}
        for wish in wishes:
            ahead = wish.is_lesson and not self._terms.series
            asked = max(wish.window[0] - _LESSON_AHEAD, 0) if ahead else wish.asked_at
            self._at(asked, lambda wish=wish: self._ask(wish))
        while self._events:
            self._now, _, happen = heapq.heappop(self._events)
            happen()
        lessons = [wish for wish in wishes if wish.is_lesson]
        lessons_refused = sum(wish.is_lesson for wish in self._refused)
        return Outcome(
            self._terms,
            self._slots * self._weeks * _WEEK,
            sum((b.end - b.start) * b.wish.count for b in self._all),
            sum(min(b.wish.used, b.end - b.start) * b.wish.count for b in self._all),
            len(wishes) - len(lessons),
            len(self._refused) - lessons_refused,
            len(lessons),
            lessons_refused,
            [b.start - b.wish.window[0] for b in self._all if not b.wish.is_lesson],
        )

    def _at(self, hour: int, happen: Callable[[], None]) -> None:
        heapq.heappush(self._events, (hour, next(self._order), happen))

    def _ask(self, wish: Wish) -> None:
        if self._book(wish):
            return
        if wish.window[1] - wish.hours < self._now or wish.is_lesson:
            self._refused.append(wish)
        elif self._terms.waits:
            self._wait(wish)
        elif wish.window[1] - wish.hours < self._now + _DAY:
            self._refused.append(wish)
        else:
            self._at(self._now + _DAY, lambda: self._ask(wish))

    def _book(self, wish: Wish) -> bool:
        """Book the first offer within the wish's window, if there is any."""
        start, end = max(wish.window[0], self._now), wish.window[1]
        if start + wish.hours > end:
            return False
        window, length = _span(start, end), wish.hours * _HOUR
        near = [b for b in self._live.values() if b.start < end and start < b.end]
        held = collections.defaultdict(list)
        for booked in near:
            holding = Holding(
                str(booked.wish.number), _span(booked.start, booked.end), _SHAPE.request
            )
            for host, count in booked.hosts.items():
                held[host] += [holding] * count
        hosts = [host.holding(held[host.id]) for host in self._hosts]
        taken = TakenOverTime(Claim(_span(b.start, b.end), b.wish.count) for b in near)
        question = Question(
            "flavor",
            wish.project,
            False,
            wish.count,
            window,
            _moment(self._now),
            0 * _HOUR,
            least=length,
        )
        supply = Supply(hosts, {"flavor": taken}, {})
        spans = FreeTime(self._flavor, question, supply).spans()
        if not spans:
            return False
        first = Span(spans[0].start, spans[0].start + length)
        chosen, room = placing.choose(hosts, placing.Wanted(_SHAPE.request, wish.count, first))
        assert room == wish.count
        self._begin(wish, (first.start - _FIRST) // _HOUR, chosen)
        return True

    def _begin(self, wish: Wish, start: int, hosts: dict[str, int]) -> None:
        booked = Booked(wish, start, start + wish.hours, hosts)
        self._live[wish.number] = booked
        self._all.append(booked)
        self._at(booked.end, lambda: self._end(booked))
        gone = start + wish.used
        if wish.tidy and wish.used and gone < booked.end:
            self._at(gone, lambda: self._end(booked))
        elif self._terms.idle_ends:
            for hour in range(gone, booked.end):
                self._at(hour, lambda: self._look_whether_idle(booked))

    def _look_whether_idle(self, booked: Booked) -> None:
        if booked.wish.number not in self._live:
            return
        since = _moment(booked.start + booked.wish.used)
        warned = since + IDLE_WARN * _HOUR
        now, end = _moment(self._now), _moment(booked.end)
        state = idle.IdleReservation(
            "", "", since, warned if warned <= now else None, None, IDLE_WARN, IDLE_END, end
        )
        if state.step(now) is idle.IdleStep.END:
            self._end(booked)

    def _end(self, booked: Booked) -> None:
        if self._live.pop(booked.wish.number, None) is None:
            return
        is_early = self._now < booked.end
        booked.end = self._now
        if is_early:
            self._serve()

    def _wait(self, wish: Wish) -> None:
        now = _moment(self._now)
        self._waiting[wish.number] = waits.Wait(
            id=str(wish.number),
            project_id=wish.project,
            user_id=wish.project,
            flavor_id="flavor",
            category=None,
            instance_count=wish.count,
            length=wish.hours * _HOUR,
            window=_span(*wish.window),
            created_at=now,
            expires_at=_moment(wish.window[1] - wish.hours),
            number=wish.number + 1,
        )
        self._at(wish.window[1] - wish.hours + 1, lambda: self._give_up(wish))

    def _give_up(self, wish: Wish) -> None:
        if self._waiting.pop(wish.number, None):
            self._refused.append(wish)

    def _serve(self) -> None:
        """Something ended early: book for those who wait, the first in line first."""
        now = _moment(self._now)
        line = waits.in_line(self._waiting.values(), self._served, now)
        for wait in line:
            if not wait.is_over(now) and self._book(self._wishes[int(wait.id)]):
                del self._waiting[int(wait.id)]
                self._served.append(
                    dataclasses.replace(wait, state=waits.WaitState.BOOKED, ended_at=now)
                )


def _moment(hour: int) -> datetime.datetime:
    return _FIRST + hour * _HOUR


def _span(start: int, end: int) -> Span:
    return Span(_moment(start), _moment(end))


def outcomes(weeks: int, hosts: int, seed: int) -> Iterator[Outcome]:
    """The outcome under each of ``TERMS``, with the same people."""
    wishes = people(weeks, hosts, random.Random(seed))
    for terms in TERMS:
        yield Simulation(terms, hosts, weeks).run(wishes)


def draw(found: list[Outcome], path: str) -> None:
    """Draw the outcomes as bars, into an SVG file."""
    matplotlib.rcParams["svg.hashsalt"] = "warre-blazar"  # Equal outcomes give equal files.
    picture = Figure(figsize=(11, 3.6))
    hours, refused, waited = picture.subplots(1, 3, sharey=True)
    names, places = [each.terms.name for each in found], range(len(found))
    sold = [100 * each.sold / each.capacity for each in found]
    used = [100 * each.used / each.capacity for each in found]
    dark, light, other = "#2f5d8a", "#c7d3e3", "#d98b3a"
    hours.barh(places, sold, color=light, label="sold")
    hours.barh(places, used, color=dark, height=0.5, label="used")
    hours.set_title("Hours sold and used, %")
    above, below = [place - 0.2 for place in places], [place + 0.2 for place in places]
    shares = [100 * each.refused / each.wishes for each in found]
    refused.barh(above, shares, color=dark, height=0.4, label="researchers")
    shares = [100 * each.lessons_refused / each.lessons for each in found]
    refused.barh(below, shares, color=other, height=0.4, label="lessons")
    refused.set_title("Refused, %")
    late, middle = [each.late for each in found], [statistics.median(e.waited) for e in found]
    waited.barh(places, late, color=light, label="nine of ten at most")
    waited.barh(places, middle, color=dark, height=0.5, label="median")
    waited.set_title("Waiting time, hours")
    hours.set_yticks(list(places), names)
    hours.invert_yaxis()
    for axes in (hours, refused, waited):
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2, frameon=False)
    picture.tight_layout()
    picture.savefig(path, format="svg", metadata={"Date": None})
