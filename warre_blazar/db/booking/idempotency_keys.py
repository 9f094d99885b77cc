"""Idempotency keys, with which clients mark requests that create something."""

import dataclasses
import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.tables import idempotency_keys


@dataclasses.dataclass(frozen=True)
class Key:
    """A key that a user has sent with a request. Times are naive datetimes in UTC."""

    #: A digest of the user's id and the key.
    id: str
    #: A digest of the request.
    request: str
    #: The id for the item that the request creates.
    item_id: str
    created_at: datetime.datetime


def find(db: Session, key_id: str) -> Key | None:
    """The key with this digest, or None if nobody has sent it."""
    query = sa.select(idempotency_keys).where(idempotency_keys.c.id == key_id)
    row = db.execute(query).mappings().first()
    return Key(**row) if row else None


def insert(db: Session, key: Key) -> None:
    """Add a key.

    :raises LostRace: the key is there by now.
    """
    session.insert_or_lose(db, idempotency_keys.insert().values(**dataclasses.asdict(key)))


def delete_older(db: Session, before: datetime.datetime) -> int:
    """Delete the keys that were sent before a moment, and return their number."""
    return session.changed(
        db, idempotency_keys.delete().where(idempotency_keys.c.created_at < before)
    )


def delete(db: Session, key: Key) -> None:
    """Delete a key.

    :raises LostRace: the key is gone, or was sent anew.
    """
    session.write_or_lose(
        db,
        idempotency_keys.delete().where(
            idempotency_keys.c.id == key.id, idempotency_keys.c.item_id == key.item_id
        ),
    )
