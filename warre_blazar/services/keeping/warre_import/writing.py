"""Writes the rows that an import takes, and the old values that ``undoing`` restores."""

import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from warre_blazar.db import history, import_rows, import_seals
from warre_blazar.domain.flavor import Shape
from warre_blazar.domain.warre_import.flavors import TakenFlavor
from warre_blazar.domain.warre_import.reservations import Adoption

Columns = Mapping[str, Any]


class Nowhere:
    """A writer that writes nothing, for a dry run."""

    #: Whether the writer changes Blazar's rows. If so, the rows are locked when they are read.
    writes = False

    def flavors(self, taken: Sequence[Columns]) -> None:
        """Write no flavors."""

    def access(self, taken: Sequence[Columns]) -> None:
        """Write no access."""

    def window(self, columns: Columns, flavor_ids: Sequence[str]) -> None:
        """Write no maintenance window."""

    def past(self, taken: Sequence[Columns]) -> None:
        """Write no records."""

    def adopt(self, adopted: Sequence[Adoption], flavors: Mapping[str, TakenFlavor]) -> None:
        """Adopt no leases."""


class Writer(Nowhere):
    """A writer that writes in its caller's transaction."""

    writes = True

    def __init__(self, db: Session, now: datetime.datetime) -> None:
        self._db = db
        self._now = now

    def flavors(self, taken: Sequence[Columns]) -> None:
        """Add flavors."""
        import_rows.add_flavors(self._db, taken, self._now)
        self._note("flavor", [columns["id"] for columns in taken])

    def access(self, taken: Sequence[Columns]) -> None:
        """Add access to private flavors."""
        import_seals.move_seals(self._db, {columns["flavor_id"] for columns in taken})
        import_rows.add_access(self._db, taken)
        self._note("access", [columns["id"] for columns in taken])

    def window(self, columns: Columns, flavor_ids: Sequence[str]) -> None:
        """Add a maintenance window that closes the given flavors."""
        import_seals.move_seals(self._db, flavor_ids)
        import_rows.add_window(self._db, columns, flavor_ids, self._now)
        self._note("window", [columns["id"]])

    def past(self, taken: Sequence[Columns]) -> None:
        """Add records of reservations that have ended."""
        history.insert(self._db, taken)
        self._note("past", [columns["id"] for columns in taken])

    def adopt(self, adopted: Sequence[Adoption], flavors: Mapping[str, TakenFlavor]) -> None:
        """Turn ``virtual:instance`` leases into leases of ours, in place.

        :param flavors: the flavors of the reservations, by id.
        """
        if not adopted:
            return
        # The flavors get new generations. So a booking of one of the flavors at this moment reads
        # the slots again.
        flavor_ids = {adoption.flavor_id for adoption in adopted}
        import_seals.move_seals(self._db, flavor_ids)
        import_rows.move_generations(self._db, flavor_ids)
        import_rows.adopt(
            self._db, adopted, self._now, [_source(adoption, flavors) for adoption in adopted]
        )
        import_rows.note(
            self._db,
            [
                {"kind": "reservation", "id": adoption.id, "before": json.dumps(_before(adoption))}
                for adoption in adopted
            ],
        )

    def seal(self) -> None:
        """Store digests of all rows that the import has written, for ``undoing`` to compare."""
        for kind in import_seals.SEALED:
            import_seals.seal(self._db, kind)

    def _note(self, kind: str, ids: Sequence[str]) -> None:
        import_rows.note(
            self._db, [{"kind": kind, "id": thing_id, "before": None} for thing_id in ids]
        )


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


def _source(adoption: Adoption, flavors: Mapping[str, TakenFlavor]) -> tuple[str, str, Shape]:
    """The arguments of ``instance_reservations.source_flavor`` for a reservation.

    :returns: the id and the name of the flavor, and the shape of the reservation.
    """
    name = flavors[adoption.flavor_id].columns["name"]
    return adoption.flavor_id, name, adoption.shape
