"""Charges leases with a credits service, and gives back what they don't owe.

A manager charges a lease before it books or changes it, because the service may refuse. What it is
about to tell the service is noted before, in the account of the lease. Afterwards the account is
*looked at*: if the lease isn't as it was charged, because its booking has failed or it has changed
since, the service is told what it owes. If the manager dies, the look comes a few minutes later. A
look compares what the service knows with the lease, whatever has happened meanwhile, so each look
can be repeated.

Ends aren't told while users wait. A filter notes them, and a look tells them.
"""

import dataclasses
import datetime
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from oslo_log import log as logging
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import clock, credits, session
from warre_blazar.db.credits import StoredAccount
from warre_blazar.domain.credits import charges
from warre_blazar.domain.credits.charges import Account, Charge, Owed
from warre_blazar.domain.running import lease_states
from warre_blazar.errors import exceptions

LOG = logging.getLogger(__name__)


class Api(Protocol):
    """How one kind of credits service is spoken to."""

    def check(self, context: Mapping[str, Any], charge: Charge, before: Charge | None) -> None:
        """Ask whether a lease could be charged."""

    def bring(self, account: Account, owed: Owed, now: datetime.datetime) -> None:
        """Charge a lease with what it owes."""


class Charging:
    """Charges leases, for one manager."""

    def __init__(self, api: Api, *, allows_when_away: bool) -> None:
        """
        :param allows_when_away: whether leases are booked and changed while the service is away.
            They are charged once it is back.
        """
        self._api = api
        self._allows_when_away = allows_when_away

    def book(self, context: Mapping[str, Any], charge: Charge, request_id: str) -> None:
        """Charge a new lease.

        Nothing is charged if the lease exists already. Then Blazar refuses the booking.

        :param request_id: an id of the request, for ``release``.
        :raises CreditsRefused, ServiceUnavailable, TryAgain: the lease must not be booked.
        """
        is_asked = self._is_asked(context, charge, None)
        account = session.change(_begin_booking, context, charge, request_id, clock.utcnow())
        if account is None:
            return
        if not session.change(_is_only_request, charge.lease_id, request_id):
            raise exceptions.TryAgain
        if is_asked:
            self._charge(account)

    def change(self, lease_id: str, changed: Callable[[Charge], Charge], request_id: str) -> None:
        """Charge a lease that changes. A lease that was never charged stays so.

        :param changed: returns the new charge, from the present one.
        :param request_id: an id of the request, for ``release``.
        :raises CreditsRefused, ServiceUnavailable, TryAgain: the lease must not change.
        """
        stored = session.change(credits.find, lease_id)
        if stored is None:
            return
        present = stored.account
        charge = changed(present.told or present.terms)
        is_asked = self._is_asked(present.context, charge, present.told)
        account = session.change(_begin_change, charge, request_id, clock.utcnow())
        if account is not None and is_asked:
            self._charge(account)

    def _is_asked(self, context: Mapping[str, Any], charge: Charge, before: Charge | None) -> bool:
        """Ask whether a lease could be charged, and return whether the service has answered.

        :raises CreditsRefused: it couldn't.
        :raises ServiceUnavailable: the service is away, and then nothing is allowed.
        """
        try:
            self._api.check(context, charge, before)
        except exceptions.ServiceUnavailable as error:
            self._let_through(charge.lease_id, error)
            return False
        return True

    def _charge(self, account: Account) -> None:
        """Tell the service what an account has noted.

        :raises CreditsRefused, ServiceUnavailable: the service hasn't taken it.
        """
        try:
            self._tell(account, Owed(account.terms, is_over=False))
        except exceptions.ServiceUnavailable as error:
            self._let_through(account.terms.lease_id, error)

    def _let_through(self, lease_id: str, error: exceptions.ServiceUnavailable) -> None:
        if not self._allows_when_away:
            raise error
        LOG.warning("Lease %s isn't charged yet: %s", lease_id, error)

    def _tell(self, account: Account, owed: Owed, **release: None) -> None:
        """Tell the service what a lease owes, and note what came of it.

        :param release: ``busy_until=None``: nobody is at work on the lease afterwards.
        """
        lease_id = account.terms.lease_id
        try:
            self._api.bring(account, owed, clock.utcnow())
        except exceptions.ServiceTimedOut:
            session.change(_note, lease_id, is_uncertain=True, **release)
            raise
        except (exceptions.ServiceUnavailable, exceptions.CreditsRefused):
            session.change(_note, lease_id, is_uncertain=account.is_uncertain, **release)
            raise
        session.change(_note, lease_id, told=owed.charge, is_uncertain=False, **release)

    def look(self, lease_id: str, at: datetime.datetime) -> None:
        """Tell the service what a lease owes, if it knows anything else.

        :param at: when something happened to the lease. If it is gone, it ended then.
        :raises CreditsRefused, ServiceUnavailable: the service hasn't taken it.
        """
        now = clock.utcnow()
        found = session.change(_look, lease_id, min(at, now), now)
        if found is None:
            return
        account, owed = found
        self._tell(account, owed, busy_until=None)
        if owed.is_over:
            session.change(_close, lease_id)


