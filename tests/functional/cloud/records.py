"""Direct access to Blazar's database, with this package's tables in it."""

import datetime
import uuid
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from tests.functional.cloud import devcloud

#: The tables that have rows of a reservation, with the column that has the reservation's id.
_TRACES = {
    "reservations": "id",
    "instance_reservations": "reservation_id",
    "computehost_allocations": "reservation_id",
    "warre_reservations": "live_id",
    "warre_backings": "reservation_id",
}
#: The tables that have only generations or heartbeats, change in the background, have what a
#: manager last read from Placement, or have the requests that were refused, or what is being done
#: with series.
_COUNTERS = (
    *("warre_hosts", "warre_projects", "warre_managers", "warre_turns", "warre_channels"),
    "warre_marks",
    *("warre_log", "warre_deliveries", "warre_usage", "warre_tallies"),
    *("warre_refusals", "warre_refusal_counts"),
    "warre_series",
    "warre_waits",
    "warre_audits",
    *("warre_host_providers", "warre_confined_projects"),
    "warre_message_counts",
)
#: Columns that change in the background, in all tables.
BACKGROUND = (
    *("generation", "claim_start", "claim_end", "promised_at", "idle_from", "idle_warned_at"),
    *("counted_until", "looked_at"),
)
#: Further columns that change with every claim, by table.
_MOVED = {"computehosts": ("updated_at",)}
_NOTES = "warre_backings"
#: How the ids of the events begin that tests add without a lease.
ORPHAN = "orphan-"


class Records:
    """All tables of the database."""

    def __init__(self) -> None:
        # No connections are kept, because tests stop the database.
        self._engine = sa.create_engine(devcloud.database_url(), poolclass=sa.NullPool)
        self._metadata = sa.MetaData()
        self._metadata.reflect(self._engine)

    def dump(self, *excluded: str) -> dict[str, list[str]]:
        """Every row of every table as text, by table, without columns that claims change.

        The notes of reservations that are over are left out, because they are deleted in the
        background at any time.

        :param excluded: further tables to leave out.
        """
        dumped = {}
        with self._engine.connect() as db:
            for table in self._metadata.sorted_tables:
                if table.name not in (*_COUNTERS, *excluded):
                    moved = (*BACKGROUND, *_MOVED.get(table.name, ()))
                    columns = [c for c in table.c if c.name not in moved]
                    query = sa.select(*columns)
                    if table.name == _NOTES:
                        alive = self._metadata.tables["reservations"]
                        query = query.join(alive, alive.c.id == table.c.reservation_id)
                        query = query.where(alive.c.status != "deleted")
                    dumped[table.name] = sorted(repr(tuple(row)) for row in db.execute(query))
        return dumped

    def rows(self, table: str, **values: Any) -> list[dict[str, Any]]:
        """The rows of a table that have these values."""
        columns = self._metadata.tables[table].c
        conditions = [columns[name] == value for name, value in values.items()]
        query = self._metadata.tables[table].select().where(*conditions)
        with self._engine.connect() as db:
            return [dict(row) for row in db.execute(query).mappings()]

    def phase(self, reservation: dict[str, Any]) -> str | None:
        """The phase of a reservation's backing. None: it has no note."""
        notes = self.rows(_NOTES, reservation_id=reservation["id"])
        return notes[0]["phase"] if notes else None

    def traces(self, reservation_id: str) -> list[str]:
        """The tables that have rows of a reservation."""
        return [t for t, column in _TRACES.items() if self.rows(t, **{column: reservation_id})]

    def stale_notes(self) -> set[str]:
        """The ids of reservations that have a note of a backing, but are over or deleted."""
        return {note["reservation_id"] for note in self.rows(_NOTES)} - self.live()

    def start_now(self, ids: Iterable[str], ahead: float = 0) -> None:
        """Move the start of leases to the present minute, so that they are due to start.

        :param ahead: move it to so many seconds from now instead. Our executor then claims the
            start before it is due, as it does with all but those that are due when they are booked.
        """
        self._set_time(ids, "start_date", "start_lease", ahead)

    def end_now(self, ids: Iterable[str], ahead: float = 0) -> None:
        """Move the end of leases to the present minute, so that they are due to end.

        :param ahead: as in ``start_now``.
        """
        self._set_time(ids, "end_date", "end_lease", ahead)

    def _set_time(self, ids: Iterable[str], column: str, event_type: str, ahead: float) -> None:
        """Move the start or the end of leases, with its event."""
        now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None, microsecond=0)
        when = now + datetime.timedelta(seconds=ahead) if ahead else now.replace(second=0)
        leases, events = (self._metadata.tables[t] for t in ("leases", "events"))
        event = events.c.lease_id.in_(list(ids)) & (events.c.event_type == event_type)
        with self._engine.begin() as db:
            db.execute(leases.update().where(leases.c.id.in_(list(ids))).values({column: when}))
            db.execute(events.update().where(event).values(time=when))

    def add_orphan_event(self) -> None:
        """Add a start event that is due and belongs to no lease. Its id begins with ``ORPHAN``."""
        now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
        event = {"event_type": "start_lease", "time": now, "status": "UNDONE"}
        events = self._metadata.tables["events"]
        with self._engine.begin() as db:
            db.execute(
                events.insert().values(
                    id=f"{ORPHAN}{uuid.uuid4().hex[:24]}", lease_id=None, **event
                )
            )

    def delete(self, table: str, **values: Any) -> None:
        """Delete the rows of a table that have these values."""
        columns = self._metadata.tables[table].c
        conditions = [columns[name] == value for name, value in values.items()]
        with self._engine.begin() as db:
            db.execute(self._metadata.tables[table].delete().where(*conditions))

    def live(self) -> set[str]:
        """The ids of the reservations in Blazar's table, of all types, that aren't over."""
        return {r["id"] for r in self.rows("reservations") if r["status"] != "deleted"}
