"""The outbox: what happens to a reservation is told once by each channel, in order."""

import datetime
import json
import pathlib
import threading
from typing import Any

import jsonschema
import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from oslo_db import exception as db_exc
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import notices, world
from tests.functional.db.fake_clock import FakeClock
from tests.functional.db.managers import Manager
from warre_blazar import texts, times
from warre_blazar.db import session, tables, turns
from warre_blazar.db.messages import deliveries, outbox
from warre_blazar.db.messages.deliveries import Backlog
from warre_blazar.db.running import executions
from warre_blazar.domain.audit.facts import LostNotices
from warre_blazar.domain.messages import payloads
from warre_blazar.domain.messages.notices import OF_WAITS, Kind, News, Notice
from warre_blazar.domain.running.execution import DELETE
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.plugins import change_records
from warre_blazar.services.booking import changing, lookup
from warre_blazar.services.messages import delivery
from warre_blazar.services.messages.delivery import Delivery, EachAlone, Undeliverable
from warre_blazar.services.records import server_samples
from warre_blazar.services.running import backing

pytestmark = pytest.mark.usefixtures("database", "channels")

SPAN = world.hours(1, 3)
LEASE = Kind.LEASE
SCHEMA = pathlib.Path(__file__).parents[3] / "doc/source/api/notifications.json"
SECOND = datetime.timedelta(seconds=1)
HOUR = datetime.timedelta(hours=1)


@pytest.fixture
def channels(database: sa.Engine) -> None:
    """Two channels, of which one gets what bills are made from."""
    change_records.register()
    change_records.register_deletions()
    session.change(deliveries.set_channels, {"bills": True, "mail": False})


@pytest.fixture
def manager() -> Manager:
    return Manager()


def waiting_for(channel: str) -> list[Notice]:
    return notices.waiting(channel)


def kinds(channel: str) -> list[str]:
    return [notice.news.kind.value for notice in waiting_for(channel)]


def book(cloud: Cloud) -> world.Lease:
    """Book as Blazar's manager does: the booking counts when the lease is PENDING."""
    world.add_host(cloud, "a")
    lease = world.book(world.request(world.add_flavor(), SPAN))
    world.set_status(lease, "CREATING")
    db_api.lease_update(lease.id, {"status": "PENDING"})
    return lease


def move(lease: world.Lease, span: Span) -> None:
    """Move a lease by Blazar's own functions, as its manager does."""
    world.set_status(lease, "UPDATING")
    changing.move(lease.reservation_id, span, world.conditions(), world.NOW)
    db_api.lease_update(lease.id, {"start_date": span.start, "end_date": span.end})
    world.set_status(lease, "PENDING")


class Recorder(EachAlone):
    """A channel that records what it sends, and fails as a test says."""

    billing = True

    def __init__(self, name: str = "bills") -> None:
        self.name = name
        self.sent: list[Notice] = []
        self.failing: dict[str, Exception] = {}

    def send_one(self, notice: Notice) -> None:
        if error := self.failing.get(notice.subject):
            raise error
        self.sent.append(notice)


def test_whole_life_is_told_in_order(cloud: Cloud, manager: Manager):
    lease = book(cloud)
    manager.run(SPAN.start)
    manager.run(SPAN.end)
    assert kinds("mail") == ["created", "started", "ended"]
    assert kinds("bills") == ["created", "started", "exists", "ended"]
    created, started, ended = waiting_for("mail")
    assert created.subject == started.subject == lease.reservation_id
    assert created.content["status"] == "ALLOCATED"
    assert started.content["status"] == "ACTIVE"
    assert ended.content["status"] == "COMPLETE"
    assert created.content["start"] == f"{SPAN.start.isoformat()}+00:00"
    assert created.content["flavor"]["vcpu"] == 2
    assert ended.news.at == SPAN.end


def test_booking_that_was_refused_is_not_told(cloud: Cloud):
    world.add_host(cloud, "a")
    flavor = world.add_flavor(slots=1)
    with pytest.raises(exceptions.SlotsExhausted):
        world.book(world.request(flavor, SPAN, 2))
    assert kinds("mail") == []


