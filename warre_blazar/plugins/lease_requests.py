"""Lets Blazar create and delete a lease of this package with few statements and transactions.

Blazar writes a new lease, its reservation, each of its events and the lease's final status in a
transaction each, and reads back what it has written. If the lease has one reservation of this
package, the rows of both are written in the transaction that claims slots and hosts, and the events
in the one that writes the status. So a request that is refused writes nothing.

While Blazar deletes a lease, it reads the lease seven times and its events four times. What one
reading has shown, or the last write has left, serves until the same request writes again.
"""

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from blazar.db import exceptions as db_exceptions
from blazar.db.sqlalchemy import api, models
from blazar.manager import exceptions as manager_exc
from blazar.manager import service
from oslo_db import exception as db_exc
from oslo_utils import uuidutils
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.tables import events, leases, reservations
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.plugins import joined_writes

_Values = Mapping[str, Any]

#: Blazar's functions in whose place methods with the same names, and with parameters of the same
#: names, are called during a request.
_FUNCTIONS = (
    *("lease_create", "lease_update", "lease_get", "lease_destroy"),
    *("reservation_create", "reservation_update", "reservation_get_all_by_lease_id"),
    *("event_create", "event_update", "event_get_first_sorted_by_filters"),
)
#: The attribute that a wrapped method has.
_MARK = "saves_statements"


class _NewLease:
    """A lease that Blazar creates, and what is yet to be written of it."""

    def __init__(self) -> None:
        self._lease: dict[str, Any] = {}
        #: What Blazar gets of a lease whose row isn't written yet, or was written and read.
        self._shown: Any = None
        self._reservation: dict[str, Any] = {}
        self._events: list[dict[str, Any]] = []

    def lease_create(self, _write: Callable[..., Any], values: _Values) -> Any:
        names = leases.c.keys()
        self._lease = {"id": uuidutils.generate_uuid()} | {
            name: value for name, value in values.items() if name in names
        }
        self._shown = models.Lease(**self._lease)
        return self._shown

    def reservation_create(self, _write: Callable[..., Any], values: _Values) -> Any:
        ids = {name: uuidutils.generate_uuid() for name in ("id", "resource_id")}
        self._reservation = ids | dict(values)
        return models.Reservation(**self._reservation)

    def begin(self, db: Session) -> str:
        """Write the rows of the lease and of its reservation, and return ``resource_id``."""
        try:
            db.execute(leases.insert(), self._lease)
        except db_exc.DBDuplicateEntry as error:
            raise manager_exc.LeaseNameAlreadyExists(name=self._lease["name"]) from error
        db.execute(reservations.insert(), self._reservation)
        return str(self._reservation["resource_id"])

    def reservation_update(
        self, _write: Callable[..., Any], reservation_id: str, values: _Values
    ) -> None:
        """Do nothing: Blazar wants to write ``resource_id``, which is there."""

    def event_create(self, _write: Callable[..., Any], values: _Values) -> None:
        self._events.append({"id": uuidutils.generate_uuid(), **values})

    def lease_update(self, write: Callable[..., Any], lease_id: str, values: _Values) -> Any:
        """Write the events too."""

        @joined_writes.joined
        def finish() -> Any:
            with session.writer() as db:
                db.execute(events.insert(), self._events)
            return write(lease_id, values)

        self._shown = None
        self._shown = finish()
        return self._shown

    def lease_get(self, read: Callable[..., Any], lease_id: str) -> Any:
        return self._shown or read(lease_id)

    def lease_destroy(self, write: Callable[..., Any], lease_id: str) -> None:
        """Delete the lease after an error, if this request has written it.

        Another request may have written a lease of the same id.
        """
        if api.reservation_get(self._reservation.get("id")):
            with contextlib.suppress(db_exceptions.BlazarDBNotFound):
                write(lease_id)


class _DeletedLease:
    """A lease that Blazar deletes."""

    def __init__(self) -> None:
        #: The lease as it was last read or written. None: it is to be read.
        self._known: Any = None
        self._is_gone = False

    def lease_get(self, read: Callable[..., Any], lease_id: str) -> Any:
        if self._known is None and not self._is_gone:
            self._known = read(lease_id)
        return self._known

    def lease_update(self, write: Callable[..., Any], lease_id: str, values: _Values) -> Any:
        self._known = None
        self._known = write(lease_id, values)
        return self._known

    def lease_destroy(self, write: Callable[..., Any], lease_id: str) -> None:
        self._known = None
        write(lease_id)
        self._is_gone = True

    def event_update(self, write: Callable[..., Any], event_id: str, values: _Values) -> Any:
        self._known = None
        return write(event_id, values)

    def reservation_get_all_by_lease_id(self, read: Callable[..., Any], lease_id: str) -> Any:
        return self._known.reservations if self._known else read(lease_id)

    def event_get_first_sorted_by_filters(
        self, read: Callable[..., Any], sort_key: str, sort_dir: str, filters: _Values
    ) -> Any:
        if self._known is None:
            return read(sort_key, sort_dir, filters)
        of_kind = (e for e in self._known.events if e.event_type == filters["event_type"])
        return next(of_kind, None)


#: The request in this thread. None: it isn't one of these, or Blazar handles it by itself.
_request: contextvars.ContextVar[_NewLease | _DeletedLease | None] = contextvars.ContextVar(
    "lease_request", default=None
)


def register() -> None:
    """Let the manager of this process do so."""
    manager = service.ManagerService
    if hasattr(manager.create_lease, _MARK):
        return
    manager.create_lease = _creating(manager.create_lease)
    manager.delete_lease = _deleting(manager.delete_lease)
    for name in _FUNCTIONS:
        setattr(api, name, _in_request(getattr(api, name)))


def begin() -> Callable[[Session], str | None]:
    """What writes the rows before those of the claims, in their transaction.

    It returns the id for the row in ``instance_reservations``. None: any new id.
    """
    request = _request.get()
    return request.begin if isinstance(request, _NewLease) else lambda _: None


def _creating(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def create_lease(self: Any, lease_values: dict[str, Any]) -> Any:
        types = [each.get("resource_type") for each in lease_values.get("reservations", [])]
        with _handling(_NewLease() if types == [RESOURCE_TYPE] else None):
            return method(self, lease_values)

    setattr(create_lease, _MARK, True)
    return create_lease


def _deleting(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``delete_lease``. Blazar needs its argument by name."""

    @functools.wraps(method)
    def delete_lease(self: Any, *, lease_id: str) -> Any:
        with _handling(_DeletedLease()):
            return method(self, lease_id=lease_id)

    return delete_lease


@contextlib.contextmanager
def _handling(request: _NewLease | _DeletedLease | None) -> Iterator[None]:
    token = _request.set(request)
    try:
        yield
    finally:
        _request.reset(token)


def _in_request(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of Blazar that writes or reads a row."""

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        instead = getattr(_request.get(), function.__name__, None)
        return instead(function, *args, **named) if instead else function(*args, **named)

    return call
