"""The channel that looks at the accounts of leases with a credits service."""

from warre_blazar.db import credits
from warre_blazar.domain.messages.notices import Kind, Notice
from warre_blazar.errors import exceptions
from warre_blazar.services.credits.charging import Charging
from warre_blazar.services.messages.delivery import EachAlone, Undeliverable

#: What may change what a lease owes.
_KINDS = frozenset(
    {
        *(Kind.CREDITS, Kind.RESCHEDULED, Kind.RESIZED, Kind.MAINTENANCE, Kind.IDLE_END),
        *(Kind.ENDED, Kind.DELETED, Kind.REPAIRED),
    }
)


class CreditsChannel(EachAlone):
    """Looks at the account of each lease to which something has happened."""

    name = credits.LOOKS
    billing = False

    def __init__(self, charging: Charging) -> None:
        self._charging = charging

    def send_one(self, notice: Notice) -> None:
        """Let the credits service know what a lease owes."""
        kind = notice.news.kind
        lease_id = notice.subject if kind is Kind.CREDITS else notice.content.get("lease_id")
        if kind not in _KINDS or lease_id is None:
            return
        try:
            self._charging.look(lease_id, notice.news.at)
        except exceptions.CreditsRefused as error:
            raise Undeliverable(f"lease {lease_id}: {error}") from error
