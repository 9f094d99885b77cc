"""Increases the generations of hosts when Blazar's own code changes what is read of them.

Blazar's code writes the same rows for all resource types: it deletes leases, writes new dates, adds
and removes allocations, and changes hosts. All of this goes through the sessions of SQLAlchemy. So
this module listens to them, and increases the generations in the same transaction. What this
package writes by SQL statements isn't seen here: its own functions call ``generations.outdate``.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import sqlalchemy as sa
from blazar.db.sqlalchemy import models
from sqlalchemy import event
from sqlalchemy.orm import Session

from warre_blazar.db import generations
from warre_blazar.db.tables import reservations

#: The rows that belong to a host.
_OF_HOST = (
    models.ComputeHostExtraCapability,
    models.ComputeHostResourceInventory,
    models.ComputeHostTrait,
)
#: The columns that nobody reads of a host.
_UNREAD = {"updated_at"}


def register() -> None:
    """Increase generations in this process."""
    if not event.contains(Session, "before_flush", _outdate):
        event.listen(Session, "before_flush", _outdate)


def _outdate(db: Session, _context: Any, _instances: Any) -> None:
    gone = {item.id for item in db.deleted if isinstance(item, models.ComputeHost)}
    generations.outdate(db, set(_hosts(db)) - gone)


def _hosts(db: Session) -> Iterator[str]:
    """The ids of the hosts of which something is about to change."""
    changed, leases, instances = [*db.new, *db.deleted, *db.dirty], [], []
    for item in changed:
        if isinstance(item, models.ComputeHostAllocation):
            yield from _values(item, "compute_host_id")
        elif isinstance(item, _OF_HOST):
            yield from _values(item, "computehost_id")
        elif isinstance(item, models.ComputeHost) and item in db.dirty and _is_changed(item):
            yield item.id
        elif isinstance(item, models.Lease) and _is_changed(item, ("start_date", "end_date")):
            leases.append(item.id)
        elif isinstance(item, models.InstanceReservations) and _is_changed(item):
            instances.append(item.reservation_id)
    for column, ids in ((reservations.c.lease_id, leases), (reservations.c.id, instances)):
        if ids:
            yield from generations.hosts_of(db, column.in_(ids))


def _values(item: Any, name: str) -> Iterable[str]:
    """The value of an attribute before and after the change."""
    history = sa.inspect(item).attrs[name].load_history()
    return {value for value in history.sum() if value is not None}


def _is_changed(item: Any, names: Collection[str] = ()) -> bool:
    """Whether a row of an object that isn't new has changed.

    :param names: the attributes that matter. Empty: all that are read.
    """
    state = sa.inspect(item)
    read = names or [a.key for a in state.mapper.column_attrs if a.key not in _UNREAD]
    return state.persistent and any(state.attrs[n].history.has_changes() for n in read)
