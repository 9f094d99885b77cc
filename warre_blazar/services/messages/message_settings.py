"""Lets people stop messages: users by a setting, and the owners of an address by a link."""

from warre_blazar.db import clock, session
from warre_blazar.db.messages import message_settings
from warre_blazar.domain.messages.messages import is_address, mailbox_of
from warre_blazar.services import signed_links

#: The path below which the links are.
PATH = "/stop-messages/"
#: The name of the key with which links are signed.
_KEY = "stop messages"


def token_for(address: str, key: bytes | None = None) -> str:
    """The last part of the link for an address. Only this site can make it.

    It has the mailbox and a signature. So links need no rows, and don't expire.

    :param key: what ``signing_key`` has returned. None: it is read.
    """
    return signed_links.token(mailbox_of(address), key or signing_key())


def mailbox_of_token(token: str) -> str | None:
    """The mailbox that the last part of a link is for, or None if this site hasn't made it."""
    address = signed_links.value(token, signing_key())
    return address if address and is_address(address) else None


def is_stopped(mailbox: str) -> bool:
    """Whether messages about the reservations of others don't go to a mailbox."""
    with session.reader() as db:
        return message_settings.is_stopped(db, mailbox)


def stop(mailbox: str) -> None:
    """Stop messages about the reservations of others to a mailbox."""
    session.change(message_settings.stop, mailbox, clock.utcnow())


def resume(mailbox: str) -> None:
    """Let these messages go to a mailbox again."""
    session.change(message_settings.resume, mailbox)


def signing_key() -> bytes:
    """The key with which links are signed. It never changes."""
    return signed_links.key(_KEY)


def is_enabled(user_id: str) -> bool:
    """Whether a user gets messages about the reservations that they have booked."""
    with session.reader() as db:
        return message_settings.is_enabled(db, user_id)


def set_enabled(user_id: str, enabled: bool) -> None:
    """Turn messages on or off for a user.

    :raises TryAgain: other requests change the same setting all the time.
    """
    session.change(message_settings.set_enabled, user_id, enabled)
