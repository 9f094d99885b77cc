"""Booking, moving and finding reservations."""

import dataclasses
import datetime
import threading

from oslo_log import log as logging
from sqlalchemy.orm import Session

from warre_blazar import exceptions
from warre_blazar.db import (
    backings,
    executions,
    flavors,
    hosts,
    instances,
    leases,
    reservations,
    session,
    windows,
)
from warre_blazar.db.reservations import Reservation
from warre_blazar.domain import hosts as placing
from warre_blazar.domain import rules, states, timeline
from warre_blazar.domain.flavor import Flavor, Shape
from warre_blazar.domain.quota import Amount
from warre_blazar.services import backing, garbage, quotas
from warre_blazar.services.quotas import Quota

LOG = logging.getLogger(__name__)

RESOURCE_TYPE = leases.RESOURCE_TYPE

# In front of the generations: threads of this process wait here instead of losing races there.
_admission = threading.Lock()


@dataclasses.dataclass(frozen=True)
class Terms:
    """What the site and the caller's roles decide, whatever is asked for."""

    #: Blazar's cleaning_time: what has to be free after the end.
    cleaning: datetime.timedelta
    quotas: quotas.Rule
    #: Projects that no flavor's max_length_hours holds for.
    any_length: frozenset[str] = frozenset()
    #: Whether the caller's own roles let them book inside a maintenance window.
    in_windows: bool = False
    #: Whether instances go to the emptiest hosts, not to the fullest.
    spread: bool = False


