"""Spans as whole minutes, and a brute force over them."""

import datetime

from hypothesis import strategies as st

from warre_blazar.domain.timeline import Claim, Span

EPOCH = datetime.datetime(2026, 12, 1)
HORIZON = 24


def at(minute: int) -> datetime.datetime:
    return EPOCH + datetime.timedelta(minutes=minute)


def span(start: int, end: int) -> Span:
    return Span(at(start), at(end))


def holds(one: Span, minute: int) -> bool:
    return one.start <= at(minute) < one.end


def taken(claims: list[Claim], minute: int) -> int:
    return sum(claim.amount for claim in claims if holds(claim.span, minute))


@st.composite
def spans(draw: st.DrawFn, low: int = -4, high: int = HORIZON + 4) -> Span:
    start = draw(st.integers(low, high - 1))
    return span(start, draw(st.integers(start + 1, high)))


@st.composite
def claims(draw: st.DrawFn, most: int = 6) -> list[Claim]:
    amounts = st.integers(0, 4)
    return draw(st.lists(st.builds(Claim, spans(), amounts), max_size=most))
