"""What Coral Credits is asked and told.

Its own code decides what is sent here. Its answer to ``on-end`` depends on the moment at which it
gets the request: it charges the lease until then. So a repeated or late request would cost more,
and one that comes a second after the end would cost a further hour, because hours are rounded up.
Therefore ``on-end`` is sent only for leases that haven't begun, which get all credits back. Other
ends are told by ``update`` with the moment of the end, which can be repeated.
"""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from warre_blazar.domain.credits import bodies
from warre_blazar.domain.credits.charges import Account, Charge, Owed
from warre_blazar.errors import exceptions
from warre_blazar.openstack.credits import Answer, CreditsService

_Context = Mapping[str, Any]


class CoralCredits:
    """Coral Credits, with one account of credits for each project."""

    def __init__(self, service: CreditsService, classes: Sequence[str]) -> None:
        """
        :param classes: the resource classes of which every account has credits.
        """
        self._service = service
        self._classes = classes

    def check(self, context: _Context, charge: Charge, before: Charge | None) -> None:
        """Ask whether a lease could be charged. Nothing is charged.

        :param before: the lease's present charge. None: it is a new lease.
        :raises CreditsRefused, ServiceUnavailable: it couldn't, or the service doesn't say.
        """
        if before is None:
            _require(self._post("check-create", context, charge, is_new=True))
        else:
            _require(self._post("check-update", context, charge, before=before))

    def bring(self, account: Account, owed: Owed, now: datetime.datetime) -> None:
        """Charge a lease with what it owes. This can be repeated.

        :raises CreditsRefused: the service refuses, and nothing has changed.
        :raises ServiceTimedOut: the service may have done it.
        :raises ServiceUnavailable: the service hasn't done it.
        """
        context, charge = account.context, owed.charge
        if charge.span.start == charge.span.end and charge.span.start > now:
            booked = account.told or account.terms
            self._require_or_unknown(self._post("on-end", context, booked))
        elif account.told or account.is_uncertain:
            answer = self._update(context, charge)
            if not answer.is_unknown or charge.span.start == charge.span.end:
                self._require_or_unknown(answer)
            else:
                self._create(context, charge)
        elif charge.span.start < charge.span.end:
            self._create(context, charge)

    def _create(self, context: _Context, charge: Charge) -> None:
        """Charge a lease that the service doesn't seem to know.

        A lease can get its id a second time, and the service refuses ids that it knows.
        """
        answer = self._post("create", context, charge, is_new=True)
        if answer.is_no:
            again = self._update(context, charge)
            _require(answer if again.is_unknown else again)
            return
        _require(answer)
        if not all(charge.amounts.get(name) for name in self._classes):
            _require(self._update(context, charge))

    def _update(self, context: _Context, charge: Charge) -> Answer:
        return self._post("update", context, charge, before=charge)

    def _post(
        self,
        step: str,
        context: _Context,
        charge: Charge,
        *,
        before: Charge | None = None,
        is_new: bool = False,
    ) -> Answer:
        body = bodies.coral(context, charge, self._classes, before=before, is_new=is_new)
        return self._service.post(f"/consumer/{step}", body)

    @staticmethod
    def _require_or_unknown(answer: Answer) -> None:
        if not answer.is_unknown:
            _require(answer)


def _require(answer: Answer) -> None:
    """
    :raises CreditsRefused, ServiceUnavailable: the service hasn't done what it was asked.
    """
    if answer.is_no:
        raise exceptions.CreditsRefused(answer.said)
    if not answer.is_yes:
        raise answer.failure
