"""Counts how many instances of many flavors are free, by day or hour."""

import dataclasses
import datetime
import functools
from collections.abc import Iterator, Sequence

from warre_blazar.db import session
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.slots.free_time import Question
from warre_blazar.domain.slots.offers import NotOffered, OfferSearch
from warre_blazar.domain.timeline import Span
from warre_blazar.services import searches
from warre_blazar.services.hosts import new_hosts
from warre_blazar.services.slots import offers, supply
from warre_blazar.services.slots.offers import FlavorChoice


@dataclasses.dataclass(frozen=True)
class FreeInstances:
    """How many instances of a flavor are free in each part of a time."""

    flavor: Flavor
    #: Each part, and the number of instances that one booking can have throughout the part.
    parts: Sequence[tuple[Span, int]]


@searches.uncollected()
def find(
    question: Question, choice: FlavorChoice, part: datetime.timedelta
) -> tuple[list[FreeInstances], list[NotOffered]]:
    """Count how many instances are free of the flavors that a project may book.

    The number of SQL statements is the same for any number of flavors, hosts and reservations.

    :param part: the length of the parts. They are counted from the start of ``question.window``.
        What has passed of them is left out.
    :returns: the flavors of which ``question.count`` instances are free at any time, and the
        others. Both are sorted by the name of the flavor.
    :raises FlavorNotFound, FlavorAmbiguous:
    """
    new_hosts.read()
    with session.reader() as db:
        chosen = offers.chosen(db, question, choice)
        read = supply.of_flavors(db, chosen, question, question.future)
    # How long a booking can be doesn't matter, only how many instances are free.
    question = dataclasses.replace(question, any_length=True)
    parts = list(_parts(question, part))
    found, missing = [], []
    everything = functools.cache(supply.read_everything_empty)
    for flavor in chosen:
        search = OfferSearch(flavor, question, read)
        counted = FreeInstances(flavor, [(span, search.free.most(span)) for span in parts])
        if any(count >= question.count for _, count in counted.parts) or search.offers():
            found.append(counted)
        else:
            missing.append(search.missing(everything))
    return found, missing


def _parts(question: Question, part: datetime.timedelta) -> Iterator[Span]:
    window = question.window
    start = window.start
    while start < window.end:
        end = min(start + part, window.end)
        if end > question.minute:
            yield Span(max(start, question.minute), end)
        start = end