@dataclasses.dataclass(frozen=True)
class Request:
    """What somebody wants to book. ``flavor`` is an id or a name."""

    project_id: str
    flavor: str
    count: int
    span: timeline.Span
    now: datetime.datetime
    terms: Terms
    #: True: all instances on one host; False: each on a host of its own; None: wherever.
    affinity: bool | None = None

    @property
    def amount(self) -> Amount:
        """What it asks of a quota."""
        return Amount(1, self.span.hours() * self.count)


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a request fits."""

    flavor: Flavor
    #: The hosts that were chosen, as they were read.
    hosts: list[placing.Host]
    #: Instances by host id.
    chosen: dict[str, int]
    #: Whether that isn't where the reservation is now.
    elsewhere: bool


def check(request: Request) -> list[str]:
    """Whether the request could be booked at this moment, without booking it.

    :returns: the ids of the hosts it would be on.
    :raises FlavorNotFound, InvalidPeriod, FlavorNotBookable, SlotsExhausted, HostsExhausted,
        QuotaExceeded, LimitsNotRegistered, ServiceUnavailable:
    """

    def decide(quota: Quota | None) -> list[str]:
        with session.reader() as db:
            place = _place(db, request)
            if quota:
                quota.check(db, request.amount)
            return list(place.chosen)

    return quotas.decided(request.terms.quotas, request.project_id, decide)


def book(reservation_id: str, request: Request) -> str:
    """Book for a Blazar reservation that was just created.

    :returns: the id of its row in Blazar's ``instance_reservations``.
    :raises FlavorNotFound, InvalidPeriod, FlavorNotBookable, SlotsExhausted, HostsExhausted,
        QuotaExceeded, LimitsNotRegistered, TryAgain: nothing was claimed.
    :raises ServiceUnavailable, ServiceRefused: what was claimed goes with Blazar's reservation,
        which the caller deletes; what Nova and Placement hold goes here or, if they are away,
        later.
    """

    def decide(quota: Quota | None) -> tuple[str, Shape]:
        return _claim(reservation_id, request, quota)

    resource_id, shape = quotas.decided(request.terms.quotas, request.project_id, decide)
    try:
        aggregate_id = backing.make(reservation_id, request.project_id, shape)
        _confirm(reservation_id, aggregate_id)
    except Exception:
        backing.note_again(reservation_id, request.project_id, request.now)
        backing.remove_or_leave(reservation_id)
        raise
    return resource_id


@session.retried
def _claim(reservation_id: str, request: Request, quota: Quota | None) -> tuple[str, Shape]:
    """Check and write in one transaction, guarded by generations of flavor, hosts and project."""
    with _admission, session.writer() as db:
        place = _place(db, request)
        if quota:
            quota.claim(db, request.amount)
        shape = place.flavor.shape
        flavors.update(db, place.flavor, {})
        hosts.claim(db, place.hosts)
        reservations.insert(
            db,
            {
                "id": reservation_id,
                "reservation_id": reservation_id,
                "flavor_id": place.flavor.id,
                "instance_count": request.count,
                "created_at": request.now,
            },
            shape,
        )
        resource_id = instances.insert(
            db,
            reservation_id,
            place.flavor,
            place.chosen,
            affinity=request.affinity,
            nova_flavor=backing.nova_flavor(reservation_id),
        )
        hosts.allocate(db, reservation_id, place.chosen)
        backings.insert(db, reservation_id, request.project_id, request.now)
    return resource_id, shape


def _place(db: Session, request: Request) -> Place:
    flavor = flavors.find(db, request.flavor)
    if flavor is None:
        raise exceptions.FlavorNotFound(request.flavor)
    rules.check_period(request.span)
    rules.check_future(request.span, request.now)
    _check_flavor(db, flavor, request.project_id, request.span, request.terms)
    need = _Need(flavor.shape, request.count, request.span, request.affinity)
    return _find_place(db, flavor, need, request.terms)


def _check_flavor(
    db: Session, flavor: Flavor, project_id: str, span: timeline.Span, terms: Terms
) -> None:
    """Whether the flavor may be booked by the project at that time, whatever room there is."""
    accessible = flavors.is_accessible(db, flavor, project_id)
    rules.check_bookable(flavor, accessible, span, project_id in terms.any_length)
    if not terms.in_windows and windows.closing(db, flavor.id, span):
        raise exceptions.InMaintenance


@dataclasses.dataclass(frozen=True)
class _Need:
    """What hosts are looked for."""

    shape: Shape
    count: int
    span: timeline.Span
    affinity: bool | None


@garbage.uncollected()
def _find_place(
    db: Session, flavor: Flavor, need: _Need, terms: Terms, mine: Reservation | None = None
) -> Place:
    """Slots and hosts for a booking, or for one (``mine``) that moves."""
    cleaning, count = terms.cleaning, need.count
    window = need.span.padded(cleaning)
    # What it holds until Blazar writes its new dates, and keeps if Blazar never does.
    old = mine.span.padded(cleaning) if mine else None
    snapshot = hosts.snapshot(db, flavor.id, need.shape, window.hull(old or window), cleaning)
    but = mine.reservation_id if mine else None
    claims = [c for r, several in snapshot.claims.items() if r != but for c in several]
    rules.check_slots(flavor, timeline.peak(claims, window), count)
    found = snapshot.hosts
    preferred = {}
    if mine:
        preferred = hosts.allocated(db, mine.reservation_id)
        found = [h.without(mine.reservation_id) for h in found]
    packing = placing.Packing(terms.spread, need.affinity)
    chosen, room = placing.choose(found, need.shape, count, window, preferred, old, packing)
    if room < count:
        raise exceptions.HostsExhausted(count, room, len(found), need.affinity)
    on = [h for h in found if h.id in chosen]
    return Place(flavor, on, chosen, elsewhere=chosen != preferred)


def _confirm(reservation_id: str, aggregate_id: int) -> None:
    """Note the aggregate where Blazar does, if Blazar still has the reservation."""
    with session.writer() as db:
        written = instances.set_aggregate(db, reservation_id, aggregate_id)
    if not written:
        raise exceptions.InvalidState("The reservation was deleted while it was made")


def move(reservation_id: str, span: timeline.Span, terms: Terms, now: datetime.datetime) -> None:
    """Promise a reservation another time; Blazar, whose lease is UPDATING, writes it afterwards.

    A reservation keeps its hosts where they have room, and before its start may change them.

    :raises ReservationNotFound, InvalidState, InvalidPeriod, FlavorNotBookable, SlotsExhausted,
        HostsExhausted, QuotaExceeded, LimitsNotRegistered, ServiceUnavailable, TryAgain: nothing
        changed.
    """

    def decide(quota: Quota | None) -> None:
        _move(reservation_id, span, terms, now, quota)

    with session.reader() as db:
        mine = _found(db, reservation_id)
    if _growth(mine, span) == Amount():
        decide(None)  # of no quota's concern, so that Keystone may be away
    else:
        quotas.decided(terms.quotas, mine.project_id, decide)


def check_growth(mine: Reservation, span: timeline.Span, terms: Terms) -> None:
    """Whether its project's quota lets a reservation have another length, at this moment.

    :raises QuotaExceeded, LimitsNotRegistered, ServiceUnavailable:
    """
    growing = {mine.reservation_id: mine.amount}
    quotas.check(terms.quotas, mine.project_id, _growth(mine, span), growing)


def _growth(mine: Reservation, span: timeline.Span) -> Amount:
    more = (span.hours() - mine.span.hours()) * mine.instance_count
    return Amount(hours=max(more, 0))


def _found(db: Session, ref: str, project_id: str | None = None) -> Reservation:
    found = reservations.find(db, ref, project_id)
    if found is None:
        raise exceptions.ReservationNotFound(ref)
    return found


@session.retried
def _move(
    reservation_id: str,
    span: timeline.Span,
    terms: Terms,
    now: datetime.datetime,
    quota: Quota | None,
) -> None:
    with _admission, session.writer() as db:
        mine = _found(db, reservation_id)
        if mine.state not in (states.ALLOCATED, states.ACTIVE):
            raise exceptions.InvalidState(f"Reservation {mine.id} is {mine.state}")
        begun = _has_begun(db, mine, now)
        if begun and span.start != mine.span.start:
            raise exceptions.InvalidState(f"Reservation {mine.id} is being started")
        rules.check_period(span)
        span = _with_earlier_promise(mine, span)
        reservations.promise(db, mine, span)
        if mine.span.contains(span):
            return  # less than it holds already
        flavor = flavors.get_many(db, {mine.flavor_id})[mine.flavor_id]
        _check_flavor(db, flavor, mine.project_id, span, terms)
        need = _Need(mine.shape, mine.instance_count, span, mine.affinity)
        place = _find_place(db, flavor, need, terms, mine)
        if begun and place.elsewhere:
            # Its servers are there already.
            raise exceptions.HostsExhausted(mine.instance_count, 0, len(place.hosts), mine.affinity)
        if quota:
            quota.claim(db, _growth(mine, span), {mine.reservation_id: mine.amount})
        flavors.update(db, flavor, {})
        hosts.claim(db, place.hosts)
        hosts.allocate(db, reservation_id, place.chosen)
        instances.set_amounts(db, reservation_id, mine.shape, place.chosen)


def _with_earlier_promise(mine: Reservation, span: timeline.Span) -> timeline.Span:
    """The time to promise to an update, such that no promise to another one is broken.

    Blazar lets two updates of a lease in that come at the same moment, and either may write its
    dates last. So what was promised and isn't yet, or never will be, the lease's own time is
    promised again with the rest.
    """
    if mine.promised is None or mine.promised == mine.span:
        return span
    return span.hull(mine.promised)


def _has_begun(db: Session, mine: Reservation, now: datetime.datetime) -> bool:
    """Whether its project has been let in, or is about to be.

    :raises InvalidState: a manager executes its start or end at this moment.
    """
    if executions.is_claimed(db, mine.lease_id):
        raise exceptions.InvalidState(
            f"Reservation {mine.id} is being started or ended; try again in a few seconds"
        )
    if mine.state == states.ACTIVE:
        return True
    found = backings.get(db, mine.reservation_id)
    return mine.span.start <= now and found is not None and found.opened


def start(reservation_id: str) -> None:
    """Let the project in. While a service or the database is away ``backing.reconcile`` does.

    :raises ServiceRefused, InvalidState: and kept as the reservation's reason.
    """
    try:
        backing.open_to_project(reservation_id)
    except (exceptions.ServiceUnavailable, *session.FAILURES) as error:
        LOG.warning("Reservation %s opens later: %s", reservation_id, error)
    except exceptions.WarreError as error:
        with session.writer() as db:
            reservations.set_reason(db, reservation_id, error.message)
        raise


def end(reservation_id: str, patience: float) -> None:
    """Remove the servers and all else, then give up slots and hosts.

    What can't be removed now is left to ``backing.reconcile``: the reservation is over all the
    same, since its time is another's.

    :param patience: seconds to wait for the servers to be gone.
    """
    backing.remove_or_leave(reservation_id, patience)
    with session.writer() as db:
        hosts.release(db, reservation_id)


def get(ref: str, project_id: str | None) -> tuple[Reservation, Flavor]:
    """A reservation and its flavor.

    :param project_id: None for one of any project.
    :raises ReservationNotFound:
    """
    with session.reader() as db:
        found = _found(db, ref, project_id)
        return found, flavors.get_many(db, {found.flavor_id})[found.flavor_id]


def flavor_of(request: Request) -> Flavor:
    """The flavor that a request names.

    :raises FlavorNotFound:
    """
    with session.reader() as db:
        flavor = flavors.find(db, request.flavor)
    if flavor is None:
        raise exceptions.FlavorNotFound(request.flavor)
    return flavor


def get_by_lease_name(name: str) -> tuple[Reservation, Flavor] | None:
    """The reservation that was booked under a lease of that name, if it was."""
    with session.reader() as db:
        found = reservations.find_by_lease_name(db, name)
        if found is None:
            return None
        return found, flavors.get_many(db, {found.flavor_id})[found.flavor_id]


def listing(
    *, project_id: str | None, flavor_id: str | None, limit: int | None, offset: int
) -> tuple[list[tuple[Reservation, Flavor]], int]:
    """A page of reservations with their flavors, by start, and how many there are in all."""
    with session.reader() as db:
        found, total = reservations.listing(
            db, project_id=project_id, flavor_id=flavor_id, limit=limit, offset=offset
        )
        known = flavors.get_many(db, {r.flavor_id for r in found})
    return [(r, known[r.flavor_id]) for r in found], total


def check_sole(reservation: Reservation) -> None:
    """:raises LeaseShared: when its lease holds other reservations too."""
    with session.reader() as db:
        if reservations.lease_size(db, reservation.lease_id) > 1:
            raise exceptions.LeaseShared(reservation.lease_id)
