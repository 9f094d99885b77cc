"""Counts how many instances of many flavors are free, by day or hour."""

import dataclasses
import datetime
import functools
from collections.abc import Iterator, Sequence

from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.domain.booking.verdict import FoundTimes
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.slots.free_time import FreeTime, Question
from warre_blazar.domain.slots.offers import NotOffered, OfferSearch
from warre_blazar.domain.timeline import Span
from warre_blazar.services import searches
from warre_blazar.services.hosts import new_hosts
from warre_blazar.services.slots import offers, supply
from warre_blazar.services.slots.offers import FlavorChoice


@dataclasses.dataclass(frozen=True)
class PartOfTime:
    """How many instances of a flavor are free in a part of a time."""

    span: Span
    #: The number of instances that one booking can have throughout the part.
    instances: int
    #: Whether a booking of the wanted number and length can begin in the part. None: nobody asked.
    can_start: bool | None = None
    #: The code of the refusal, if fewer than the wanted number are free.
    reason: str | None = None


@dataclasses.dataclass(frozen=True)
class FreeInstances:
    """How many instances of a flavor are free in each part of a time."""

    flavor: Flavor
    parts: Sequence[PartOfTime]


@searches.uncollected()
def find(
    question: Question, choice: FlavorChoice, part: datetime.timedelta, *, starts: bool = False
) -> tuple[list[FreeInstances], list[NotOffered]]:
    """Count how many instances are free of the flavors that a project may book.

    The number of SQL statements is the same for any number of flavors, hosts and reservations.

    :param part: the length of the parts. They are counted from the start of ``question.window``.
        What has passed of them is left out.
    :param starts: whether to also find out in which parts a booking of ``question.least`` can
        begin.
    :returns: the flavors of which ``question.count`` instances are free at any time, and the
        others. Both are sorted by the name of the flavor.
    :raises FlavorNotFound, FlavorAmbiguous:
    """
    new_hosts.read()
    # A booking that begins in the last part ends after it.
    window = Span(question.window.start, question.window.end + question.least)
    wanted = dataclasses.replace(question, window=window)
    with session.reader() as db:
        chosen = offers.chosen(db, question, choice)
        read = supply.of_flavors(db, chosen, question, wanted.future)
    # How long a booking can be doesn't matter, only how many instances are free.
    question = dataclasses.replace(question, any_length=True, least=times.SHORTEST_OFFER)
    spans = list(_parts(question, part))
    found, missing = [], []
    everything = functools.cache(supply.read_everything_empty)
    for flavor in chosen:
        search = OfferSearch(flavor, question, read)
        begins = FreeTime(flavor, wanted, read).find() if starts else None
        parts = [_part(search.free, span, begins, wanted) for span in spans]
        if any(each.instances >= question.count for each in parts) or search.offers():
            found.append(FreeInstances(flavor, parts))
        else:
            missing.append(search.missing(everything))
    return found, missing


def _part(free: FreeTime, span: Span, begins: FoundTimes | None, wanted: Question) -> PartOfTime:
    """What is free in a part.

    :param begins: the times at which what is wanted can be booked. None: it doesn't matter.
    """
    instances, can_start = free.most(span), None
    if begins is not None:
        first = begins.first(Span(span.start, span.start + wanted.least))
        can_start = first is not None and first < span.end
    reason = free.why_not(span).code if instances < wanted.count else None
    return PartOfTime(span, instances, can_start, reason)


def _parts(question: Question, part: datetime.timedelta) -> Iterator[Span]:
    window = question.window
    start = window.start
    while start < window.end:
        end = min(start + part, window.end)
        if end > question.minute:
            yield Span(max(start, question.minute), end)
        start = end
