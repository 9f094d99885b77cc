"""Keeps what is booked on each host, so that only what has changed is read again.

A process keeps each host, with all that is booked on it, by the host's generation. A reading asks
for the generations of all hosts in one statement. It reads those hosts again whose generation has
changed, and uses the others as they are kept. Whoever changes a host changes its generation in the
same transaction (``generations``), so the result is the same as if everything had been read.

The generations are read first. So a host is never older than its generation.

A process knows what it has booked or released itself. So it doesn't read these hosts again.
"""

import dataclasses
import datetime
import functools
import itertools
import random
import threading
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.booking.claims import Claims
from warre_blazar.db.hosts import reservable_hosts
from warre_blazar.db.hosts.readings import AllocationReading
from warre_blazar.db.hosts.reservable_hosts import Version
from warre_blazar.db.tables import allocations
from warre_blazar.domain.flavors.devices import NO_DEVICES, Rules
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.pools import Places
from warre_blazar.domain.taken import TakenOverTime
from warre_blazar.domain.timeline import Claim, Span

#: A process keeps the hosts of at most this many instances. Other hosts are read each time.
MOST_INSTANCES = 500_000

#: After more changes than this, the slots of a flavor are added up anew. The first reading of many
#: hosts would take seconds if it changed them claim by claim.
_MOST_CHANGES = 100

#: The key under which a session has what is to be kept once its transaction is committed.
_CHANGES = "warre_kept_hosts"

#: Since when times are counted.
_SINCE = Span(datetime.datetime(2020, 1, 1), datetime.datetime.max)


class BookedHosts(NamedTuple):
    """The hosts that can be booked, with all that is booked on them, and claims on slots."""

    #: The caller may ask them anything, as they aren't shared with other threads.
    hosts: Sequence[BookableHost]
    #: What is taken of the slots of flavors, by flavor id.
    taken: Mapping[str, TakenOverTime]


class _Kept(NamedTuple):
    """A host as it was read."""

    generation: int
    host: BookableHost
    #: By the reservation's id: the id of its flavor, and its claims on the flavor's slots.
    claims: Mapping[str, tuple[str, Sequence[Claim]]]
    #: When it is read again all the same, by the monotonic clock.
    until: float


def read(
    db: Session,
    cleaning: datetime.timedelta = times.NO_TIME,
    device_rules: Rules = NO_DEVICES,
    *,
    flavor_ids: Collection[str] | None = (),
    without: str | None = None,
) -> BookedHosts:
    """The hosts that can be booked, with all that is booked on them.

    :param cleaning: the time for which each reservation keeps its hosts and slots after its end.
    :param device_rules: how devices of Blazar's own reservations (``flavor:instance``) are counted.
    :param flavor_ids: the flavors whose slots are read. None: all flavors.
    :param without: the id of a reservation whose claims on slots are left out. What it holds of the
        hosts isn't.
    """
    store = _store(db, cleaning, device_rules)
    versions = reservable_hosts.versions(db)
    found = store.known(versions)
    if missing := versions.keys() - found.keys():
        these = {i: versions[i] for i in missing}
        found |= _read(db, these, len(versions), cleaning, device_rules)
    # A transaction that writes may be rolled back. Another one may then give its generations to
    # other rows. So such a transaction keeps nothing.
    unkept = missing if session.is_writing() else set()
    taken = store.replace(found, unkept, flavor_ids, without)
    is_open = [i for i, version in versions.items() if version.is_open and i in found]
    return BookedHosts([found[i].host.copy() for i in is_open], taken)


