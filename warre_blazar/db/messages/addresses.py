"""Reads and writes which addresses get no messages, and how many messages each has got.

Addresses are mailboxes (``domain.messages.addresses.mailbox_of``).
"""

import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.tables import message_counts, stopped_addresses


def is_stopped(db: Session, address: str) -> bool:
    """Whether the owner of an address has stopped messages about the reservations of others."""
    of_address = stopped_addresses.c.address == address
    return db.execute(sa.select(stopped_addresses.c.address).where(of_address)).first() is not None


def stop(db: Session, address: str, at: datetime.datetime) -> None:
    """Stop messages to an address.

    :raises session.LostRace: another request stops them at the same time.
    """
    if not is_stopped(db, address):
        row = {"address": address, "stopped_at": at.replace(microsecond=0)}
        session.insert_or_lose(db, stopped_addresses.insert().values(**row))


def resume(db: Session, address: str) -> None:
    """Let messages go to an address again."""
    db.execute(stopped_addresses.delete().where(stopped_addresses.c.address == address))


def sent(db: Session, channel: str, address: str, hour: datetime.datetime) -> int:
    """How many messages a channel has sent to an address in an hour.

    :param hour: the beginning of the hour.
    """
    query = sa.select(message_counts.c.sent).where(*_of(channel, address, hour))
    return db.scalar(query) or 0


def count(db: Session, channel: str, address: str, hour: datetime.datetime) -> None:
    """Note that a channel has sent a message to an address.

    :raises session.LostRace: another manager notes the first message at the same time.
    """
    more = {"sent": message_counts.c.sent + 1}
    counted = message_counts.update().where(*_of(channel, address, hour)).values(more)
    if not session.changed(db, counted):
        row = {"channel": channel, "address": address, "hour": hour, "sent": 1}
        session.insert_or_lose(db, message_counts.insert().values(**row))


def forget_counts(db: Session, before: datetime.datetime) -> None:
    """Delete the numbers of the hours that began before a moment."""
    db.execute(message_counts.delete().where(message_counts.c.hour < before))


def _of(channel: str, address: str, hour: datetime.datetime) -> tuple[sa.ColumnElement[bool], ...]:
    table = message_counts.c
    return table.channel == channel, table.address == address, table.hour == hour
