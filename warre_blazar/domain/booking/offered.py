"""Keeps room for a few minutes for somebody who has waited and was told of it."""

import dataclasses
import datetime
from collections.abc import Sequence

from warre_blazar import texts
from warre_blazar.domain import timeline
from warre_blazar.domain.booking import verdict
from warre_blazar.domain.booking.constraints import FOREVER, Constraint, Search, Times
from warre_blazar.domain.taken import TakenOverTime
from warre_blazar.domain.timeline import Claim, Span
from warre_blazar.errors import exceptions


@dataclasses.dataclass(frozen=True)
class KeptOffers:
    """What other projects were told to be free of a flavor a few minutes ago."""

    claims: Sequence[Claim]
    #: Until when the last of them is kept.
    until: datetime.datetime

    @property
    def most(self) -> int:
        """The most instances that are offered at any time."""
        return TakenOverTime(self.claims).peak(FOREVER)

    def concern(self, span: Span) -> bool:
        """Whether anything is offered at some time of a booking."""
        return any(claim.span.overlaps(span) for claim in self.claims)

    def error(self) -> exceptions.WarreError:
        """What is said to others who want to book it."""
        return exceptions.FlavorNotBookable(texts.refusals.OFFERED(until=self.until))


class RoomBesideOffers(Constraint):
    """A booking at the time of an offer leaves enough room for all that is offered."""

    def __init__(self, offers: KeptOffers, room: Sequence[Constraint]) -> None:
        """
        :param room: the slots and hosts of the flavor, wherever on them the booking has to be. They
            must be able to answer for so many more instances.
        """
        self._offers, self._room = offers, room

    def times(self, search: Search) -> Sequence[Times]:
        apart = timeline.outside([claim.span for claim in self._offers.claims], FOREVER)
        more = dataclasses.replace(search, count=search.count + self._offers.most)
        return (Times(apart), *verdict.find(self._room, more).times)

    def most(self, span: Span, limit: int) -> int:
        if not self._offers.concern(span):
            return limit
        offered = self._offers.most
        return max(verdict.most(self._room, span, limit + offered) - offered, 0)

    def error(self, span: Span, count: int) -> exceptions.WarreError:
        return self._offers.error()
