"""The sweep that finds free spans, against a count minute by minute."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain import minutes
from tests.unit.domain.minutes import HORIZON, at, span
from tests.unit.domain.test_hosts import HOLDINGS, SHAPE, host, room_at
from warre_blazar.domain import timeline
from warre_blazar.domain.hosts import Holding
from warre_blazar.domain.timeline import Claim, Levels, Span

_WINDOW = span(0, HORIZON)
_SUPPLIES = st.lists(st.tuples(st.integers(0, 4), minutes.claims()), max_size=3)
_SPANS = st.lists(minutes.spans(), max_size=5)


def level(levels: Levels, minute: int) -> int:
    return [value for moment, value in levels.steps if moment <= at(minute)][-1]


def maximal(fits: list[list[bool]]) -> list[Span]:
    """The spans that fit and are within no other one that does; ``fits[a][b]``: [a, b) does."""
    return [
        span(a, b)
        for a, b in itertools.combinations(range(HORIZON + 1), 2)
        if fits[a][b] and not (a > 0 and fits[a - 1][b]) and not (b < HORIZON and fits[a][b + 1])
    ]


def table(cells: list[list[int]], count: int) -> list[list[bool]]:
    """Whether the supplies' lowest levels over [a, b) add up to the count."""
    found = [[False] * (HORIZON + 1) for _ in range(HORIZON + 1)]
    for a in range(HORIZON):
        lows = [row[a] for row in cells]
        for b in range(a + 1, HORIZON + 1):
            lows = [min(low, row[b - 1]) for low, row in zip(lows, cells, strict=True)]
            found[a][b] = sum(lows) >= count
    return found


@given(st.integers(0, 5), minutes.claims())
def test_levels_are_what_the_claims_leave(capacity: int, claims: list[Claim]) -> None:
    left = Levels.left(capacity, claims, _WINDOW)
    for minute in range(HORIZON):
        assert level(left, minute) == capacity - minutes.taken(claims, minute)


@given(_SUPPLIES, st.integers(1, 5))
def test_every_longest_span_is_found_and_no_other(
    supplies: list[tuple[int, list[Claim]]], count: int
) -> None:
    found = [Levels.left(capacity, claims, _WINDOW) for capacity, claims in supplies]
    cells = [[max(level(one, m), 0) for m in range(HORIZON)] for one in found]
    assert timeline.maximal_spans(found, count, _WINDOW) == maximal(table(cells, count))


@given(minutes.claims(), st.integers(1, 5), st.integers(1, 3))
def test_free_runs_are_apart(claims: list[Claim], capacity: int, count: int) -> None:
    runs = timeline.free_runs(claims, capacity, count, _WINDOW)
    for minute in range(HORIZON):
        free = minutes.taken(claims, minute) + count <= capacity
        assert sum(minutes.holds(run, minute) for run in runs) == free


@given(_SPANS)
def test_outside_is_every_other_minute(taken: list[Span]) -> None:
    free = timeline.outside(taken, _WINDOW)
    for minute in range(HORIZON):
        inside = any(minutes.holds(one, minute) for one in taken)
        assert sum(minutes.holds(one, minute) for one in free) == (not inside)


@given(_SPANS, _SPANS)
def test_intersection_is_what_both_hold(one: list[Span], other: list[Span]) -> None:
    common = timeline.intersect(one, other)
    for minute in range(-4, HORIZON + 4):
        in_both = all(any(minutes.holds(s, minute) for s in side) for side in (one, other))
        assert any(minutes.holds(s, minute) for s in common) == in_both


@given(_SPANS)
def test_widest_keeps_what_no_other_contains(spans: list[Span]) -> None:
    kept = timeline.widest(spans)
    assert set(kept) == {s for s in spans if not any(o.contains(s) and o != s for o in spans)}
    assert len(kept) == len(set(kept))
    assert kept == sorted(kept, key=lambda s: s.start)


@given(HOLDINGS)
def test_a_hosts_levels_are_its_room_at_each_minute(held: list[Holding]) -> None:
    one = host(holdings=tuple(held))
    levels = one.levels(SHAPE.resources, _WINDOW)
    for minute in range(HORIZON):
        assert level(levels, minute) == room_at(one, minute)
