"""Goes through all rows of a Warre database, decides which to import, and writes them.

A few hundred rows are read, decided on and written at a time. So the memory that an import needs
doesn't grow with the number of reservations.
"""

import contextlib
import datetime
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.hosts import reservable_hosts
from warre_blazar.db.running import leases
from warre_blazar.domain.flavors import devices
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.lease_states import Action, Age
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

    @contextlib.contextmanager
    def _deciding(self, kind: str, row: Row) -> Iterator[None]:
        """Report a row as not taken if the decision on it raises an error.

        A row of Warre's may have any value, and any value may raise an error. Such an error must
        not keep the import from taking the other rows.
        """
        try:
            yield
        except warre_rows.Unusable as error:
            self._add(kind, row, Fate.LEFT, str(error))
        except Exception as error:
            why = str(error).partition("\n")[0]
            self._add(kind, row, Fate.LEFT, f"it can't be read: {type(error).__name__}: {why}")

    def _take_flavors(self) -> None:
        hosts = reservable_hosts.empty(self._db)
        for rows in self._source.rows("flavor"):
            known = blazar_rows.known(self._db, "flavors", _ids(rows))
            decided: list[tuple[Row, TakenFlavor]] = []
            for row in rows:
                with self._deciding("flavor", row):
                    flavor = flavor_verdicts.flavor(row, hosts)
                    if flavor.columns["id"] in known:
                        self._flavors[warre_rows.key(flavor.columns["id"])] = flavor
                        self._add("flavor", row, Fate.KNOWN, name=flavor.columns["name"])
                    else:
                        decided.append((row, flavor))
            for row, flavor in self._taken("flavor", decided, self._writer.flavors):
                self._flavors[warre_rows.key(flavor.columns["id"])] = flavor
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
                with self._deciding("access", row):
                    warre_rows.identifier(row)
                    columns = {c: warre_rows.required(row, c) for c in row}
                    columns["flavor_id"] = flavor_verdicts.of(row, self._flavors).columns["id"]
                    right = (columns["flavor_id"], columns["project_id"])
                    if columns["id"] in known or right in granted:
                        self._add("access", row, Fate.KNOWN)
                    else:
                        granted.add(right)
                        decided.append((row, columns))
            for row, _ in self._taken("access", decided, self._writer.access):
                self._add("access", row, Fate.TAKEN)

    def _take_windows(self) -> None:
        closed: dict[str, list[str]] = defaultdict(list)
        others: dict[str, list[str]] = defaultdict(list)
        for row in self._source.window_flavors():
            window = warre_rows.key(warre_rows.shown(row["maintenance_window_id"]))
            flavor_id = warre_rows.shown(row["flavor_id"])
            if flavor := self._flavors.get(warre_rows.key(flavor_id)):
                closed[window].append(flavor.columns["id"])
            else:
                others[window].append(flavor_id)
        for rows in self._source.rows("maintenance_window"):
            known = blazar_rows.known(self._db, "windows", _ids(rows))
            decided: list[tuple[Row, tuple[Mapping[str, Any], Sequence[str]]]] = []
            for row in rows:
                with self._deciding("window", row):
                    start, end = warre_rows.span(row)
                    window_id, note = warre_rows.identifier(row), warre_rows.text(row, "note")
                    columns = {"id": window_id, "start_date": start, "end_date": end, "note": note}
                    if window_id in known:
                        self._add("window", row, Fate.KNOWN)
                    else:
                        decided.append((row, (columns, closed[warre_rows.key(window_id)])))
            for row, _ in self._taken("window", decided, self._writer.windows):
                remarks = [
                    f"it also closes {flavor_id} in Warre, a flavor that isn't taken"
                    for flavor_id in others[warre_rows.key(warre_rows.identifier(row))]
                ]
                remarks += warre_rows.cut_fractions(row, "start", "end")
                self._add("window", row, Fate.TAKEN, *remarks)

    def _take_reservations(self) -> None:
        oldest = self._now - self._days * times.DAY if self._days else None
        shared = {warre_rows.key(lease_id) for lease_id in self._source.shared_leases()}
        around = Surroundings(self._flavors, shared, oldest)
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
        taken = list(self._taken("reservation", adopted, self._writer.adopt))
        repairs = self._repairs([adoption.lease.id for _, adoption in taken])
        for row, adoption in taken:
            self._report.note_slots(adoption)
            remarks = (*adoption.remarks, *repairs.get(adoption.lease.id, ()))
            self._add("reservation", row, Fate.TAKEN, *remarks)

    def _repairs(self, lease_ids: Sequence[str]) -> dict[str, tuple[str]]:
        """By lease, a remark on each lease that a manager will repair soon after the import."""
        decisions = {
            lease.id: lease_states.decide(lease.state(self._now, Age.STUCK))
            for lease in leases.read(self._db, lease_ids)
        }
        return {
            lease_id: (
                f"a manager will repair its lease {lease_id}, since its events are missing or "
                "contradict the lease; the import can still be undone after such a repair",
            )
            for lease_id, decision in decisions.items()
            if decision.action is Action.SETTLE
        }

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
        with self._deciding("reservation", row):
            try:
                decision = reservation_verdicts.reservation(row, lease, around)
            except reservation_verdicts.TooOld:
                self._add("reservation", row, Fate.KNOWN if row_id in failed else Fate.OLD)
                return None
            if isinstance(decision, Adoption) and decision.lease.id in self._adopted:
                raise warre_rows.Unusable(
                    f"its lease {decision.lease.id} is another reservation's already"
                )
            if failed.get(row_id):
                reservation_verdicts.refuse_deleted(decision)
            if isinstance(decision, Past) and row_id in failed:
                self._add("reservation", row, Fate.KNOWN)
                return None
            return decision
        return None

    def _leases(self, rows: Sequence[Row]) -> dict[str, reservation_verdicts.BlazarLease]:
        """The leases to which the rows belong, each under the keys of its id and of its name.

        If a row has no lease id, its lease is found by name, because Warre puts the row's id into
        the name of the lease.
        """
        ids = {_id_or_none(row["lease_id"]) for row in rows} - {None}
        names = {
            reservation_verdicts.lease_name(warre_rows.shown_id(row))
            for row in rows
            if not row["lease_id"] and warre_rows.shown_id(row).isascii()
        }
        found = blazar_rows.leases_of(self._db, ids, names)
        return {warre_rows.key(name): lease for lease in found for name in (lease.id, lease.name)}


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
    name = _id_or_none(row["lease_id"]) or reservation_verdicts.lease_name(warre_rows.shown_id(row))
    return leases.get(warre_rows.key(name))
