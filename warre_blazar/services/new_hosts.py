"""Reads the resource providers of new hosts before somebody needs them.

A host is new as long as nothing is stored about its providers. Services call ``read`` before they
open the transaction in which they look at hosts.
"""

import threading
import time
from collections.abc import Collection
from concurrent import futures

from oslo_log import log as logging

from warre_blazar.db import host_providers, session
from warre_blazar.services.keeping import host_refresh

LOG = logging.getLogger(__name__)

#: The longest time, in seconds, that a caller waits. After this time, the caller goes on with what
#: Blazar's tables say about the hosts.
_PATIENCE = 5.0
#: If a host couldn't be read, it is read again after this many seconds.
_AGAIN = 60.0

_lock = threading.Lock()
#: When this process last began to read a host, by host id.
_begun: dict[str, float] = {}


def read() -> None:
    """Read the providers of new hosts, but wait only a few seconds for Placement.

    Errors of Placement and Nova aren't raised. If a host can't be read, callers use what Blazar's
    own tables say about the host.
    """
    with session.reader() as db:
        unread = host_providers.unread(db)
    if not unread:
        return
    due = _due(unread)
    if not due:
        return
    done = futures.Future[None]()
    threading.Thread(target=_refresh, args=(due, done), name="warre-new-hosts", daemon=True).start()
    futures.wait([done], _PATIENCE)


def _due(unread: Collection[str]) -> list[str]:
    """The hosts that this process hasn't begun to read recently."""
    now = time.monotonic()
    with _lock:
        due = [i for i in unread if i not in _begun or now - _begun[i] >= _AGAIN]
        _begun.update(dict.fromkeys(due, now))
    return due


def _refresh(host_ids: Collection[str], done: "futures.Future[None]") -> None:
    try:
        host_refresh.refresh(host_ids)
    except Exception:
        LOG.exception("The resource providers of new hosts couldn't be stored")
    finally:
        done.set_result(None)
