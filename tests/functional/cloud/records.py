"""Blazar's database, ours in it, read directly."""

import datetime
import uuid
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from tests.functional.cloud import devcloud

#: Where a reservation leaves its traces: table and the column that names it.
_TRACES = {
    "reservations": "id",
    "instance_reservations": "reservation_id",
    "computehost_allocations": "reservation_id",
    "warre_reservations": "reservation_id",
    "warre_backings": "reservation_id",
}
#: Tables of generations or heartbeats, and nothing else.
_COUNTERS = ("warre_hosts", "warre_projects", "warre_managers")
#: What changes in the background, whatever is asked.
_BACKGROUND = ("generation", "claim_start", "claim_end", "promised_at")
#: Columns that a claim of a flavor or a host moves, by table; the generations do so everywhere.
_MOVED = {"computehosts": ("updated_at",)}
_NOTES = "warre_backings"


class Records:
    """All tables."""

    def __init__(self) -> None:
        # Connections don't outlive a database that a test stops.
        self._engine = sa.create_engine(devcloud.database_url(), poolclass=sa.NullPool)
        self._metadata = sa.MetaData()
        self._metadata.reflect(self._engine)

    def dump(self, *but: str) -> dict[str, list[str]]:
        """Every row of every table, as text, without what claims move: generations and the like.

        Nor the notes of reservations that are over: those go in the background at any time.

        :param but: tables to leave out.
        """
        found = {}
        with self._engine.connect() as db:
            for table in self._metadata.sorted_tables:
                if table.name not in (*_COUNTERS, *but):
                    moved = (*_BACKGROUND, *_MOVED.get(table.name, ()))
                    columns = [c for c in table.c if c.name not in moved]
                    query = sa.select(*columns)
                    if table.name == _NOTES:
                        alive = self._metadata.tables["reservations"]
                        query = query.join(alive, alive.c.id == table.c.reservation_id)
                        query = query.where(alive.c.status != "deleted")
                    found[table.name] = sorted(repr(tuple(row)) for row in db.execute(query))
        return found

    def rows(self, table: str, **values: Any) -> list[dict[str, Any]]:
        """Rows of a table that have these values."""
        found = self._metadata.tables[table]
        conditions = [found.c[name] == value for name, value in values.items()]
        with self._engine.connect() as db:
            return [dict(row) for row in db.execute(found.select().where(*conditions)).mappings()]

    def traces(self, reservation_id: str) -> list[str]:
        """The tables that know a reservation."""
        return [t for t, column in _TRACES.items() if self.rows(t, **{column: reservation_id})]

    def stale_notes(self) -> set[str]:
        """The reservations that are noted to have something in Nova, and aren't any more."""
        return {note["reservation_id"] for note in self.rows(_NOTES)} - self.live()

    def start_now(self, ids: Iterable[str]) -> None:
        """Let leases that are yet to come be due."""
        self._set_time(ids, "start_date", "start_lease")

    def end_now(self, ids: Iterable[str]) -> None:
        """Let leases that run be over."""
        self._set_time(ids, "end_date", "end_lease")

    def _set_time(self, ids: Iterable[str], column: str, event_type: str) -> None:
        """Let the start or the end of leases be in this minute."""
        now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None, second=0, microsecond=0)
        leases, events = (self._metadata.tables[t] for t in ("leases", "events"))
        event = events.c.lease_id.in_(list(ids)) & (events.c.event_type == event_type)
        with self._engine.begin() as db:
            db.execute(leases.update().where(leases.c.id.in_(list(ids))).values({column: now}))
            db.execute(events.update().where(event).values(time=now))

    def add_orphan_event(self) -> None:
        """A start that is due and belongs to no lease."""
        now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
        event = {"event_type": "start_lease", "time": now, "status": "UNDONE"}
        events = self._metadata.tables["events"]
        with self._engine.begin() as db:
            db.execute(events.insert().values(id=str(uuid.uuid4()), lease_id=None, **event))

    def live(self) -> set[str]:
        """The ids of Blazar's reservations, of whatever type, that aren't over."""
        return {r["id"] for r in self.rows("reservations") if r["status"] != "deleted"}
