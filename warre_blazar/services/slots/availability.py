"""Counts how many instances of many flavors are free, by day or hour."""

import dataclasses
import datetime
from collections.abc import Iterator, Sequence

from warre_blazar.db import session
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.slots.free_time import FreeTime, Question
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
def find(question: Question, choice: FlavorChoice, part: datetime.timedelta) -> list[FreeInstances]:
    """Count how many instances are free of the flavors that a project may book.

    Flavors of which ``question.count`` instances are free in no part are left out. The result is
    sorted by the name of the flavor. The number of SQL statements is the same for any number of
    flavors, hosts and reservations.

    :param part: the length of the parts. They are counted from the start of ``question.window``.
        What has passed of them is left out.
    :raises FlavorNotFound, FlavorAmbiguous:
    """
    new_hosts.read()
    with session.reader() as db:
        chosen = offers.chosen(db, question, choice)
        read = supply.of_flavors(db, chosen, question, question.future)
    # How long a booking can be doesn't matter, only how many instances are free.
    question = dataclasses.replace(question, any_length=True)
    parts = list(_parts(question, part))
    found = []
    for flavor in chosen:
        free = FreeTime(flavor, question, read)
        counted = FreeInstances(flavor, [(span, free.most(span)) for span in parts])
        if any(count >= question.count for _, count in counted.parts):
            found.append(counted)
    return found


def _parts(question: Question, part: datetime.timedelta) -> Iterator[Span]:
    window = question.window
    start = window.start
    while start < window.end:
        end = min(start + part, window.end)
        if end > question.minute:
            yield Span(max(start, question.minute), end)
        start = end
