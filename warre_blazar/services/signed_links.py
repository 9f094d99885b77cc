"""Signs the last parts of links that work without a token of Keystone."""

import base64
import binascii
import hashlib
import hmac

from warre_blazar.db import session
from warre_blazar.db.messages import message_settings


def key(name: str) -> bytes:
    """The key with which links of a kind are signed. It never changes."""
    with session.reader() as db:
        found = message_settings.find_key(db, name)
    return found or session.change(message_settings.get_or_make_key, name)


def token(value: str, key: bytes) -> str:
    """The last part of a link, which has a value and a signature. Only this site can make it."""
    return f"{_text(value.encode())}.{_text(_signature(value.encode(), key))}"


def value(token: str, key: bytes) -> str | None:
    """The value in the last part of a link, or None if this site hasn't made it."""
    value_text, _, signature_text = token.partition(".")
    try:
        found, signature = _bytes(value_text), _bytes(signature_text)
        text = found.decode("ascii")
    except (binascii.Error, ValueError):
        return None
    return text if hmac.compare_digest(signature, _signature(found, key)) else None


def _signature(value: bytes, key: bytes) -> bytes:
    return hmac.digest(key, value, hashlib.sha256)


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
