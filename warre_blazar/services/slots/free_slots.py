"""Free slots: the times at which a flavor can be booked."""

import dataclasses
import datetime
from collections.abc import Collection, Sequence

from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import flavors, maintenance, session
from warre_blazar.domain.booking import verdict
from warre_blazar.domain.booking.constraints import Constraint, QuotaLimit
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.maintenance import MaintenanceWindow
from warre_blazar.domain.slots import free_time
from warre_blazar.domain.slots.free_time import FreeTime, Question
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services import searches
from warre_blazar.services.hosts import new_hosts
from warre_blazar.services.slots import supply


def find(question: Question) -> list[Span]:
    """All spans within which the instances can be booked, sorted by start.

    Each span is as long as possible. Spans that are shorter than ``question.least`` are left out. A
    booking is possible if it lies within one of these spans and isn't longer than the flavor
    allows. If ``question.least`` is longer than that, there are no spans. If the flavor has weekly
    hours, bookings that are longer than ``question.least`` may not be possible in all of them.
    Spans may overlap. For example, one host may be free until Friday, and another host from
    Wednesday on.

    :raises FlavorNotFound, FlavorAmbiguous:
    """
    found, unread = _find(question)
    if unread:
        new_hosts.wait(unread)
        found, _ = _find(question)
    return found


def _find(question: Question) -> tuple[list[Span], Collection[str]]:
    """The spans of ``find``, and the ids of new hosts.

    To ask for new hosts first would take a transaction of its own, and there are hardly ever any.
    """
    with session.reader() as db, searches.uncollected():
        free = read(db, visible_flavor(db, question), question)
        return free.spans(), free.unread


@dataclasses.dataclass(frozen=True)
class NotFree:
    """Why a flavor isn't free in the time that was asked about, and when it is."""

    #: What would be said if it were booked.
    why: exceptions.WarreError
    #: The longest time that is free then. None: no time is.
    longest: Span | None
    #: The first free time that is long enough. None: there is none within a year.
    next_free: Span | None
    #: The maintenance windows then, if they are the reason.
    windows: Sequence[MaintenanceWindow] = ()


@searches.uncollected()
def why_none(question: Question) -> NotFree | None:
    """The reason why ``find`` has found nothing for a question. None: something is free by now.

    :raises FlavorNotFound, FlavorAmbiguous:
    """
    new_hosts.read()
    window = question.window
    ahead = min(times.LOOK_AHEAD, datetime.datetime.max - window.end)
    with session.reader() as db:
        flavor = visible_flavor(db, question)
        later = dataclasses.replace(question, window=Span(window.start, window.end + ahead))
        found = supply.of_flavor(db, flavor, later, later.future)
        free = FreeTime(flavor, later, found)
        blamed = free.find(within=window).blamed
        if blamed is None:
            return None
        why = free.why(blamed, window)
        if why.code in verdict.FINAL:
            return NotFree(_about_hosts(db, flavor, question, why), None, None)
        shorter = free.find(least=times.NO_TIME, within=window).spans
        following = free.spans()
        is_closed = isinstance(why, exceptions.InMaintenance)
        closing = maintenance.closing_flavor(db, flavor.id, window) if is_closed else ()
    longest = max(shorter, key=lambda span: span.end - span.start, default=None)
    return NotFree(why, longest, next(iter(following), None), closing)


def _about_hosts(
    db: Session, flavor: Flavor, question: Question, why: exceptions.WarreError
) -> exceptions.WarreError:
    """The same error, but if no host matches, also with the hosts that are closed."""
    if not isinstance(why, exceptions.NoHostMatches):
        return why
    return supply.no_host_matches(
        db, flavor.shape, question.project_id, question.count, why.detail["matching"]
    )


def visible_flavor(db: Session, question: Question) -> Flavor:
    """The flavor that a question is about.

    :raises FlavorNotFound: there is no such flavor, or it is private and the project has no access.
    :raises FlavorAmbiguous:
    """
    return flavors.require(
        db, question.flavor, project_id=question.project_id, everything=question.everything
    )


def read(
    db: Session,
    flavor: Flavor,
    question: Question,
    quota: QuotaLimit | None = None,
    handle: Sequence[Constraint] = (),
) -> FreeTime:
    """Read what decides when a flavor can be booked.

    :param quota: as for ``FreeTime``. The same is true of ``handle``.
    """
    span = free_time.bookable(flavor, question)
    found = supply.of_flavor(db, flavor, question, span) if span else free_time.NOTHING
    return FreeTime(flavor, question, found, quota, handle)
