"""Interval arithmetic over claims on something that is limited.

All intervals are half-open, [start, end): a claim that ends at a minute and one that starts at it
don't meet. Times are naive datetimes in UTC.
"""

import dataclasses
import datetime
from collections.abc import Iterable
from typing import Self


@dataclasses.dataclass(frozen=True)
class Span:
    """The time [start, end)."""

    start: datetime.datetime
    end: datetime.datetime

    def overlaps(self, other: "Span") -> bool:
        """Whether the two have any time in common."""
        return self.start < other.end and other.start < self.end

    def padded(self, tail: datetime.timedelta) -> Self:
        """The same span with ``tail`` added after its end, for cleaning."""
        return dataclasses.replace(self, end=self.end + tail)

    def hours(self) -> int:
        """The length in hours, a started hour counted whole."""
        return -((self.start - self.end) // datetime.timedelta(hours=1))


@dataclasses.dataclass(frozen=True)
class Claim:
    """``amount`` taken during ``span``."""

    span: Span
    amount: int


def peak(claims: Iterable[Claim], window: Span) -> int:
    """The most that is taken at any one moment of ``window``."""
    changes: list[tuple[datetime.datetime, int]] = []
    for claim in claims:
        if claim.span.overlaps(window):
            changes.append((claim.span.start, claim.amount))
            changes.append((claim.span.end, -claim.amount))
    # At one moment what ends comes before what starts: the negative amount sorts first.
    changes.sort()
    most = taken = 0
    for _, change in changes:
        taken += change
        most = max(most, taken)
    return most


def union(one: Span, other: Span) -> list[Span]:
    """The time of either, as one span where they overlap or touch, else as two."""
    if one.start <= other.end and other.start <= one.end:
        return [Span(min(one.start, other.start), max(one.end, other.end))]
    return [one, other]
