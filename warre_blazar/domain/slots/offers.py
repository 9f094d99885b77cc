"""Offers: over many flavors, when a number of instances can be booked, and for how long."""

import dataclasses
import datetime
import enum

from warre_blazar import times
from warre_blazar.domain.booking import quota
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.slots.free_time import FreeTime, Question, Supply, is_any_long
from warre_blazar.domain.timeline import Span


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


class NoOffer(enum.StrEnum):
    """Why there is no offer of a flavor."""

    #: The flavor has too few free slots.
    SLOTS = "slots"
    #: It doesn't have so many slots at all.
    COUNT_OVER_SLOTS = "count_over_slots"
    #: Its terms don't let a project hold so many at a time.
    COUNT_OVER_TERMS = "count_over_terms"
    #: Its hosts have too little room.
    HOSTS = "hosts"
    #: Its hosts don't have so much room even when nothing is on them.
    COUNT_OVER_HOSTS = "count_over_hosts"
    #: No host that can be booked has its properties, zone and traits.
    NO_HOST_MATCHES = "no_host_matches"
    #: Maintenance windows close it.
    CLOSED = "closed"
    #: It can't be booked for so long.
    TOO_LONG = "too_long"
    #: The project's limits don't allow it.
    QUOTA = "quota"
    #: Because of its terms, the project's other reservations leave no room.
    PROJECT_TERMS = "project_terms"
    #: Its terms don't allow bookings at that time.
    NOT_BOOKABLE_THEN = "not_bookable_then"


@dataclasses.dataclass(frozen=True)
class NotOffered:
    """A flavor of which there is no offer, and what could be booked with less."""

    flavor: Flavor
    reason: NoOffer
    #: The largest smaller number of instances for which there are offers, and the first of them.
    fewer_instances: FlavorOffer | None
    #: The first offer for a shorter time, of at least an hour.
    fewer_hours: FlavorOffer | None


@dataclasses.dataclass(frozen=True)
class QuotaLeft:
    """How much of its quota a project has left. None: there is no limit."""

    reservations: int | None = None
    hours: int | None = None

    @classmethod
    def of(cls, limits: Amount, used: Amount) -> "QuotaLeft":
        """What is left of a project's limits."""

        def left(limit: int, taken: int) -> int | None:
            return None if limit == quota.UNLIMITED else max(limit - taken, 0)

        return cls(left(limits.reservations, used.reservations), left(limits.hours, used.hours))

    def longest(self, count: int) -> datetime.timedelta:
        """For how long the project may book a number of instances."""
        if self.reservations == 0:
            return times.NO_TIME
        return datetime.timedelta.max if self.hours is None else self.hours // count * times.HOUR


class OfferSearch:
    """A search for offers of one flavor, from what is booked."""

    def __init__(self, flavor: Flavor, question: Question, supply: Supply, left: QuotaLeft) -> None:
        """
        :param question: ``least`` is the length of the booking.
        :param left: what the project has left of its quota.
        """
        self._flavor, self._question, self._left = flavor, question, left
        self._free = FreeTime(flavor, question, supply)

    def offers(self) -> list[FlavorOffer]:
        """All offers, sorted by start.

        There is an offer for each start from which on a booking could last longer than from the
        minute before.
        """
        return self._offers(self._question.count, self._question.least)

    def missing(self) -> NotOffered:
        """Why there are no offers, and what could be booked with less."""
        return NotOffered(self._flavor, self._reason(), self._fewer(), self._shorter())

    def _offers(self, count: int, least: datetime.timedelta) -> list[FlavorOffer]:
        longest = self._left.longest(count)
        if not self._question.any_length:
            longest = min(longest, self._flavor.max_length)
        if longest < least:
            return []
        return [
            FlavorOffer(
                self._flavor,
                Span(span.start, span.start + min(span.end - span.start, longest)),
                count,
            )
            for span in self._free.spans(count=count, least=least)
        ]

    def _reason(self) -> NoOffer:
        question, free = self._question, self._free
        if question.is_too_long(self._flavor):
            return NoOffer.TOO_LONG
        if free.bookable is None or not is_any_long([free.bookable], question.least):
            return NoOffer.NOT_BOOKABLE_THEN
        never = self._never()
        if never:
            return never
        if self._left.longest(question.count) < question.least:
            return NoOffer.QUOTA
        if free.spans(with_windows=False):
            return NoOffer.CLOSED
        if free.spans(with_project=False):
            return NoOffer.PROJECT_TERMS
        if free.spans(with_windows=False, with_project=False):
            return NoOffer.CLOSED
        return NoOffer.HOSTS if is_any_long(free.of_slots(), question.least) else NoOffer.SLOTS

    def _never(self) -> NoOffer | None:
        """Why so many instances can't be booked at any time, or None."""
        if not self._free.has_hosts:
            return NoOffer.NO_HOST_MATCHES
        if self._question.count > self._flavor.most_instances:
            of_terms = self._flavor.is_limited_by_terms
            return NoOffer.COUNT_OVER_TERMS if of_terms else NoOffer.COUNT_OVER_SLOTS
        return None if self._free.fits_empty_hosts() else NoOffer.COUNT_OVER_HOSTS

    def _fewer(self) -> FlavorOffer | None:
        # If a number of instances can be booked, any smaller number can be booked too.
        least, most, best = 1, self._question.count - 1, None
        while least <= most:
            middle = (least + most + 1) // 2
            found = self._offers(middle, self._question.least)
            if found:
                best, least = found[0], middle + 1
            else:
                most = middle - 1
        return best

    def _shorter(self) -> FlavorOffer | None:
        if self._question.least <= times.SHORTEST_OFFER:
            return None
        return next(iter(self._offers(self._question.count, times.SHORTEST_OFFER)), None)
