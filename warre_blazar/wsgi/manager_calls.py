"""Calls of the manager by Blazar's own API: none if all managers are dead, and no 500.

Blazar answers with 500 if its manager doesn't answer, although the request may be repeated, or may
even have been fulfilled. So it is remembered here why a call failed. Nor does Blazar ask before a
call whether a manager lives.
"""

import contextvars
import functools
from typing import Any

import oslo_messaging as messaging
from blazar.utils import service
from oslo_db import exception as db_exc

from warre_blazar import texts, timer
from warre_blazar.errors import exceptions
from warre_blazar.openstack import manager
from warre_blazar.services.booking.through_manager import calls

_FAILURES = (messaging.MessagingException, exceptions.WarreError, db_exc.DBError)

#: Why the call of the request that this thread is serving failed.
_failure: contextvars.ContextVar[Exception | None] = contextvars.ContextVar(
    "failed_manager_call", default=None
)


#: Whether this package's tables are there, which have the heartbeats of managers.
_has_heartbeats = False


def register(*, has_heartbeats: bool) -> None:
    """Look after the calls by Blazar's own client of the manager.

    :param has_heartbeats: whether this package's tables are there, which have the heartbeats.
    """
    global _has_heartbeats  # noqa: PLW0603
    _has_heartbeats = has_heartbeats
    call = service.RPCClient.call
    if hasattr(call, "__wrapped__"):
        return

    @functools.wraps(call)
    def remembered(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if _has_heartbeats:
                calls.check_alive()
            # A manager that works on a request gives a sign of that. So stock leases have all the
            # time that they need. The time without a sign is limited if the process has one thread.
            self._client = self._client.prepare(call_monitor_timeout=timer.limit)
            return call(self, *args, **kwargs)
        except _FAILURES as error:
            _failure.set(error)
            raise

    service.RPCClient.call = remembered


def forget() -> None:
    """A new request begins."""
    _failure.set(None)


def failure(method: str) -> exceptions.WarreError | None:
    """The error to answer with if the last call failed because something couldn't be reached.

    :param method: the method of the request that led to the call.
    :returns: None if no call failed, or if the manager failed for another reason.
    """
    match _failure.get():
        case messaging.MessagingTimeout() if method != "GET":
            return exceptions.NoAnswer("", texts.services.DONE())
        case messaging.MessagingException() as error:
            return manager.unavailability(error)
        case exceptions.WarreError() as error:
            return error
        case db_exc.DBError() as error:
            return exceptions.DatabaseUnavailable(error)
    return None
