"""The contexts in which Blazar's manager works on leases of this package, which have no trust.

Blazar's manager logs in to Keystone with a lease's trust, and works on the lease in the context of
that login. This package's leases need no login: the user and the project are known from the
request, and later from the lease. So the manager gets a context with these, without a token. For
all other leases Blazar logs in with their trusts.
"""

import contextlib
import contextvars
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from blazar import context
from blazar.db import api as db_api
from blazar.manager import exceptions as manager_exc
from blazar.manager import service
from blazar.utils import trusts

from warre_blazar.domain.flavors.flavor import BESIDE, RESOURCE_TYPE
from warre_blazar.openstack import keystone
from warre_blazar.plugins import carried_decisions

#: Blazar's own function, which logs in.
_log_in = trusts.create_ctx_from_trust

#: The methods of the manager that work on the lease whose id is their argument ``lease_id``.
_METHODS = ("update_lease", "delete_lease", "start_lease", "end_lease", "before_end_lease")

_Make = Callable[[], context.BlazarContext | None]

#: Makes the context for the lease on which the manager works now, or returns None if Blazar is to
#: log in for this lease.
_make: contextvars.ContextVar[_Make] = contextvars.ContextVar("make", default=lambda: None)


def register() -> None:
    """Give the manager contexts without a trust for this package's leases, in this process."""
    if trusts.create_ctx_from_trust is _context:
        return
    trusts.create_ctx_from_trust = _context
    manager = service.ManagerService
    manager.create_lease = _creating(manager.create_lease)
    manager._exec_event = _executing(manager._exec_event)
    for name in _METHODS:
        setattr(manager, name, _working(getattr(manager, name)))


def of(lease: Mapping[str, Any]) -> context.BlazarContext:
    """A context with a lease's user and project, and with the service catalog of Blazar's user."""
    return context.BlazarContext(
        user_id=lease["user_id"],
        project_id=lease["project_id"],
        service_catalog=keystone.service_catalog(),
    )


def _context(trust_id: str | None) -> context.BlazarContext:
    return _make.get()() or _log_in(trust_id)


def _of_request() -> context.BlazarContext:
    """The context for a new lease: that of the request, without the caller's token."""
    request = context.current()
    values = {**request.to_dict(), "auth_token": None, "service_catalog": _catalog(request)}
    return context.BlazarContext.from_dict(values)


def _of_lease(lease_id: str) -> context.BlazarContext | None:
    """The context for a lease of ours; None if the lease isn't ours."""
    lease = db_api.lease_get(lease_id)
    if lease is None or all(r["resource_type"] != RESOURCE_TYPE for r in lease["reservations"]):
        return None
    request = context.current()
    return context.BlazarContext(
        user_id=lease["user_id"],
        project_id=lease["project_id"],
        roles=request.roles,
        service_catalog=_catalog(request),
        request_id=request.request_id,
        global_request_id=request.global_request_id,
    )


def _catalog(request: context.BlazarContext) -> list[dict[str, Any]]:
    """The service catalog that came with a request, or that of Blazar's service user."""
    return request.service_catalog or keystone.service_catalog()


@contextlib.contextmanager
def _making(make: _Make) -> Iterator[None]:
    token = _make.set(make)
    try:
        yield
    finally:
        _make.reset(token)


def _creating(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``create_lease``, so that only leases of ours can be made without a trust.

    If a lease has reservations of flavors of Nova too, these are read with the user's own rights.
    """

    @functools.wraps(method)
    def create_lease(self: Any, lease_values: dict[str, Any]) -> Any:
        reservations = lease_values.get("reservations", [])
        types = {r.get("resource_type") for r in reservations}
        if RESOURCE_TYPE in types:
            make = _of_request if BESIDE not in types else lambda: None
            with _making(make), carried_decisions.carrying():
                return method(self, {"trust_id": None, **lease_values})
        if lease_values.get("trust_id") is None:
            raise manager_exc.MissingTrustId
        return method(self, lease_values)

    return create_lease


def _working(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method that works on a lease. Blazar needs all of its arguments by name."""

    @functools.wraps(method)
    def work(self: Any, *, lease_id: str, **others: Any) -> Any:
        with _making(functools.partial(_of_lease, lease_id)):
            return method(self, lease_id=lease_id, **others)

    return work


def _executing(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method that executes an event of a lease and then sends a notification.

    The method is a coroutine function, except before Blazar 18.
    """

    @functools.wraps(method)
    def execute(self: Any, event: Mapping[str, Any]) -> Any:
        with _making(functools.partial(_of_lease, event["lease_id"])):
            return method(self, event)

    @functools.wraps(method)
    async def execute_asynchronously(self: Any, event: Mapping[str, Any]) -> Any:
        with _making(functools.partial(_of_lease, event["lease_id"])):
            return await method(self, event)

    return execute_asynchronously if inspect.iscoroutinefunction(method) else execute
