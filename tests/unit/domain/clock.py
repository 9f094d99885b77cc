"""Times by the minute, with which references count what the arithmetic computes."""

import datetime
import itertools

from hypothesis import strategies as st

from warre_blazar.domain.timeline import Claim, Span

MIDNIGHT = datetime.datetime(2026, 3, 29)
MINUTE = datetime.timedelta(minutes=1)


def at(minute):
    return MIDNIGHT + minute * MINUTE


def span(start, end):
    return Span(at(start), at(end))


def minutes(span):
    """The numbers of the minutes of a span."""
    return range((span.start - MIDNIGHT) // MINUTE, (span.end - MIDNIGHT) // MINUTE)


def minutes_of(spans):
    return {minute for one in spans for minute in minutes(one)}


def level_at(levels, minute):
    """The level at a minute."""
    return [level for moment, level in levels.steps if moment <= at(minute)][-1]


@st.composite
def spans(draw, last=24):
    """A span of at least a minute between the minutes 0 and ``last``."""
    start = draw(st.integers(0, last - 1))
    return span(start, draw(st.integers(start + 1, last)))


def claims(last=24, most=8):
    return st.lists(st.builds(Claim, spans(last), st.integers(0, 4)), max_size=most)


def longest(fits, window):
    """The parts of a window that fit and wouldn't if they were a minute longer, by start."""
    first, last = minutes(window)[0], minutes(window)[-1] + 1
    fitting = {
        (start, end)
        for start, end in itertools.combinations(range(first, last + 1), 2)
        if fits(range(start, end))
    }
    return [
        span(start, end)
        for start, end in sorted(fitting)
        if (start - 1, end) not in fitting and (start, end + 1) not in fitting
    ]
