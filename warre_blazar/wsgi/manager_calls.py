"""Remembers why a call of the manager by Blazar's own API failed.

Blazar answers with 500 if its manager doesn't answer, although the request may be repeated, or may
even have been fulfilled.
"""

import contextvars
import functools
from typing import Any

import oslo_messaging as messaging
from blazar.utils import service

from warre_blazar.errors import exceptions
from warre_blazar.openstack import manager

#: Why the call of the request that this thread is serving failed.
_failure: contextvars.ContextVar[messaging.MessagingException | None] = contextvars.ContextVar(
    "failed_manager_call", default=None
)


def register() -> None:
    """Let calls by Blazar's own client of the manager be remembered if they fail."""
    call = service.RPCClient.call
    if hasattr(call, "__wrapped__"):
        return

    @functools.wraps(call)
    def remembered(*args: Any, **kwargs: Any) -> Any:
        try:
            return call(*args, **kwargs)
        except messaging.MessagingException as error:
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
    error = _failure.get()
    if isinstance(error, messaging.MessagingTimeout) and method != "GET":
        return exceptions.NoAnswer("", "it has done what was asked")
    return manager.unavailability(error) if error else None
