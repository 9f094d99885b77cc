"""Writes the rows that an import takes, and the old values that ``undoing`` restores."""

import contextlib
import datetime
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from oslo_db.sqlalchemy import exc_filters
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.records import history
from warre_blazar.warre_import import blazar_rows, seals
from warre_blazar.warre_import.flavors import TakenFlavor
from warre_blazar.warre_import.reservations import Adoption, Past

Columns = Mapping[str, Any]
T = TypeVar("T")


class Writer:
    """Writes in its caller's transaction."""

    def __init__(self, db: Session, now: datetime.datetime) -> None:
        self._db = db
        self._now = now

    def refusals(
        self, things: Sequence[T], write: Callable[[Sequence[T]], None]
    ) -> list[str | None]:
        """Write things, except those that the database can't store.

        :param write: a method of this writer, which writes some of the things.
        :returns: for each thing, None if it was written, or the reason why it wasn't.
        """
        if not things:
            return []
        reason = self._refusal(things, write)
        if reason is None or len(things) == 1:
            return [reason] * len(things)
        return [self._refusal([thing], write) for thing in things]

    def _refusal(self, things: Sequence[T], write: Callable[[Sequence[T]], None]) -> str | None:
        try:
            with _without_log(), self._db.begin_nested():
                write(things)
        except session.FAILURES as error:
            if not session.refuses_values(error):
                raise
            return f"Blazar's database can't store it: {session.reason(error)}"
        return None

    def flavors(self, taken: Sequence[TakenFlavor]) -> None:
        """Add flavors."""
        blazar_rows.add_flavors(self._db, [flavor.columns for flavor in taken], self._now)
        self._note("flavor", [flavor.columns["id"] for flavor in taken])

    def access(self, taken: Sequence[Columns]) -> None:
        """Add access to private flavors."""
        seals.move_seals(self._db, {columns["flavor_id"] for columns in taken})
        blazar_rows.add_access(self._db, taken)
        self._note("access", [columns["id"] for columns in taken])

    def windows(self, taken: Sequence[tuple[Columns, Sequence[str]]]) -> None:
        """Add maintenance windows.

        :param taken: the columns of each window, and the ids of the flavors that it closes.
        """
        seals.move_seals(self._db, {i for _, flavor_ids in taken for i in flavor_ids})
        for columns, flavor_ids in taken:
            blazar_rows.add_window(self._db, columns, flavor_ids, self._now)
        self._note("window", [columns["id"] for columns, _ in taken])

    def past(self, taken: Sequence[Past]) -> None:
        """Add records of reservations that have ended."""
        history.insert(self._db, [record.columns for record in taken])
        self._note("past", [record.columns["id"] for record in taken])

    def adopt(self, adopted: Sequence[Adoption]) -> None:
        """Turn ``virtual:instance`` leases into leases of ours, in place.

        If an earlier import found no lease, it has made a record of the reservation. This record is
        removed.
        """
        # The flavors get new generations. So a booking of one of the flavors at this moment reads
        # the slots again.
        flavor_ids = {adoption.flavor_id for adoption in adopted}
        blazar_rows.move_generations(self._db, flavor_ids)
        blazar_rows.remove_records(self._db, [adoption.id for adoption in adopted])
        blazar_rows.adopt(self._db, adopted, self._now)
        blazar_rows.note(
            self._db,
            [
                {"kind": "reservation", "id": adoption.id, "before": json.dumps(_before(adoption))}
                for adoption in adopted
            ],
        )

    def seal(self) -> None:
        """Store digests of all rows that the import has written, for ``undoing`` to compare."""
        for kind in seals.SEALED:
            seals.seal(self._db, kind)

    def _note(self, kind: str, ids: Sequence[str]) -> None:
        blazar_rows.note(
            self._db, [{"kind": kind, "id": thing_id, "before": None} for thing_id in ids]
        )


@contextlib.contextmanager
def _without_log() -> Iterator[None]:
    """Keep oslo.db from logging errors with tracebacks, because the report names the rows."""
    log, level = exc_filters.LOG, exc_filters.LOG.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


def _before(adoption: Adoption) -> dict[str, Any]:
    """The values of Blazar's rows before the adoption, which ``undoing`` writes back."""
    row = adoption.row
    return {
        "lease_id": adoption.lease.id,
        "user_id": adoption.lease.user_id,
        "reservation_id": adoption.reservation.id,
        "resource_type": adoption.reservation.resource_type,
        "row_id": row.id,
        "row": {
            "vcpus": row.vcpus,
            "memory_mb": row.memory_mb,
            "disk_gb": row.disk_gb,
            "resource_properties": row.resource_properties,
        },
    }
