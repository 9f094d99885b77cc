"""Finds the leases for which Warre's bot must stay in Keystone.

The bot is the user as whom Warre has made its leases in Blazar. If the import couldn't take a
reservation, its lease still has a Keystone trust of the bot.
"""

import dataclasses
import json
import re
from collections.abc import Sequence

from sqlalchemy.orm import Session

from warre_blazar.db import audit, session
from warre_blazar.domain.audit.facts import TrustedLease
from warre_blazar.warre_import import blazar_rows, undoing

#: The names that Warre gives its leases.
_NAME = re.compile(r"Reservation [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclasses.dataclass(frozen=True)
class NeedsBot:
    """What would fail if Warre's bot were removed."""

    #: The leases that Blazar couldn't start, end, change or delete, ordered by end.
    leases: Sequence[TrustedLease]
    #: Whether the import can be undone. After an undo, Warre would need the bot.
    can_be_undone: bool


def needs_bot() -> NeedsBot:
    """Find the live leases that Blazar works on with trusts of Warre's bot.

    These are the leases of stock resource types that have a user from whom the import has adopted
    leases, or a name as only Warre gives it.
    """
    with session.reader() as db:
        bots = _bots(db)
        leases = [
            lease
            for lease in audit.trusted_leases(db)
            if lease.user_id in bots or _NAME.fullmatch(lease.name)
        ]
        return NeedsBot(leases, undoing.can_be_undone(db))


def _bots(db: Session) -> set[str]:
    """The users of adopted leases before their adoption."""
    return {json.loads(before)["user_id"] for part in blazar_rows.befores(db) for before in part}
