"""The verdict of all constraints together: what can be booked, and if nothing, why."""

import dataclasses
import datetime
from collections.abc import Iterable, Sequence

from warre_blazar import texts, times
from warre_blazar.domain import timeline
from warre_blazar.domain.booking.constraints import ALL, Constraint, Search, Times
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions

#: The codes of refusals that no other booking of the same flavor avoids.
FINAL = frozenset({"flavor_inactive", "flavor_not_accessible", "no_host_matches"})
#: The codes of refusals that no constraint makes.
OTHERS = frozenset({"credits_refused", "flavor_not_found", "no_before_end_choice", "try_again"})
#: The codes of the refusals of all constraints.
CODES = tuple(sorted(texts.BRIEF.keys() - OTHERS))
#: Those that remain if nothing is booked: that no other booking, window, access or quota changes.
LASTING = tuple(
    code
    for code in CODES
    if code
    not in {
        *("flavor_not_accessible", "gap_too_short", "handle_taken", "maintenance"),
        *("quota_exceeded", "too_early_to_extend"),
    }
)


def refusals(
    constraints: Iterable[Constraint], span: Span, count: int
) -> list[exceptions.WarreError]:
    """Why a booking isn't allowed: the refusals of constraints, in their order."""
    found = (each.refusal(span, count) for each in constraints)
    return [refusal for refusal in found if refusal]


def helpful(found: Iterable[exceptions.WarreError]) -> list[exceptions.WarreError]:
    """Refusals in the order in which they help most. Warre's order is another one."""
    return sorted(found, key=lambda error: error.code not in FINAL)


def most(constraints: Iterable[Constraint], span: Span, limit: int) -> int:
    """The most instances, up to a limit, that all constraints allow for a span."""
    for each in constraints:
        if limit <= 0:
            return 0
        limit = each.most(span, limit)
    return max(limit, 0)


@dataclasses.dataclass(frozen=True)
class FoundTimes:
    """When something can be booked."""

    times: Sequence[Times]
    #: The first constraint that leaves no time. None: there are times.
    blamed: Constraint | None = None

    @property
    def spans(self) -> list[Span]:
        """The spans of the times, each as long as possible, sorted by start."""
        return timeline.widest(span for each in self.times for span in each.spans)

    def reach(self, start: datetime.datetime) -> datetime.datetime:
        """The latest end of a booking that begins at a moment. The moment itself: there is none."""
        return max((each.reach(start) for each in self.times), default=start)

    def longest(self) -> list[Span]:
        """The longest booking from each start from which one can last longer, sorted by start.

        "Longer" compares with the minute before.
        """
        starts = {span.start for each in self.times for span in timeline.widest(each.spans)}
        if len(self.times) > 1:
            starts = {start for start in starts if self._is_longer(start)}
        return [Span(start, self.reach(start)) for start in sorted(starts)]

    def _is_longer(self, start: datetime.datetime) -> bool:
        before = start - min(times.MINUTE, start - datetime.datetime.min)
        return self.reach(start) - start > self.reach(before) - before

    def first(self, wanted: Span) -> datetime.datetime | None:
        """The first start from a wanted time's own on, at which its length can be booked."""
        length = wanted.end - wanted.start
        starts = (
            max(span.start, wanted.start)
            for each in self.times
            if each.longest >= length
            for span in each.spans
            if span.end - max(span.start, wanted.start) >= length
        )
        return min(starts, default=None)


def find(constraints: Iterable[Constraint], search: Search) -> FoundTimes:
    """Find the times that all constraints allow. Constraints after the blamed one aren't asked."""
    found: list[Times] = [Times((search.window,))]
    for each in constraints:
        found = _met(found, each.times(search), search.least)
        if not found:
            return FoundTimes((), each)
    return FoundTimes(found)


def latest_end(
    constraints: Iterable[Constraint], start: datetime.datetime, search: Search
) -> tuple[datetime.datetime, Constraint | None]:
    """The latest end of a booking that begins at a moment, and the constraint that stops it.

    If nothing can be booked, the end is the start. Without a constraint, it is the end of the
    search's window.
    """
    found, end, stop = FoundTimes([Times((search.window,))]), search.window.end, None
    for each in constraints:
        found = FoundTimes(_met(found.times, each.times(search), search.least))
        if (reach := found.reach(start)) < end:
            end, stop = reach, each
    return end, stop


def _met(found: Sequence[Times], others: Sequence[Times], least: datetime.timedelta) -> list[Times]:
    """The times that are in both, for bookings of at least some length."""
    met = []
    for one in found:
        for other in others:
            longest = min(one.longest, other.longest)
            if longest < least:
                continue
            common = _common(one.spans, other.spans)
            if spans := [span for span in common if span.end - span.start >= least]:
                met.append(Times(spans, longest))
    return met


def _common(spans: Sequence[Span], others: Sequence[Span]) -> Sequence[Span]:
    """The overlaps. Most rules allow one span, so that there is little to do."""
    if others is ALL:
        return spans
    if len(others) != 1:
        return timeline.intersect(spans, others)
    (other,) = others
    return [
        span
        if other.contains(span)
        else Span(max(span.start, other.start), min(span.end, other.end))
        for span in spans
        if span.overlaps(other)
    ]
