"""Offers: over many flavors, when a number of instances can be booked, and for how long."""

import dataclasses
import datetime
import functools
from collections.abc import Callable

from warre_blazar import times
from warre_blazar.domain.booking.constraints import QuotaLimit
from warre_blazar.domain.booking.verdict import FoundTimes
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.slots.free_time import FreeTime, Question, Supply
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions


@dataclasses.dataclass(frozen=True)
class FlavorOffer:
    """A start at which a flavor can be booked.

    Any booking that begins at the start and ends until ``span.end`` would be accepted.
    """

    flavor: Flavor
    span: Span
    count: int

    @property
    def longest(self) -> datetime.timedelta:
        """The longest time for which the flavor can be booked from the start on."""
        return self.span.end - self.span.start


@dataclasses.dataclass(frozen=True)
class NotOffered:
    """A flavor of which there is no offer, and what could be booked with less."""

    flavor: Flavor
    #: What would be said if it were booked.
    why: exceptions.WarreError
    #: The largest smaller number of instances for which there are offers, and the first of them.
    fewer_instances: FlavorOffer | None
    #: The first offer for a shorter time, of at least an hour.
    fewer_hours: FlavorOffer | None
    #: The first start that a wait could get. None: a wait is never served.
    wait_start: datetime.datetime | None = None


class OfferSearch:
    """A search for offers of one flavor, from what is booked."""

    def __init__(
        self,
        flavor: Flavor,
        question: Question,
        supply: Supply,
        quota: QuotaLimit | None = None,
    ) -> None:
        """
        :param question: ``least`` is the length of the booking.
        :param quota: the project's limits. None: they are of no matter.
        """
        self._flavor, self._question = flavor, question
        self.free = FreeTime(flavor, question, supply, quota)

    @functools.cached_property
    def _found(self) -> FoundTimes:
        return self.free.find()

    def offers(self) -> list[FlavorOffer]:
        """All offers, sorted by start.

        There is an offer for each start from which on a booking could last longer than from the
        minute before.
        """
        return self._offers(self._found, self._question.count)

    def missing(self, everything: Callable[[], Supply]) -> NotOffered:
        """Why there are no offers, and what could be booked with less.

        :param everything: as for ``FreeTime.wait_start``.
        """
        assert self._found.blamed is not None
        why = self.free.why(self._found.blamed)
        start = self._question.future.start
        waited = self.free.wait_start(Span(start, start + self._question.least), everything)
        return NotOffered(self._flavor, why, self._fewer(), self._shorter(), waited)

    def _offers(self, found: FoundTimes, count: int) -> list[FlavorOffer]:
        return [FlavorOffer(self._flavor, span, count) for span in found.longest()]

    def _fewer(self) -> FlavorOffer | None:
        # If a number of instances can be booked, any smaller number can be booked too.
        least, most, best = 1, self._question.count - 1, None
        while least <= most:
            middle = (least + most + 1) // 2
            found = self._offers(self.free.find(count=middle), middle)
            if found:
                best, least = found[0], middle + 1
            else:
                most = middle - 1
        return best

    def _shorter(self) -> FlavorOffer | None:
        if self._question.least <= times.SHORTEST_OFFER:
            return None
        found = self.free.find(least=times.SHORTEST_OFFER)
        return next(iter(self._offers(found, self._question.count)), None)
