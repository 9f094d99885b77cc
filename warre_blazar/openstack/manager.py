"""Calls to blazar-manager.

Blazar's own client raises an error that has only the class name and the text of the manager's
exception. This client lets oslo.messaging rebuild the exception, so that the code and the detail of
the error aren't lost.

Every function may raise these errors:

- ``Refused``: the manager refuses the request.
- ``ServiceRefused``: the manager failed.
- ``ServiceUnavailable``: the manager, Keystone or the database can't be reached.
- ``ChangedMeanwhile``: another request changed the same lease at the same moment.
- ``ManagerSilent``: the manager didn't answer in time.
"""

import contextlib
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import oslo_messaging as messaging
from blazar import exceptions as blazar_exc
from blazar import manager
from keystoneauth1 import exceptions as ks_exc
from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_log import log as logging

from warre_blazar import texts, timer
from warre_blazar.errors import exceptions

LOG = logging.getLogger(__name__)

# The modules whose exceptions oslo.messaging is allowed to rebuild. The manager raises these
# exceptions on purpose.
_MODULES = [
    "blazar.exceptions",
    "blazar.manager.exceptions",
    "blazar.enforcement.exceptions",
    "warre_blazar.errors.blazar_errors",
]
_SERVICE = "The reservation manager"
# The exception that the database raises if another transaction has removed a row that a new row
# refers to, or has added a row that refers to a removed row. The database itself is available.
_OVERTAKEN = "DBReferenceError"
_CODES = {403: "forbidden", 404: "not_found", 409: "conflict"}
#: What Blazar says if the minute of the start has passed. Blazar has no code for this error.
_PASSED = "Start date must be later than current date"


class ManagerSilent(Exception):
    """The manager didn't answer in time. It may still be working.

    The time is [DEFAULT] rpc_response_timeout, or ``waiting.limit`` if that is less.
    """


class ChangedMeanwhile(exceptions.WarreError):
    """The manager failed because another request changed the same lease at the same moment."""

    code = "conflict"

    def __init__(self) -> None:
        super().__init__(texts.refusals.CHANGED_MEANWHILE())


@functools.cache
def _client() -> messaging.RPCClient:
    transport = messaging.get_rpc_transport(cfg.CONF, allowed_remote_exmods=_MODULES)
    return messaging.get_rpc_client(transport, manager.get_target())


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except blazar_exc.BlazarException as error:
        raise _refusal(error) from error
    except messaging.MessagingTimeout as error:
        raise ManagerSilent from error
    except messaging.MessagingException as error:
        if isinstance(error, messaging.RemoteError):
            LOG.error("The manager failed: %s %s", error.exc_type, error.value)
        failure = unavailability(error)
        raise failure or exceptions.ServiceRefused(
            _SERVICE, texts.services.MANAGER_FAILED()
        ) from error
    except Exception as error:
        # oslo.messaging always rebuilds Python's own exceptions, such as a TypeError.
        LOG.error("The manager failed: %r", error)
        raise exceptions.ServiceRefused(_SERVICE, texts.services.MANAGER_FAILED()) from error


def unavailability(error: messaging.MessagingException) -> exceptions.WarreError | None:
    """The error to answer with if the manager, or something that it needs, can't be reached.

    :param error: the error of a call.
    :returns: None if the manager has failed for another reason.
    """
    if not isinstance(error, messaging.RemoteError):
        return exceptions.ServiceUnavailable(
            _SERVICE, texts.services.SAID(said=type(error).__name__)
        )
    name = error.exc_type or ""
    if hasattr(ks_exc, name):
        return exceptions.ServiceUnavailable("Keystone", texts.services.SAID(said=name))
    if name == _OVERTAKEN:
        return ChangedMeanwhile()
    if hasattr(db_exc, name):
        return exceptions.ServiceUnavailable("The database", texts.services.SAID(said=name))
    return None


def _refusal(error: blazar_exc.BlazarException) -> exceptions.WarreError:
    # str() of a rebuilt exception includes the remote traceback.
    message = str(error.args[0]) if error.args else type(error).__name__
    ours = error.kwargs.get("warre")
    if ours:
        return exceptions.Relayed({**ours, "message": message})
    if isinstance(error, blazar_exc.InvalidStatus):
        # Blazar is starting, ending, changing or deleting this lease.
        return exceptions.Refused(texts.refusals.LEASE_BEING_CHANGED(said=message))
    if message == _PASSED:
        return exceptions.Refused(texts.refusals.LEASE_PAST(said=message))
    if error.code >= 500:
        return exceptions.ServiceRefused(_SERVICE, texts.services.REFUSAL(said=message))
    return exceptions.Relayed(
        {"code": _CODES.get(error.code, "refused"), "message": message, "detail": {}}
    )


def _call(context: Mapping[str, Any], method: str, **arguments: Any) -> Any:
    client = _client()
    if timer.limit is not None:
        client = client.prepare(timeout=timer.limited(cfg.CONF.rpc_response_timeout))
    with _refusals():
        return client.call(dict(context), method, **arguments)


def create_lease(context: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Create a lease with its reservations.

    :param context: the caller's request context, as a dict.
    :param values: the lease, in the form of Blazar's API.
    :returns: the lease as the manager returns it.
    """
    return _call(context, "create_lease", lease_values=dict(values))


def update_lease(context: Mapping[str, Any], lease_id: str, values: Mapping[str, Any]) -> None:
    """Change a lease.

    :param values: the values to change, in the form of Blazar's API.
    """
    _call(context, "update_lease", lease_id=lease_id, values=dict(values))


def delete_lease(context: Mapping[str, Any], lease_id: str) -> None:
    """Delete a lease with its servers."""
    _call(context, "delete_lease", lease_id=lease_id)
