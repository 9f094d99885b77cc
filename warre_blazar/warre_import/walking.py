"""Goes through all rows of a Warre database, decides which to import, and writes them.

A few hundred rows are read, decided on and written at a time. So the memory that an import needs
doesn't grow with the number of reservations.
"""

import datetime
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from warre_blazar.db import reservable_hosts, session
from warre_blazar.domain import devices
from warre_blazar.warre_import import blazar_rows, reading
from warre_blazar.warre_import import flavors as flavor_verdicts
from warre_blazar.warre_import import reservations as reservation_verdicts
from warre_blazar.warre_import import rows as warre_rows
from warre_blazar.warre_import.flavors import TakenFlavor
from warre_blazar.warre_import.reading import Row, Source
from warre_blazar.warre_import.report import Report
from warre_blazar.warre_import.reservations import Adoption, Past, Surroundings
from warre_blazar.warre_import.verdicts import Fate, Verdict
from warre_blazar.warre_import.writing import Writer

T = TypeVar("T")


def plan(url: str, now: datetime.datetime, history_days: int) -> Report:
    """Report what ``take_over`` would do: do the same, and roll back.

    :param url: SQLAlchemy's URL of Warre's database.
    :param now: the present time, in naive UTC.
    :param history_days: the same as for ``take_over``.
    :raises reading.Unreadable: Warre's database can't be read.
    """
    with reading.opened(url) as source, session.undone() as db:
        return _Walk(db, source, Writer(db, now), now, history_days).all()


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
        writer: Writer,
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

    def _taken(
        self,
        kind: str,
        decided: Sequence[tuple[Row, T]],
        write: Callable[[Sequence[T]], None],
    ) -> Iterator[tuple[Row, T]]:
        """Write what was decided to import.

        :param decided: rows of Warre's with what is written for each.
        :returns: those that were written. The others are reported as not taken.
        """
        refusals = self._writer.refusals([thing for _, thing in decided], write)
        for (row, thing), refusal in zip(decided, refusals, strict=True):
            if refusal is None:
                yield row, thing
            else:
                self._add(kind, row, Fate.LEFT, refusal)

    def _take_flavors(self) -> None:
        hosts = reservable_hosts.empty(self._db)
        for rows in self._source.rows("flavor"):
            known = blazar_rows.known(self._db, "flavors", _ids(rows))
            decided: list[tuple[Row, TakenFlavor]] = []
            for row in rows:
                try:
                    flavor = flavor_verdicts.flavor(row, hosts)
                except warre_rows.Unusable as error:
                    self._add("flavor", row, Fate.LEFT, str(error))
                    continue
                if flavor.columns["id"] in known:
                    self._flavors[flavor.columns["id"]] = flavor
                    self._add("flavor", row, Fate.KNOWN, name=flavor.columns["name"])
                    continue
                decided.append((row, flavor))
            for row, flavor in self._taken("flavor", decided, self._writer.flavors):
                self._flavors[flavor.columns["id"]] = flavor
                name = flavor.columns["name"]
                if devices.named(flavor.shape.extra_specs):
                    self._report.with_devices.append(name)
                self._add("flavor", row, Fate.TAKEN, *flavor.remarks, name=name)

    def _take_access(self) -> None:
        for rows in self._source.rows("flavor_project"):
            known = blazar_rows.known(self._db, "flavor_projects", _ids(rows))
            granted = blazar_rows.granted(self._db)
            decided: list[tuple[Row, Mapping[str, Any]]] = []
            for row in rows:
                try:
                    warre_rows.identifier(row)
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
                decided.append((row, columns))
            for row, _ in self._taken("access", decided, self._writer.access):
                self._add("access", row, Fate.TAKEN)

    def _take_windows(self) -> None:
        closed: dict[bytes, list[str]] = defaultdict(list)
        others: dict[bytes, list[str]] = defaultdict(list)
        for row in self._source.window_flavors():
            flavor_id = warre_rows.shown_id({"id": row["flavor_id"]})
            chosen = closed if flavor_id in self._flavors else others
            chosen[row["maintenance_window_id"]].append(flavor_id)
        for rows in self._source.rows("maintenance_window"):
            known = blazar_rows.known(self._db, "windows", _ids(rows))
            decided: list[tuple[Row, tuple[Mapping[str, Any], Sequence[str]]]] = []
            for row in rows:
                try:
                    start, end = warre_rows.span(row)
                    window_id, note = warre_rows.identifier(row), warre_rows.text(row, "note")
                except warre_rows.Unusable as error:
                    self._add("window", row, Fate.LEFT, str(error))
                    continue
                if window_id in known:
                    self._add("window", row, Fate.KNOWN)
                    continue
                columns = {"id": window_id, "start_date": start, "end_date": end, "note": note}
                decided.append((row, (columns, closed[row["id"]])))
            for row, _ in self._taken("window", decided, self._writer.windows):
                remarks = [
                    f"it also closes {flavor_id} in Warre, a flavor that isn't taken"
                    for flavor_id in others[row["id"]]
                ]
                self._add("window", row, Fate.TAKEN, *remarks)

    def _take_reservations(self) -> None:
        oldest = self._now - datetime.timedelta(days=self._days) if self._days else None
        around = Surroundings(self._flavors, self._source.shared_leases(), oldest)
        # The shared leases are read first: while the loop streams rows, the connection can't run
        # another query.
        for rows in self._source.rows("reservation"):
            self._take_part(rows, around)

    def _take_part(self, rows: Sequence[Row], around: Surroundings) -> None:
        known = blazar_rows.known(self._db, "reservations", _ids(rows))
        # An earlier import may have found no lease of these, so they are decided again.
        failed = blazar_rows.failed_records(self._db, known)
        known -= failed.keys()
        leases = self._leases([row for row in rows if warre_rows.shown_id(row) not in known])
        adopted: list[tuple[Row, Adoption]] = []
        past: list[tuple[Row, Past]] = []
        for row in rows:
            if warre_rows.shown_id(row) in known:
                self._add("reservation", row, Fate.KNOWN)
                continue
            decision = self._decision(row, _lease_of(row, leases), around, failed)
            if isinstance(decision, Past):
                past.append((row, decision))
            elif decision is not None:
                self._adopted.add(decision.lease.id)
                adopted.append((row, decision))
        for row, record in self._taken("reservation", past, self._writer.past):
            self._add("reservation", row, Fate.PAST, *record.remarks)
        for row, adoption in self._taken("reservation", adopted, self._writer.adopt):
            self._report.note_slots(adoption)
            self._add("reservation", row, Fate.TAKEN, *adoption.remarks)

    def _decision(
        self,
        row: Row,
        lease: reservation_verdicts.BlazarLease | None,
        around: Surroundings,
        failed: Mapping[str, bool],
    ) -> Adoption | Past | None:
        """What is written for a reservation. None if nothing is written, which is then reported.

        :param failed: the same as the result of ``blazar_rows.failed_records``.
        """
        row_id = warre_rows.shown_id(row)
        try:
            decision = reservation_verdicts.reservation(row, lease, around)
            if isinstance(decision, Adoption) and decision.lease.id in self._adopted:
                raise warre_rows.Unusable(
                    f"its lease {decision.lease.id} is another reservation's already"
                )
            if failed.get(row_id):
                reservation_verdicts.refuse_deleted(decision)
        except reservation_verdicts.TooOld:
            self._add("reservation", row, Fate.KNOWN if row_id in failed else Fate.OLD)
            return None
        except warre_rows.Unusable as error:
            self._add("reservation", row, Fate.LEFT, str(error))
            return None
        if isinstance(decision, Past) and row_id in failed:
            self._add("reservation", row, Fate.KNOWN)
            return None
        return decision

    def _leases(self, rows: Sequence[Row]) -> dict[str, reservation_verdicts.BlazarLease]:
        """The leases to which the rows belong, each under its id and under its name.

        If a row has no lease id, its lease is found by name, because Warre puts the row's id into
        the name of the lease.
        """
        ids = {_id_or_none(row["lease_id"]) for row in rows} - {None}
        names = {
            reservation_verdicts.lease_name(warre_rows.shown_id(row))
            for row in rows
            if not row["lease_id"] and warre_rows.shown_id(row).isascii()
        }
        leases = blazar_rows.leases_of(self._db, ids, names)
        return {key: lease for lease in leases for key in (lease.id, lease.name)}


def _ids(rows: Sequence[Row]) -> list[str]:
    """The ids of rows. Those that aren't ASCII are left out, because no import takes such rows."""
    return [i for row in rows if (i := warre_rows.shown_id(row)).isascii()]


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