def empty(db: Session) -> list[BookableHost]:
    """The hosts that can be booked, for callers to whom it is of no matter what is booked on them.

    A host that isn't kept is read without what is booked on it, and kept for such callers only. So
    nobody waits for what only a decision needs.
    """
    versions = {i: each for i, each in reservable_hosts.versions(db).items() if each.is_open}
    stores = _stores.setdefault(db.get_bind(), {})
    found: dict[str, _Kept] = {}
    for store in list(stores.values()):
        found |= store.known(versions)
    if missing := versions.keys() - found.keys():
        new = {i: versions[i] for i in missing}
        read = {h.id: _Kept(h.generation, h, {}, _until()) for h in _empty(db, new, len(versions))}
        found |= read
        if not session.is_writing():
            store = stores.setdefault(_EMPTY, _Store())
            store.replace(store.known(versions) | read, set(), (), None)
    return [kept.host.copy() for kept in found.values()]


class NewReservation(NamedTuple):
    """A reservation that a transaction books."""

    reservation_id: str
    flavor_id: str
    #: What one instance takes.
    request: PlacementRequest
    #: Its time, without the cleaning time.
    span: Span
    #: The places of each of its instances, by host id.
    instances: Mapping[str, Sequence[Places | None]]


def add(
    db: Session,
    new: NewReservation,
    hosts: Iterable[BookableHost],
    cleaning: datetime.timedelta,
    device_rules: Rules,
) -> None:
    """Keep the hosts of a new reservation with it, as soon as its transaction is committed.

    :param hosts: the hosts of its instances, as they were read. The transaction has increased the
        generation of each once (``generations.increase_hosts``).

    The other parameters are those of ``read``.
    """
    store = _store(db, cleaning, device_rules)
    # Times are read in whole seconds.
    start, end = (moment.replace(microsecond=0) for moment in (new.span.start, new.span.end))
    span = Span(start, end).padded(cleaning)
    claims = [Claim(span, sum(map(len, new.instances.values())))]
    for host in hosts:
        held = [
            Holding(new.reservation_id, span, new.request, places)
            for places in new.instances[host.id]
        ]
        add_one = functools.partial(
            store.add, host.id, host.generation, held, (new.flavor_id, claims)
        )
        _once_committed(db, add_one)


def remove(db: Session, reservation_id: str, hosts: Mapping[str, int]) -> None:
    """Keep hosts without a reservation, as soon as the transaction that releases it is committed.

    :param hosts: by the host's id, its generation before. The transaction has increased each once.
    """
    for store in list(_stores.get(db.get_bind(), {}).values()):
        for host_id, generation in hosts.items():
            remove_one = functools.partial(store.remove, host_id, generation, reservation_id)
            _once_committed(db, remove_one)


def _once_committed(db: Session, change: Callable[[], None]) -> None:
    if _CHANGES not in db.info:
        db.info[_CHANGES] = []
        sa.event.listen(db, "after_commit", _keep)
        sa.event.listen(db, "after_soft_rollback", _drop)
    db.info[_CHANGES].append(change)


def _keep(db: Session) -> None:
    for change in db.info[_CHANGES]:
        change()
    db.info[_CHANGES].clear()


def _drop(db: Session, _: Any) -> None:
    """Forget what a transaction has changed, because it was rolled back, or a part of it was.

    The hosts of what remains are read again.
    """
    db.info[_CHANGES].clear()


def forget() -> None:
    """Forget all that is kept."""
    _stores.clear()


def _read(
    db: Session,
    these: Mapping[str, Version],
    number: int,
    cleaning: datetime.timedelta,
    device_rules: Rules,
) -> dict[str, _Kept]:
    """Read hosts with all that is booked on them.

    :param these: as for ``_empty``.
    :param number: how many hosts there are.
    """
    hosts = _empty(db, these, number)
    reading = AllocationReading(hosts, Claims(_SINCE, cleaning), device_rules)
    query = reading.query(sa.true())
    if _are_few(these, number):
        query = query.where(allocations.c.compute_host_id.in_(list(these)))
    rows = db.execute(query).all()
    held, claims = reading.rows(rows)
    flavor_of = {i: flavor_id for flavor_id, each in claims.items() for i in each}
    found = {}
    for host in hosts:
        booked = host.holding(held[host.id])
        ids_there = {holding.reservation_id for holding in booked.holdings}
        of_host = {i: (flavor_of[i], claims[flavor_of[i]][i]) for i in ids_there if i in flavor_of}
        found[host.id] = _Kept(host.generation, booked, of_host, _until())
    return found


