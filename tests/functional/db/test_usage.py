"""Usage over a simulated year, against a ledger that the simulation keeps minute by minute."""

import collections
import dataclasses
import datetime
import itertools
import random
from collections.abc import Iterable

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.managers import Manager
from tests.functional.db.notices import waiting
from warre_blazar import times
from warre_blazar.db import session, tables
from warre_blazar.db.messages import deliveries, outbox
from warre_blazar.db.records.usage import UsageFilter
from warre_blazar.domain.messages.notices import Kind
from warre_blazar.domain.records.usage import Amounts
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.fields.usage import KEYS
from warre_blazar.plugins import change_records
from warre_blazar.services.booking import changing
from warre_blazar.services.messages import delivery
from warre_blazar.services.records import history, server_samples, usage
from warre_blazar.services.running import backing

pytestmark = pytest.mark.usefixtures("database", "told")

MINUTE = datetime.timedelta(minutes=1)
HOUR = datetime.timedelta(hours=1)
DAY = datetime.timedelta(days=1)
INTERVAL = 5 * MINUTE
YEAR = 365 * DAY
PROJECTS = ("project-alpha", "project-beta")


@pytest.fixture
def told(database: sa.Engine) -> None:
    change_records.register()
    change_records.register_deletions()
    session.change(deliveries.set_channels, {"bills": True})


def after(hours: float) -> datetime.datetime:
    return world.NOW + datetime.timedelta(hours=hours)


def total(window: Span, now: datetime.datetime, **wanted: str) -> usage.Sum:
    return usage.report(UsageFilter(window=window, **wanted), None, now)[None]


@dataclasses.dataclass
class Entry:
    """What the simulation knows of a reservation."""

    lease: world.Lease
    project_id: str
    span: Span
    count: int
    #: When each time and count was asked for.
    asked: list[tuple[datetime.datetime, Span, int]]
    started: datetime.datetime | None = None
    ended: datetime.datetime | None = None
    deleted: datetime.datetime | None = None

    def ask(self, now: datetime.datetime) -> None:
        self.asked.append((now, self.span, self.count))

    @property
    def over(self) -> datetime.datetime:
        return min(self.ended or datetime.datetime.max, self.deleted or datetime.datetime.max)

    def minutes(self, now: datetime.datetime) -> dict[datetime.datetime, Amounts]:
        """The quantities of each minute in which there are any, in instances."""
        ends = [span.end for _, span, _ in self.asked]
        minute = min(span.start for _, span, _ in self.asked)
        found = {}
        while minute < max([*ends, min(self.over, now)]):
            found[minute] = self._at(minute, now)
            minute += MINUTE
        return {minute: amounts for minute, amounts in found.items() if any(amounts)}

    def _at(self, minute: datetime.datetime, now: datetime.datetime) -> Amounts:
        def asked_at(moment: datetime.datetime) -> tuple[Span, int]:
            return [(span, count) for at, span, count in self.asked if at <= moment][-1]

        span, count = self.asked[-1][1:]
        if self.deleted and self.deleted <= span.start:
            booked = count if span.start <= minute < span.end else 0
            return Amounts(booked=booked, cancelled=booked)
        # Nothing that has begun gets another start here.
        began = span.start
        since = [each[1:] for each in self.asked if each[0] > began] + [asked_at(began)]
        booked = max(count if span.start <= minute < span.end else 0 for span, count in since)
        span, count = asked_at(minute) if minute >= self.asked[0][0] else self.asked[0][1:]
        planned = count if span.start <= minute < span.end and minute < self.over else 0
        started = self.started or datetime.datetime.max
        held = count if started <= minute < min(self.over, now) else 0
        return Amounts(
            booked=booked,
            held=held,
            given_back=max(0, booked - max(planned, held)),
            lost=max(0, planned - held) if minute < now else 0,
        )


