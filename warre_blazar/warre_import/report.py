"""The report of an import: what it takes, what it can't take, and what operators should know."""

import dataclasses
import datetime
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from warre_blazar.domain.audit import overselling
from warre_blazar.domain.timeline import Span
from warre_blazar.warre_import.reservations import Adoption
from warre_blazar.warre_import.verdicts import Fate, Verdict

KINDS = ("flavor", "access", "window", "reservation")


@dataclasses.dataclass(frozen=True)
class Oversold:
    """A flavor of which Warre has booked more instances than the flavor has slots."""

    flavor_id: str
    name: str
    slots: int
    #: The largest number of instances that are booked at any moment from now on.
    booked: int
    #: The first moment at which this number of instances is booked, in naive UTC.
    at: datetime.datetime


class Report:
    """The numbers of rows by kind and fate, and the verdicts with remarks for the operator."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, Fate]] = Counter()
        #: Verdicts with remarks.
        self.notable: list[Verdict] = []
        self._taken: dict[str, list[tuple[Sequence[Span], int]]] = defaultdict(list)
        self.oversold: list[Oversold] = []
        #: The names of the flavors that are taken and ask for devices. Their devices are counted
        #: when ``flavor recount`` has resolved them.
        self.with_devices: list[str] = []

    def add(self, verdict: Verdict) -> None:
        """Count the row that a verdict is about, and keep the verdict if it has remarks."""
        self.counts[verdict.kind, verdict.fate] += 1
        if verdict.remarks:
            self.notable.append(verdict)

    def note_slots(self, adoption: Adoption) -> None:
        """Remember the slots that a reservation takes, for ``judge_slots``."""
        span = Span(adoption.lease.start, adoption.lease.end)
        self._taken[adoption.flavor_id].append(((span,), adoption.row.amount))

    def judge_slots(self, flavors: Mapping[str, tuple[str, int]], now: datetime.datetime) -> None:
        """Fill ``oversold`` with the flavors that have fewer slots than booked instances.

        :param flavors: the name and the number of slots of each flavor, by its id.
        :param now: only the time from this moment on counts.
        """
        for flavor_id, takings in sorted(self._taken.items()):
            name, slots = flavors[flavor_id]
            booked, at = overselling.highest(takings, now)
            if booked > slots:
                self.oversold.append(Oversold(flavor_id, name, slots, booked, at))

    def count(self, kind: str, fate: Fate) -> int:
        """The number of rows of a kind that have a fate."""
        return self.counts[kind, fate]

    def is_empty(self) -> bool:
        """Whether the import writes nothing: no row is taken, and no row goes to the history."""
        return not any(self.count(k, f) for k in KINDS for f in (Fate.TAKEN, Fate.PAST))

    def same_counts(self, other: "Report") -> bool:
        """Whether another report has the same counts."""
        return +self.counts == +other.counts
