"""Computes for operators how full a host is."""

import dataclasses
import datetime
from collections.abc import Iterator

from warre_blazar import times
from warre_blazar.domain import timeline
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.timeline import Claim, Span


@dataclasses.dataclass(frozen=True)
class ClassUse:
    """How much of a resource class a host has, and how much of it is booked."""

    resource_class: str
    capacity: int
    #: The amount that is booked at the present minute.
    now: int
    #: The largest amount that is booked at any moment of a span.
    peak: int


def use(host: BookableHost, window: Span, now: datetime.datetime) -> Iterator[ClassUse]:
    """How much of each resource class of a host is booked, sorted by class.

    A reservation that takes the whole host takes all of each class. What is booked isn't asked of
    Placement, so servers without a reservation don't count.

    :param host: the host with everything that is booked on it now and during the window.
    """
    for cls in sorted(host.tree.carriers):
        capacity = host.tree.capacity(cls)
        claims = [
            Claim(span, capacity if request is None else request.amounts.get(cls, 0))
            for _, span, request in host.holdings
        ]
        present = timeline.peak(claims, Span(now, now + times.MINUTE))
        yield ClassUse(cls, capacity, present, timeline.peak(claims, window))