def test_extension_is_told_with_the_times_before_and_after(cloud: Cloud):
    lease = book(cloud)
    later = SPAN.end + HOUR
    move(lease, Span(SPAN.start, later))
    notice = waiting_for("mail")[-1]
    assert notice.news.kind is Kind.RESCHEDULED
    assert notice.news.before is not None and notice.news.after is not None
    assert notice.news.before["end"] == f"{SPAN.end.isoformat()}+00:00"
    assert notice.news.after["end"] == f"{later.isoformat()}+00:00"
    assert notice.content["end"] == notice.news.after["end"]


def test_start_that_is_refused_is_told_as_an_error_and_later_as_a_start(
    cloud: Cloud, manager: Manager
):
    lease = book(cloud)
    cloud.nova.fail(match="action", status=403)
    manager.run(SPAN.start)
    assert kinds("mail") == ["created", "refused"]
    refused = waiting_for("mail")[-1]
    assert refused.content["status_reason"]
    cloud.mend()
    backing.reconcile()
    assert kinds("mail") == ["created", "refused", "started"]
    assert lease.reservation_id == refused.subject


def test_deletion_is_told_with_what_was_deleted(cloud: Cloud, manager: Manager):
    lease = book(cloud)
    manager.run(SPAN.start)
    session.change(executions.request, lease.id, DELETE)
    timeutils.set_time_override(SPAN.start + HOUR)
    manager.run(SPAN.start + HOUR)
    assert kinds("bills") == ["created", "started", "exists", "deleted"]
    exists, deleted = waiting_for("bills")[-2:]
    assert exists.news.period is not None
    assert exists.news.period.end == SPAN.start + HOUR
    assert deleted.content["id"] == lease.reservation_id


def test_running_time_adds_up_whatever_managers_do(cloud: Cloud, manager: Manager):
    book(cloud)
    manager.run(SPAN.start)
    half = SPAN.start + HOUR / 2
    # Two managers, one of them twice, and no manager at the second full hour.
    for number, now in enumerate([half, half, SPAN.start + HOUR + SECOND, SPAN.start + HOUR]):
        server_samples.tell_running_time(now, f"manager-{number % 2}")
    manager.run(SPAN.end)
    periods = [n.news.period for n in waiting_for("bills") if n.news.kind is Kind.EXISTS]
    assert [(p.start, p.end) for p in periods if p] == [
        (SPAN.start, SPAN.start + HOUR),
        (SPAN.start + HOUR, SPAN.end),
    ]


def test_channel_sends_each_notice_once(cloud: Cloud, manager: Manager):
    book(cloud)
    manager.run(SPAN.start)
    channel = Recorder()
    deliveries = [Delivery(channel, beat(name)) for name in ("one", "two")]
    for each in [*deliveries, *deliveries]:
        each.run()
    assert [n.news.kind for n in channel.sent] == [Kind.CREATED, Kind.STARTED]
    # The other channel's notices are still there.
    assert kinds("mail") == ["created", "started"]


def beat(manager_id: str) -> str:
    session.change(executions.beat, manager_id, "host")
    return manager_id


def test_turn_of_a_dead_manager_is_taken(cloud: Cloud, clock: FakeClock, database: sa.Engine):
    lease = book(cloud)
    channel = Recorder()
    first, second = (Delivery(channel, beat(name)) for name in ("one", "two"))
    first.run()
    move(lease, world.hours(1, 4))
    second.run()
    assert len(channel.sent) == 1
    with database.begin() as connection:
        dead = tables.managers.c.id == "one"
        long_ago = datetime.datetime(2000, 1, 1)
        connection.execute(tables.managers.update().where(dead).values(heartbeat=long_ago))
    second.run()
    assert [n.news.kind for n in channel.sent] == [Kind.CREATED, Kind.RESCHEDULED]
    # The first manager was only suspended. It finds out that it has lost its turn.
    move(lease, SPAN)
    clock.seconds += 60
    first.run()
    assert len(channel.sent) == 2


