"""What users asked for and what they were told: what the tables have to say, or may.

A request has three honest outcomes. Accepted: it holds. Refused: nothing has changed. Unknown (no
answer, a 5xx, a 202): it may have been done, may be done within ``SETTLED`` seconds, or never. So a
lease has a set of possible terms, which is narrowed to what the judge sees once nothing is open.
"""

import contextlib
import dataclasses
import datetime
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

#: Seconds after which a request that was not answered has been done, or never will be: a message on
#: the bus lives for 60 s, and what works on a lease takes at most 180 s by the cloud's timeouts.
SETTLED = 240.0
#: The same where all services are there and nobody asks for anything: as long as messages live.
AT_REST = 75.0

REFUSED, UNKNOWN = "refused", "unknown"


class Terms(NamedTuple):
    """What a lease says: its time, in naive UTC, and the instances of each reservation by id."""

    start: datetime.datetime
    end: datetime.datetime
    counts: tuple[tuple[str, int], ...]

    @classmethod
    def of(
        cls, start: datetime.datetime, end: datetime.datetime, counts: Mapping[str, int]
    ) -> "Terms":
        """The terms with counts in one order."""
        return cls(start, end, tuple(sorted(counts.items())))


@dataclasses.dataclass(frozen=True)
class Change:
    """What a request would change of a lease."""

    start: datetime.datetime | None = None
    end: datetime.datetime | None = None
    counts: tuple[tuple[str, int], ...] = ()
    #: The request deletes the lease.
    deletes: bool = False

    def of(self, terms: Terms) -> Terms:
        """The terms, changed."""
        counts = {**dict(terms.counts), **dict(self.counts)}
        return Terms.of(self.start or terms.start, self.end or terms.end, counts)


@dataclasses.dataclass(eq=False)
class Request:
    """A request about a lease that is in flight, or whose outcome is unknown since ``ended``."""

    change: Change
    began: float
    ended: float | None = None
    #: Whether another request about the lease was open at some time of this one.
    met: bool = False


@dataclasses.dataclass(eq=False)
class Booking:
    """A request for a lease: by its label or its lease's name, or by what was asked for."""

    project_id: str
    user_id: str
    flavors: tuple[str, ...]
    start: datetime.datetime
    end: datetime.datetime
    counts: tuple[int, ...]
    began: float
    #: The name of the v1 lease, or of the v2 reservation; Warre's reservations have none.
    lease_name: str | None = None
    label: str | None = None
    ended: float | None = None
    outcome: str | None = None


@dataclasses.dataclass(eq=False)
class Lease:
    """A lease that users were told is booked."""

    id: str
    project_id: str
    #: Flavors by reservation.
    flavors: dict[str, str]
    base: frozenset[Terms]
    accepted: float
    open: list[Request] = dataclasses.field(default_factory=list)
    #: When it was answered that the lease is deleted.
    deleted: float | None = None
    #: Moves whenever anything is asked or answered about the lease.
    version: int = 0

    def possible(self) -> frozenset[Terms]:
        """Every terms that the lease may have now."""
        return closure(self.base, [request.change for request in self.open])

    def may_go(self) -> bool:
        """Whether the lease may be gone, or go at any moment."""
        return self.deleted is not None or any(r.change.deletes for r in self.open)

    def copy(self) -> "Lease":
        """The lease as it is at this moment; the requests are the same."""
        return dataclasses.replace(self, open=list(self.open))


def closure(base: Iterable[Terms], changes: Iterable[Change]) -> frozenset[Terms]:
    """The terms that come of any of the changes, in any order, or of none."""
    changes = [change for change in changes if not change.deletes]
    found = set(base)
    new = set(base)
    while new:
        new = {change.of(terms) for terms in new for change in changes} - found
        found |= new
    return frozenset(found)


@dataclasses.dataclass(frozen=True)
class View:
    """The ledger at one moment."""

    leases: dict[str, Lease]
    bookings: list[Booking]


