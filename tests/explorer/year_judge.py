"""Judges a year of a site minute by minute, by what the tables say and what people were told.

It shares no code with the package, because it checks the package.
"""

import collections
import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from tests.explorer.world import World
from tests.functional.db import oversold

_LEASES = """
SELECT r.id, l.start_date, l.end_date, l.status FROM reservations r
JOIN leases l ON l.id = r.lease_id WHERE l.end_date > :since
"""
_HELD = """
SELECT a.reservation_id, a.compute_host_id, COUNT(*) FROM computehost_allocations a
GROUP BY a.reservation_id, a.compute_host_id
"""
_MINUTE = datetime.timedelta(minutes=1)
_DAY = datetime.timedelta(days=1)
#: The statuses from a manager's claim on. Whoever has them is where the servers are or will be.
_BEGUN = ("STARTING", "ACTIVE")


class Broken(AssertionError):
    """What the product has promised isn't so."""


@dataclasses.dataclass(frozen=True)
class Promise:
    """What somebody was told to have."""

    flavor_id: str
    count: int
    start: datetime.datetime
    end: datetime.datetime


class YearJudge:
    """Looks after each event, and notes for every minute that passes what was held.

    :param capacities: the VCPUs by host.
    :param sizes: the VCPUs of an instance by flavor.
    :param slots: of each flavor.
    """

    def __init__(
        self, world: World, capacities: Mapping[str, int], sizes: Mapping[str, int], slots: int
    ) -> None:
        self._world, self._sizes, self._slots = world, sizes, slots
        self._capacities = capacities
        self._start = world.now
        #: What people were told to have, by reservation, until it ends.
        self.promises: dict[str, Promise] = {}
        #: The hosts that are down, and those that are drained.
        self.away: set[str] = set()
        self.drained: set[str] = set()
        #: The instances by host, by reservation, after the last event.
        self._held: dict[str, dict[str, int]] = {}
        self._begun: set[str] = set()
        #: A byte for each minute that has passed: how much is held, by host and by flavor.
        self._minutes = {key: bytearray() for key in (*capacities, *sizes)}
        self._moved = 0

    def promise(self, reservation_id: str, promise: Promise) -> None:
        """Note what somebody was told to have."""
        old = self.promises.get(reservation_id)
        if reservation_id not in self._begun or (old and promise.count < old.count):
            self._held.pop(reservation_id, None)  # This change may choose other hosts.
        self.promises[reservation_id] = promise

    def forget(self, reservation_id: str) -> None:
        """Note that a reservation was deleted."""
        del self.promises[reservation_id]

    def look(self) -> None:
        """Compare the tables with the promises, and with what was there before.

        :raises Broken: something is oversold, lost, moved or not begun.
        """
        now = self._world.now
        with self._world.engine.connect() as db:
            rows = db.execute(sa.text(_LEASES), {"since": now - _DAY}).mappings()
            row_by_id = {row["id"]: row for row in rows}
            held: dict[str, dict[str, int]] = collections.defaultdict(dict)
            for reservation_id, host_id, count in db.execute(sa.text(_HELD)):
                held[reservation_id][host_id] = count
        for reservation_id, promise in list(self.promises.items()):
            row = row_by_id.get(reservation_id)
            if promise.end <= now:
                self._look_at_ended(reservation_id, row, held)
                continue
            self._require(row is not None, f"{promise} is lost")
            assert row is not None
            self._look_at_live(promise, row, held[reservation_id])
            self._look_at_hosts(reservation_id, held[reservation_id])
        self._require(not (found := oversold.find(self._world.engine)), found)
        self._begun = {i for i, row in row_by_id.items() if row["status"] in _BEGUN}
        self._held = dict(held)

    def _look_at_ended(self, reservation_id: str, row: Any, held: Mapping[str, Any]) -> None:
        ended = row is None or row["status"] == "TERMINATED"
        self._require(ended and reservation_id not in held, f"{row} isn't ended")
        del self.promises[reservation_id]

    def _look_at_live(self, promise: Promise, row: Any, held: Mapping[str, int]) -> None:
        dates = tuple(map(_moment, (row["start_date"], row["end_date"])))
        self._require(dates == (promise.start, promise.end), f"{row} isn't {promise}")
        self._require(sum(held.values()) == promise.count, f"{promise} has {held}")
        if promise.start <= self._world.now:
            self._require(row["status"] == "ACTIVE", f"{row} hasn't begun")
            self._look_at_nova(row["id"], held)
        else:
            self._require(row["status"] in ("PENDING", "STARTING"), f"{row} has begun early")

    def _look_at_nova(self, reservation_id: str, held: Mapping[str, int]) -> None:
        """A reservation that has begun has a Nova flavor, and an inventory on each host."""
        flavor = self._world.cloud.nova.flavors.get(reservation_id.replace("-", ""))
        self._require(flavor and flavor["access"], f"{reservation_id} isn't open")
        cls = "CUSTOM_RESERVATION_" + reservation_id.replace("-", "_").upper()
        offered = sum(t.get(cls, 0) for t in self._world.cloud.placement.offered().values())
        up = sum(count for host_id, count in held.items() if host_id not in self.away)
        self._require(offered >= up, f"{reservation_id} offers {offered} of {up}")

    def _look_at_hosts(self, reservation_id: str, held: Mapping[str, int]) -> None:
        """Begun instances leave only failed hosts. None comes to a failed or drained host."""
        before = self._held.get(reservation_id)
        if before is None:
            return
        if before != held and reservation_id not in self._begun:
            self._moved += 1
        for host_id in before.keys() | held.keys():
            was, now = before.get(host_id, 0), held.get(host_id, 0)
            if host_id in self.away or host_id in self.drained:
                self._require(now <= was, f"{reservation_id} moved to {host_id}, which is out")
            if host_id not in self.away and reservation_id in self._begun:
                self._require(now >= was, f"{reservation_id} was moved after its claim")

    def pass_to(self, moment: datetime.datetime) -> None:
        """Note what is held from the world's present until a moment. Nothing happens between."""
        first = len(self._minutes[next(iter(self._capacities))])
        last = (moment - self._start) // _MINUTE
        used: dict[str, int] = collections.Counter()
        for reservation_id, promise in self.promises.items():
            if promise.start <= self._world.now < promise.end:
                for host_id, count in self._held.get(reservation_id, {}).items():
                    used[host_id] += count * self._sizes[promise.flavor_id]
                    used[promise.flavor_id] += count
        for key, minutes in self._minutes.items():
            minutes.extend(bytes([used[key]]) * (last - first))

    def numbers(self) -> dict[str, Any]:
        """What the minutes say, under names for people."""
        oversold_minutes = sum(
            held > self._capacities.get(key, self._slots)
            for key, minutes in self._minutes.items()
            for held in minutes
        )
        hosts = [self._minutes[host_id] for host_id in self._capacities]
        room = sum(most * len(self._minutes[key]) for key, most in self._capacities.items())
        return {
            "moved before its claim": self._moved,
            "judged minutes": sum(map(len, self._minutes.values())),
            "used": f"{100 * sum(map(sum, hosts)) / room:.1f} %",
            "oversold minutes": oversold_minutes,
        }

    def _require(self, is_so: Any, what: Any) -> None:
        if not is_so:
            raise Broken(f"{self._world.now}: {what}")


def _moment(text: Any) -> datetime.datetime:
    return datetime.datetime.fromisoformat(str(text)[:19])
