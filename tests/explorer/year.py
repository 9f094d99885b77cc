"""A year of a busy site, with Blazar's own manager and executor, and a judge of every minute.

People book instances of mixed sizes up to two weeks ahead, and change, extend, shorten, end and
delete what they have. Hosts fail and come back, and are drained. Bookings and changes that find no
room place other reservations again. All choices depend on the seed.
"""

import collections
import dataclasses
import datetime
import heapq
import itertools
import random
from collections.abc import Callable
from typing import Any

from blazar.db import api as db_api

from tests.explorer.world import World
from tests.explorer.year_judge import Promise, YearJudge
from tests.functional.db import world as parts
from tests.unit.api import identity
from warre_blazar.domain.hosts.host_marks import Drain
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import lookup
from warre_blazar.services.booking.through_manager import change, reservations
from warre_blazar.services.moves import drained_hosts, failed_hosts
from warre_blazar.services.running import backing

MINUTE = datetime.timedelta(minutes=1)
HOUR = datetime.timedelta(hours=1)
_ALPHA = identity.project_id("alpha")
_HOSTS = "abcdef"
_VCPUS = 8
_SIZES = (1, 2, 4, 8)
#: Instances of one size that can exist at once.
_SLOTS = 40
#: The longest time from a booking to its start, and the lengths, in hours.
_LEAD = 14 * 24
_LENGTHS = (6, 120)
#: The mean hours from a booking to the next. People ask for a little more than there is.
_BETWEEN = 5.0
#: The mean hours from a change to the next.
_BETWEEN_CHANGES = 6.0
#: The mean hours from a failure of a host, or its drain, to the next.
_BETWEEN_OUTAGES = 7 * 24.0
#: Refusals that people get on a busy site. ``no_host_matches`` means that all hosts have failed or
#: are drained. Any other refusal ends the year.
_EXPECTED = frozenset({"hosts_exhausted", "slots_exhausted", "no_host_matches"})