class Ledger:
    """Everything that users were told. Any thread may call any method."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._leases: dict[str, Lease] = {}
        self._bookings: list[Booking] = []
        self._at_rest = False

    def view(self) -> View:
        """A copy for the judge."""
        with self._lock:
            leases = {key: lease.copy() for key, lease in self._leases.items()}
            return View(leases, [dataclasses.replace(b) for b in self._bookings])

    def known(self, project_id: str) -> list[Lease]:
        """The leases of a project that nobody was told are deleted, oldest first."""
        with self._lock:
            found = [x for x in self._leases.values() if x.project_id == project_id]
            return [x.copy() for x in found if x.deleted is None]

    # Bookings.

    def asks_for(self, booking: Booking) -> Booking:
        """A booking is about to be sent."""
        with self._lock:
            self._bookings.append(booking)
        return booking

    def booked(
        self, booking: Booking, lease_id: str, flavors: dict[str, str], terms: Terms, now: float
    ) -> None:
        """A booking was answered with a lease, or is seen in the tables or in a listing."""
        with self._lock:
            others = [b for b in self._bookings if not _same(b, booking)]
            if len(others) == len(self._bookings):
                return  # whoever else saw it was first
            self._bookings = others
            base = frozenset([terms])
            self._leases[lease_id] = Lease(lease_id, booking.project_id, flavors, base, now)

    def not_booked(self, booking: Booking, outcome: str, now: float) -> None:
        """A booking was refused, or nobody knows."""
        with self._lock:
            booking.outcome, booking.ended = outcome, now

    # Changes and deletions.

    @contextlib.contextmanager
    def asking(self, lease_id: str, change: Change, now: float) -> Iterator[Request]:
        """A request about a lease is about to be sent; within, say what came of it."""
        request = Request(change, now)
        with self._lock:
            lease = self._leases[lease_id]
            for other in lease.open:
                other.met = True
            request.met = bool(lease.open)
            lease.open.append(request)
            lease.version += 1
        yield request

    def accepted(self, lease_id: str, request: Request, now: float) -> None:
        """The request was answered as done."""
        with self._lock:
            lease = self._leases[lease_id]
            lease.open.remove(request)
            lease.version += 1
            if request.change.deletes:
                lease.deleted = now
                return
            before = closure(lease.base, [r.change for r in lease.open])
            after = frozenset(request.change.of(terms) for terms in before)
            # Of two at the same time either may have been the last.
            lease.base = lease.base | after if request.met else after

    def refused(self, lease_id: str, request: Request) -> None:
        """The request was answered as refused: it has changed nothing."""
        with self._lock:
            lease = self._leases[lease_id]
            lease.open.remove(request)
            lease.version += 1

    def unknown(self, lease_id: str, request: Request, now: float) -> None:
        """Nobody knows what came of the request."""
        with self._lock:
            request.ended = now
            self._leases[lease_id].version += 1

    # What the judge has seen.

    def come_to_rest(self) -> None:
        """All services have been there for so long that nothing can be done any more."""
        self._at_rest = True

    def has_settled(self, ended: float | None, now: float) -> bool:
        """Whether a request of unknown outcome that ended then is done by now or never will be."""
        return ended is not None and (self._at_rest or now - ended > SETTLED)

    def settle(self, lease_id: str, version: int, seen: Terms | None, now: float) -> None:
        """Narrow a lease down to what was seen of it at a version, if nothing is in flight.

        :param seen: None: the lease is gone.
        """
        with self._lock:
            lease = self._leases[lease_id]
            if lease.version != version or any(r.ended is None for r in lease.open):
                return
            if not all(self.has_settled(r.ended, now) for r in lease.open):
                return
            if seen is None:
                lease.deleted = now
            elif seen in lease.possible():
                lease.base = frozenset([seen])
            lease.open.clear()

    def give_up(self, booking: Booking) -> None:
        """A booking of unknown outcome came to nothing."""
        with self._lock:
            self._bookings = [b for b in self._bookings if not _same(b, booking)]


def _same(one: Booking, other: Booking) -> bool:
    """Whether two are the same request, of which one may be a copy."""
    return (one.user_id, one.began) == (other.user_id, other.began)
