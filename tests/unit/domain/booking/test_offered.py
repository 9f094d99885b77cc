"""What is kept for others who have waited: the three answers of the constraint agree."""

import datetime
import itertools
import random

import pytest

from warre_blazar.domain.booking import verdict
from warre_blazar.domain.booking.constraints import Limit, Search
from warre_blazar.domain.booking.offered import KeptOffers, RoomBesideOffers
from warre_blazar.domain.taken import TakenOverTime
from warre_blazar.domain.timeline import Claim, Span
from warre_blazar.errors import exceptions
from warre_blazar.times import HOUR, NO_TIME

START = datetime.datetime(2026, 12, 1)
HOURS, SLOTS = 8, 4
DAY = Span(START, START + HOURS * HOUR)


def spans() -> list[Span]:
    return [
        Span(START + first * HOUR, START + last * HOUR)
        for first, last in itertools.combinations(range(HOURS + 1), 2)
    ]


def claims(chance: random.Random) -> list[Claim]:
    return [Claim(chance.choice(spans()), chance.randint(1, 2)) for _ in range(2)]


@pytest.mark.parametrize("seed", range(20))
def test_booking_is_allowed_if_what_is_offered_fits_beside_it(seed: int):
    chance = random.Random(seed)
    taken, offered = TakenOverTime(claims(chance)), claims(chance)
    slots = Limit(SLOTS, taken, lambda _taken, asked: exceptions.SlotsExhausted(asked, 0, SLOTS))
    offers = KeptOffers(offered, START)
    rule = RoomBesideOffers(offers, [slots])
    most = TakenOverTime(offered).peak(DAY)
    for count in range(1, SLOTS + 1):
        found = verdict.find([slots, rule], Search(count, NO_TIME, DAY))
        for span in spans():
            kept = most if any(each.span.overlaps(span) for each in offered) else 0
            allowed = count + kept + taken.peak(span) <= SLOTS
            assert any(each.allow(span) for each in found.times) == allowed, (span, count)
            assert (verdict.most([slots, rule], span, SLOTS) >= count) == allowed
            refused = verdict.refusals([slots, rule], span, count)
            assert bool(refused) != allowed
            assert {error.code for error in refused} <= {"slots_exhausted"}