def _until() -> float:
    """When a host that is read now is read again all the same."""
    return time.monotonic() + times.HOST_KEPT_FOR * random.uniform(0.5, 1)  # noqa: S311


def _empty(db: Session, these: Mapping[str, Version], number: int) -> list[BookableHost]:
    """Hosts without what is booked on them.

    :param these: the versions of the hosts, by their ids. Hosts get these generations: where each
        statement sees what was committed before it, a host may have been closed since its version
        was read. With its present generation it could then still be claimed.
    :param number: how many hosts there are.
    """
    if _are_few(these, number):
        hosts = reservable_hosts.of_ids(db, list(these))
    else:
        hosts = reservable_hosts.empty(db, closed=None)
    return [
        dataclasses.replace(host, generation=these[host.id].generation)
        for host in hosts
        if host.id in these
    ]


def _are_few(ids: Collection[str], number: int) -> bool:
    """Whether a query with some ids costs less than reading all hosts."""
    return len(ids) < number / 2


class _Slots:
    """The claims on the slots of one flavor."""

    def __init__(self) -> None:
        self._taken = TakenOverTime()
        #: What isn't in ``_taken`` yet. None: it is added up anew.
        self._changes: list[Claim] | None = []
        #: By the reservation's id: its claims, and on how many hosts it is.
        self._claims: dict[str, tuple[Sequence[Claim], int]] = {}

    @property
    def taken(self) -> TakenOverTime:
        if self._changes is None:
            each = (claims for claims, _ in self._claims.values())
            self._taken = TakenOverTime(itertools.chain.from_iterable(each))
        for change in self._changes or ():
            self._taken.add(change)
        self._changes = []
        return self._taken

    def of(self, reservation_id: str) -> Sequence[Claim]:
        return self._claims.get(reservation_id, ((), 0))[0]

    def add(self, reservation_id: str, claims: Sequence[Claim]) -> None:
        """Add the claims of a reservation, because of one of its hosts."""
        before, hosts = self._claims.get(reservation_id, ((), 0))
        self._claims[reservation_id] = claims, hosts + 1
        self._change(before, claims)

    def remove(self, reservation_id: str) -> None:
        """Remove one host of a reservation, and its claims if it has no other host."""
        claims, hosts = self._claims.pop(reservation_id)
        if hosts > 1:
            self._claims[reservation_id] = claims, hosts - 1
        else:
            self._change(claims, ())

    def _change(self, before: Sequence[Claim], after: Sequence[Claim]) -> None:
        if before == after or self._changes is None:
            return
        self._changes += [*_removed(before), *after]
        if len(self._changes) > _MOST_CHANGES:
            self._changes = None


def _removed(claims: Iterable[Claim]) -> Iterator[Claim]:
    """What to add in order to remove claims."""
    return (Claim(claim.span, -claim.amount) for claim in claims)


