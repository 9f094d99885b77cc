"""Says how full single providers of a host are, fast enough for each choice among all hosts.

What is held of several providers is packed into one number for each time at which it changes: each
provider has some bits of its own, so one addition or multiplication does it for all of them.
"""

import datetime
import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from warre_blazar.domain.hosts import holdings
from warre_blazar.domain.hosts.holdings import Change
from warre_blazar.domain.timeline import Span


class PackedCells:
    """What is held over time of a resource class of which several providers have some.

    The providers are given by their positions in ``capacities``.
    """

    def __init__(
        self,
        capacities: Sequence[int],
        changes: Sequence[Sequence[Change]],
        times: Iterable[datetime.datetime],
    ) -> None:
        """
        :param capacities: how much each provider has.
        :param changes: when more or less is held of each of them (``Occupancy.of_cells``).
        :param times: the times of the changes (``Occupancy.times_of_changes``).
        """
        self._capacities, self._ticks = capacities, list(map(holdings.ticks, times))
        end, ticks = self._ticks[-1], self._ticks
        totals = (sum(n * (end - ticks[number]) for number, n in each) for each in changes)
        #: How many bits each provider has. Nothing that is added up needs more.
        self._width = max(totals, default=0).bit_length()
        #: By the number of a change, for each provider how much more is held from then on.
        self._changes: list[list[tuple[int, int]]] = [[] for _ in ticks]
        for position, of_one in enumerate(changes):
            for number, change in of_one:
                self._changes[number].append((position, change))
        self._sums = self._added_up()
        self._lacking: dict[int, list[int]] = {}

    def _added_up(self) -> list[int]:
        """The held amounts times the microseconds for which they are held, until each change."""
        level, total, sums = 0, 0, [0]
        for of_time, (start, end) in zip(
            self._changes, itertools.pairwise(self._ticks), strict=False
        ):
            for position, change in of_time:
                level += change << position * self._width
            total += level * (end - start)
            sums.append(total)
        return sums

    def fullest(
        self, positions: Iterable[int], amount: int, spans: Iterable[Span], near: Span
    ) -> float:
        """How full the fullest of those providers is that have an amount left during all spans.

        :param near: the time in which the share that is held says how full a provider is.
        :returns: from 0.0 to 1.0, rounded, so that providers that are equally full compare as
            equal. Less than 0.0: none of the providers has the amount.
        """
        lacking, width = self._lacks(amount, spans), self._width
        start, end = holdings.ticks(near.start), holdings.ticks(near.end)
        held, mask, fullest = self._until(end) - self._until(start), (1 << width) - 1, -1.0
        for position in positions:
            if not lacking >> position & 1:
                mean = (held >> position * width & mask) / (end - start)
                fullest = max(fullest, mean / self._capacities[position])
        return round(fullest, 6)

    def _until(self, tick: int) -> int:
        """The sum until a time, in between those that are known."""
        ticks, sums = self._ticks, self._sums
        following = bisect_right(ticks, tick)
        before, since = sums[following - 1], ticks[following - 1]
        if tick == since:
            return before
        # This leaves no remainder, because the same is held throughout the time between.
        return before + (sums[following] - before) * (tick - since) // (ticks[following] - since)

    def _lacks(self, amount: int, spans: Iterable[Span]) -> int:
        """The providers that lack an amount at any moment of some spans, as a set of bits."""
        of_amount = self._lacking.get(amount)
        if of_amount is None:
            of_amount = self._lacking[amount] = self._lacking_over_time(amount)
        lacking = 0
        for span in spans:
            first = bisect_right(self._ticks, holdings.ticks(span.start)) - 1
            last = bisect_left(self._ticks, holdings.ticks(span.end))
            for each in set(of_amount[first:last]):
                lacking |= each
        return lacking

    def _lacking_over_time(self, amount: int) -> list[int]:
        """The providers that lack an amount, from each change on, as sets of bits."""
        left, found = list(self._capacities), []
        lacking = sum(1 << position for position, n in enumerate(left) if n < amount)
        for of_time in self._changes:
            for position, change in of_time:
                left[position] -= change
                bit = 1 << position
                lacking = lacking & ~bit if left[position] >= amount else lacking | bit
            found.append(lacking)
        return found