def add(subject: str, at: datetime.datetime = world.NOW, project_id: str = "p") -> None:
    """Write a notice about some lease into the channel of leases."""
    lease = {"lease_id": subject, "project_id": project_id, "user_id": "u"}
    session.change(outbox.add_leases, [lease], "delete", at)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[datetime.datetime]:
    """The present, as the delivery sees it; a test replaces its only element."""
    present = [world.NOW]
    monkeypatch.setattr(delivery.clock, "utcnow", lambda: present[0])
    return present


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"], indirect=True, scope="session")
def test_full_hour_beside_an_end_tells_no_time_twice(cloud: Cloud, manager: Manager):
    """The lease ends after another manager has read it, and before this one has written."""
    lease = book(cloud)
    manager.run(SPAN.start)
    ended: list[threading.Thread] = []

    def end(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        writes = statement.startswith("UPDATE") or "FOR UPDATE" in statement
        if not ended and writes and "counted_until" in statement:
            ended.append(threading.Thread(target=manager.run, args=(SPAN.end + 3 * SECOND,)))
            ended[0].start()
            ended[0].join()

    sa.event.listen(sa.Engine, "before_cursor_execute", end)
    try:
        server_samples.tell_running_time(SPAN.end, "another manager")
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", end)
    assert ended
    timeutils.set_time_override(SPAN.end + 30 * HOUR)
    db_api.lease_destroy(lease.id)
    periods = [n.news.period for n in waiting_for("bills") if n.news.kind is Kind.EXISTS]
    assert [p and (p.start, p.end) for p in periods] == [(SPAN.start, SPAN.end + 3 * SECOND)]


BESIDE = pytest.mark.parametrize("kind", ["mariadb", "postgresql"], indirect=True, scope="session")


@BESIDE
def test_entry_that_is_committed_late_is_told(database: sa.Engine):
    """Its id is smaller than that of an entry that is told already."""
    with sa.orm.Session(database) as late:
        lease = {"lease_id": "late", "project_id": "p", "user_id": "u"}
        outbox.add_leases(late, [lease], "delete", world.NOW)
        add("early")
        assert [n.subject for n in waiting_for(outbox.LEASES)] == ["early"]
        late.commit()
    assert [n.subject for n in waiting_for(outbox.LEASES)] == ["early", "late"]


@BESIDE
def test_managers_at_once_write_each_notice_once(
    database: sa.Engine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(deliveries, "_BATCH", 5)
    for number in range(40):
        add(f"{number}")

    def write() -> None:
        while session.change(deliveries.spread):
            pass

    threads = [threading.Thread(target=write) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = [notice.subject for notice in waiting_for(outbox.LEASES)]
    assert told == [f"{number}" for number in range(40)]


def test_what_is_told_is_forgotten_but_for_the_log(
    cloud: Cloud, manager: Manager, database: sa.Engine
):
    lease = book(cloud)
    manager.run(SPAN.start)
    for name in ("bills", "mail", outbox.LEASES):
        Delivery(Recorder(name), beat(manager.executor.manager_id)).run()
    delivery.tidy(world.NOW)
    entry = tables.log_entries.c
    with database.connect() as connection:
        left = connection.execute(sa.select(entry.subject, entry.kind, entry.content)).all()
    assert [tuple(row) for row in left] == [(lease.reservation_id, "started", None)]


def test_notice_that_fails_delays_only_its_own_subject(now: list[datetime.datetime]):
    for subject in ("a", "b", "a"):
        add(subject)
    channel = Recorder(outbox.LEASES)
    channel.failing["a"] = ValueError("no")
    sender = Delivery(channel, beat("one"))
    sender.run()
    assert [n.subject for n in channel.sent] == ["b"]
    del channel.failing["a"]
    sender.run()
    assert [n.subject for n in channel.sent] == ["b"]  # The next attempt isn't due yet.
    now[0] += 2 * SECOND
    sender.run()
    assert [n.subject for n in channel.sent] == ["b", "a", "a"]
    assert channel.sent[1].attempts == 1


def test_notice_that_fails_for_hours_delays_only_its_own_subject(now: list[datetime.datetime]):
    add("a")
    channel = Recorder(outbox.LEASES)
    channel.failing["a"] = ValueError("no")
    sender = Delivery(channel, beat("one"))
    for _ in range(60):
        sender.run()
        now[0] += times.NOTICE_LONGEST_PAUSE
    add("b")
    sender.run()
    assert [n.subject for n in channel.sent] == ["b"]
    del channel.failing["a"]
    now[0] += times.NOTICE_LONGEST_PAUSE
    sender.run()
    assert [(n.subject, n.attempts) for n in channel.sent] == [("b", 0), ("a", 61)]


@pytest.mark.parametrize("flood", [30, 250])
def test_projects_take_turns_whatever_one_of_them_has_waiting(
    now: list[datetime.datetime], flood: int
):
    for number in range(flood):
        add(f"greedy {number}", project_id="greedy")
    for number, project in enumerate(["a", "b", "a", "c", "a", "b"]):
        add(f"{project} {number}", project_id=project)
    channel = Recorder(outbox.LEASES)
    sender = Delivery(channel, beat("one"))
    while sender.run():
        pass
    order = [notice.subject for notice in channel.sent]
    assert order[:10] == [
        *("greedy 0", "a 0", "b 1", "c 3"),
        *("greedy 1", "a 2", "b 5"),
        *("greedy 2", "a 4", "greedy 3"),
    ]
    assert order[10:] == [f"greedy {number}" for number in range(4, flood)]


def test_project_whose_notices_take_long_has_its_turn_only_after_others(
    now: list[datetime.datetime], clock: FakeClock
):
    """Each of its notices takes longer than a batch may."""

    class Slow(Recorder):
        def send_one(self, notice: Notice) -> None:
            super().send_one(notice)
            clock.sleep(2 * times.BATCH_SENT_FOR if notice.subject.startswith("slow") else 0)

    for number in range(4):
        add(f"slow {number}", project_id="slow")
    for number in range(2):
        add(f"slow too {number}", project_id="slow too")
    channel = Slow(outbox.LEASES)
    sender = Delivery(channel, beat("one"))
    assert sender.run()
    add("a", project_id="a")
    while sender.run():
        if len(channel.sent) == 4:
            add("b", project_id="b")
    assert sent_by(channel) == [
        *("slow 0", "slow too 0", "a", "slow 1"),
        *("b", "slow too 1", "slow 2", "slow 3"),
    ]


def test_notices_about_one_subject_stay_in_order_while_projects_take_turns(
    now: list[datetime.datetime],
):
    for number in range(3):
        for subject, project in (("a", "p"), ("b", "p"), ("c", "q")):
            add(subject, world.NOW + number * SECOND, project)
    channel = Recorder(outbox.LEASES)
    Delivery(channel, beat("one")).run()
    for subject in "abc":
        times = [notice.news.at for notice in channel.sent if notice.subject == subject]
        assert times == [world.NOW + number * SECOND for number in range(3)]


def sent_by(channel: Recorder) -> list[str]:
    return [notice.subject for notice in channel.sent]


def test_batch_is_written_at_once(now: list[datetime.datetime], database: sa.Engine):
    for number in range(20):
        add(f"{number}")
    notices.waiting(outbox.LEASES)
    channel = Recorder(outbox.LEASES)
    sender = Delivery(channel, beat("one"))
    sender.run()
    written: list[str] = []

    def executes(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        written.extend([statement] if "warre_deliveries" in statement else [])

    for number in range(20):
        add(f"{number}")
    notices.waiting(outbox.LEASES)
    sa.event.listen(database, "before_cursor_execute", executes)
    sender.run()
    sa.event.remove(database, "before_cursor_execute", executes)
    assert len(channel.sent) == 40
    assert [statement.split()[0] for statement in written] == ["SELECT", "DELETE"]


def test_channel_that_fails_on_the_way_sends_nothing_twice(now: list[datetime.datetime]):
    for subject in "abc":
        add(subject)
    channel = Recorder(outbox.LEASES)
    away = exceptions.ServiceUnavailable("The message bus", texts.services.SAID(said="refused"))
    channel.failing["c"] = away
    sender = Delivery(channel, beat("one"))
    with pytest.raises(exceptions.ServiceUnavailable):
        sender.run()
    channel.failing.clear()
    sender.run()
    assert sent_by(channel) == ["a", "b", "c"]


def test_manager_that_is_killed_repeats_one_batch_at_most(
    now: list[datetime.datetime], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(delivery, "_BATCH", 5)
    for number in range(12):
        add(f"{number:02}")
    channel = Recorder(outbox.LEASES)
    killed = Delivery(channel, beat("one"))
    killed.run()

    def die(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(deliveries, "write", die)
        killed.run()
    first = {notice.subject: notice.id for notice in channel.sent}
    sender = Delivery(channel, "one")
    while sender.run():
        pass
    subjects = [f"{number:02}" for number in range(12)]
    assert sent_by(channel) == [*subjects[:10], *subjects[5:]]
    # What is told again has the same id.
    assert all(first.get(each.subject, each.id) == each.id for each in channel.sent)


def test_database_that_takes_no_writes_lets_nothing_be_sent_again_and_again(
    now: list[datetime.datetime], monkeypatch: pytest.MonkeyPatch
):
    add("a")
    channel = Recorder(outbox.LEASES)
    sender = Delivery(channel, beat("one"))

    def refuse(*_: object) -> None:
        raise db_exc.DBError

    with monkeypatch.context() as patch:
        patch.setattr(deliveries, "write", refuse)
        with pytest.raises(db_exc.DBError):
            sender.run()
        patch.setattr(turns, "take", refuse)
        for _ in range(3):
            with pytest.raises(db_exc.DBError):
                sender.run()
    assert sent_by(channel) == ["a"]
    sender.run()
    sender.run()
    assert sent_by(channel) == ["a", "a"]


def test_batch_of_a_slow_channel_is_over_after_some_time(
    now: list[datetime.datetime], clock: FakeClock, monkeypatch: pytest.MonkeyPatch
):
    class Slow(Recorder):
        def send_one(self, notice: Notice) -> None:
            super().send_one(notice)
            clock.seconds += times.BATCH_SENT_FOR / 2 + 1

    for subject in "abcde":
        add(subject)
    channel = Slow(outbox.LEASES)
    sender = Delivery(channel, beat("one"))
    assert sender.run()
    assert sent_by(channel) == ["a", "b"]
    assert [notice.subject for notice in waiting_for(outbox.LEASES)] == ["c", "d", "e"]
    while sender.run():
        pass
    assert sent_by(channel) == ["a", "b", "c", "d", "e"]


def test_refused_notices_alone_are_tried_again(now: list[datetime.datetime], database: sa.Engine):
    for number in range(10):
        add(f"{number}")
    channel = Recorder(outbox.LEASES)
    channel.failing = {str(number): ValueError(f"no {number % 2}") for number in (3, 4, 7)}
    channel.failing["5"] = Undeliverable("never")
    sender = Delivery(channel, beat("one"))
    sender.run()
    assert sent_by(channel) == ["0", "1", "2", "6", "8", "9"]
    assert given_up(database) == [("5", "never")]
    channel.failing.clear()
    now[0] += 2 * SECOND
    sender.run()
    assert sent_by(channel)[6:] == ["3", "4", "7"]
    assert [notice.attempts for notice in channel.sent[6:]] == [1, 1, 1]


def test_channel_that_is_away_loses_nothing(now: list[datetime.datetime]):
    add("a")
    channel = Recorder(outbox.LEASES)
    channel.failing["a"] = exceptions.ServiceUnavailable(
        "The message bus", texts.services.SAID(said="refused")
    )
    sender = Delivery(channel, beat("one"))
    for _ in range(3):
        with pytest.raises(exceptions.ServiceUnavailable):
            sender.run()
    channel.failing.clear()
    sender.run()
    assert [(n.subject, n.attempts) for n in channel.sent] == [("a", 0)]


def given_up(database: sa.Engine) -> list[tuple[str, str]]:
    table = tables.deliveries.c
    query = sa.select(table.subject, table.error).where(table.given_up_at.is_not(None))
    with database.connect() as connection:
        return [(s, e) for s, e in connection.execute(query.order_by(table.id))]


def test_notice_that_can_never_be_sent_is_given_up_at_once(
    now: list[datetime.datetime], database: sa.Engine
):
    add("a")
    add("b")
    channel = Recorder(outbox.LEASES)
    channel.failing = dict.fromkeys("ab", Undeliverable("The user has no address"))
    Delivery(channel, beat("one")).run()
    why = "The user has no address"
    assert given_up(database) == [("a", why), ("b", why)]
    with session.reader() as db:
        (lost,) = deliveries.given_up(db)
    assert lost == LostNotices(outbox.LEASES, 2, "b", "lease", why)


def test_notices_that_wait_for_a_day_are_given_up_and_later_deleted(database: sa.Engine):
    add("old")
    add("new", world.NOW + HOUR)
    delivery.tidy(world.NOW + times.NOTICE_GIVEN_UP_AFTER + SECOND)
    assert given_up(database) == [("old", "It waited for too long")]
    delivery.tidy(world.NOW + 9 * times.NOTICE_GIVEN_UP_AFTER)
    assert [subject for subject, _ in given_up(database)] == ["new"]


def test_one_project_does_not_fill_the_outbox(database: sa.Engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(delivery, "_MOST_OF_PROJECT", 2)
    for number in range(4):
        add(f"{number}", project_id="greedy")
    add("modest", project_id="other")
    delivery.tidy(world.NOW)
    assert [subject for subject, _ in given_up(database)] == ["0", "1"]
    with session.reader() as db:
        queue = deliveries.backlogs(db)[outbox.LEASES]
    assert queue == Backlog(3, world.NOW, 2)


def validator(name: str) -> jsonschema.Draft202012Validator:
    """Checks payloads against the documented schema."""
    document = json.loads(SCHEMA.read_text())
    checker = jsonschema.FormatChecker()
    return jsonschema.Draft202012Validator(
        {**document, "$ref": f"#/$defs/{name}"}, format_checker=checker
    )


def test_every_payload_is_as_documented(cloud: Cloud, manager: Manager):
    lease = book(cloud)
    move(lease, world.hours(1, 4))
    booked, _ = lookup.get(lease.reservation_id, None)
    lookup.write(booked, {"name": "mine"}, "somebody")
    manager.run(SPAN.start)
    after = {Kind.IN_USE: {"in_use": True, "servers": 2}}
    told = [kind for kind in Kind if kind not in (LEASE, Kind.CREDITS, *OF_WAITS)]
    news = [News(k, SPAN.start, None, {"a": 1}, after.get(k, {"b": 2})) for k in told]
    for each in news:
        session.change(outbox.add, outbox.of_reservations([lease.reservation_id]), each)
    manager.run(world.hours(1, 4).end)
    notices = waiting_for("bills")
    assert {n.news.kind for n in notices} == set(told)
    ours, warres = validator("notification"), validator("warre_notification")
    for notice in notices:
        ours.validate(payloads.payload(notice))
        warres.validate(payloads.warre_payload(notice))
    (renamed,) = [n for n in notices if n.news.kind is Kind.RENAMED and n.news.user_id]
    assert payloads.payload(renamed)["requested_by"] == "somebody"
    assert renamed.content["name"] == "mine"


def test_payloads_have_what_bills_need(cloud: Cloud, manager: Manager):
    lease = book(cloud)
    manager.run(SPAN.start)
    manager.run(SPAN.end)
    created, started, exists, ended = waiting_for("bills")
    assert payloads.event_type(created) == "reservation.create"
    assert payloads.payload(exists)["period"]["seconds"] == 7200
    assert not payloads.is_of_warre(created)
    assert payloads.warre_event_type(ended) == "warre.reservation.end"
    document = payloads.warre_payload(started)
    assert document["lease_id"] == lease.id
    assert set(document["flavor"]) == set(payloads._FLAVOR_OF_WARRE)


def test_news_without_channels_cost_one_statement_and_write_nothing(
    cloud: Cloud, database: sa.Engine
):
    lease = book(cloud)
    session.change(deliveries.set_channels, {})
    before = kinds("mail")
    news = News(Kind.HOST_LOST, world.NOW)
    session.change(outbox.add, outbox.of_reservations([lease.reservation_id]), news)
    assert kinds("mail") == before
