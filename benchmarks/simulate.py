#!/usr/bin/env python3
"""A year of random bookings, extensions and early ends, judged minute by minute; no database.

The rules are those of the booking transaction, over plain values: ``timeline.peak`` of the slots,
``placing.choose`` and ``quota.check``. The judge shares no code with them: a byte for every minute
of the year for each host, the flavor and each project, which says how much is held then. By it a
request fits or doesn't; the rules have to say the same every time, and no byte may exceed what
there is. The same requests, except extensions, also go to the code of Blazar's own
virtual:instance plugin, over the same kind of rows in memory.

After that, people share a small cluster for a year, without and with waits, idle ends and
series (``people.py``). ``--picture`` draws what came of it.
"""

import argparse
import collections
import dataclasses
import datetime
import random
from typing import Any

import figures
import people
from blazar.plugins.instances import instance_plugin
from blazar.plugins.oshosts import host_plugin as _host_plugin  # noqa: F401 - it is expected there
from oslo_config import cfg

from warre_blazar.domain import timeline
from warre_blazar.domain.booking import quota
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.hosts import holdings, placing
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.providers import Inventory
from warre_blazar.domain.timeline import Claim, Span
from warre_blazar.errors import exceptions

_FIRST = datetime.datetime(2100, 1, 1)
_MINUTE = datetime.timedelta(minutes=1)
_YEAR = 365 * 24 * 60
VCPUS, ASKED = 16, 8
PROJECTS = 5
_SHAPE = Shape(ASKED, 1, 1, 0, {}, None, None)
_MORE = [bytes((n + more) % 256 for n in range(256)) for more in range(65)]
_LESS = [bytes((n - less) % 256 for n in range(256)) for less in range(65)]


