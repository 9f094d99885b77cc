"""Looks at the tables every second: how late starts and ends are, and whether servers are lost."""

import dataclasses
import threading

from tests.torture.arithmetic import SLOTS
from tests.torture.ledger import View
from tests.torture.reading import LeaseRow, ReservationRow, ServerRow, Snapshot, Time
from warre_blazar.domain.running.execution import DELETE, DURING

#: What a start or an end may be late, in seconds.
MOST = 60.0


@dataclasses.dataclass
class Due:
    """The starts, or the ends, that were seen: the seconds by which each was late, by id."""

    done: dict[str, float] = dataclasses.field(default_factory=dict)
    #: What is due and hasn't been done, or has been given up since.
    waiting: dict[str, float] = dataclasses.field(default_factory=dict)

    def late(self) -> dict[str, float]:
        """What was late, or is, by more than it may."""
        found = {**self.waiting, **self.done}
        return {key: seconds for key, seconds in found.items() if seconds > MOST}

    def worst(self) -> float:
        return max([*self.waiting.values(), *self.done.values()], default=0.0)


class Onlooker:
    """Takes a judge's place in the torture test's Watch."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: Since when all services are there again, and whether that begins with the next look.
        self._resumed, self._resumes = Time.min, False
        #: When a time was first seen as the start or the end of a reservation.
        self._seen: dict[tuple[str, str, Time], Time] = {}
        self._statuses: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._servers: dict[str, ServerRow] = {}
        self.starts, self.ends = Due(), Due()
        self.servers: set[str] = set()
        #: Servers that were lost, as sentences by id.
        self.lost: dict[str, str] = {}

    def judge(self, _before: View, snapshot: Snapshot, _after: View) -> None:
        """Take a look."""
        with self._lock:
            if self._resumes:
                self._resumed, self._resumes = snapshot.now, False
            ours = {
                r.id: (r, snapshot.leases[r.lease_id])
                for r in snapshot.reservations.values()
                if r.resource_type == SLOTS and r.lease_id in snapshot.leases
            }
            for reservation, lease in ours.values():
                self._look_at(reservation, lease, snapshot.now)
            self._look_at_servers(snapshot, {key.replace("-", ""): x for key, x in ours.items()})
            self._statuses = {key: r.status for key, (r, _) in ours.items()}

    def resume(self) -> None:
        """All services were stopped. What became due meanwhile has its time from now on."""
        with self._lock:
            self._resumes = True

    def _look_at(self, reservation: ReservationRow, lease: LeaseRow, now: Time) -> None:
        was, key = self._statuses.get(reservation.id), reservation.id
        # A booking or a change may come after the time that it names.
        late = {
            "start": (now - max(lease.start, self._first(key, "start", lease.start, now))),
            "end": (now - max(lease.end, self._first(key, "end", lease.end, now))),
        }
        seconds = {name: max(0.0, x.total_seconds()) for name, x in late.items()}
        self.starts.waiting.pop(key, None)
        self.ends.waiting.pop(key, None)
        if reservation.status == "pending" and lease.status in ("PENDING", "STARTING"):
            if now > lease.start:
                self.starts.waiting[key] = seconds["start"]
        elif reservation.status == "active":
            if was == "pending":
                self.starts.done[key] = seconds["start"]
            if now > lease.end:
                self.ends.waiting[key] = seconds["end"]
        elif was == "active" and now >= lease.end:
            self.ends.done[key] = seconds["end"]

    def _first(self, key: str, what: str, time: Time, now: Time) -> Time:
        return max(self._seen.setdefault((key, what, time), now), self._resumed)

    def _look_at_servers(
        self, snapshot: Snapshot, ours: dict[str, tuple[ReservationRow, LeaseRow]]
    ) -> None:
        there = {s.id: s for s in snapshot.servers if s.flavor in ours}
        for key, server in self._servers.items():
            if key in there or server.flavor not in ours:
                continue
            reservation, lease = ours[server.flavor]
            is_fewer = (reservation.count or 0) < self._counts.get(server.flavor, 0)
            # A user who deletes a running reservation deletes its servers too.
            is_kept = reservation.status == "active" and lease.status != DURING[DELETE]
            if is_kept and snapshot.now < lease.end and not is_fewer:
                self.lost[key] = (
                    f"{snapshot.now}: server {key} is gone, and its reservation {reservation.id} "
                    f"lasts until {lease.end}"
                )
        self._servers = {key: s for key, s in there.items() if s.state == "active"}
        self.servers |= set(self._servers)
        for flavor, (reservation, _) in ours.items():
            # Nobody is told which server goes when a reservation gets fewer instances.
            most = self._counts.get(flavor, 0)
            self._counts[flavor] = max(most, reservation.count or 0)
