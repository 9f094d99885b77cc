"""Lets Blazar create and delete a lease of this package with few statements and transactions.

Blazar writes a new lease, its reservation, each of its events and the lease's final status in a
transaction each, and reads back what it has written. If the lease has one reservation of this
package, all of these rows are written in the transaction that claims slots and hosts, when Blazar
wants to write the final status. So a request that is refused, or whose manager is killed, writes
nothing. What was written isn't read back.

While Blazar deletes a lease, it reads the lease seven times and its events four times. What one
reading has shown, or the last write has left, serves until the same request writes again. Its hosts
are read only if an enabled filter may want them, or if it has reservations of other types. If a
lease of this package hasn't begun and nothing was made of it in Nova, it is deleted whole when
Blazar wants to write that it is being deleted.
"""

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from blazar.db.sqlalchemy import api, models
from blazar.manager import exceptions as manager_exc
from blazar.manager import service
from oslo_db import exception as db_exc
from oslo_log import log as logging
from oslo_utils import timeutils, uuidutils
from sqlalchemy.orm import Session, attributes

from warre_blazar import enforcement
from warre_blazar.db import session
from warre_blazar.db.running import deletions
from warre_blazar.db.tables import events, instance_reservations, leases, reservations
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.domain.running import lease_states
from warre_blazar.plugins import change_records, error_translation
from warre_blazar.services.booking import admission
from warre_blazar.site_rules import conditions

LOG = logging.getLogger(__name__)

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


class _NewLease(admission.LeaseRows):
    """A lease that Blazar creates, and its rows, which aren't written yet."""

    def __init__(self) -> None:
        super().__init__()
        # Whole seconds, which each kind of database keeps.
        self._now = timeutils.utcnow().replace(microsecond=0)
        self._lease: _Values = {}
        self._reservation: _Values = {}
        self._instances: _Values = {}
        self._events: list[_Values] = []
        #: What Blazar gets of the lease.
        self._shown: Any = None
        self._book: Callable[[admission.LeaseRows], str] | None = None

    def _row(self, table: sa.Table, values: _Values) -> _Values:
        """A new row, with what Blazar's models would add."""
        known = {"id": uuidutils.generate_uuid(), "created_at": self._now, **values}
        return {column.name: known.get(column.name) for column in table.c}

    def lease_create(self, _write: Callable[..., Any], values: _Values) -> Any:
        self._lease = self._row(leases, {**values, "degraded": False})
        self._shown = models.Lease(**self._lease)
        return self._shown

    def reservation_create(self, _write: Callable[..., Any], values: _Values) -> Any:
        flags = {"missing_resources": False, "resources_changed": False}
        resource_id = uuidutils.generate_uuid()
        self._reservation = self._row(reservations, {"resource_id": resource_id, **flags, **values})
        return models.Reservation(**self._reservation)

    def reserve(self, book: Callable[[admission.LeaseRows], str]) -> str:
        """Book later, when the whole lease is known.

        :returns: the id that the reservation's row in ``instance_reservations`` will have.
        """
        self._book = book
        return str(self._reservation["resource_id"])

    def reservation_update(
        self, _write: Callable[..., Any], reservation_id: str, values: _Values
    ) -> None:
        """Do nothing: Blazar wants to write ``resource_id``, which is known."""

    def event_create(self, _write: Callable[..., Any], values: _Values) -> None:
        self._events.append(self._row(events, values))

    def lease_update(self, write: Callable[..., Any], lease_id: str, values: _Values) -> Any:
        """Book, and write everything."""
        if self._book is None:
            return write(lease_id, values)
        self._lease = {**self._lease, **values, "updated_at": self._now}
        try:
            with self.turn:
                self._book(self)
        except Exception as error:
            if not self._is_there():
                raise
            LOG.warning("Lease %s was booked in spite of an error: %s", lease_id, error)
        self._shown = models.Lease(
            **self._lease,
            reservations=[
                models.Reservation(
                    **self._reservation,
                    instance_reservation=models.InstanceReservations(**self._instances),
                )
            ],
            # In the order in which they will be read.
            events=[models.Event(**e) for e in sorted(self._events, key=lambda e: str(e["id"]))],
        )
        return self._shown

    def _is_there(self) -> bool:
        """Whether the database has committed, although the connection was lost before it said so.

        Another request may have made a reservation of the same id, but not of the same
        ``resource_id``. If the database doesn't answer, the API finds out later
        (``through_manager.reservations``).
        """
        with contextlib.suppress(*session.FAILURES):
            found = api.reservation_get(self._reservation["id"])
            return bool(found) and found.resource_id == self._reservation["resource_id"]
        return False

    def begin(self, db: Session) -> str:
        try:
            db.execute(leases.insert(), self._lease)
        except db_exc.DBDuplicateEntry as error:
            raise manager_exc.LeaseNameAlreadyExists(name=self._lease["name"]) from error
        db.execute(reservations.insert(), self._reservation)
        return str(self._reservation["resource_id"])

    def finish(self, db: Session) -> None:
        db.execute(events.insert(), self._events)
        mine = instance_reservations.c.reservation_id == self._reservation["id"]
        row = db.execute(sa.select(instance_reservations).where(mine)).one()
        self._instances = dict(row._mapping)
        change_records.booked(db, self._lease["id"])

    def lease_get(self, read: Callable[..., Any], lease_id: str) -> Any:
        return self._shown or read(lease_id)

    def lease_destroy(self, _write: Callable[..., Any], lease_id: str) -> None:
        """Do nothing: Blazar gives up a lease that isn't written."""