@dataclasses.dataclass
class Booking:
    """Instances by host from one minute of the year to another."""

    id: str
    project: str
    start: int
    end: int
    count: int
    chosen: dict[str, int]

    @property
    def span(self) -> Span:
        return Span(_FIRST + self.start * _MINUTE, _FIRST + self.end * _MINUTE)

    @property
    def hours(self) -> int:
        return -((self.start - self.end) // 60) * self.count


class Rules:
    """Ours, over plain values."""

    def __init__(self, hosts: int, slots: int, hours: int) -> None:
        inventories = {c: Inventory(VCPUS) for c in ("VCPU", "MEMORY_MB", "DISK_GB")}
        self._bare = [
            BookableHost(f"h{n}", f"h{n:04}", None, {}, inventories, frozenset(), ())
            for n in range(hosts)
        ]
        self._slots, self._limits = slots, quota.Amount(quota.UNLIMITED, hours)
        self.live: dict[str, Booking] = {}

    def choose(self, new: Booking, old: Booking | None = None) -> dict[str, int] | None:
        """Where it fits, beside all but the old one; None: nowhere."""
        others = [b for b in self.live.values() if b is not old]
        near = [b for b in others if b.start < new.end and new.start < b.end]
        taken = timeline.peak((Claim(b.span, b.count) for b in near), new.span)
        used = sum(b.hours for b in others if b.project == new.project)
        try:
            quota.check(self._limits, quota.Amount(0, used), quota.Amount(1, new.hours))
        except exceptions.QuotaExceeded:
            return None
        if taken + new.count > self._slots:
            return None
        held = collections.defaultdict(list)
        for b in near:
            for host, count in b.chosen.items():
                held[host] += [holdings.Holding(b.id, b.span, _SHAPE.request)] * count
        hosts = [dataclasses.replace(host, holdings=held[host.id]) for host in self._bare]
        kept = old.chosen if old else None
        chosen, room = placing.choose(
            hosts, placing.Wanted(_SHAPE.request, new.count, new.span, preferred=kept or {})
        )
        return chosen if room == new.count and (kept is None or chosen == kept) else None


class Judge:
    """A byte a minute of every host, in instances, and of the flavor's slots; hours by project."""

    def __init__(self, hosts: int, slots: int, hours: int) -> None:
        self._hosts = {f"h{n}": bytearray(_YEAR) for n in range(hosts)}
        self._flavor = bytearray(_YEAR)
        self._slots, self._hours = slots, hours
        self._used: collections.Counter[str] = collections.Counter()

    def write(self, booking: Booking, sign: int = 1) -> None:
        tables, part = (_MORE if sign > 0 else _LESS), slice(booking.start, booking.end)
        self._flavor[part] = self._flavor[part].translate(tables[booking.count])
        for host, count in booking.chosen.items():
            self._hosts[host][part] = self._hosts[host][part].translate(tables[count])
        self._used[booking.project] += sign * booking.hours

    def fits(self, new: Booking, only: dict[str, int] | None = None) -> bool:
        """Whether there is any way to hold it; ``only``: on these hosts, as many on each."""
        part, most = slice(new.start, new.end), VCPUS // ASKED
        rooms = {h: most - max(held[part]) for h, held in self._hosts.items()}
        somewhere = (
            sum(rooms.values()) >= new.count
            if only is None
            else all(rooms[host] >= count for host, count in only.items())
        )
        return (
            somewhere
            and max(self._flavor[part]) + new.count <= self._slots
            and self._used[new.project] + new.hours <= self._hours
        )

    def oversold(self) -> bool:
        """Whether at any minute of the year anything is held more than there is."""
        return (
            any(max(held) > VCPUS // ASKED for held in self._hosts.values())
            or max(self._flavor) > self._slots
            or any(used > self._hours for used in self._used.values())
        )


class Stock:
    """The instance plugin's own code over rows in memory."""

    def __init__(self, hosts: int) -> None:
        self._hosts = [
            {"id": f"h{n}", "vcpus": VCPUS, "memory_mb": VCPUS, "local_gb": VCPUS}
            for n in range(hosts)
        ]
        self._at: dict[str, list[Booking]] = collections.defaultdict(list)
        self._live: dict[str, Booking] = {}
        self._plugin = instance_plugin.VirtualInstancePlugin()
        # It reads through these modules; here it reads from this object.
        instance_plugin.db_api = self
        instance_plugin.db_utils = self

    def reservable_host_get_all_by_queries(self, _: Any) -> list[dict[str, Any]]:
        return self._hosts

    def host_allocation_get_all_by_values(self, **_: Any) -> list[Any]:
        return []

    def get_reservations_by_host_id(self, host: str, start: Any, end: Any) -> list[dict[str, Any]]:
        taken = {"vcpus": ASKED, "memory_mb": 1, "disk_gb": 1}
        return [
            {
                "id": b.id,
                "lease_id": b.id,
                "resource_type": "virtual:instance",
                "instance_reservation": taken,
            }
            for b in self._at[host]
            if b.span.start <= end and start <= b.span.end
        ]

    def event_get_all_sorted_by_filters(self, filters: Any, **_: Any) -> list[dict[str, Any]]:
        span = self._live[filters["lease_id"]].span
        return [
            {"event_type": "start_lease", "time": span.start},
            {"event_type": "end_lease", "time": span.end},
        ]

    def books(self, new: Booking) -> bool:
        asked = {
            "amount": new.count,
            "affinity": None,
            "vcpus": ASKED,
            "memory_mb": 1,
            "disk_gb": 1,
            "resource_properties": "",
            "start_date": new.span.start,
            "end_date": new.span.end,
        }
        try:
            chosen = self._plugin.pickup_hosts(None, asked)["added"]
        except instance_plugin.mgr_exceptions.NotEnoughHostsAvailable:
            return False
        booking = dataclasses.replace(new, chosen=collections.Counter(chosen))
        self._live[new.id] = booking
        for host in booking.chosen:
            self._at[host].append(booking)
        return True

    def end(self, booking_id: str, minute: int) -> None:
        if booking_id in self._live:
            self._live[booking_id].end = min(minute, self._live[booking_id].end)

    def oversold_minutes(self) -> int:
        """Minutes of hosts at which more is sold than there is."""
        found = 0
        for bookings in self._at.values():
            held = bytearray(_YEAR)
            for b in bookings:
                part = slice(b.start, b.end)
                table = _MORE[b.chosen[next(h for h in b.chosen if self._at[h] is bookings)]]
                held[part] = held[part].translate(table)
            found += sum(amount > VCPUS // ASKED for amount in held)
        return found


def extend(rules: Rules, judge: Judge, old: Booking, more: int) -> bool:
    """Make a booking longer where it is, as one that is running would be."""
    new = dataclasses.replace(old, end=min(old.end + more, _YEAR))
    judge.write(old, -1)
    chosen = rules.choose(new, old)
    if (chosen is not None) != judge.fits(new, old.chosen):
        raise SystemExit(f"extension of {old}: chosen {chosen}, the judge differs")
    new.chosen = chosen or old.chosen
    kept = new if chosen else old
    rules.live[old.id] = kept
    judge.write(kept)
    return chosen is not None


def report(said: collections.Counter[str], stock: Stock) -> None:
    for name, count in said.items():
        print(f"{name:>28} {count:>7}")
    print(f"{'accepted':>28} {said['booking accepted'] / said['booking']:>7.1%}")
    print(f"{'accepted by stock':>28} {said['booking accepted by stock'] / said['booking']:>7.1%}")
    print(f"{'oversold host minutes':>28} {0:>7}")
    print(f"{'oversold by stock':>28} {stock.oversold_minutes():>7}")


def named(said: collections.Counter[str], stock: Stock, hosts: int) -> dict[str, str]:
    """What came out, under the names that the documentation uses."""
    accepted, by_stock = said["booking accepted"], said["booking accepted by stock"]
    return {
        "hosts": str(hosts),
        "booked": str(said["booking"]),
        "accepted": str(accepted),
        "accepted_share": f"{100 * accepted / said['booking']:.1f} %",
        "stock.accepted": str(by_stock),
        "stock.accepted_share": f"{100 * by_stock / said['booking']:.1f} %",
        "extended": str(said["extension"]),
        "extended.accepted": str(said["extension accepted"]),
        "ended_early": str(said["early end"]),
        "oversold": "0",
        "stock.oversold": f"{stock.oversold_minutes():,}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000)
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--slots", type=int, default=180)
    parser.add_argument("--hours", type=int, default=300_000, help="each project's quota")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--weeks", type=int, default=52, help="of the people's simulation")
    parser.add_argument("--shared", type=int, default=10, help="hosts that the people share")
    parser.add_argument("--picture", help="the SVG file that shows what came of the people")
    asked = parser.parse_args()
    if asked.slots > 240:
        parser.error("a byte holds no more than 255: at most 240 slots")
    cfg.CONF([], project="blazar", default_config_files=[])
    simulate_bookings(asked)
    simulate_people(asked)


def simulate_people(asked: argparse.Namespace) -> None:
    found = []
    print(*people.HEADER, sep="  ")
    for outcome in people.outcomes(asked.weeks, asked.shared, asked.seed):
        print(*outcome.row, sep="  ", flush=True)
        found.append(outcome)
    if asked.picture:
        people.draw(found, asked.picture)
    named = {"weeks": str(asked.weeks), "hosts": str(asked.shared)}
    figures.record("people", named, [people.HEADER, *(each.row for each in found)])


def simulate_bookings(asked: argparse.Namespace) -> None:
    dice = random.Random(asked.seed)
    rules = Rules(asked.hosts, asked.slots, asked.hours)
    judge = Judge(asked.hosts, asked.slots, asked.hours)
    stock = Stock(asked.hosts)
    said: collections.Counter[str] = collections.Counter()
    for number in range(asked.requests):
        kind = dice.choices(["booking", "extension", "early end"], [8, 1, 1])[0]
        kind = kind if rules.live else "booking"
        said[kind] += 1
        if kind == "booking":
            start = dice.randrange(_YEAR - 60)
            # Half of them on the hour, so that many are back to back.
            start -= start % 60 if dice.random() < 0.5 else 0
            end = min(start + dice.randint(1, 28 * 24) * 60, _YEAR)
            project = f"p{dice.randrange(PROJECTS)}"
            new = Booking(f"b{number}", project, start, end, dice.randint(1, 12), {})
            chosen = rules.choose(new)
            if (chosen is not None) != judge.fits(new):
                raise SystemExit(f"{new}: chosen {chosen}, the judge differs")
            if chosen is not None:
                new.chosen = chosen
                rules.live[new.id] = new
                judge.write(new)
                said["booking accepted"] += 1
            said["booking accepted by stock"] += stock.books(new)
        elif kind == "extension":
            old = dice.choice(list(rules.live.values()))
            said["extension accepted"] += extend(rules, judge, old, dice.randint(1, 7 * 24 * 60))
        else:
            old = dice.choice(list(rules.live.values()))
            judge.write(old, -1)
            old.end = dice.randint(old.start, old.end)
            judge.write(old)
            stock.end(old.id, old.end)
        if number % 100 == 99 and judge.oversold():
            raise SystemExit(f"oversold after {number + 1} requests")
    if judge.oversold():
        raise SystemExit("oversold")
    report(said, stock)
    figures.record("simulate", named(said, stock, asked.hosts))


if __name__ == "__main__":
    main()
