"""The manager's requests that create and change leases, for which a credits service is asked.

A credits service keeps charges by the ids of leases or reservations, and is asked before these
exist. So a request that creates a lease gets the ids before it begins. When a request is over, be
it with a lease or with an error, the charge is compared with the lease.
"""

import contextlib
import contextvars
import dataclasses
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from blazar.db.sqlalchemy import api
from blazar.manager import service
from oslo_log import log as logging
from oslo_utils import uuidutils

from warre_blazar.db import session
from warre_blazar.errors import exceptions
from warre_blazar.plugins.wrapping import wrap
from warre_blazar.services.credits import charging

LOG = logging.getLogger(__name__)


@dataclasses.dataclass
class _Request:
    lease_id: str
    id: str = dataclasses.field(default_factory=uuidutils.generate_uuid)
    #: The ids of the reservations that are yet to be made, in their order.
    reservation_ids: list[str] = dataclasses.field(default_factory=list)
    #: Whether the lease may have been charged.
    is_charged: bool = False


#: The request in this thread. None: it neither creates nor changes a lease.
_request: contextvars.ContextVar[_Request | None] = contextvars.ContextVar("_request", default=None)

#: The ids of reservations are made of the lease's id and this one.
_NAMESPACE = uuid.UUID("0f6b3a52-8a0e-4c55-9d0c-6a4a6a1f6b2e")


def register() -> None:
    """Give leases their ids early, and look at charges after requests, in this process."""
    wrap(__name__, service.ManagerService, create_lease=_creating, update_lease=_changing)
    wrap(__name__, api, reservation_create=_with_id)


def begin_booking(number: int) -> tuple[str, str, list[str]]:
    """Note that this request is about to charge its new lease.

    :param number: the number of the lease's reservations.
    :returns: an id of the request, and the ids that the lease and its reservations get.
    """
    request = _request.get()
    assert request is not None
    request.is_charged = True
    # A lease that gets the id of a failed one goes on with its charge, and so with the same ids.
    names = (f"{request.lease_id} {index}" for index in range(number))
    request.reservation_ids = [str(uuid.uuid5(_NAMESPACE, name)) for name in names]
    return request.id, request.lease_id, list(request.reservation_ids)


def begin_change() -> str:
    """Note that this request is about to charge the lease that it changes.

    :returns: an id of the request.
    """
    request = _request.get()
    assert request is not None
    request.is_charged = True
    return request.id


@contextlib.contextmanager
def _handling(lease_id: str) -> Iterator[None]:
    request = _Request(lease_id)
    token = _request.set(request)
    try:
        yield
    finally:
        _request.reset(token)
        if request.is_charged:
            _release(request)


def _release(request: _Request) -> None:
    """Let the charge be looked at. If this fails, it is looked at later all the same."""
    try:
        charging.release(request.lease_id, request.id)
    except (exceptions.WarreError, *session.FAILURES) as error:
        LOG.warning("The charge of lease %s is looked at later: %r", request.lease_id, error)


def _creating(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``create_lease``. Over v1, a new lease has no id yet."""

    def create_lease(self: Any, lease_values: dict[str, Any]) -> Any:
        lease_id = lease_values.get("id") or uuidutils.generate_uuid()
        with _handling(str(lease_id)):
            return method(self, lease_values={**lease_values, "id": lease_id})

    return create_lease


def _changing(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``update_lease``. Blazar passes all arguments by name."""

    def update_lease(self: Any, *, lease_id: str, **others: Any) -> Any:
        with _handling(lease_id):
            return method(self, lease_id=lease_id, **others)

    return update_lease


def _with_id(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function that writes a new reservation, so that it has the id that was charged."""

    def reservation_create(values: Mapping[str, Any]) -> Any:
        request = _request.get()
        if request is None or not request.reservation_ids:
            return function(values)
        return function({**values, "id": request.reservation_ids.pop(0)})

    return reservation_create
