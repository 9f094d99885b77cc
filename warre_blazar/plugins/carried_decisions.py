"""Carries decisions about bookings from Blazar's first call of the plugin to its last.

Blazar's ``create_lease`` first asks the plugin for hosts of each reservation, then asks the
enforcement filters, then writes the lease, and then lets the plugin reserve. All of this happens in
one thread for one request. A decision that is made at the first call is carried to the last call of
the same request, and never further.
"""

import contextlib
import contextvars
from collections.abc import Iterator

from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.services.booking.admission import BookingDecision, BookingRequest

#: The decisions of the request that creates a lease in this thread. None while this
#: thread isn't creating a lease.
_decisions: contextvars.ContextVar[list[BookingDecision] | None] = contextvars.ContextVar(
    "decisions", default=None
)


@contextlib.contextmanager
def carrying() -> Iterator[None]:
    """Carry decisions within one request."""
    token = _decisions.set([])
    try:
        yield
    finally:
        _decisions.reset(token)


def keep(decision: BookingDecision) -> None:
    """Carry a decision to the end of the request in which it is made."""
    decisions = _decisions.get()
    if decisions is not None:
        decisions.append(decision)


def count() -> int:
    """The number of this request's reservations that were decided and not yet made."""
    return len(_decisions.get() or ())


def kept() -> tuple[BookingDecision, ...]:
    """This request's decisions that aren't taken yet, in the order of its reservations."""
    return tuple(_decisions.get() or ())


def host(host_id: str) -> BookableHost | None:
    """A host as it was read for a decision of this request; None if no decision is carried."""
    chosen = (h for d in _decisions.get() or () if d.place for h in d.place.hosts)
    return next((each for each in chosen if each.id == host_id), None)


def take(request: BookingRequest) -> BookingDecision | None:
    """The decision of this request about the same booking; None if there is none.

    Each decision is given out once, because what it claims can be claimed once.

    :param request: the booking. Its time ``now`` may be later than that of the decision.
    """
    decisions = _decisions.get() or []
    for decision in decisions:
        if decision.request.is_same(request):
            decisions.remove(decision)
            return decision
    return None
