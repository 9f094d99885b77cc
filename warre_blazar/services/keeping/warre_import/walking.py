"""Goes through all rows of a Warre database, decides which to import, and writes them.

A few hundred rows are read, decided on and written at a time. So the memory that an import needs
doesn't grow with the number of reservations.
"""

import datetime
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from warre_blazar.db import import_rows, reservable_hosts, session
from warre_blazar.domain.flavor import Shape
from warre_blazar.domain.hosts import Host
from warre_blazar.domain.warre_import import flavors as flavor_verdicts
from warre_blazar.domain.warre_import import reservations as reservation_verdicts
from warre_blazar.domain.warre_import import rows as warre_rows
from warre_blazar.domain.warre_import.flavors import TakenFlavor
from warre_blazar.domain.warre_import.reservations import Adoption, Past, Surroundings
from warre_blazar.domain.warre_import.verdicts import Fate, Verdict
from warre_blazar.services.keeping.warre_import import reading
from warre_blazar.services.keeping.warre_import.reading import Row, Source
from warre_blazar.services.keeping.warre_import.report import Report
from warre_blazar.services.keeping.warre_import.writing import Nowhere, Writer


def plan(url: str, now: datetime.datetime, history_days: int) -> Report:
    """Report what ``take_over`` would do, and write nothing.

    :param url: SQLAlchemy's URL of Warre's database.
    :param now: the present time, in naive UTC.
    :param history_days: the same as for ``take_over``.
    :raises reading.Unreadable: Warre's database can't be read.
    """
    with reading.opened(url) as source, session.reader() as db:
        return _Walk(db, source, Nowhere(), now, history_days).all()


def take_over(url: str, now: datetime.datetime, history_days: int) -> Report:
    """Import everything that can be imported, in one transaction.

    Rows that an earlier import has written aren't changed.

    :param url: SQLAlchemy's URL of Warre's database.
    :param now: the present time, in naive UTC.
    :param history_days: reservations that ended more than this many days ago aren't taken. With 0,
        reservations of any age are taken.
    :raises reading.Unreadable: Warre's database can't be read. In that case nothing is written.
    """
    with reading.opened(url) as source, session.writer() as db:
        writer = Writer(db, now)
        report = _Walk(db, source, writer, now, history_days).all()
        writer.seal()
        return report


