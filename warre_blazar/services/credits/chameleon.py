"""What the balance service of Chameleon's portal is asked and told.

It has no requests that only ask: ``check-create`` and ``check-update`` charge at once. It keeps
charges by the ids of reservations, and knows none of leases. ``check-create`` with an id that it
has already would charge twice, so a charge of which it isn't known whether it was made is ended
first.
"""

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any

from warre_blazar.domain.credits import bodies
from warre_blazar.domain.credits.charges import Account, Charge, Owed
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.openstack.credits import CreditsService


class ChameleonPortal:
    """The balance service of Chameleon's portal."""

    def __init__(self, service: CreditsService) -> None:
        self._service = service

    def check(self, context: Mapping[str, Any], charge: Charge, before: Charge | None) -> None:
        """Do nothing: the portal checks when it charges."""

    def bring(self, account: Account, owed: Owed, now: datetime.datetime) -> None:
        """Charge a lease with what it owes.

        An end is when the portal gets the request. So an end that is told late costs more.

        :raises CreditsRefused: the portal refuses, and nothing has changed.
        :raises ServiceTimedOut: the portal may have done it.
        :raises ServiceUnavailable: the portal hasn't done it.
        """
        context, charge, told = account.context, owed.charge, account.told
        if account.is_uncertain:
            self._post("on-end", bodies.chameleon(context, account.terms))
            told = None
            charge = dataclasses.replace(charge, span=_left(charge.span, now))
        if told is None:
            if charge.span.start < charge.span.end:
                self._post("check-create", bodies.chameleon(context, charge))
        elif not owed.is_over:
            self._post("check-update", bodies.chameleon(context, charge, before=told))
        elif charge.span.end < told.span.end:
            self._post("on-end", bodies.chameleon(context, told))

    def _post(self, step: str, body: Mapping[str, Any]) -> None:
        answer = self._service.post(f"/api/balance_service/v2/{step}/", body)
        if answer.is_no:
            raise exceptions.CreditsRefused(answer.said)
        if not answer.is_yes:
            raise answer.failure


def _left(span: Span, now: datetime.datetime) -> Span:
    """What is left of a time. The rest was charged until now."""
    return Span(min(max(span.start, now.replace(microsecond=0)), span.end), span.end)