class Year:
    """A year in which users book, change and delete at random, and managers are away at times."""

    def __init__(self, cloud: Cloud, seed: int) -> None:
        self.chance = random.Random(seed)
        for number in range(3):
            world.add_host(cloud, f"h{number}", vcpus=64)
        self.flavors = [world.add_flavor(slots=90), world.add_flavor(slots=90, vcpu=4)]
        self.manager = Manager()
        self.entries: list[Entry] = []
        self.now = world.NOW
        #: Until when no manager runs.
        self.away = world.NOW
        self.refused = 0

    def run(self) -> None:
        end = world.NOW + YEAR
        while self.now < end:
            pause = self.chance.randint(1, 4 * 24 * 60) * MINUTE
            self._until(min(self.now + pause, end))
            self._act()

    def _until(self, moment: datetime.datetime) -> None:
        """Let managers work at each start and end before a moment."""
        while True:
            due = sorted(
                max(at, self.away)
                for entry in self.entries
                for at in (self._next(entry),)
                if at is not None
            )
            if not due or due[0] > moment:
                break
            self.now = max(due[0], self.now)
            self._work()
        self.now = moment
        timeutils.set_time_override(moment)
        if moment >= self.away:
            server_samples.tell_running_time(moment, "manager")

    def _next(self, entry: Entry) -> datetime.datetime | None:
        if entry.over != datetime.datetime.max:
            return None
        return entry.span.end if entry.started else entry.span.start

    def _work(self) -> None:
        self.manager.run(self.now)
        for entry in self.entries:
            if entry.over != datetime.datetime.max or (due := self._next(entry)) is None:
                continue
            if due > self.now:
                continue
            if entry.started or entry.span.end <= self.now:
                entry.ended = self.now
            else:
                entry.started = self.now
        timeutils.set_time_override(self.now)

    def _act(self) -> None:
        actions = [self._book] * 4 + [self._change] * 4 + [self._delete, self._leave]
        self.chance.choice(actions)()

    def _book(self) -> None:
        start = self.now + self.chance.randint(1, 10 * 24 * 60) * MINUTE
        span = Span(start, start + self.chance.randint(1, 2 * 24 * 60) * MINUTE)
        project, count = self.chance.choice(PROJECTS), self.chance.randint(1, 3)
        flavor = self.chance.choice(self.flavors)
        request = world.request(flavor, span, count, project_id=project, now=self.now)
        lease = world.book(request)
        self.entries.append(Entry(lease, project, span, count, []))
        self.entries[-1].ask(self.now)

    def _change(self) -> None:
        """Move what hasn't begun, extend or shorten anything, or change the number."""
        live = [entry for entry in self.entries if entry.over > self.now]
        if not live:
            return
        entry = self.chance.choice(live)
        span, count = entry.span, None
        if self.now < span.start and self.chance.random() < 0.5:
            shift = self.chance.randint(1, 3 * 24 * 60) * MINUTE
            span = Span(span.start + shift, span.end + shift)
        elif self.chance.random() < 0.5:
            first = max(self.now, span.start) + MINUTE
            span = Span(span.start, first + self.chance.randint(0, 2 * 24 * 60) * MINUTE)
        else:
            most = entry.count if entry.span.start <= self.now else 4
            count = self.chance.randint(1, most)
        try:
            self._move(entry.lease, span, count)
        except exceptions.WarreError:
            self.refused += 1
            return
        entry.span, entry.count = span, count or entry.count
        entry.ask(self.now)

    def _move(self, lease: world.Lease, span: Span, count: int | None) -> None:
        """Change a lease by Blazar's own functions, as its manager does."""
        before = db_api.lease_get(lease.id)["status"]
        world.write_lease(lease.id, {"status": "UPDATING"})
        try:
            changing.move(lease.reservation_id, span, world.conditions(), self.now, count)
            if span != lease.span:
                db_api.lease_update(lease.id, {"start_date": span.start, "end_date": span.end})
                for kind, due in (("start_lease", span.start), ("end_lease", span.end)):
                    event = db_api.event_get_first_sorted_by_filters(
                        "lease_id", "asc", {"lease_id": lease.id, "event_type": kind}
                    )
                    db_api.event_update(event["id"], {"time": due})
        finally:
            world.write_lease(lease.id, {"status": before})

    def _delete(self) -> None:
        left = [entry for entry in self.entries if entry.deleted is None]
        if not left:
            return
        entry = self.chance.choice(left)
        if entry.over > self.now:
            backing.remove_or_leave(entry.lease.reservation_id, 1)
        entry.deleted = self.now
        db_api.lease_destroy(entry.lease.id)

    def _leave(self) -> None:
        """No manager runs for some time."""
        self.away = self.now + self.chance.randint(1, 12 * 60) * MINUTE


