"""Who gets messages and how many, and the keys that sign the links to stop them.

Addresses are mailboxes (``domain.messages.messages.mailbox_of``).
"""

import datetime
import secrets
from collections.abc import Collection, Mapping

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.tables import message_counts, message_settings, stopped_addresses
from warre_blazar.db.tables import secrets as table


def is_enabled(db: Session, user_id: str) -> bool:
    """Whether a user gets messages. All users do until they turn them off."""
    query = sa.select(message_settings.c.enabled).where(message_settings.c.user_id == user_id)
    enabled = db.scalar(query)
    return True if enabled is None else bool(enabled)


def disabled(db: Session, user_ids: Collection[str]) -> set[str]:
    """Which of some users have turned messages off."""
    table = message_settings.c
    query = sa.select(table.user_id).where(table.user_id.in_(user_ids), table.enabled.is_(False))
    return set(db.scalars(query))


def set_enabled(db: Session, user_id: str, enabled: bool) -> None:
    """Write whether a user gets messages.

    :raises session.LostRace: another request has written the user's first setting meanwhile.
    """
    of_user = message_settings.c.user_id == user_id
    if session.changed(db, message_settings.update().where(of_user).values(enabled=enabled)):
        return
    values = {"user_id": user_id, "enabled": enabled}
    session.insert_or_lose(db, message_settings.insert().values(**values))


def is_stopped(db: Session, address: str) -> bool:
    """Whether the owner of an address has stopped messages about the reservations of others."""
    return bool(stopped(db, [address]))


def stopped(db: Session, addresses: Collection[str]) -> set[str]:
    """The addresses of some whose owners have stopped messages about reservations of others."""
    table = stopped_addresses.c
    return set(db.scalars(sa.select(table.address).where(table.address.in_(addresses))))


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


def messages_sent(
    db: Session, channel: str, addresses: Collection[str], hour: datetime.datetime
) -> dict[str, int]:
    """How many messages a channel has sent to addresses in an hour. Those without any are left out.

    :param hour: the beginning of the hour.
    """
    table = message_counts.c
    query = sa.select(table.address, table.sent).where(*_of(channel, addresses, hour))
    return {address: sent for address, sent in db.execute(query)}


def count_messages(
    db: Session, channel: str, sent: Mapping[str, int], hour: datetime.datetime
) -> None:
    """Note that a channel has sent messages.

    :param sent: how many more, by address.
    :raises session.LostRace: another manager notes the first message at the same time.
    """
    counted = messages_sent(db, channel, sent.keys(), hour)
    if counted:
        more = {address: sent[address] for address in counted}
        table = message_counts.c
        values = {"sent": table.sent + sa.case(more, value=table.address)}
        db.execute(
            message_counts.update().where(*_of(channel, counted.keys(), hour)).values(values)
        )
    rows = [
        {"channel": channel, "address": address, "hour": hour, "sent": number}
        for address, number in sent.items()
        if address not in counted
    ]
    if rows:
        session.insert_or_lose(db, message_counts.insert().values(rows))


def forget_counts(db: Session, before: datetime.datetime) -> None:
    """Delete the numbers of the hours that began before a moment."""
    db.execute(message_counts.delete().where(message_counts.c.hour < before))


def _of(
    channel: str, addresses: Collection[str], hour: datetime.datetime
) -> tuple[sa.ColumnElement[bool], ...]:
    table = message_counts.c
    return table.channel == channel, table.address.in_(addresses), table.hour == hour


def find_key(db: Session, name: str) -> bytes | None:
    """The key of a name, or None if nobody has made it yet."""
    value = db.scalar(sa.select(table.c.value).where(table.c.name == name))
    return None if value is None else bytes.fromhex(value)


def get_or_make_key(db: Session, name: str) -> bytes:
    """The key of a name, 32 random bytes.

    :raises session.LostRace: another process has made it at the same time.
    """
    key = find_key(db, name)
    if key is None:
        key = secrets.token_bytes(32)
        session.insert_or_lose(db, table.insert().values(name=name, value=key.hex()))
    return key
