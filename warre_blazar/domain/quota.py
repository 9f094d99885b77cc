"""Quotas: what a project may hold of reservations and hours (design, decision 4)."""

import dataclasses

from warre_blazar import exceptions

#: The names of the resources in Keystone.
RESERVATIONS, HOURS = "reservation", "hours"
#: A limit that isn't one, as Keystone has it.
UNLIMITED = -1


@dataclasses.dataclass(frozen=True)
class Amount:
    """Reservations, and hours: the length, a started hour counted whole, times the instances."""

    reservations: int = 0
    hours: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.reservations + other.reservations, self.hours + other.hours)

    def by_name(self) -> dict[str, int]:
        """By the resource's name in Keystone."""
        return {RESERVATIONS: self.reservations, HOURS: self.hours}


def check(limits: Amount, used: Amount, asked: Amount) -> None:
    """Refuse what would exceed a limit.

    What isn't asked for isn't looked at: an extension asks for hours alone, so it passes when the
    limit of reservations was lowered below what is held.

    :raises QuotaExceeded: it names every limit that is exceeded.
    """
    allowed, held = limits.by_name(), used.by_name()
    exceeded = [
        {"resource": name, "limit": allowed[name], "used": held[name], "asked": more}
        for name, more in asked.by_name().items()
        if more > 0 and allowed[name] != UNLIMITED and held[name] + more > allowed[name]
    ]
    if exceeded:
        raise exceptions.QuotaExceeded(exceeded)
