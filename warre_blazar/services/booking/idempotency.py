"""Idempotency keys: a request that creates something may be repeated and creates it once.

A client may lose the answer to a request. If it sends the request again with the same idempotency
key, it gets what the first request has created. The key stands for the id of the new item. So even
two requests that are handled at the same moment can't both create the item: the database refuses
the second item with the same id.
"""

import datetime
import hashlib
from collections.abc import Callable
from typing import TypeVar

from oslo_db import exception as db_exc
from oslo_utils import uuidutils

from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.booking import idempotency_keys
from warre_blazar.db.booking.idempotency_keys import Key
from warre_blazar.errors import exceptions

T = TypeVar("T")

#: The code of the error if the manager finds a lease with the same id.
_ID_TAKEN = "conflict"


def make(
    key: Key,
    find: Callable[[str], T | None],
    create: Callable[[str], T],
) -> T:
    """Create the item of a request, unless an earlier request with the same key has created it.

    :param key: what ``Key`` the request has by its digests. Its ``item_id`` is used only if the
        key is new.
    :param find: returns the item with an id, or None. A deleted item is found too, if something of
        it is left.
    :param create: creates the item with an id.
    :raises IdempotencyKeyReused: the key was sent with another request.
    :raises TryAgain: another request with the key was about to create the item, and has failed.
    """
    known = _known(key)
    if known is not key and (item := find(known.item_id)):
        return item
    try:
        return create(known.item_id)
    except (exceptions.WarreError, db_exc.DBDuplicateEntry) as error:
        # Another request with the key may have created the item meanwhile. Then it may be the item
        # itself for which this request was refused, because it holds the last slot.
        if item := find(known.item_id):
            return item
        if isinstance(error, exceptions.WarreError) and error.code != _ID_TAKEN:
            raise
        # The other request has failed after all.
        raise exceptions.TryAgain from error


def key(user_id: str, text: str, request: str, now: datetime.datetime) -> Key:
    """A key that a user sends with a request.

    :param text: the key as the user has sent it.
    :param request: a text that is the same for the same request only.
    """
    owned = f"{user_id}\0{text}"
    return Key(_digest(owned), _digest(request), uuidutils.generate_uuid(), now)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@session.retried
def _known(sent: Key) -> Key:
    """The key as it was first sent. This is the same object if it wasn't sent before."""
    with session.writer() as db:
        known = idempotency_keys.find(db, sent.id)
        if known is not None and known.created_at < sent.created_at - times.KEYS_KEPT:
            idempotency_keys.delete(db, known)
            known = None
        if known is None:
            idempotency_keys.insert(db, sent)
            return sent
        if known.request != sent.request:
            raise exceptions.IdempotencyKeyReused
        return known


def forget(now: datetime.datetime) -> int:
    """Delete the keys that have had their time, and return their number."""
    return session.change(idempotency_keys.delete_older, now - times.KEYS_KEPT)