class _Store:
    """What is kept of one database."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hosts: dict[str, _Kept] = {}
        self._slots: dict[str, _Slots] = defaultdict(_Slots)
        self._instances = 0

    def known(self, versions: Mapping[str, Version]) -> dict[str, _Kept]:
        """The hosts that are as they are kept, by their ids."""
        now, hosts = time.monotonic(), self._hosts
        return {
            i: kept
            for i, (generation, _) in versions.items()
            if (kept := hosts.get(i)) and kept.generation == generation and now < kept.until
        }

    def replace(
        self,
        found: Mapping[str, _Kept],
        unkept: Set[str],
        flavor_ids: Collection[str] | None,
        without: str | None,
    ) -> dict[str, TakenOverTime]:
        """Keep the hosts that were found, and return what they take of the slots of flavors.

        Meanwhile another thread may have replaced hosts, even by older ones. So everything that
        was found is kept before the slots are read.

        :param unkept: the ids of hosts that aren't kept afterwards.

        The other parameters are those of ``read``.
        """
        with self._lock:
            for host_id in self._hosts.keys() - found.keys():
                self._put(host_id, None)
            changed = {i: kept for i, kept in found.items() if self._hosts.get(i) is not kept}
            for host_id, kept in changed.items():
                self._put(host_id, kept)
            ids = list(self._slots) if flavor_ids is None else flavor_ids
            taken = {flavor_id: self._taken(flavor_id, without) for flavor_id in ids}
            for host_id in unkept & self._hosts.keys():
                self._put(host_id, None)
            for host_id in changed.keys() & self._hosts.keys():
                if self._instances > MOST_INSTANCES:
                    self._put(host_id, None)
            return taken

    def add(
        self,
        host_id: str,
        generation: int,
        held: Sequence[Holding],
        claims: tuple[str, Sequence[Claim]],
    ) -> None:
        """Keep a host with what was booked on it, if it is kept as it was before.

        :param generation: the host's generation before. 0: the host had none, so nobody knows its
            generation now.
        :param held: the new instances of a reservation on the host.
        :param claims: the reservation's flavor and claims.
        """
        with self._lock:
            kept = self._hosts.get(host_id)
            if not generation or kept is None or kept.generation != generation:
                return
            if self._instances + len(held) > MOST_INSTANCES:
                return
            # Somebody may have read the rows after this commit, and the generation before.
            if held[0].reservation_id in kept.claims:
                return
            # Holdings whose request is the same object are counted faster.
            same = {holding.request: holding.request for holding in kept.host.holdings}
            new = [each._replace(request=same.get(each.request, each.request)) for each in held]
            host = kept.host.holding([*kept.host.holdings, *new], generation + 1)
            known = {**kept.claims, held[0].reservation_id: claims}
            self._put(host_id, _Kept(generation + 1, host, known, kept.until))

    def remove(self, host_id: str, generation: int, reservation_id: str) -> None:
        """Keep a host without a reservation, if it is kept as it was before.

        :param generation: the host's generation before.
        """
        with self._lock:
            kept = self._hosts.get(host_id)
            if kept is None or kept.generation != generation:
                return
            left = [h for h in kept.host.holdings if h.reservation_id != reservation_id]
            host = kept.host.holding(left, generation + 1)
            known = {i: claims for i, claims in kept.claims.items() if i != reservation_id}
            self._put(host_id, _Kept(generation + 1, host, known, kept.until))

    def _taken(self, flavor_id: str, without: str | None) -> TakenOverTime:
        slots = self._slots.get(flavor_id)
        if slots is None:
            return TakenOverTime()
        taken = slots.taken.copy()
        for removed in _removed(slots.of(without)) if without else ():
            taken.add(removed)
        return taken

    def _put(self, host_id: str, kept: _Kept | None) -> None:
        """Keep a host in place of what was kept of it. None: keep nothing of it any more."""
        before = self._hosts.pop(host_id, None)
        old, new = (each.claims if each else {} for each in (before, kept))
        for number, each in ((-1, before), (1, kept)):
            self._instances += number * len(each.host.holdings) if each else 0
        if kept:
            self._hosts[host_id] = kept
        # Most reservations are as they were.
        for reservation_id in old.keys() | new.keys():
            was, now = old.get(reservation_id), new.get(reservation_id)
            if was != now:
                if now:
                    self._slots[now[0]].add(reservation_id, now[1])
                if was:
                    self._slots[was[0]].remove(reservation_id)


#: The key of the hosts that are kept without what is booked on them.
_EMPTY = "empty"

#: By the database, and by what is read of it.
_stores: "weakref.WeakKeyDictionary[Any, dict[Any, _Store]]" = weakref.WeakKeyDictionary()


def _store(db: Session, cleaning: datetime.timedelta, device_rules: Rules) -> _Store:
    of_database = _stores.setdefault(db.get_bind(), {})
    # The rules have no hash, but a process has the same ones as long as it runs.
    return of_database.setdefault((cleaning, repr(device_rules)), _Store())