class _Walk:
    """One walk through all tables.

    It keeps values of the tables that it has read, because its decisions about other tables depend
    on them.
    """

    def __init__(
        self,
        db: Session,
        source: Source,
        writer: Writer | Nowhere,
        now: datetime.datetime,
        history_days: int,
    ) -> None:
        self._db = db
        self._source = source
        self._writer = writer
        self._now = now
        self._days = history_days
        self._report = Report()
        self._flavors: dict[str, TakenFlavor] = {}
        self._hosts: list[Host] | None = None
        #: The ids of the leases that this walk has adopted already. A second reservation with the
        #: same lease isn't taken.
        self._adopted: set[str] = set()

    def all(self) -> Report:
        self._take_flavors()
        self._take_access()
        self._take_windows()
        self._take_reservations()
        sold = {i: (f.columns["name"], f.columns["slots"]) for i, f in self._flavors.items()}
        self._report.judge_slots(sold, self._now)
        return self._report

    def _add(self, kind: str, row: Row, fate: Fate, *remarks: str, name: str | None = None) -> None:
        self._report.add(Verdict(kind, warre_rows.shown_id(row), fate, remarks, name))

    def _has_host(self, shape: Shape) -> bool:
        if self._hosts is None:
            self._hosts = reservable_hosts.empty(self._db)
        return any(host.matches(shape) for host in self._hosts)

    def _take_flavors(self) -> None:
        for rows in self._source.rows("flavor"):
            known = import_rows.known(self._db, "flavors", _ids(rows))
            taken = []
            for row in rows:
                try:
                    flavor = flavor_verdicts.flavor(row, self._has_host)
                except warre_rows.Unusable as error:
                    self._add("flavor", row, Fate.LEFT, str(error))
                    continue
                flavor_id, name = flavor.columns["id"], flavor.columns["name"]
                self._flavors[flavor_id] = flavor
                if flavor_id in known:
                    self._add("flavor", row, Fate.KNOWN, name=name)
                    continue
                taken.append(flavor.columns)
                self._add("flavor", row, Fate.TAKEN, *flavor.remarks, name=name)
            self._writer.flavors(taken)

    def _take_access(self) -> None:
        for rows in self._source.rows("flavor_project"):
            known = import_rows.known(self._db, "flavor_projects", _ids(rows))
            granted = import_rows.granted(self._db)
            taken = []
            for row in rows:
                try:
                    columns = {c: warre_rows.required(row, c) for c in row}
                    if columns["flavor_id"] not in self._flavors:
                        raise warre_rows.Unusable(f"its flavor {columns['flavor_id']} isn't taken")
                except warre_rows.Unusable as error:
                    self._add("access", row, Fate.LEFT, str(error))
                    continue
                right = (columns["flavor_id"], columns["project_id"])
                if columns["id"] in known or right in granted:
                    self._add("access", row, Fate.KNOWN)
                    continue
                granted.add(right)
                taken.append(columns)
                self._add("access", row, Fate.TAKEN)
            self._writer.access(taken)

    def _take_windows(self) -> None:
        closed: dict[bytes, list[str]] = defaultdict(list)
        for row in self._source.window_flavors():
            flavor_id = warre_rows.shown_id({"id": row["flavor_id"]})
            if flavor_id in self._flavors:
                closed[row["maintenance_window_id"]].append(flavor_id)
        for rows in self._source.rows("maintenance_window"):
            known = import_rows.known(self._db, "windows", _ids(rows))
            for row in rows:
                try:
                    start, end = warre_rows.span(row)
                    window_id, note = (
                        warre_rows.required(row, "id"),
                        warre_rows.text(row, "note"),
                    )
                except warre_rows.Unusable as error:
                    self._add("window", row, Fate.LEFT, str(error))
                    continue
                if window_id in known:
                    self._add("window", row, Fate.KNOWN)
                    continue
                columns = {"id": window_id, "start_date": start, "end_date": end, "note": note}
                self._writer.window(columns, closed[row["id"]])
                self._add("window", row, Fate.TAKEN)

    def _take_reservations(self) -> None:
        oldest = self._now - datetime.timedelta(days=self._days) if self._days else None
        around = Surroundings(self._flavors, self._source.shared_leases(), oldest)
        # The shared leases are read first: while the loop streams rows, the connection can't run
        # another query.
        for rows in self._source.rows("reservation"):
            self._take_part(rows, around)

    def _take_part(self, rows: Sequence[Row], around: Surroundings) -> None:
        known = import_rows.known(self._db, "reservations", _ids(rows))
        leases = self._leases([row for row in rows if warre_rows.shown_id(row) not in known])
        adopted: list[Adoption] = []
        past: list[Mapping[str, Any]] = []
        for row in rows:
            if warre_rows.shown_id(row) in known:
                self._add("reservation", row, Fate.KNOWN)
                continue
            try:
                decision = reservation_verdicts.reservation(row, _lease_of(row, leases), around)
            except reservation_verdicts.TooOld:
                self._add("reservation", row, Fate.OLD)
                continue
            except warre_rows.Unusable as error:
                self._add("reservation", row, Fate.LEFT, str(error))
                continue
            if isinstance(decision, Past):
                past.append(decision.columns)
                self._add("reservation", row, Fate.PAST, *decision.remarks)
                continue
            if decision.lease.id in self._adopted:
                why = f"its lease {decision.lease.id} is another reservation's already"
                self._add("reservation", row, Fate.LEFT, why)
                continue
            self._adopted.add(decision.lease.id)
            adopted.append(decision)
            self._report.note_slots(decision)
            self._add("reservation", row, Fate.TAKEN, *decision.remarks)
        self._writer.past(past)
        self._writer.adopt(adopted, self._flavors)

    def _leases(self, rows: Sequence[Row]) -> dict[str, reservation_verdicts.BlazarLease]:
        """The leases to which the rows belong, each under its id and under its name.

        If a row has no lease id, its lease is found by name, because Warre puts the row's id into
        the name of the lease.
        """
        ids = {_id_or_none(row["lease_id"]) for row in rows} - {None}
        names = {
            reservation_verdicts.lease_name(warre_rows.shown_id(row))
            for row in rows
            if not row["lease_id"]
        }
        leases = import_rows.leases_of(self._db, ids, names, lock=self._writer.writes)
        return {key: lease for lease in leases for key in (lease.id, lease.name)}


def _ids(rows: Sequence[Row]) -> list[str]:
    return [warre_rows.shown_id(row) for row in rows]


def _id_or_none(raw: Any) -> str | None:
    """The id in a value that was read as bytes. None if the value is empty or can't be an id."""
    if not isinstance(raw, bytes) or not raw.isascii():
        return None
    return raw.decode() or None


def _lease_of(
    row: Row, leases: Mapping[str, reservation_verdicts.BlazarLease]
) -> reservation_verdicts.BlazarLease | None:
    lease_id = _id_or_none(row["lease_id"])
    return leases.get(lease_id or reservation_verdicts.lease_name(warre_rows.shown_id(row)))