class _DeletedLease:
    """A lease that Blazar deletes."""

    def __init__(self) -> None:
        #: The lease as it was last read or written. None: it is to be read.
        self._known: Any = None
        self._is_gone = False
        #: Whether it was deleted whole. Blazar goes on with its steps, which change nothing then.
        self.is_deleted = False

    def lease_get(self, read: Callable[..., Any], lease_id: str) -> Any:
        if self._known is None and not self._is_gone:
            self._known = read(lease_id)
        return self._known

    def lease_update(self, write: Callable[..., Any], lease_id: str, values: _Values) -> Any:
        if values == {"status": lease_states.DELETING} and self._deletes_planned():
            self.is_deleted = True
        if self.is_deleted:
            attributes.set_committed_value(self._known, "status", values["status"])
            return self._known
        self._known = None
        self._known = write(lease_id, values)
        return self._known

    def _deletes_planned(self) -> bool:
        """Delete the lease whole if it is such a lease, and say whether it was deleted."""
        types = [each.resource_type for each in self._known.reservations] if self._known else []
        if types != [RESOURCE_TYPE] or not enforcement.is_quick():
            return False
        return _delete_planned(self._known.id, self._known.reservations[0].id)

    def lease_destroy(self, write: Callable[..., Any], lease_id: str) -> None:
        self._known = None
        if not self.is_deleted:
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
    manager._existing_allocations = _for_filters(manager._existing_allocations)


def turn() -> contextlib.ExitStack | None:
    """What is closed when the request in this thread has booked, or has failed.

    None if others don't wait for this request: its filters may wait for other services, or it has
    several reservations, whose decisions aren't written as they are.
    """
    request = _request.get()
    return request.turn if isinstance(request, _NewLease) and enforcement.is_quick() else None


def reserve(book: Callable[[admission.LeaseRows], str]) -> str:
    """Book a reservation of the request in this thread, together with its lease if that is new.

    :param book: books, and returns the id of the row in ``instance_reservations``.
    :returns: this id.
    """
    request = _request.get()
    return request.reserve(book) if isinstance(request, _NewLease) else book(admission.ROWS_THERE)


def is_deleted() -> bool:
    """Whether the request in this thread has deleted its lease, so that nothing is to be ended."""
    request = _request.get()
    return isinstance(request, _DeletedLease) and request.is_deleted


def _delete_planned(lease_id: str, reservation_id: str) -> bool:
    @session.retried
    def delete() -> bool:
        # A booking of this process would be decided anew if its hosts changed meanwhile.
        with session.claiming() as db:
            now, user_id = timeutils.utcnow(), conditions.caller_id()
            return deletions.delete_planned(db, lease_id, reservation_id, now, user_id)

    with error_translation.translated(updating=True):
        return delete()


def _creating(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def create_lease(self: Any, lease_values: dict[str, Any]) -> Any:
        types = [each.get("resource_type") for each in lease_values.get("reservations", [])]
        if types != [RESOURCE_TYPE]:
            with _handling(None):
                return method(self, lease_values)
        request = _NewLease()
        with request.turn, _handling(request):
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


def _for_filters(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method that reads the hosts of reservations for the filters, by resource type.

    For other types than ours it also says whether their plugins are there.
    """

    @functools.wraps(method)
    def existing_allocations(self: Any, reservations: Any) -> Any:
        are_ours = all(each["resource_type"] == RESOURCE_TYPE for each in reservations)
        if are_ours and isinstance(_request.get(), _DeletedLease) and enforcement.is_quick():
            return {RESOURCE_TYPE: []}
        return method(self, reservations)

    return existing_allocations


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
