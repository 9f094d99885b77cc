"""Charges: what a lease costs in terms of resources, and what a credits service knows of it.

A charge says for which time a lease takes which resources. The service turns it into credits. The
*account* of a lease is what this package notes about the lease's charge: what the service was told
last, and whether anybody is telling it something now.
"""

import dataclasses
import datetime
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Self

from warre_blazar.domain.timeline import Span

#: A host as credits services read it.
Host = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class ChargedReservation:
    """One reservation of a lease, in the terms of Blazar's own resource types."""

    id: str
    resource_type: str
    #: The number of instances, or of whole hosts.
    amount: int
    flavor_id: str
    affinity: bool | None
    #: What one instance takes, by resource class.
    resources: Mapping[str, float]
    #: The size of one instance.
    vcpus: int
    memory_mb: int
    disk_gb: int
    #: The flavor as Blazar records it for ``flavor:instance``. None: other types have no flavor.
    properties: Mapping[str, Any] | None
    #: Hosts of the instances, one for each instance at the booking. A host may be there repeatedly.
    hosts: Sequence[Host]

    @property
    def hosts_of_instances(self) -> list[Host]:
        """One host for each instance, also after the number of instances has changed."""
        return list(itertools.islice(itertools.cycle(self.hosts), self.amount if self.hosts else 0))


@dataclasses.dataclass(frozen=True)
class Charge:
    """What a lease takes, and when."""

    lease_id: str
    name: str
    span: Span
    reservations: tuple[ChargedReservation, ...]

    @property
    def amounts(self) -> dict[str, float]:
        """What the whole lease takes, by resource class."""
        sums: Counter[str] = Counter()
        for each in self.reservations:
            for name, amount in each.resources.items():
                sums[name] += amount * each.amount  # type: ignore[assignment]
        return dict(sums)

    def at(self, span: Span, amounts: Mapping[str, int]) -> "Charge":
        """The charge for another time and other numbers of instances.

        :param amounts: the new numbers by the reservation's id. Others stay as they are.
        """
        changed = (
            dataclasses.replace(each, amount=amounts.get(each.id, each.amount))
            for each in self.reservations
        )
        return dataclasses.replace(self, span=span, reservations=tuple(changed))

    def costs_the_same(self, other: "Charge | None") -> bool:
        """Whether another charge is about the same time and amounts."""
        return other is not None and _cost(self) == _cost(other)

    def to_dict(self) -> dict[str, Any]:
        """The charge in a form that JSON can hold."""
        span = [self.span.start.isoformat(), self.span.end.isoformat()]
        reservations = [dataclasses.asdict(each) for each in self.reservations]
        return {**vars(self), "span": span, "reservations": reservations}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The charge from which ``to_dict`` made ``values``."""
        span = Span(*map(datetime.datetime.fromisoformat, values["span"]))
        reservations = tuple(ChargedReservation(**each) for each in values["reservations"])
        return cls(values["lease_id"], values["name"], span, reservations)


def _cost(charge: Charge) -> tuple[Any, ...]:
    return charge.span, [(each.id, each.amount) for each in charge.reservations]


@dataclasses.dataclass(frozen=True)
class Account:
    """What is noted about the charge of one lease."""

    #: For whom the lease is, and in which cloud: what services get as ``context``.
    context: Mapping[str, Any]
    #: The charge as it was last asked for.
    terms: Charge
    #: The charge that the service knows. None: the service wasn't told any.
    told: Charge | None = None
    #: Whether the service may have taken ``terms``, because it gave no answer.
    is_uncertain: bool = False
    #: Until then, a manager is booking or changing the lease, or tells the service something. If
    #: it hasn't finished by then, it has died.
    busy_until: datetime.datetime | None = None
    #: The id of the manager's request that books or changes the lease.
    request_id: str | None = None
    #: Whether the lease was there after it was charged. If not, its booking has failed.
    was_there: bool = False
    #: When the lease ended, if a filter was told of it.
    ended_at: datetime.datetime | None = None

    def is_busy(self, now: datetime.datetime) -> bool:
        """Whether a manager is at work on the lease."""
        return self.busy_until is not None and now < self.busy_until

    def to_dict(self) -> dict[str, Any]:
        """The account in a form that JSON can hold."""
        return {
            **vars(self),
            "terms": self.terms.to_dict(),
            "told": self.told and self.told.to_dict(),
            "busy_until": self.busy_until and self.busy_until.isoformat(),
            "ended_at": self.ended_at and self.ended_at.isoformat(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The account from which ``to_dict`` made ``values``."""
        made = {**values, "terms": Charge.from_dict(values["terms"])}
        made["told"] = values["told"] and Charge.from_dict(values["told"])
        for name in ("busy_until", "ended_at"):
            made[name] = values[name] and datetime.datetime.fromisoformat(values[name])
        return cls(**made)


@dataclasses.dataclass(frozen=True)
class PresentLease:
    """A lease as the database has it."""

    status: str
    span: Span
    #: The numbers of instances by the reservation's id, as far as they are known.
    amounts: Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class Owed:
    """What a lease must have been charged with by now."""

    charge: Charge
    #: Whether the lease is over, so that the charge changes no more.
    is_over: bool


def owed(account: Account, lease: PresentLease | None, now: datetime.datetime) -> Owed:
    """What a lease must have been charged with.

    A lease whose booking has failed costs nothing: its charge has no length.

    :param lease: None: it is gone, or was never made.
    """
    terms = account.told or account.terms
    span, amounts = (lease.span, lease.amounts) if lease else (terms.span, {})
    if account.ended_at is not None:
        end: datetime.datetime = account.ended_at
    elif lease is not None:
        return Owed(account.terms.at(span, amounts), is_over=span.end <= now)
    else:
        end = now if account.was_there else span.start
    end = max(span.start, min(end, span.end))
    return Owed(account.terms.at(Span(span.start, end), amounts), is_over=True)
