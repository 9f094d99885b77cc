"""What is taken of a resource, kept up to date, beside what all claims add up to."""

import datetime

import hypothesis
from hypothesis import strategies as st

from warre_blazar.domain import timeline
from warre_blazar.domain.taken import TakenOverTime
from warre_blazar.domain.timeline import Claim, Span

_FIRST = datetime.datetime(2100, 1, 1)
_MINUTE = datetime.timedelta(minutes=1)


def span(start: int, length: int) -> Span:
    return Span(_FIRST + start * _MINUTE, _FIRST + (start + length) * _MINUTE)


SPANS = st.builds(span, st.integers(0, 20), st.integers(1, 10))
CLAIMS = st.lists(st.builds(Claim, SPANS, st.integers(1, 3)), max_size=8)


@hypothesis.given(CLAIMS, CLAIMS, st.data())
def test_changed_claims_are_as_if_added_up_anew(first, later, data):
    taken, present = TakenOverTime(first), list(first)
    for claim in later:
        if present and data.draw(st.booleans()):
            gone = present.pop(data.draw(st.integers(0, len(present) - 1)))
            taken.add(Claim(gone.span, -gone.amount))
        taken.add(claim)
        present.append(claim)
    during = data.draw(SPANS)
    assert taken.peak(during) == timeline.peak(present, during)
    for start in range(35):
        minute = span(start, 1)
        assert taken.peak(minute) == timeline.peak(present, minute)
    for count in range(1, 9):
        anew = TakenOverTime(present).left_of(8).runs(count, datetime.datetime.max)
        assert taken.left_of(8).runs(count, datetime.datetime.max) == anew


def test_copy_is_changed_alone():
    taken = TakenOverTime([Claim(span(0, 5), 2)])
    taken.copy().add(Claim(span(0, 5), 3))
    assert taken.peak(span(0, 5)) == 2
