"""When a flavor can be booked."""

import dataclasses
import datetime
import itertools

from sqlalchemy.orm import Session

from warre_blazar import exceptions
from warre_blazar.db import flavors, hosts, session, windows
from warre_blazar.domain import hosts as placing
from warre_blazar.domain import timeline
from warre_blazar.domain.flavor import Flavor
from warre_blazar.domain.timeline import Span
from warre_blazar.services import garbage


@dataclasses.dataclass(frozen=True)
class Question:
    """Who asks for how many instances of a flavor (id or name), between when and when."""

    flavor: str
    project_id: str | None
    #: Also for a private flavor that the project was given no access to.
    everything: bool
    count: int
    window: Span
    now: datetime.datetime
    #: Blazar's cleaning_time.
    cleaning: datetime.timedelta
    #: True: all on one host; False: each on a host of its own.
    affinity: bool | None = None


def find(question: Question) -> list[Span]:
    """The longest spans within which a booking fits, by start; they may overlap.

    Whatever lies within one of them can be booked, up to the flavor's longest length; whatever
    doesn't can't. Spans overlap where a booking fits on some hosts until one time and on others
    from another.

    :raises FlavorNotFound:
    """
    with session.reader() as db:
        flavor = flavors.find(db, question.flavor)
        if flavor is None or not (
            question.everything or flavors.is_accessible(db, flavor, question.project_id)
        ):
            raise exceptions.FlavorNotFound(question.flavor)
        bookable = _bookable(flavor, question)
        if bookable is None:
            return []
        closed = windows.closing(db, flavor.id, bookable)
        open_ = timeline.outside(closed, bookable)
        return timeline.widest(timeline.intersect(_fitting(db, flavor, question, bookable), open_))


def _bookable(flavor: Flavor, question: Question) -> Span | None:
    """What of the asked time the flavor's terms allow."""
    now = question.now.replace(second=0, microsecond=0)
    span = Span(
        max(question.window.start, now, flavor.start or now),
        min(question.window.end, flavor.end or question.window.end),
    )
    return span if flavor.active and span.start < span.end else None


@garbage.uncollected()
def _fitting(db: Session, flavor: Flavor, question: Question, span: Span) -> list[Span]:
    """Where slots and hosts are left. A booking needs its cleaning time too."""
    cleaning, count = question.cleaning, question.count
    window = span.padded(cleaning)
    found = hosts.snapshot(db, flavor.id, flavor.shape, window, cleaning)
    claims = itertools.chain.from_iterable(found.claims.values())
    slots = timeline.free_runs(claims, flavor.slots, count, window)
    asked = flavor.shape.resources
    room = placing.free_spans(found.hosts, asked, count, window, question.affinity)
    return [
        Span(both.start, both.end - cleaning)
        for both in timeline.intersect(slots, room)
        if both.end - cleaning > both.start
    ]
