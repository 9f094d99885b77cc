"""Quotas: a project's limits and usage, and the check whether a request stays within the limits."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from sqlalchemy.orm import Session

from warre_blazar.db import generations, session
from warre_blazar.db.booking import quotas
from warre_blazar.domain.booking import quota
from warre_blazar.domain.booking.quota import Amount, LimitsInForce, Rule
from warre_blazar.errors import exceptions
from warre_blazar.openstack import limits

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Quota:
    """A project's limits, and the checks whether a request stays within them.

    The limits are read before a transaction, so that the transaction needs no call to Keystone.
    """

    project_id: str
    limits: Amount
    types: frozenset[str]

    def check(
        self, db: Session, requested: Amount, growing: Mapping[str, Amount] | None = None
    ) -> None:
        """Check whether the project may have a requested amount, without claiming the amount.

        :param requested: the amount in addition to what the project has.
        :param growing: reservations that are to grow. The keys are Blazar's ids of the
            reservations, and the values are their present amounts. For these reservations, the
            amounts in the database aren't used, because they may include an earlier promise.
        :raises QuotaExceeded:
        """
        growing = growing or {}
        used = quotas.usage(db, self.project_id, self.types, growing.keys())
        quota.check(self.limits, sum(growing.values(), used), requested)

    def standing(self, db: Session, growing: Mapping[str, Amount]) -> "QuotaStanding":
        """The project's limits, usage and generation.

        :param growing: the same as for ``check``.
        """
        # The generation must be read before the usage.
        generation = generations.of_project(db, self.project_id)
        used = quotas.usage(db, self.project_id, self.types, growing.keys())
        return QuotaStanding(self.project_id, self.limits, sum(growing.values(), used), generation)


@dataclasses.dataclass(frozen=True)
class QuotaStanding:
    """A project's limits and usage."""

    project_id: str
    #: -1 is unlimited.
    limits: Amount
    used: Amount
    #: A claim on the quota is written only if this generation still holds: see
    #: ``db.generations.claim_project``. Of two simultaneous claims, only one finds it unchanged.
    generation: int = 0
    #: The resources of which the project has a limit of its own. It is empty in decisions.
    own: frozenset[str] = frozenset()


def decided(
    rule: Rule,
    project_id: str,
    decide: Callable[[Quota | None], T],
    refusals: Callable[[T], Iterable[Exception]] = lambda _: (),
) -> T:
    """Call ``decide`` with the project's quota, and return its result.

    The limits may come from a cache. If ``decide`` refuses because of cached limits, and Keystone
    has other limits by now, ``decide`` is called again with Keystone's limits. Errors of ``decide``
    are passed on to the caller.

    :param decide: gets None instead of a quota if quotas aren't enforced for the project.
    :param refusals: the errors with which a result of ``decide`` refuses something.
    :raises LimitsNotRegistered, ServiceUnavailable:
    """
    if not rule.enforced:
        return decide(None)
    cached = limits.of_project(project_id, rule.cache_time)
    try:
        result = decide(Quota(project_id, cached, rule.types))
    except exceptions.QuotaExceeded:
        fresh = limits.of_project(project_id)
        if fresh == cached:
            raise
        return decide(Quota(project_id, fresh, rule.types))
    # Other refusals come before the quota's, so they don't depend on the limits.
    first = next(iter(refusals(result)), None)
    if isinstance(first, exceptions.QuotaExceeded):
        fresh = limits.of_project(project_id)
        if fresh != cached:
            return decide(Quota(project_id, fresh, rule.types))
    return result


def check(
    rule: Rule, project_id: str, requested: Amount, growing: Mapping[str, Amount] | None = None
) -> None:
    """Check whether the project may have a requested amount at this moment: see ``Quota.check``.

    :raises QuotaExceeded, LimitsNotRegistered, ServiceUnavailable:
    """
    if requested == Amount():
        return

    def decide(quota: Quota | None) -> None:
        if quota:
            with session.reader() as db:
                quota.check(db, requested, growing)

    decided(rule, project_id, decide)


def of_project(rule: Rule, project_id: str) -> QuotaStanding:
    """A project's limits, and its usage.

    :param rule: its ``cache_time`` says how old the limits may be.
    :raises LimitsNotRegistered, ServiceUnavailable:
    """
    found = limits.with_own(project_id, rule.cache_time)
    with session.reader() as db:
        used = quotas.usage(db, project_id, rule.types)
    return QuotaStanding(project_id, found.amount, used, own=found.own)


def of_all_projects(rule: Rule) -> list[QuotaStanding]:
    """The limits and usage of every project that has limits of its own or any usage, sorted by id.

    :raises LimitsNotRegistered, ServiceUnavailable:
    """
    registered, own = limits.of_all_projects()
    with session.reader() as db:
        used = quotas.usage_by_project(db, rule.types)
    standings = []
    for project_id in sorted({*own, *used}):
        found = own.get(project_id, LimitsInForce(registered))
        held = used.get(project_id, Amount())
        standings.append(QuotaStanding(project_id, found.amount, held, own=found.own))
    return standings
