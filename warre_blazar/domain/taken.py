"""How much of a resource is taken at each time, kept up to date claim by claim."""

import bisect
import datetime
from collections.abc import Iterable

from warre_blazar.domain.timeline import Claim, Levels, Span

_ALWAYS = Span(datetime.datetime.min, datetime.datetime.max)


class TakenOverTime:
    """How much claims take together at each time.

    To add or remove a claim costs little more than looking at the time that it overlaps. So this
    can be kept while thousands of claims come and go.
    """

    def __init__(self, claims: Iterable[Claim] = ()) -> None:
        steps = Levels.left(0, claims, _ALWAYS).steps
        #: The moments at which the amount changes, and the amounts from then on. The first moment
        #: is before all others.
        self._moments = [moment for moment, _ in steps]
        self._amounts = [-level for _, level in steps]

    def copy(self) -> "TakenOverTime":
        """A copy that can be changed without changing this one."""
        copy = TakenOverTime.__new__(TakenOverTime)
        copy._moments, copy._amounts = self._moments[:], self._amounts[:]
        return copy

    def add(self, claim: Claim) -> None:
        """Add a claim. To remove a claim, add one with its negative amount."""
        (start, end), amounts = (claim.span.start, claim.span.end), self._amounts
        first = self._position(start)
        last = self._position(end)
        amounts[first:last] = [amount + claim.amount for amount in amounts[first:last]]
        self._forget(last)
        self._forget(first)

    def _position(self, moment: datetime.datetime) -> int:
        """The number of a moment, which is made if it isn't there."""
        position = bisect.bisect_left(self._moments, moment)
        if position == len(self._moments) or self._moments[position] != moment:
            self._moments.insert(position, moment)
            self._amounts.insert(position, self._amounts[position - 1])
        return position

    def _forget(self, position: int) -> None:
        """Forget a moment at which the amount doesn't change any more."""
        if position and self._amounts[position] == self._amounts[position - 1]:
            del self._moments[position], self._amounts[position]

    def peak(self, during: Span) -> int:
        """The largest amount that is taken at any moment of a span."""
        first = bisect.bisect_right(self._moments, during.start) - 1
        return max(self._amounts[first : bisect.bisect_left(self._moments, during.end)])

    def left_of(self, capacity: int) -> Levels:
        """What is left of a capacity at all times. The amounts may be negative."""
        each = zip(self._moments, self._amounts, strict=True)
        return Levels([(moment, capacity - amount) for moment, amount in each])
