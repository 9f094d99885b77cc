"""Quotas: how many reservations and hours a project may hold at a time."""

import dataclasses
from typing import Any

from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions

#: The names of the limited resources in Keystone.
RESERVATIONS, HOURS = "reservation", "hours"
#: With this value of a limit, Keystone says that there is no limit.
UNLIMITED = -1


@dataclasses.dataclass(frozen=True)
class Amount:
    """An amount of the resources that quotas limit."""

    #: A number of reservations.
    reservations: int = 0
    #: Instance-hours: the length of each reservation, rounded up to whole hours, times its number
    #: of instances.
    hours: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.reservations + other.reservations, self.hours + other.hours)

    def by_name(self) -> dict[str, int]:
        """The amount of each resource, by the name of the resource in Keystone."""
        return {RESERVATIONS: self.reservations, HOURS: self.hours}


@dataclasses.dataclass(frozen=True)
class LimitsInForce:
    """The limits that apply to a project."""

    #: -1 is unlimited.
    amount: Amount
    #: The resources of which the project has a limit of its own. Registered limits apply to the
    #: others.
    own: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class Rule:
    """Which reservations are counted against quotas, and whether quotas are enforced."""

    #: The resource types whose reservations are counted.
    types: frozenset[str]
    #: Whether quotas are enforced at all.
    enforced: bool = True
    #: The number of seconds for which limits from Keystone are cached.
    cache_time: float = 0

    @property
    def fresh(self) -> "Rule":
        """The same rule, without cached limits."""
        return dataclasses.replace(self, cache_time=0)


def of_booking(span: Span, count: int) -> Amount:
    """What a reservation of some instances takes. Each hour that has begun counts."""
    return Amount(1, span.hours() * count)


def growth(before: Amount, after: Amount) -> Amount:
    """What a change needs beyond what is taken already.

    A change that needs fewer hours must always be possible, so it asks for nothing.
    """
    return Amount(hours=max(after.hours - before.hours, 0))


def exceeded(limits: Amount, used: Amount, asked: Amount) -> list[dict[str, Any]]:
    """The limits that a request would exceed.

    Only resources that the request asks for are looked at. An extension asks only for hours. So it
    passes even if the limit of reservations was lowered below the project's number of reservations.

    :param limits: the project's limits. ``UNLIMITED`` means no limit.
    :param used: the amount that the project already uses.
    :param asked: the amount that the request would add.
    :returns: for each limit ``resource``, ``limit``, ``used`` and ``asked``.
    """
    allowed, held = limits.by_name(), used.by_name()
    return [
        {"resource": name, "limit": allowed[name], "used": held[name], "asked": more}
        for name, more in asked.by_name().items()
        if more > 0 and allowed[name] != UNLIMITED and held[name] + more > allowed[name]
    ]


def check(limits: Amount, used: Amount, asked: Amount) -> None:
    """Refuse a request that would exceed a limit. The parameters are those of ``exceeded``.

    :raises QuotaExceeded: the error names every limit that would be exceeded.
    """
    if found := exceeded(limits, used, asked):
        raise exceptions.QuotaExceeded(found)
