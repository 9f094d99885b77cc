"""Reads the state of the site for metrics, in a constant number of SQL statements."""

import dataclasses
import datetime
from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import flavors, maintenance, session
from warre_blazar.db.hosts import allocations, host_marks, reservable_hosts
from warre_blazar.db.messages import deliveries
from warre_blazar.db.records import metrics, refusals
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.flavors import capacity
from warre_blazar.domain.flavors.capacity import SlotUse
from warre_blazar.domain.flavors.devices import Rules
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.hosts import bookable_host, placing
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.records.tallies import DELAYS, Histogram, Name, Tally, histogram
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.timeline import Span
from warre_blazar.services import searches
from warre_blazar.services.hosts.host_status import HostStatus

#: The states of reservations that are counted. What is over isn't counted, because its number says
#: only how long records are kept.
STATES = tuple(state for state in reservation_states.ALL if state != reservation_states.COMPLETE)


@dataclasses.dataclass(frozen=True)
class BookedAmount:
    """A number of reservations, and of their instances."""

    reservations: int = 0
    instances: int = 0


@dataclasses.dataclass(frozen=True)
class NamedFlavor:
    """A flavor's id and name. Several flavors may have the same name."""

    id: str
    name: str


@dataclasses.dataclass(frozen=True)
class Queue:
    """The notices in the outbox that are for one channel."""

    waiting: int
    #: Since when the oldest of these notices has been waiting.
    age: datetime.timedelta
    given_up: int


@dataclasses.dataclass(frozen=True)
class Site:
    """What the metrics show."""

    #: By flavor and state. Each flavor that exists or has a reservation has all states.
    reservations: Mapping[tuple[NamedFlavor, str], BookedAmount]
    #: Starts and ends that are overdue, by action.
    overdue: Mapping[str, int]
    slots: Mapping[NamedFlavor, int]
    #: By flavor and day of ``times.SLOT_USE_DAYS``.
    slot_uses: Mapping[tuple[NamedFlavor, int], SlotUse]
    hosts: Sequence[HostStatus]
    #: By action.
    delays: Mapping[str, Histogram]
    #: The number of repairs by the name of the row of the table of lease states.
    repairs: Mapping[str, int]
    #: By machine, the seconds since the last heartbeat of a manager there.
    silences: Mapping[str, int]
    managers_alive: int
    #: The number of requests that were refused on this day in UTC, by the code of the error.
    refusals: Mapping[str, int]
    #: By channel.
    outbox: Mapping[str, Queue]


@searches.uncollected()
def read(now: datetime.datetime, cleaning: datetime.timedelta, rules: Rules) -> Site:
    """Read what the metrics show.

    :param now: the present, by the database's clock.
    :param cleaning: Blazar's cleaning_time.
    :param rules: how devices of Blazar's own reservations are counted.
    """
    with session.reader() as db:
        offered = flavors.every(db)
        groups = metrics.groups(db)
        booked_ids = {group.flavor_id for group in groups}
        gone = flavors.get_many(db, booked_ids - {flavor.id for flavor in offered})
        overdue = metrics.overdue(db, now - times.OVERDUE_IN_METRICS_AFTER)
        marks = host_marks.every(db)
        bookings = _Bookings(db, offered, now, cleaning, rules)
        windows = maintenance.closing_each(db, bookings.window)
        counted = metrics.tallies(db)
        heartbeats = metrics.heartbeats(db)
        backlogs = deliveries.backlogs(db)
        refused = refusals.of_day(db, now.date())
    names = {flavor.id: _name(flavor) for flavor in (*offered, *gone.values())}
    return Site(
        reservations=_amounts(names, groups),
        overdue=overdue,
        slots={_name(flavor): flavor.slots for flavor in offered},
        slot_uses={
            (_name(flavor), days): bookings.use(flavor, windows.get(flavor.id, ()), days)
            for flavor in offered
            for days in times.SLOT_USE_DAYS
        },
        hosts=[
            HostStatus(host, marks[host.id], bookings.host_uses(host), ())
            for host in bookings.hosts
            if host.id in marks
        ],
        delays={action: histogram(_of(counted, name)) for action, name in DELAYS.items()},
        repairs=_repairs(_of(counted, Name.REPAIR)),
        silences=_silences(heartbeats),
        managers_alive=sum(seconds <= times.DEAD_AFTER for _, seconds in heartbeats),
        refusals=refused,
        outbox={
            channel: Queue(backlog.waiting, _age(backlog.oldest, now), backlog.given_up)
            for channel, backlog in sorted(backlogs.items())
        },
    )


def merge_tallies() -> None:
    """Keep the table of tallies small."""
    while session.change(metrics.merge_tallies):
        pass


