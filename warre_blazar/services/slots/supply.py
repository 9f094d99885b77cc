"""Reads what decides when flavors can be booked: hosts, claims and maintenance windows."""

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import maintenance, session, waits
from warre_blazar.db.booking import booking_terms
from warre_blazar.db.hosts import allocations, kept_hosts, reservable_hosts
from warre_blazar.domain.booking import constraints
from warre_blazar.domain.booking.constraints import Constraint
from warre_blazar.domain.booking.offered import KeptOffers
from warre_blazar.domain.flavors import capacity
from warre_blazar.domain.flavors.flavor import Flavor, Shape
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.running.handles import Handle
from warre_blazar.domain.slots.free_time import Question, Supply
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services.moves import making_room


def of_flavor(db: Session, flavor: Flavor, question: Question, span: Span) -> Supply:
    """What decides when one flavor can be booked within a span.

    Hosts that don't match the flavor for the project are left out.
    """
    if question.moves:
        return of_flavors(db, [flavor], question, span)
    own = question.own
    shape = own.reservation.shape if own else flavor.shape
    staying = (own.staying if own else None) or ()
    booked = allocations.matching_hosts(
        db,
        flavor.id,
        lambda host: host.id in staying or host.matches(shape, question.project_id),
        question.cleaning,
        question.device_rules,
        _own(question),
    )
    return Supply(
        booked.hosts,
        {flavor.id: booked.taken},
        {flavor.id: maintenance.closing(db, flavor.id, span)},
        _booked(db, [flavor], question, span),
        unread=booked.unread,
        offers=_offers(db, [flavor], question),
    )


def with_handle(
    db: Session,
    handle: Handle | None,
    project_id: str,
    span: Span,
    without: str | None = None,
) -> list[Constraint]:
    """The constraint by the other reservations of a project with a handle, within a span.

    :param without: the id of a reservation that isn't among them.
    """
    if handle is None:
        return []
    taken = booking_terms.with_handle(db, project_id, handle.name, span, without)
    return constraints.handle(handle.name, taken)


def of_flavors(db: Session, offered: Sequence[Flavor], question: Question, span: Span) -> Supply:
    """What decides when many flavors can be booked within a span.

    The number of SQL statements is the same for any number of flavors, hosts and reservations.
    """
    if question.moves:
        return _with_vacating(db, offered, question, span)
    found, taken = _everything(db, question)
    return Supply(
        found,
        taken,
        maintenance.closing_each(db, span),
        _booked(db, offered, question, span),
        unread=_unread(found),
        offers=_offers(db, offered, question),
    )


def _with_vacating(
    db: Session, offered: Sequence[Flavor], question: Question, span: Span
) -> Supply:
    """The same as ``of_flavors``, if other reservations may be placed again."""
    found, taken = _everything(db, question)
    return Supply(
        found,
        taken,
        maintenance.closing_each(db, span),
        _booked(db, offered, question, span),
        making_room.room(db, found, question.moves, _own(question)),
        unread=_unread(found),
        offers=_offers(db, offered, question),
    )


def everything_empty(db: Session) -> Supply:
    """All hosts, also closed ones, as if nothing was booked on them."""
    return Supply(reservable_hosts.empty(db, closed=None), {}, {})


def read_everything_empty() -> Supply:
    """The same, in a transaction of its own."""
    with session.reader() as db:
        return everything_empty(db)


def _everything(db: Session, question: Question) -> kept_hosts.BookedHosts:
    """All reservable hosts, and what others have taken of the slots of all flavors."""
    return kept_hosts.read(
        db,
        question.cleaning,
        question.device_rules,
        flavor_ids=None,
        without=_own(question),
    )


def _offers(db: Session, offered: Sequence[Flavor], question: Question) -> Mapping[str, KeptOffers]:
    """What is kept for others who have waited."""
    ids = [flavor.id for flavor in offered]
    return waits.offered(db, ids, question.project_id, question.now)


def _own(question: Question) -> str | None:
    """The id of the reservation that is to change."""
    return question.own.reservation.reservation_id if question.own else None


def no_host_matches(
    db: Session, shape: Shape, project_id: str | None, count: int, matching: int
) -> exceptions.NoHostMatches:
    """What is said if no host has room for an instance even when nothing is on it.

    :param matching: how many hosts match the shape.
    """
    closed = reservable_hosts.empty(db, closed=True)
    return exceptions.NoHostMatches(
        count,
        matching,
        registered=bool(matching) or reservable_hosts.is_any_registered(db),
        closed=len(capacity.when_empty(closed, shape, project_id)),
    )


def _unread(found: Sequence[BookableHost]) -> list[str]:
    return [host.id for host in found if not host.is_read]


def _booked(
    db: Session, offered: Sequence[Flavor], question: Question, span: Span
) -> booking_terms.Booked:
    """What the project has booked of those flavors for which that matters."""
    limited = [flavor for flavor in offered if flavor.has_project_terms]
    gap = max((flavor.gap for flavor in limited), default=times.NO_TIME)
    near = constraints.with_gap(span, gap)
    ids = [flavor.id for flavor in limited]
    return booking_terms.of_project(db, question.project_id, ids, near)