class Ledger:
    """The quantities of several reservations, minute by minute."""

    def __init__(self, entries: Iterable[Entry], now: datetime.datetime) -> None:
        by_minute: dict[datetime.datetime, Amounts] = collections.defaultdict(Amounts)
        for entry in entries:
            for minute, amounts in entry.minutes(now).items():
                by_minute[minute] = by_minute[minute].plus(amounts)
        self._minutes = by_minute

    def over(self, window: Span) -> Amounts:
        """The sum of all minutes within a window, in seconds of instances."""
        inside = [a for m, a in self._minutes.items() if window.start <= m < window.end]
        return Amounts(*(60 * sum(values) for values in zip(*inside, strict=True)))


@pytest.mark.whole
@pytest.mark.same_logic
@pytest.mark.parametrize("seed", [0, 1])
def test_simulated_year_in_random_cuts(cloud: Cloud, seed: int):
    year = Year(cloud, seed)
    year.run()
    ledger = Ledger(year.entries, year.now)
    ends = (world.NOW - DAY, world.NOW + YEAR + 60 * DAY)
    inner = (world.NOW + year.chance.randint(1, 364 * 24 * 60) * MINUTE for _ in range(10))
    cuts = sorted({*ends, *inner, year.now})
    for window in itertools.starmap(Span, itertools.pairwise(cuts)):
        assert total(window, year.now).instances == ledger.over(window), window
    whole = Span(*ends)
    found = total(whole, year.now).instances
    assert min(found._replace(used=1)) > 0, found
    for project in PROJECTS:
        own = Ledger((e for e in year.entries if e.project_id == project), year.now)
        assert total(whole, year.now, project_id=project).instances == own.over(whole)
    for by in KEYS:
        parts = usage.report(UsageFilter(window=whole), by, year.now).values()
        added = Amounts()
        for part in parts:
            added = added.plus(part.instances)
        assert added == found
    _check_exists(year, found.held)
    _check_purge(year)


def _check_exists(year: Year, held: int) -> None:
    """What is told of running time adds up to the held time."""
    running = [e for e in year.entries if e.started and e.over > year.now]
    with session.writer() as db:
        outbox.count_until(db, sa.true(), year.now)
    told = 0
    for notice in waiting("bills"):
        if notice.news.kind is Kind.EXISTS and notice.news.period is not None:
            period = notice.news.period
            length = int((period.end - period.start).total_seconds())
            told += length * notice.content["instance_count"]
    assert told == held
    print(f"{len(year.entries)} reservations, {len(running)} still run, {held / 3600:.0f} h held")


def _check_purge(year: Year) -> None:
    """After a purge, the usage of what is younger than ``history_days`` is the same."""
    days = 100
    before = year.now - days * DAY
    # Nobody listens, so the notices are given up, and forgotten some time later.
    for weeks in range(3):
        delivery.tidy(year.now + weeks * (times.LOST_NOTICES_SHOWN_FOR + DAY))
    history.purge(year.now, days)
    kept = [
        entry
        for entry in year.entries
        if (entry.deleted or entry.span.end) >= before or entry.over > year.now
    ]
    assert 0 < len(kept) < len(year.entries)
    whole = Span(world.NOW - DAY, world.NOW + YEAR + 60 * DAY)
    assert total(whole, year.now).instances == Ledger(kept, year.now).over(whole)
    recent = Span(before, whole.end)
    every = Ledger(year.entries, year.now)
    assert total(recent, year.now).instances == every.over(recent)
    with session.reader() as db:
        reservations = {row.subject for row in db.execute(sa.select(tables.log_entries))}
    assert reservations <= {entry.lease.reservation_id for entry in kept}