def _name(flavor: Flavor) -> NamedFlavor:
    return NamedFlavor(flavor.id, flavor.name)


class _Bookings:
    """What is booked on all hosts and of all flavors at the moments of ``times.SLOT_USE_DAYS``."""

    def __init__(
        self,
        db: Session,
        offered: Sequence[Flavor],
        now: datetime.datetime,
        cleaning: datetime.timedelta,
        rules: Rules,
    ) -> None:
        self._cleaning = cleaning
        self._minutes = {
            days: capacity.minute(now + days * times.DAY) for days in times.SLOT_USE_DAYS
        }
        last = self._minutes[times.SLOT_USE_DAYS[-1]]
        self.window = Span(self._minutes[0].start, last.padded(cleaning).end)
        bookable = reservable_hosts.empty(db)
        closed = reservable_hosts.empty(db, closed=True)
        for host in (*bookable, *closed):
            # Computed once here, and kept by all copies of the host.
            _ = host.tree
        booked = allocations.everything(
            db, (*bookable, *closed), list(self._minutes.values()), cleaning, rules
        )
        self._claims = booked.claims
        #: All hosts, sorted by name, with what is booked on them.
        self.hosts = sorted(
            (host.holding(booked.holdings.get(host.id, ())) for host in (*bookable, *closed)),
            key=lambda host: (host.name, host.id),
        )
        open_ids = {host.id for host in bookable}
        cleaned = [self._cleaned(host) for host in self.hosts if host.id in open_ids]
        #: By flavor id, the ids of the hosts where the flavor's instances may be.
        self._matching = {
            flavor.id: {host.id for host in cleaned if host.matches(flavor.shape, None)}
            for flavor in offered
        }
        self._rooms = {
            days: placing.Rooms(cleaned, minute.padded(cleaning))
            for days, minute in self._minutes.items()
        }

    def _cleaned(self, host: BookableHost) -> BookableHost:
        """The host with the cleaning time after each of its holdings."""
        if not self._cleaning:
            return host
        return host.holding(
            [
                holding._replace(span=holding.span.padded(self._cleaning))
                for holding in host.holdings
            ]
        )

    def use(self, flavor: Flavor, windows: Sequence[Span], days: int) -> SlotUse:
        """How the slots of a flavor are used some days from now.

        :param windows: the times of the maintenance windows that close the flavor.
        """
        return capacity.slot_use(
            flavor,
            self._claims.get(flavor.id, ()),
            windows,
            lambda most: self._rooms[days].room(
                flavor.shape.request, self._matching[flavor.id], most
            ),
            self._minutes[days],
            self._cleaning,
        )

    def host_uses(self, host: BookableHost) -> list[bookable_host.ClassUse]:
        """How much of each resource class of a host is booked now."""
        minute = self._minutes[0]
        present = [holding for holding in host.holdings if holding.span.overlaps(minute)]
        return list(bookable_host.use(host.holding(present), minute, minute.start))


def _amounts(
    names: Mapping[str, NamedFlavor], groups: Sequence[metrics.ReservationGroup]
) -> dict[tuple[NamedFlavor, str], BookedAmount]:
    amounts = {(name, state): BookedAmount() for name in names.values() for state in STATES}
    for group in groups:
        state = reservation_states.derive(group.lease_status, group.reservation_status)
        key = (names[group.flavor_id], state)
        if key in amounts:
            before = amounts[key]
            amounts[key] = BookedAmount(
                before.reservations + group.reservations, before.instances + group.instances
            )
    return amounts


def _of(counted: Mapping[tuple[str, str], Tally], name: Name) -> dict[str, Tally]:
    return {label: tally for (of, label), tally in counted.items() if of == name}


def _repairs(counted: Mapping[str, Tally]) -> dict[str, int]:
    """Zero for each row by which nothing was repaired, so that rates can be computed."""
    none = dict.fromkeys(lease_states.REPAIRS, 0)
    return none | {label: tally.count for label, tally in counted.items()}


def _age(oldest: datetime.datetime | None, now: datetime.datetime) -> datetime.timedelta:
    """How old the oldest notice is. Zero if there is none."""
    return times.NO_TIME if oldest is None else max(now - oldest, times.NO_TIME)


def _silences(heartbeats: Sequence[tuple[str, int]]) -> dict[str, int]:
    """The shortest silence on each machine. A manager that was restarted has two heartbeats."""
    silences: dict[str, list[int]] = defaultdict(list)
    for machine, seconds in heartbeats:
        silences[machine].append(seconds)
    return {machine: min(seconds) for machine, seconds in silences.items()}
