"""The judge: compares the tables with what users were told, every second, and believes neither.

Each check yields violations as sentences. What may take its time (see ``calm``) is a violation only
once it has had that time; what is sold, promised or deleted holds at every moment.
"""

import datetime
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

import pymysql

from tests.torture import arithmetic, choices
from tests.torture.calm import Absences
from tests.torture.ledger import REFUSED, UNKNOWN, Booking, Lease, Ledger, Terms, View
from tests.torture.reading import (
    KEPT,
    Backing,
    LeaseRow,
    Reader,
    ReservationRow,
    ServerRow,
    Snapshot,
    Time,
)

Found = Iterator[tuple[str, str]]
"""Of each violation a key, by which the same one is known again, and a sentence."""

_OVER = ("TERMINATED",)
#: Blazar works on the lease, or did until its manager was killed. Nobody was told that a lease is
#: booked that is being made.
_UNDER_WAY = ("CREATING", "DELETING", "UPDATING")
_RUNNING_SERVER = "active"
#: What a reservation has in Nova and Placement is made ten minutes before its start. A minute of
#: that is for the making.
_MADE_BEFORE = datetime.timedelta(minutes=9)


class Judge:
    """Judges one snapshot after the other."""

    def __init__(
        self,
        ledger: Ledger,
        absences: Absences,
        limits: Mapping[str, tuple[int, int]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """
        :param limits: reservations and hours by the id of each project that takes part.
        """
        self._ledger, self._absences, self._limits = ledger, absences, limits
        self._clock = clock
        self.checked: Counter[str] = Counter()
        self.violations: dict[str, str] = {}
        #: The ids of all reservations of Blazar's own types that were seen.
        self.stock: set[str] = set()
        #: Since when something is as it should not stay, by key.
        self._since: dict[str, float] = {}
        self._seen_now: set[str] = set()
        #: Reservations by id without dashes, with the time at which each was last seen live.
        self._last_live: dict[str, float] = {}

    def judge(self, before: View, snapshot: Snapshot, after: View) -> None:
        """Judge what the tables said between two looks at the ledger."""
        self._seen_now = set()
        self.stock |= {
            r.id for r in snapshot.reservations.values() if r.resource_type != arithmetic.SLOTS
        }
        checks = (
            self._sales(snapshot),
            self._told(before, snapshot, after),
            self._untold(before, snapshot, after),
            self._states(snapshot),
            self._servers(snapshot),
        )
        for check in checks:
            for key, text in check:
                self.violations.setdefault(key, f"{snapshot.now}: {text}")
        self._since = {k: t for k, t in self._since.items() if k in self._seen_now}

    # Nothing is oversold.

    def _sales(self, snapshot: Snapshot) -> Found:
        sales = (
            *arithmetic.Slots.check(snapshot, self.checked),
            *arithmetic.Hosts.check(snapshot, self.checked),
            *arithmetic.Quotas.check(snapshot, self._limits, self.checked),
        )
        for oversold in sales:
            yield f"oversold {oversold.what}", f"oversold: {oversold}"

    # What was accepted is there, as it was answered.

    def _told(self, before: View, snapshot: Snapshot, after: View) -> Found:
        for lease_id, lease in before.leases.items():
            now_told = after.leases[lease_id]
            if now_told.version != lease.version:
                continue  # the next look finds it at rest
            self.checked["accepted leases compared"] += 1
            row = snapshot.leases.get(lease_id)
            found = list(self._compared(lease, row, snapshot))
            if not found:
                self._settle(lease, row, snapshot)
            yield from found

    def _compared(self, lease: Lease, row: LeaseRow | None, snapshot: Snapshot) -> Found:
        key, possible = lease.id, lease.possible()
        earliest_end = min(terms.end for terms in possible)
        if lease.deleted is not None:
            if row is not None:
                yield f"undead {key}", f"lease {key} was answered as deleted and is {row.status}"
            return
        if row is None:
            if not lease.may_go() and snapshot.now - earliest_end < KEPT / 2:
                yield (
                    f"lost {key}",
                    f"lease {key} was accepted {_terms(possible)} and isn't there",
                )
            return
        if row.status == "DELETING" and lease.may_go():
            return
        reservations = snapshot.of_lease(key)
        seen = _seen(row, reservations)
        if seen not in possible:
            yield (
                f"changed {key}",
                f"lease {key} was accepted as {_terms(possible)} and is {_terms([seen])}",
            )
        is_over = row.status in _OVER or any(r.status == "deleted" for r in reservations)
        if is_over and snapshot.now < earliest_end and not lease.may_go():
            yield f"early end {key}", f"lease {key} ended before {earliest_end}: {row.status}"
        for each in reservations:
            yield from self._holds(row, each)
        is_broken = row.status == "ERROR" or any(r.status == "error" for r in reservations)
        if is_broken and self._late(f"error {key}"):
            yield f"error {key}", f"lease {key} was accepted and stays in ERROR"

    def _holds(self, lease: LeaseRow, reservation: ReservationRow) -> Found:
        """What somebody counts on is on hosts."""
        if lease.status not in ("PENDING", "ACTIVE") or reservation.status == "deleted":
            return
        placed = sum(reservation.hosts.values())
        key = f"places {reservation.id}"
        if placed != reservation.count and self._late(key):
            yield (
                key,
                f"reservation {reservation.id} has {reservation.count} instances, "
                f"and {placed} on hosts",
            )

    def _settle(self, lease: Lease, row: LeaseRow | None, snapshot: Snapshot) -> None:
        if lease.deleted is None and (lease.open or len(lease.base) > 1):
            seen = _seen(row, snapshot.of_lease(lease.id)) if row else None
            self._ledger.settle(lease.id, lease.version, seen, self._clock())

    # What was refused isn't there, and nothing is that nobody asked for.

    def _untold(self, before: View, snapshot: Snapshot, after: View) -> Found:
        known = {*before.leases, *after.leases}
        matched = set()
        asked = {(b.user_id, b.began): b for b in (*before.bookings, *after.bookings)}
        refused_before = {(b.user_id, b.began) for b in before.bookings if b.outcome == REFUSED}
        for row in snapshot.leases.values():
            if row.project_id not in self._limits or row.id in known or _is_stock(row):
                continue
            self.checked["leases that nobody was told of compared"] += 1
            reservations = snapshot.of_lease(row.id)
            booking = _explanation(row, reservations, asked.values())
            if booking is None:
                if row.status in ("PENDING", "ACTIVE"):
                    yield f"unasked {row.id}", f"lease {row.id} is there and nobody asked for it"
                continue
            key = (booking.user_id, booking.began)
            matched.add(key)
            if row.status not in ("PENDING", "ACTIVE"):
                continue
            if key in refused_before:
                yield f"refused {row.id}", f"lease {row.id} was refused and is {row.status}"
            elif self._has_settled(booking) and reservations:
                flavors = {r.id: r.flavor_id or "" for r in reservations}
                seen = _seen(row, reservations)
                self._ledger.booked(booking, row.id, flavors, seen, self._clock())
        for key, booking in asked.items():
            if key not in matched and self._has_settled(booking):
                self._ledger.give_up(booking)

    def _has_settled(self, booking: Booking) -> bool:
        return booking.outcome == UNKNOWN and self._ledger.has_settled(booking.ended, self._clock())

    # Starts and ends happen, neither early nor late.

    def _states(self, snapshot: Snapshot) -> Found:
        for each in snapshot.reservations.values():
            lease = snapshot.leases.get(each.lease_id)
            if lease is None or lease.project_id not in self._limits or _is_stock(lease):
                continue
            self.checked["reservations' states compared"] += 1
            if each.status == "active" and snapshot.now < lease.start:
                yield (
                    f"early start {each.id}",
                    f"reservation {each.id} is active before {lease.start}",
                )
            if lease.status in _UNDER_WAY:
                continue
            if each.status == "pending" and self._overdue(lease.start, snapshot):
                yield (
                    f"late start {each.id}",
                    f"reservation {each.id} is still pending, to start at {lease.start} "
                    f"(lease {lease.status})",
                )
            if each.status == "active" and self._overdue(lease.end, snapshot):
                yield (
                    f"late end {each.id}",
                    f"reservation {each.id} is still active, to end at {lease.end} "
                    f"(lease {lease.status})",
                )

    def _overdue(self, due: Time, snapshot: Snapshot) -> bool:
        """Whether something was due and has had its time."""
        if snapshot.now <= due:
            return False
        now = self._clock()
        # A booking or a change may have come after the time that it names: the minute counts whole.
        return self._absences.is_late(now - (snapshot.now - due).total_seconds() + 60, now)

    # No server runs outside its reservation's time.

    def _servers(self, snapshot: Snapshot) -> Found:
        now = self._clock()
        by_flavor = {
            r.id.replace("-", ""): (r, snapshot.leases[r.lease_id])
            for r in snapshot.reservations.values()
            if r.lease_id in snapshot.leases
        }
        for flavor, (each, lease) in by_flavor.items():
            is_live = each.status in ("pending", "active") and lease.status not in _OVER
            if is_live and snapshot.now < lease.end:
                self._last_live[flavor] = now
        running: Counter[str] = Counter()
        for server in snapshot.servers:
            if server.flavor not in self._last_live:
                continue
            self.checked["servers compared"] += 1
            running[server.flavor] += server.state == _RUNNING_SERVER
            yield from self._server(server, by_flavor.get(server.flavor))
        for flavor, number in running.items():
            each, _ = by_flavor.get(flavor, (None, None))
            if each and each.count and number > each.count and self._late(f"many {flavor}"):
                text = f"{number} servers run on reservation {each.id} of {each.count}"
                yield f"many {flavor}", text

    def _server(self, server: ServerRow, known: tuple[ReservationRow, LeaseRow] | None) -> Found:
        launched = server.launched
        if known and launched and launched < known[1].start:
            yield (
                f"early server {server.id}",
                f"server {server.id} was launched at {launched}, before its reservation "
                f"{known[0].id} starts at {known[1].start}",
            )
        if self._absences.is_late(self._last_live[server.flavor], self._clock()):
            yield (
                f"late server {server.id}",
                f"server {server.id} ({server.state}, on {server.host}) is there after its "
                f"reservation {server.flavor} was over",
            )

    def _late(self, key: str) -> bool:
        """Whether something that should pass has been there for too long; it is there now."""
        self._seen_now.add(key)
        since = self._since.setdefault(key, self._clock())
        return self._absences.is_late(since, self._clock())


def _is_stock(row: LeaseRow) -> bool:
    """Whether a lease is of Blazar's own types. What it takes is counted, and nothing more."""
    return row.name.startswith(choices.STOCK_NAME)


def _seen(row: LeaseRow, reservations: list[ReservationRow]) -> Terms:
    return Terms.of(row.start, row.end, {r.id: r.count or 0 for r in reservations})


def _terms(possible: Iterable[Terms]) -> str:
    """Terms for people."""
    return " or ".join(
        f"{t.start:%H:%M}-{t.end:%H:%M} x{'+'.join(str(c) for _, c in t.counts)}"
        for t in sorted(possible)
    )


def _explanation(
    row: LeaseRow, reservations: list[ReservationRow], bookings: Iterable[Booking]
) -> Booking | None:
    """The booking that a lease came of, which nobody was told of."""
    labels = {r.label for r in reservations} - {None}
    same = [b for b in bookings if b.project_id == row.project_id]
    same.sort(key=lambda b: b.outcome == REFUSED)  # the likelier ones first
    for booking in same:
        if booking.lease_name is not None and booking.lease_name == row.name:
            return booking
        if booking.label is not None and booking.label in labels:
            return booking
    if not row.name.startswith("reservation-"):
        return None
    # Our API makes the lease before it writes what is ours, and Warre's have no label.
    alike = [b for b in same if b.lease_name is None and b.user_id == row.user_id]
    if not reservations or all(r.flavor_id is None for r in reservations):
        return alike[0] if alike else None
    wanted = (row.start, row.end, tuple(r.count for r in reservations))
    unlabeled = [b for b in alike if b.label is None]
    return next((b for b in unlabeled if (b.start, b.end, b.counts) == wanted), None)


def at_the_end(
    snapshot: Snapshot, backing: Backing, projects: Mapping[str, object], known_before: set[str]
) -> list[str]:
    """What Nova and Placement hold too much or too little, with all services there and at rest.

    :param known_before: reservations of which something was there before the test.
    """
    live = {
        r.id: r
        for r in snapshot.reservations.values()
        if r.status in ("pending", "active")
        and snapshot.leases[r.lease_id].status in ("PENDING", "ACTIVE")
        and r.resource_type == arithmetic.SLOTS
    }
    mine = {key for key, r in live.items() if snapshot.leases[r.lease_id].project_id in projects}
    held = {
        "Nova flavor": backing.flavors,
        "aggregate": {a for a in backing.aggregates if len(a) == 36 and a.count("-") == 4},
        "resource class": set(backing.classes),
    }
    found = []
    soon = snapshot.now + _MADE_BEFORE
    needed = {
        key
        for key in mine
        if live[key].status == "active" or snapshot.leases[live[key].lease_id].start <= soon
    }
    for what, there in held.items():
        found += [f"reservation {r} has no {what}" for r in sorted(needed - there)]
        left = there - set(live) - known_before
        found += [f"a {what} is left of reservation {r}" for r in sorted(left)]
    for key in sorted(mine):
        wanted = live[key].hosts if live[key].status == "active" else {}
        offered = backing.classes.get(key, {})
        if offered != wanted:
            found.append(f"reservation {key} is on {wanted}, and offered is {offered}")
        hosts = backing.aggregates.get(key, set())
        if hosts != set(wanted):
            found.append(f"reservation {key} is on {wanted}, and in its aggregate are {hosts}")
    active = {key.replace("-", "") for key, r in live.items() if r.status == "active"}
    ours = {key.replace("-", "") for key in (*snapshot.reservations, *known_before)}
    for server in snapshot.servers:
        if server.flavor in ours - active:
            found.append(f"server {server.id} is left on reservation {server.flavor}")
    return found


class Watch:
    """A thread that lets the judge look every second for as long as it is told to."""

    def __init__(self, judge: Judge, ledger: Ledger, reader: Reader) -> None:
        self._judge, self._ledger, self._reader = judge, ledger, reader
        self._over, self._one_at_a_time = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._run, name="judge", daemon=True)
        self.looks = Counter[str]()
        self.failure: BaseException | None = None

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def look(self) -> Snapshot:
        """One look.

        :raises pymysql.MySQLError, OSError: the database doesn't answer.
        """
        with self._one_at_a_time:
            before = self._ledger.view()
            snapshot = self._reader.snapshot()
            self._judge.judge(before, snapshot, self._ledger.view())
        return snapshot

    def _run(self) -> None:
        while not self._over.is_set():
            began = time.monotonic()
            try:
                self.look()
                self.looks["looks"] += 1
            except (pymysql.MySQLError, OSError):
                self.looks["looks at a database that was away"] += 1
            except BaseException as error:
                self.failure = error
                raise
            self._over.wait(max(0.0, 1.0 - (time.monotonic() - began)))
