"""Snapshots and ledgers for the tests of the judge: one project, one flavor, two hosts."""

import dataclasses
import datetime

from tests.torture.calm import Absences
from tests.torture.choices import STOCK_NAME
from tests.torture.judge import Judge
from tests.torture.ledger import Booking, Change, Ledger, Terms
from tests.torture.reading import FlavorRow, LeaseRow, ReservationRow, ServerRow, Snapshot

NOW = datetime.datetime(2026, 5, 1, 12, 0)
PROJECT, USER, FLAVOR = "project", "user", "flavor"
SLOTS, LIMITS = 3, (5, 20)


def at(minutes: float) -> datetime.datetime:
    """So many minutes from the present."""
    return NOW + datetime.timedelta(minutes=minutes)


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Scene:
    """Tables that a test writes, what users were told, and the judge of both."""

    def __init__(self) -> None:
        self.clock, self.absences, self.ledger = Clock(), Absences(), Ledger()
        self.judge = Judge(self.ledger, self.absences, {PROJECT: LIMITS}, self.clock)
        self.now = NOW
        self.leases: dict[str, LeaseRow] = {}
        self.reservations: dict[str, ReservationRow] = {}
        self.servers: list[ServerRow] = []
        self.sizes = (1, 100, 1, 1)
        self.capacities = {"cmp1": (10, 1000, 10, 10), "cmp2": (10, 1000, 10, 10)}

    def later(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.now += seconds
        self.now += datetime.timedelta(seconds=seconds)

    def lease(
        self,
        lease_id: str = "lease",
        start: float = 10,
        end: float = 60,
        count: int = 1,
        *,
        status: str = "PENDING",
        reservation: str = "pending",
        hosts: dict[str, int] | None = None,
        name: str = "",
        **more,
    ) -> str:
        """Write a lease with one reservation, at minutes from the scene's first moment."""
        self.leases[lease_id] = LeaseRow(
            lease_id, name or f"reservation-{lease_id}", PROJECT, USER, at(start), at(end), status
        )
        self.reservations[f"r-{lease_id}"] = ReservationRow(
            f"r-{lease_id}",
            lease_id,
            reservation,
            "flavor:slot",
            flavor_id=FLAVOR,
            count=count,
            hosts={"cmp1": count} if hosts is None else hosts,
            **more,
        )
        return lease_id

    def stock(self, lease_id: str, start: float, end: float, **more) -> str:
        """Write a lease of instances of Blazar's own type, of which nobody is told."""
        name = f"{STOCK_NAME}{lease_id}"
        self.lease(lease_id, start, end, name=name, **more)
        row = self.reservations[f"r-{lease_id}"]
        kind = "virtual:instance" if row.sizes else "physical:host"
        self.reservations[row.id] = dataclasses.replace(
            row, resource_type=kind, flavor_id=None, count=None
        )
        return lease_id

    def remove(self, lease_id: str = "lease") -> None:
        """Remove a lease's rows."""
        del self.leases[lease_id]
        del self.reservations[f"r-{lease_id}"]

    def terms(self, start: float, end: float, count: int, lease_id: str = "lease") -> Terms:
        """Terms of a lease of this scene."""
        return Terms.of(at(start), at(end), {f"r-{lease_id}": count})

    def booking(self, began: float = 1.0, **more) -> Booking:
        """A booking that is sent."""
        asked = Booking(PROJECT, USER, (FLAVOR,), at(10), at(60), (1,), began, **more)
        return self.ledger.asks_for(asked)

    def accept(
        self, start: float = 10, end: float = 60, count: int = 1, lease_id: str = "lease"
    ) -> str:
        """Tell the user that a lease is booked."""
        terms = self.terms(start, end, count, lease_id)
        flavors = {f"r-{lease_id}": FLAVOR}
        booking = self.booking(began=-1.0 - len(self.ledger.view().leases))
        self.ledger.booked(booking, lease_id, flavors, terms, self.clock.now)
        return lease_id

    def ask(self, lease_id: str = "lease", **change):
        """A request about a lease that is in flight."""
        with self.ledger.asking(lease_id, Change(**change), self.clock.now) as request:
            return request

    def snapshot(self) -> Snapshot:
        """The tables."""
        return Snapshot(
            self.now,
            dict(self.leases),
            dict(self.reservations),
            {FLAVOR: FlavorRow(FLAVOR, FLAVOR, SLOTS, self.sizes)},
            self.capacities,
            list(self.servers),
        )

    def violations(self) -> list[str]:
        """What the judge has found so far, looking once more."""
        before = self.ledger.view()
        self.judge.judge(before, self.snapshot(), self.ledger.view())
        return sorted(self.judge.violations)
