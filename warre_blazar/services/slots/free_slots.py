"""Free slots: the times at which a flavor can be booked."""

from collections.abc import Collection
from contextlib import AbstractContextManager

from sqlalchemy.orm import Session

from warre_blazar.db import flavors, session
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.slots import free_time
from warre_blazar.domain.slots.free_time import FreeTime, Question
from warre_blazar.domain.timeline import Span
from warre_blazar.services import searches
from warre_blazar.services.hosts import new_hosts
from warre_blazar.services.slots import supply


def find(question: Question) -> list[Span]:
    """All spans within which the instances can be booked, sorted by start.

    Each span is as long as possible. Spans that are shorter than ``question.least`` are left out. A
    booking is possible if it lies within one of these spans and isn't longer than the flavor
    allows. If ``question.least`` is longer than that, there are no spans. Spans may overlap. For
    example, one host may be free until Friday, and another host from Wednesday on.

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
    with session.reader() as db:
        flavor = visible_flavor(db, question)
        if question.is_too_long(flavor):
            return [], ()
        with searches.uncollected():
            free = read(db, flavor, question)
            return _spans(flavor, question, free), free.unread


def visible_flavor(db: Session, question: Question) -> Flavor:
    """The flavor that a question is about.

    :raises FlavorNotFound: there is no such flavor, or it is private and the project has no access.
    :raises FlavorAmbiguous:
    """
    return flavors.require(
        db, question.flavor, project_id=question.project_id, everything=question.everything
    )


@searches.uncollected()
def spans(
    db: Session, flavor: Flavor, question: Question, *, with_windows: bool = True
) -> list[Span]:
    """All free spans of a flavor, as in ``find``, even if they are longer than the flavor allows.

    :param with_windows: whether maintenance windows count. If false, they are ignored.
    """
    return _spans(flavor, question, read(db, flavor, question), with_windows=with_windows)


def _spans(
    flavor: Flavor, question: Question, free: FreeTime, *, with_windows: bool = True
) -> list[Span]:
    with logged(flavor, question):
        return free.spans(with_windows=with_windows)


def read(db: Session, flavor: Flavor, question: Question) -> FreeTime:
    """Read what decides when a flavor can be booked."""
    span = free_time.bookable(flavor, question)
    found = supply.of_flavor(db, flavor, question, span) if span else free_time.NOTHING
    return FreeTime(flavor, question, found)


def logged(flavor: Flavor, question: Question) -> AbstractContextManager[None]:
    """Bound the searches for devices while free slots of a flavor are computed."""
    return searches.logged(f"free slots for {question.count} of flavor {flavor.name}")
