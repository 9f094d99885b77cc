"""What operators want to know of flavors and hosts."""

import dataclasses
import datetime
from collections.abc import Sequence

from sqlalchemy.orm import Session

from warre_blazar.db import flavors, hosts, session, usage
from warre_blazar.domain import capacity
from warre_blazar.domain.capacity import Room, Sharing
from warre_blazar.domain.flavor import Flavor
from warre_blazar.domain.hosts import Host
from warre_blazar.domain.timeline import Span


@dataclasses.dataclass(frozen=True)
class Capacity:
    """A flavor's capacity, and its use over a window."""

    window: Span
    rooms: Sequence[Room]
    #: What its hosts hold when nothing else is on them.
    instances: int
    #: The same, or its slots where these are fewer.
    bookable: int
    booked_now: int
    booked_peak: int
    utilisation: float | None
    sharing: Sequence[Sharing]


def of_flavor(flavor: Flavor, window: Span, now: datetime.datetime) -> Capacity:
    """:param now: the minute that ``booked_now`` is about."""
    with session.reader() as db:
        rooms = capacity.when_empty(hosts.empty(db), flavor.shape)
        others = [f for f in _all_flavors(db) if f.id != flavor.id]
        use = capacity.use(usage.booked(db, flavor.id, _with_minute(window, now)), window, now)
    instances = sum(room.instances for room in rooms)
    bookable = min(instances, flavor.slots)
    return Capacity(
        window=window,
        rooms=rooms,
        instances=instances,
        bookable=bookable,
        booked_now=use.now,
        booked_peak=use.peak,
        utilisation=use.utilisation(bookable, window),
        sharing=capacity.sharing(rooms, others),
    )


def _with_minute(window: Span, now: datetime.datetime) -> Span:
    return window.hull(Span(now, now + datetime.timedelta(minutes=1)))


@dataclasses.dataclass(frozen=True)
class Survey:
    """How all active flavors stand to the hosts."""

    hosts: Sequence[Host]
    #: Flavors whose properties, zone or traits no host satisfies.
    unmatched: Sequence[Flavor]
    #: Flavors with more slots than their hosts hold when empty, and how many these hold.
    overpromised: Sequence[tuple[Flavor, int]]


def survey() -> Survey:
    """All reservable hosts and active flavors, in a constant number of queries."""
    with session.reader() as db:
        found = hosts.empty(db)
        active = [f for f in _all_flavors(db) if f.active]
    unmatched = [f for f in active if not any(host.matches(f.shape) for host in found)]
    held = {f.id: sum(r.instances for r in capacity.when_empty(found, f.shape)) for f in active}
    beyond = [(f, held[f.id]) for f in active if f not in unmatched and f.slots > held[f.id]]
    return Survey(found, unmatched, beyond)


def _all_flavors(db: Session) -> list[Flavor]:
    found, _ = flavors.listing(
        db, project_id=None, everything=True, filters={}, limit=None, offset=0
    )
    return found
