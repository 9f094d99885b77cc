"""Quotas: how much a project may hold, holds, and may have more of."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import TypeVar

from sqlalchemy.orm import Session

from warre_blazar import exceptions
from warre_blazar.clients import limits
from warre_blazar.db import quotas, session
from warre_blazar.domain import quota
from warre_blazar.domain.quota import Amount

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Rule:
    """What is counted against quotas here, and whether they are enforced."""

    #: Resource types.
    types: frozenset[str]
    #: Whether anything is refused.
    enforced: bool = True
    #: Projects that are never refused.
    exempt: frozenset[str] = frozenset()
    #: Seconds that limits are remembered.
    cache_time: float = 0

    def holds_for(self, project_id: str) -> bool:
        """Whether a project's reservations of those types may be refused."""
        return self.enforced and project_id not in self.exempt


@dataclasses.dataclass(frozen=True)
class Quota:
    """A project's limits, looked up, so that a transaction can decide without a request."""

    project_id: str
    limits: Amount
    types: frozenset[str]

    def check(
        self, db: Session, asked: Amount, growing: Mapping[str, Amount] | None = None
    ) -> None:
        """Whether the project may have that much more, without claiming it.

        :param growing: what each reservation that asks for more has already, by Blazar's id; an
            earlier promise to it doesn't count.
        :raises QuotaExceeded:
        """
        growing = growing or {}
        used = quotas.usage(db, self.project_id, self.types, growing.keys())
        quota.check(self.limits, sum(growing.values(), used), asked)

    def claim(
        self, db: Session, asked: Amount, growing: Mapping[str, Amount] | None = None
    ) -> None:
        """The same, exactly: of two that ask at once the second sees what the first got.

        :raises QuotaExceeded:
        :raises session.LostRace: another claim came between.
        """
        generation = quotas.generation(db, self.project_id)
        self.check(db, asked, growing)
        quotas.claim(db, self.project_id, generation)


@dataclasses.dataclass(frozen=True)
class Standing:
    """A project's limits (-1: unlimited) and usage."""

    project_id: str
    limits: Amount
    used: Amount


def decided(rule: Rule, project_id: str, decide: Callable[[Quota | None], T]) -> T:
    """What ``decide`` decides by the project's quota, None where none holds.

    Refused by limits that were remembered, it is asked again with fresh ones.

    :raises LimitsNotRegistered, ServiceUnavailable: and what ``decide`` raises.
    """
    if not rule.holds_for(project_id):
        return decide(None)
    remembered = limits.of_project(project_id, rule.cache_time)
    try:
        return decide(Quota(project_id, remembered, rule.types))
    except exceptions.QuotaExceeded:
        fresh = limits.of_project(project_id)
        if fresh == remembered:
            raise
        return decide(Quota(project_id, fresh, rule.types))


def check(
    rule: Rule, project_id: str, asked: Amount, growing: Mapping[str, Amount] | None = None
) -> None:
    """Whether the project may have that much more at this moment: see ``Quota.check``.

    :raises QuotaExceeded, LimitsNotRegistered, ServiceUnavailable:
    """
    if asked == Amount():
        return

    def decide(quota: Quota | None) -> None:
        if quota:
            with session.reader() as db:
                quota.check(db, asked, growing)

    decided(rule, project_id, decide)


def of_project(rule: Rule, project_id: str) -> Standing:
    """:raises LimitsNotRegistered, ServiceUnavailable:"""
    allowed = limits.of_project(project_id)
    with session.reader() as db:
        return Standing(project_id, allowed, quotas.usage(db, project_id, rule.types))


def of_all_projects(rule: Rule) -> list[Standing]:
    """Of every project that has limits of its own or holds anything, by id.

    :raises LimitsNotRegistered, ServiceUnavailable:
    """
    registered, own = limits.of_all_projects()
    with session.reader() as db:
        used = quotas.usage_by_project(db, rule.types)
    return [
        Standing(project_id, own.get(project_id, registered), used.get(project_id, Amount()))
        for project_id in sorted({*own, *used})
    ]
