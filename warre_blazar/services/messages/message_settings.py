"""Lets people stop messages: users by a setting, and the owners of an address by a link."""

import base64
import binascii
import hashlib
import hmac

from warre_blazar.db import clock, session
from warre_blazar.db.messages import message_settings
from warre_blazar.domain.messages.messages import is_address, mailbox_of

#: The path below which the links are.
PATH = "/stop-messages/"
#: The name of the key with which links are signed.
_KEY = "stop messages"


def token_for(address: str, key: bytes | None = None) -> str:
    """The last part of the link for an address. Only this site can make it.

    It has the mailbox and a signature. So links need no rows, and don't expire.

    :param key: what ``signing_key`` has returned. None: it is read.
    """
    mailbox = mailbox_of(address).encode()
    return f"{_text(mailbox)}.{_text(_signature(mailbox, key or signing_key()))}"


def mailbox_of_token(token: str) -> str | None:
    """The mailbox that the last part of a link is for, or None if this site hasn't made it."""
    mailbox_text, _, signature_text = token.partition(".")
    try:
        mailbox, signature = _bytes(mailbox_text), _bytes(signature_text)
        address = mailbox.decode("ascii")
    except (binascii.Error, ValueError):
        return None
    expected = _signature(mailbox, signing_key())
    if not is_address(address) or not hmac.compare_digest(signature, expected):
        return None
    return address


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
    with session.reader() as db:
        key = message_settings.find_key(db, _KEY)
    return key or session.change(message_settings.get_or_make_key, _KEY)


def _signature(mailbox: bytes, key: bytes) -> bytes:
    return hmac.digest(key, mailbox, hashlib.sha256)


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)


def is_enabled(user_id: str) -> bool:
    """Whether a user gets messages about the reservations that they have booked."""
    with session.reader() as db:
        return message_settings.is_enabled(db, user_id)


def set_enabled(user_id: str, enabled: bool) -> None:
    """Turn messages on or off for a user.

    :raises TryAgain: other requests change the same setting all the time.
    """
    session.change(message_settings.set_enabled, user_id, enabled)
