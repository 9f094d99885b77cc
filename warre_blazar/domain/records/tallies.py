"""Describes what is counted for metrics: delays of starts and ends, and repairs."""

import bisect
import dataclasses
import enum
import math
from collections.abc import Iterable, Mapping, Sequence

from warre_blazar import times
from warre_blazar.domain.running.execution import END, START


class Name(enum.StrEnum):
    """What a tally counts."""

    #: Starts of leases, by how late they were. The label is the bucket's limit.
    START_DELAY = "start_delay"
    #: Ends of leases, by how late they were.
    END_DELAY = "end_delay"
    #: Repairs of leases. The label is the name of the row of the table of lease states.
    REPAIR = "repair"


#: The tally of each action's delays.
DELAYS = {START: Name.START_DELAY, END: Name.END_DELAY}


@dataclasses.dataclass(frozen=True)
class Tally:
    """How often something has happened."""

    count: int
    #: The sum of the measured values. 0 if nothing was measured.
    total: float


def bucket(seconds: float) -> str:
    """The label of the bucket for a delay."""
    return str(times.DELAY_BUCKETS[bisect.bisect_left(times.DELAY_BUCKETS, seconds)])


@dataclasses.dataclass(frozen=True)
class Histogram:
    """How many values were measured up to each limit, and the sum of all values."""

    #: Pairs of a limit and the number of values up to it, sorted by limit. The last limit is
    #: infinite.
    buckets: Sequence[tuple[float, int]]
    total: float


def histogram(tallies: Mapping[str, Tally]) -> Histogram:
    """The histogram of delays.

    An earlier release may have had other limits. Such a tally counts in the next larger bucket.

    :param tallies: tallies by label, as ``bucket`` makes them.
    """
    counts = [0] * len(times.DELAY_BUCKETS)
    for label, tally in tallies.items():
        counts[bisect.bisect_left(times.DELAY_BUCKETS, float(label))] += tally.count
    return Histogram(
        [(limit, sum(counts[: number + 1])) for number, limit in enumerate(times.DELAY_BUCKETS)],
        _sum(tallies.values()),
    )


def _sum(tallies: Iterable[Tally]) -> float:
    return math.fsum(tally.total for tally in tallies)
