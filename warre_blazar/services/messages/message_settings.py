"""Lets users say whether they get messages."""

from warre_blazar.db import session
from warre_blazar.db.messages import message_settings


def is_enabled(user_id: str) -> bool:
    """Whether a user gets messages about the reservations that they have booked."""
    with session.reader() as db:
        return message_settings.is_enabled(db, user_id)


def set_enabled(user_id: str, enabled: bool) -> None:
    """Turn messages on or off for a user.

    :raises TryAgain: other requests change the same setting all the time.
    """
    session.change(message_settings.set_enabled, user_id, enabled)
