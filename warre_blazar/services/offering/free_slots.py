"""Finds the times at which a flavor can be booked."""

import dataclasses
import datetime
import itertools
from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from warre_blazar.db import flavors, hosts, maintenance_windows, session
from warre_blazar.domain import placing, timeline
from warre_blazar.domain.devices import NO_DEVICES, Rules
from warre_blazar.domain.flavor import Flavor
from warre_blazar.domain.hosts import Host
from warre_blazar.domain.request_groups import PlacementRequest
from warre_blazar.domain.reservation import Reservation
from warre_blazar.domain.timeline import Span
from warre_blazar.services import garbage_collection, search_limits
from warre_blazar.services.hosts import new_hosts


@dataclasses.dataclass(frozen=True)
class Own:
    """A reservation that is to change. What it takes itself counts as free."""

    reservation: Reservation
    #: The instances that must stay on their hosts, by host id. None: the reservation hasn't begun,
    #: so it may get other hosts.
    staying: Mapping[str, int] | None = None


@dataclasses.dataclass(frozen=True)
class Question:
    """A question: when can a number of instances of a flavor be booked?"""

    #: An id or a name.
    flavor: str
    project_id: str | None
    #: Whether to also find private flavors to which the project has no access.
    everything: bool
    #: The number of instances.
    count: int
    #: The time within which free slots are searched.
    window: Span
    now: datetime.datetime
    #: Blazar's cleaning_time.
    cleaning: datetime.timedelta
    #: True: all instances are on one host. False: each instance is on a host of its own. None: the
    #: instances may be on any hosts.
    affinity: bool | None = None
    #: The shortest length of the spans to return.
    least: datetime.timedelta = datetime.timedelta(0)
    #: Whether the project is exempt from the flavor's max_length_hours.
    any_length: bool = False
    #: How devices in reservations of stock resource types are counted.
    device_rules: Rules = NO_DEVICES
    #: None: the question is about a new booking.
    own: Own | None = None


def find(question: Question) -> list[Span]:
    """All spans within which the instances can be booked, sorted by start.

    Each span is as long as possible. Spans that are shorter than ``question.least`` are left out. A
    booking is possible if it lies within one of these spans and isn't longer than the flavor
    allows. If ``question.least`` is longer than that, there are no spans. Spans may overlap. For
    example, one host may be free until Friday, and another host from Wednesday on.

    :raises FlavorNotFound, FlavorAmbiguous:
    """
    new_hosts.read()
    with session.reader() as db:
        flavor = visible_flavor(db, question)
        if question.least > flavor.max_length and not question.any_length:
            return []
        all_spans = spans(db, flavor, question)
    return [span for span in all_spans if span.end - span.start >= question.least]


def visible_flavor(db: Session, question: Question) -> Flavor:
    """The flavor that a question is about.

    :raises FlavorNotFound: there is no such flavor, or it is private and the project has no access.
    :raises FlavorAmbiguous:
    """
    return flavors.require(
        db, question.flavor, project_id=question.project_id, everything=question.everything
    )


def spans(
    db: Session, flavor: Flavor, question: Question, *, with_windows: bool = True
) -> list[Span]:
    """All free spans of a flavor. ``find`` leaves out the spans that are too short.

    :param with_windows: whether maintenance windows count. If false, they are ignored.
    """
    bookable = _bookable(flavor, question)
    if bookable is None:
        return []
    fitting = _fitting(db, flavor, question, bookable)
    if not with_windows:
        return timeline.widest(fitting)
    outside_windows = timeline.outside(
        maintenance_windows.closing(db, flavor.id, bookable), bookable
    )
    return timeline.widest(timeline.intersect(fitting, outside_windows))


def _bookable(flavor: Flavor, question: Question) -> Span | None:
    """The part of ``question.window`` in which the flavor's terms allow bookings."""
    now = question.now.replace(second=0, microsecond=0)
    span = Span(
        max(question.window.start, now, flavor.start or now),
        min(question.window.end, flavor.end or question.window.end),
    )
    return span if flavor.active and span.start < span.end else None


@garbage_collection.uncollected()
def _fitting(db: Session, flavor: Flavor, question: Question, span: Span) -> list[Span]:
    """The parts of a span during which slots and hosts are free for a booking.

    The slots and hosts must stay free for the cleaning time after the booking, too.
    """
    cleaning, count = question.cleaning, question.count
    window = span.padded(cleaning)
    own = question.own
    shape = own.reservation.shape if own else flavor.shape
    staying = own.staying if own else None
    snapshot = hosts.snapshot(
        db, flavor.id, shape, window, cleaning, question.device_rules, also=staying or ()
    )
    own_id = own.reservation.reservation_id if own else None
    others = (claims for owner, claims in snapshot.claims.items() if owner != own_id)
    slots = timeline.free_runs(itertools.chain.from_iterable(others), flavor.slots, count, window)
    found = _completed(db, shape.request, snapshot.hosts, question)
    if own_id:
        found = [host.without(own_id) for host in found]
    with search_limits.logged(f"free slots for {count} of flavor {flavor.name}"):
        if staying is None:
            room = placing.free_spans(found, shape.request, count, window, question.affinity)
        else:
            room = _staying_room(found, shape.request, staying, window)
    return [
        Span(both.start, both.end - cleaning)
        for both in timeline.intersect(slots, room)
        if both.end - cleaning > both.start
    ]


def _staying_room(
    found: Sequence[Host], request: PlacementRequest, staying: Mapping[str, int], window: Span
) -> list[Span]:
    """The parts of a span during which instances have room on the hosts where they are."""
    spans = [window]
    by_id = {host.id: host for host in found}
    for host_id, count in staying.items():
        on_host = [by_id[host_id]] if host_id in by_id else []
        room = placing.free_spans(on_host, request, count, window)
        spans = timeline.widest(timeline.intersect(spans, room))
    return spans


def _completed(
    db: Session, request: PlacementRequest, found: Sequence[Host], question: Question
) -> list[Host]:
    """Read everything that is booked on those hosts where instances must stay on their providers.

    Whether they must depends on what else is on the hosts. That is what was found on them, and what
    the other flavors offer.
    """
    contested = [host for host in found if host.is_contested(request)]
    if not contested:
        return list(found)
    offered = [other.shape.request for other in flavors.every(db)]
    staying = [host for host in contested if host.must_stay(request, offered)]
    complete = hosts.complete(
        db, staying, cleaning=question.cleaning, device_rules=question.device_rules
    )
    by_id = {host.id: host for host in complete}
    return [by_id.get(host.id, host) for host in found]