def release(lease_id: str, request_id: str) -> None:
    """Note that a request about a lease is over, so that the account is looked at."""
    session.change(_release, lease_id, request_id)


def end(lease_id: str, at: datetime.datetime) -> None:
    """Note that a lease ends, so that the service is told."""
    session.change(_end, lease_id, at, clock.utcnow())


def _begin_booking(
    db: Session,
    context: Mapping[str, Any],
    terms: Charge,
    request_id: str,
    now: datetime.datetime,
) -> Account | None:
    """Note that a manager is about to charge a new lease.

    A lease can get the id of another one whose booking has failed.

    :returns: the account as it is before the request, or None if the lease exists.
    :raises TryAgain: somebody is just charging the lease.
    """
    if credits.present(db, terms.lease_id) is not None:
        return None
    stored = credits.find(db, terms.lease_id)
    if stored is None:
        stored = credits.add(db, terms.lease_id, Account(dict(context), terms), now)
    return _begin(db, stored, terms, request_id, now)


def _begin_change(
    db: Session, terms: Charge, request_id: str, now: datetime.datetime
) -> Account | None:
    """Note that a manager is about to charge a lease that changes.

    :returns: the account as it is before the request, or None if there is none any more.
    :raises TryAgain: somebody is just charging the lease.
    """
    stored = credits.find(db, terms.lease_id)
    return None if stored is None else _begin(db, stored, terms, request_id, now)


def _begin(
    db: Session, stored: StoredAccount, terms: Charge, request_id: str, now: datetime.datetime
) -> Account:
    """Note what a manager is about to charge, and look at it if this process dies.

    :returns: the account as it is before the request. It is written as uncertain, because this
        process may die while it sends the request.
    """
    if stored.account.is_busy(now):
        raise exceptions.TryAgain
    before = dataclasses.replace(stored.account, terms=terms, ended_at=None)
    until = now + times.CREDITS_LEFT_TO_REQUEST
    begun = {"busy_until": until, "request_id": request_id, "is_uncertain": True}
    credits.write(db, stored, terms=terms, ended_at=None, **begun)
    credits.look_at(db, terms.lease_id, stored, now, until)
    return before


def _is_only_request(db: Session, lease_id: str, request_id: str) -> bool:
    """Withdraw a request if another one has made an account of the lease at the same moment.

    Requests with the same idempotency key are for the same lease. If each sees the other, both
    withdraw, and are repeated.
    """
    accounts = credits.find_all(db, lease_id)
    if len(accounts) == 1:
        return True
    for each in accounts:
        if each.account.request_id == request_id:
            credits.delete(db, each)
    return False


def _note(db: Session, lease_id: str, **changes: Any) -> None:
    stored = credits.find(db, lease_id)
    if stored is not None:
        credits.write(db, stored, **changes)


def _release(db: Session, lease_id: str, request_id: str) -> None:
    stored = credits.find(db, lease_id)
    if stored is not None and stored.account.request_id == request_id:
        credits.write(db, stored, busy_until=None, request_id=None)
        credits.look_at_once(db, stored)


def _end(db: Session, lease_id: str, at: datetime.datetime, now: datetime.datetime) -> None:
    stored = credits.find(db, lease_id)
    if stored is not None:
        credits.write(db, stored, ended_at=at.replace(microsecond=0))
        credits.look_at(db, lease_id, stored, now, now)


def _close(db: Session, lease_id: str) -> None:
    """Forget an account whose charge changes no more, unless somebody has begun a new one."""
    stored = credits.find(db, lease_id)
    if stored is not None and stored.account.busy_until is None:
        credits.delete(db, stored)


def _look(
    db: Session, lease_id: str, at: datetime.datetime, now: datetime.datetime
) -> tuple[Account, Owed] | None:
    """Find out what the service must be told about a lease.

    If it is to be told something, nobody else tells it anything meanwhile.

    :returns: None: there is nothing to tell, or not yet.
    """
    stored = credits.find(db, lease_id)
    if stored is None:
        return None
    account, lease = stored.account, credits.present(db, lease_id)
    changes = lease is not None and lease.status in lease_states.TRANSITIONAL
    if account.is_busy(now) or (changes and account.ended_at is None):
        later = max(now + times.CREDITS_LOOKED_AT_EVERY, account.busy_until or now)
        credits.look_at(db, lease_id, stored, now, later)
        return None
    owed = charges.owed(account, lease, at)
    is_told = owed.charge.costs_the_same(account.told)
    owes_nothing = account.told is None and owed.charge.span.start == owed.charge.span.end
    if not account.is_uncertain and (is_told or owes_nothing):
        if owed.is_over:
            credits.delete(db, stored)
        elif lease is not None and not account.was_there:
            credits.write(db, stored, was_there=True)
        return None
    credits.write(
        db,
        stored,
        busy_until=now + times.CREDITS_LEFT_TO_REQUEST,
        was_there=account.was_there or lease is not None,
        is_uncertain=True,
    )
    return account, owed