class Year:
    """Some days of a site.

    :param moves: ``[warre] moves_per_booking``
    """

    def __init__(self, world: World, seed: int, days: int, moves: int) -> None:
        world.clear()
        world.ids.begin()  # The same ids each time, so that a year can be repeated.
        self._world, self._dice = world, random.Random(seed)
        self._end = world.now + datetime.timedelta(days=days)
        self._conditions = dataclasses.replace(parts.conditions(), moves=moves)
        self._executor = world.new_executor()
        self._names = {parts.add_host(world.cloud, n, vcpus=_VCPUS): n for n in _HOSTS}
        self._flavors = {
            parts.add_flavor(name=f"of-{size}", vcpu=size, slots=_SLOTS).id: size for size in _SIZES
        }
        self.judge = YearJudge(world, dict.fromkeys(self._names, _VCPUS), self._flavors, _SLOTS)
        self.said: collections.Counter[str] = collections.Counter()
        self._agenda: list[tuple[datetime.datetime, int, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def run(self) -> None:
        """Let the days pass."""
        self._repeat(_BETWEEN, self._book)
        self._repeat(_BETWEEN_CHANGES, self._change)
        self._repeat(_BETWEEN_OUTAGES, self._lose_host)
        self._repeat(_BETWEEN_OUTAGES, self._drain_host)
        while self._agenda and self._agenda[0][0] < self._end:
            moment, _, _, act = heapq.heappop(self._agenda)
            self.judge.pass_to(moment)
            self._world.go_to(moment)
            act()
            self.judge.look()
        self.judge.pass_to(self._end)

    def _at(self, moment: datetime.datetime, act: Callable[[], None], rank: int = 1) -> None:
        """Put an act on the agenda, unless its moment has passed.

        At the same moment, acts with a lower rank come first.
        """
        if moment > self._world.now:
            heapq.heappush(self._agenda, (moment, rank, next(self._numbers), act))

    def _repeat(self, mean: float, act: Callable[[], None]) -> None:
        def again() -> None:
            act()
            self._repeat(mean, act)

        minutes = max(1, round(60 * self._dice.expovariate(1 / mean)))
        self._at(_minute(self._world.now) + minutes * MINUTE, again)

    # What the manager does by itself.

    def _plan(self, promise: Promise) -> None:
        """Put on the agenda what a manager does at the start and the end of a reservation."""
        self._at(promise.start - 5 * MINUTE, lambda: backing.make_ahead(self._world.now))
        for moment in (promise.start - MINUTE / 12, promise.start, promise.end):
            self._at(moment, self._execute, rank=0)

    def _execute(self) -> None:
        for _ in range(3):
            self._world.run(self._executor, self._world.now)

    # What people do.

    def _book(self) -> None:
        now, dice = _minute(self._world.now), self._dice
        start = now + dice.randint(10, 60 * _LEAD) * MINUTE
        if dice.random() < 0.5:
            start = start.replace(minute=0) + HOUR
        span = Span(start, start + dice.randint(*_LENGTHS) * HOUR)
        flavor_id, count = dice.choice(list(self._flavors)), dice.choice((1, 1, 1, 2))
        request = parts.request(flavor_id, span, count, project_id=_ALPHA, now=self._world.now)
        request = dataclasses.replace(request, conditions=self._conditions)
        made = self._ask("booking", lambda: reservations.create(self._world.caller(), request)[0])
        if made is not None:
            self._keep(made.reservation_id, Promise(flavor_id, count, span.start, span.end))

    def _change(self) -> None:
        if not self.judge.promises:
            return
        reservation_id = self._dice.choice(list(self.judge.promises))
        old = self.judge.promises[reservation_id]
        name, act = self._dice.choice(
            [
                ("extension", self._extend),
                ("extension", self._extend),
                ("early end", self._shorten),
                ("other start", self._move),
                ("other count", self._resize),
                ("deletion", self._delete),
            ]
        )
        reservation, _ = lookup.get(reservation_id, _ALPHA)
        act(name, reservation, old)

    def _extend(self, name: str, reservation: Any, old: Promise) -> None:
        end = old.end + self._dice.randint(1, 48) * HOUR
        self._write(name, reservation, dataclasses.replace(old, end=end), end=end)

    def _shorten(self, name: str, reservation: Any, old: Promise) -> None:
        first = max(old.start, _minute(self._world.now)) + 2 * MINUTE
        if first < old.end:
            end = first + self._dice.randrange((old.end - first) // MINUTE) * MINUTE
            self._write(name, reservation, dataclasses.replace(old, end=end), end=end)

    def _move(self, name: str, reservation: Any, old: Promise) -> None:
        start = old.start + self._dice.randint(-24, 48) * HOUR
        if self._world.now + HOUR < min(old.start, start):
            end = start + (old.end - old.start)
            new = dataclasses.replace(old, start=start, end=end)
            self._write(name, reservation, new, start=start, end=end)

    def _resize(self, name: str, reservation: Any, old: Promise) -> None:
        count = old.count + self._dice.choice((-1, 1))
        if count and (count < old.count or self._world.now < old.start):
            self._write(name, reservation, dataclasses.replace(old, count=count), count=count)

    def _delete(self, name: str, reservation: Any, old: Promise) -> None:
        if self._ask(name, lambda: reservations.delete(self._world.caller(), reservation)):
            self.judge.forget(reservation.reservation_id)

    def _write(self, name: str, reservation: Any, new: Promise, **values: Any) -> None:
        request = change.ChangeRequest(**values)
        made = self._ask(
            name,
            lambda: change.change(self._world.caller(), reservation, request, self._conditions),
        )
        if made is not None:
            self._keep(reservation.reservation_id, new)

    def _keep(self, reservation_id: str, promise: Promise) -> None:
        self.judge.promise(reservation_id, promise)
        self._plan(promise)

    def _ask(self, name: str, act: Callable[[], Any]) -> Any:
        """Ask for something. None: it was refused, because there is no room."""
        self.said[name] += 1
        try:
            made = act()
        except exceptions.WarreError as error:
            if error.code not in _EXPECTED:
                raise
            return None
        self.said[f"{name} accepted"] += 1
        return made

    # What operators do.

    def _lose_host(self) -> None:
        host_id = self._host_in_use()
        if host_id is None:
            return
        self.said["failed host"] += 1
        db_api.host_update(host_id, {"reservable": False})
        self.judge.away.add(host_id)
        self._heal()
        back = self._dice.randint(1, 48) * HOUR
        self._at(self._world.now + back / 2, self._heal)
        self._at(self._world.now + back, lambda: self._regain_host(host_id))

    def _regain_host(self, host_id: str) -> None:
        db_api.host_update(host_id, {"reservable": True})
        self.judge.away.remove(host_id)
        self._heal()

    def _heal(self) -> None:
        window = Span(self._world.now, self._end + 10 * _LEAD * HOUR)
        failed_hosts.heal(window, self._conditions, self._world.now)

    def _drain_host(self) -> None:
        host_id = self._host_in_use()
        if host_id is None:
            return
        self.said["drained host"] += 1
        self.judge.drained.add(host_id)
        drain = Drain(None, None, None)
        drained_hosts.drain(self._names[host_id], drain, self._conditions, self._world.now)
        back = self._world.now + self._dice.randint(1, 72) * HOUR
        self._at(back, lambda: self._resume_host(host_id))

    def _resume_host(self, host_id: str) -> None:
        drained_hosts.resume(self._names[host_id])
        self.judge.drained.remove(host_id)

    def _host_in_use(self) -> str | None:
        """A host that neither failed nor is drained, as long as most hosts aren't either."""
        out = self.judge.away | self.judge.drained
        if len(out) > len(self._names) // 3:
            return None
        return self._dice.choice([host_id for host_id in self._names if host_id not in out])

    def lines(self) -> list[str]:
        """What happened, for people."""
        return [
            *(f"{name:>24} {self.said[name]:>7}" for name in sorted(self.said)),
            *(f"{name:>24} {number:>7}" for name, number in self.judge.numbers().items()),
        ]


def _minute(moment: datetime.datetime) -> datetime.datetime:
    return moment.replace(second=0, microsecond=0)
