"""Reads and writes whether users get messages."""

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.tables import message_settings


def is_enabled(db: Session, user_id: str) -> bool:
    """Whether a user gets messages. All users do until they turn them off."""
    query = sa.select(message_settings.c.enabled).where(message_settings.c.user_id == user_id)
    enabled = db.scalar(query)
    return True if enabled is None else bool(enabled)


def set_enabled(db: Session, user_id: str, enabled: bool) -> None:
    """Write whether a user gets messages.

    :raises session.LostRace: another request has written the user's first setting meanwhile.
    """
    of_user = message_settings.c.user_id == user_id
    if session.changed(db, message_settings.update().where(of_user).values(enabled=enabled)):
        return
    values = {"user_id": user_id, "enabled": enabled}
    session.insert_or_lose(db, message_settings.insert().values(**values))
