"""Messages about several reservations, and what a batch of messages reads and writes."""

import datetime
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from oslo_config import cfg

from tests.fakes.cloud import Cloud
from tests.functional.db import notices, test_series, world
from tests.functional.db.test_messages import (
    ADDRESS,
    CHANNEL,
    Recorder,
    book,
    channel,
    channel_of,
    sent,
)
from tests.functional.db.test_outbox import beat, given_up
from tests.unit.messengers import mail_server
from warre_blazar import times
from warre_blazar.db import session, tables
from warre_blazar.db.messages import deliveries, outbox
from warre_blazar.db.records import changes
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.messages.messages import Message, MessageLimits
from warre_blazar.domain.messages.notices import Kind, News
from warre_blazar.domain.series.series import BookedSeries, SeriesStatus
from warre_blazar.domain.timeline import Span
from warre_blazar.messengers.smtp import SmtpMessenger
from warre_blazar.services.messages import delivery
from warre_blazar.services.messages.delivery import Delivery
from warre_blazar.services.series import progress

__all__ = ["channel", "sent"]

# On a slow machine, a batch would be over before all is sent.
pytestmark = pytest.mark.usefixtures("database", "channel", "clock")

#: A function that sends all messages, and returns them.
Send = Callable[..., list[Message]]
LESSONS = 15


@pytest.fixture
def flavor(cloud: Cloud) -> Flavor:
    world.add_host(cloud, "a")
    return world.add_flavor(slots=9, vcpu=1)


def book_lessons(flavor: Flavor, days: range) -> list[world.Lease]:
    """Book occurrences of the series of ``test_series``, as the API's request does."""
    made = []
    for day in days:
        lease = world.plan(test_series.booking(flavor, day))
        world.set_status(lease, "CREATING")
        db_api.lease_update(lease.id, {"status": "PENDING"})
        made.append(lease)
    return made


def finish(series: BookedSeries) -> BookedSeries:
    return progress.finish(progress.tries(series))


def subjects(made: list[Message]) -> list[str]:
    return [message.subject for message in made]


def told(made: list[Message]) -> list[str]:
    """The reservations about which messages tell, in order."""
    return [event["data"]["reservation"]["id"] for message in made for event in message.events]


def test_series_gives_one_message_when_its_request_is_over(flavor: Flavor, sent: Send):
    series = test_series.begin(flavor)
    leases = book_lessons(flavor, range(1, 9))
    assert sent() == []
    leases += book_lessons(flavor, range(9, LESSONS + 1))
    assert sent() == []
    finish(series)
    made = sent()
    assert subjects(made) == [f"Cloud: 15 reservations of {flavor.name} are booked"]
    assert told(made) == [lease.reservation_id for lease in leases]
    assert all(lease.reservation_id in made[0].text for lease in leases)
    assert sent() == []


def test_extension_of_a_series_gives_one_message_more(flavor: Flavor, sent: Send):
    series = test_series.begin(flavor)
    book_lessons(flavor, range(1, 4))
    series = finish(series)
    assert len(told(sent())) == 3
    series = progress.begin_extension(series, (), "work-2")
    for day in range(4, 6):
        lease = world.plan(test_series.booking(flavor, day, series.work_id))
        world.set_status(lease, "CREATING")
        db_api.lease_update(lease.id, {"status": "PENDING"})
    assert sent() == []
    finish(series)
    assert [len(message.events) for message in sent()] == [2]


def test_series_is_one_message_beside_many_of_others(
    flavor: Flavor, sent: Send, monkeypatch: pytest.MonkeyPatch
):
    """The bookings of the series wait far behind those of other projects."""
    monkeypatch.setattr(delivery, "_BATCH", 4)
    series = test_series.begin(flavor)
    for number in range(6):
        lease = world.add_lease(world.hours(1, 2), project_id=f"other {number}")
        world.plan(world.request(flavor, world.hours(1, 2), project_id=f"other {number}"), lease)
        world.set_status(lease, "CREATING")
        db_api.lease_update(lease.id, {"status": "PENDING"})
    book_lessons(flavor, range(1, LESSONS + 1))
    finish(series)
    made = [message for _ in range(3) for message in sent()]
    assert sorted(len(message.events) for message in made) == [*6 * [1], LESSONS]


def test_what_a_series_has_undone_is_not_told(flavor: Flavor, sent: Send):
    series = test_series.begin(flavor, all_or_none=True)
    leases = book_lessons(flavor, range(1, 4))
    undone = progress.undo(series)
    assert undone is not None
    assert sent() == []
    for lease in leases:
        db_api.lease_destroy(lease.id)
    progress.close(undone)
    assert progress.find(series.id) is None
    assert "created" not in [message.event for message in sent()]
    assert sent() == []


def test_reservations_of_a_series_wait_no_longer_than_its_request(
    flavor: Flavor, sent: Send, monkeypatch: pytest.MonkeyPatch
):
    """A request that has died is noticed by a manager."""
    series = test_series.begin(flavor)
    book_lessons(flavor, range(1, 4))
    test_series.silence(monkeypatch)
    test_series.look(1)
    found = progress.find(series.id)
    assert found is not None and found.status is SeriesStatus.BOOKED
    assert [len(message.events) for message in sent()] == [3]


def delete(lease: world.Lease, by: str | None, at: datetime.datetime = world.NOW) -> None:
    """Write that a reservation was deleted, in a transaction of its own."""
    session.change(outbox.add, outbox.of_lease(lease.id), News(Kind.DELETED, at, by))


#: A little more than the time for which deletions are gathered.
GATHERED = times.COMMAND_GATHERED_FOR + times.SECOND


def after(time: datetime.timedelta) -> datetime.datetime:
    return world.NOW + time


def test_deletion_of_several_by_an_operator_is_one_message(
    cloud: Cloud, flavor: Flavor, sent: Send
):
    cloud.keystone.users["admin"] = {"name": "operator"}
    series = test_series.begin(flavor)
    leases = book_lessons(flavor, range(1, 4))
    finish(series)
    sent()
    for lease in leases:
        delete(lease, "admin")
    (message,) = sent(after(GATHERED))
    assert message.subject == f"Cloud: 3 reservations of {flavor.name} were deleted"
    assert "operator has deleted them" in message.text
    assert sorted(told([message])) == sorted(lease.reservation_id for lease in leases)


def test_deletions_of_a_person_are_told_once_the_person_deletes_nothing_more(
    cloud: Cloud, flavor: Flavor, sent: Send
):
    """The reservations have little in common: one has begun, and they are of two flavors."""
    cloud.keystone.users["admin"] = {"name": "operator"}
    other = world.add_flavor(slots=1, vcpu=1)
    leases = [
        book(cloud, world.hours(1, 3), flavor, name="training"),
        book(cloud, world.hours(4, 5), flavor),
        book(cloud, world.hours(6, 7), other, name="lab"),
    ]
    sent()
    begun = 2 * times.HOUR
    for number, lease in enumerate(leases):
        delete(lease, "admin", after(begun + number * (times.COMMAND_GATHERED_FOR - times.SECOND)))
        assert sent(after(begun + number * times.COMMAND_GATHERED_FOR)) == []
    (message,) = sent(after(begun + 3 * times.COMMAND_GATHERED_FOR))
    assert message.subject == "Cloud: 3 reservations of 2 flavors were deleted"
    assert told([message]) == [lease.reservation_id for lease in leases]
    assert "The servers of those that had begun were deleted too" in message.text
    for body in (message.text, message.html):
        assert all(body.count(name) == 1 for name in ("training", "lab", other.name))


def test_deletions_of_a_person_who_never_rests_are_told(flavor: Flavor, cloud: Cloud, sent: Send):
    cloud.keystone.users["admin"] = {"name": "operator"}
    first, last = (book(cloud, world.hours(9, 10), flavor) for _ in range(2))
    sent()
    delete(first, "admin")
    late = after(times.COMMAND_TOLD_AFTER + times.SECOND)
    delete(last, "admin", late)
    assert told(sent(late)) == [first.reservation_id]


def test_deletions_of_a_person_wait_for_no_others(flavor: Flavor, cloud: Cloud, sent: Send):
    cloud.keystone.users["admin"] = {"name": "operator"}
    of_admin, of_user, of_nobody = (book(cloud, world.hours(9, 10), flavor) for _ in range(3))
    sent()
    delete(of_admin, "admin")
    at = after(GATHERED)
    delete(of_user, "user", at)
    delete(of_nobody, None, at)
    ready = [lease.reservation_id for lease in (of_admin, of_nobody)]
    assert told(sent(at, own_changes=True)) == ready


def change(lease: world.Lease, by: str, at: datetime.datetime, *, is_resized: bool = True) -> None:
    """Write that a person has given a reservation an end an hour later, and one more instance."""
    span = lease.span
    before, after = changes.span(span), changes.span(Span(span.start, span.end + times.HOUR))
    of = outbox.of_lease(lease.id)
    session.change(outbox.add, of, News(Kind.RESCHEDULED, at, by, before, after))
    if is_resized:
        counts = ({"instance_count": 1}, {**after, "instance_count": 2})
        session.change(outbox.add, of, News(Kind.RESIZED, at, by, *counts))


def test_change_of_a_series_by_an_operator_is_one_message(cloud: Cloud, flavor: Flavor, sent: Send):
    """One lesson has a new end only. Nothing that follows overtakes the message."""
    cloud.keystone.users["admin"] = {"name": "operator"}
    series = test_series.begin(flavor)
    leases = book_lessons(flavor, range(1, 4))
    finish(series)
    sent()
    for number, lease in enumerate(leases):
        at = after(number * (times.COMMAND_GATHERED_FOR - times.SECOND))
        change(lease, "admin", at, is_resized=number > 0)
    session.change(outbox.add, outbox.of_lease(leases[0].id), News(Kind.STARTED, at))
    assert sent(at) == []
    told_first, told_next = sent(at + GATHERED)
    assert told_first.subject == f"Cloud: 3 reservations of {flavor.name} have changed"
    text = " ".join(told_first.text.split())
    assert text.startswith("operator has changed them.")
    for lease in leases:
        assert text.count(lease.reservation_id) == told_first.html.count(lease.reservation_id) == 1
    assert text.count("Flavor:") == text.count("End: ") == 3
    assert text.count("Before: 1 instance") == told_first.html.count("before: 1 instance") == 2
    assert "End: Sat 2 Jan 2100, 02:00 UTC Before: Sat 2 Jan 2100, 00:00 UTC to Sat" in text
    assert len(told_first.events) == 5
    assert told_next.event == "started"


def test_change_of_a_reservation_without_a_series_is_told_at_once(
    cloud: Cloud, flavor: Flavor, sent: Send
):
    cloud.keystone.users["admin"] = {"name": "operator"}
    lease = book(cloud, world.hours(9, 10), flavor)
    sent()
    change(lease, "admin", world.NOW)
    assert [message.event for message in sent()] == ["rescheduled", "resized"]


def test_manager_that_dies_after_sending_sends_the_same_message_again(
    flavor: Flavor, monkeypatch: pytest.MonkeyPatch
):
    series = test_series.begin(flavor)
    book_lessons(flavor, range(1, LESSONS + 1))
    finish(series)
    recorder = Recorder()
    sender = Delivery(channel_of(recorder), beat("one"))

    def die(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(deliveries, "write", die)
        sender.run()
    sender.run()
    first, again = recorder.sent
    assert first == again
    assert len({each["id"] for each in first.events}) == LESSONS


def test_series_counts_as_one_message(flavor: Flavor, sent: Send, database: sa.Engine):
    finish_at = test_series.begin(flavor)
    book_lessons(flavor, range(1, LESSONS + 1))
    finish(finish_at)
    assert len(sent(limits=MessageLimits(own=1, others=1))) == 1
    assert given_up(database) == []


@pytest.mark.uncompared
def test_batch_asks_for_each_person_once_and_connects_once(
    cloud: Cloud, flavor: Flavor, database: sa.Engine, conf: Any
):
    """It tells 90 bookings of four users in two projects, some of them with a contact."""
    for number in range(4):
        cloud.keystone.users[f"user{number}"] = {"email": f"user{number}@example.org"}
    cloud.keystone.projects["other"] = {"name": "other"}
    lease = book(cloud, flavor=flavor)
    (booked,) = notices.waiting(CHANNEL)
    session.change(deliveries.write, deliveries.Outcomes(sent=[booked.id]), world.NOW)
    for number in range(90):
        changes = {
            "user_id": f"user{number % 4}",
            "project_id": ["other", world.PROJECT][number % 2],
            "contact": "c@example.org" if number % 10 == 0 else None,
            "lease_id": f"{lease.id[:-3]}{number:03}",
        }
        values = outbox._values(f"r{number}", booked.news, {**booked.content, **changes})
        with session.writer() as db:
            db.execute(tables.log_entries.insert().values(values))
    cloud.keystone.requests.clear()
    statements: list[str] = []

    def executes(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        # Only SQLite begins by a statement, and only the others look whether the server is there.
        if statement not in ("BEGIN", "SELECT 1"):
            statements.append(statement)

    with mail_server.serving() as (mailbox, port):
        given = {"sender": "a@example.org", "smtp_host": "127.0.0.1", "smtp_security": "none"}
        conf.config(group="warre_messages", smtp_port=port, **given)
        sender = Delivery(channel_of(SmtpMessenger(cfg.CONF)), beat("one"))
        sa.event.listen(database, "before_cursor_execute", executes)
        sender.run()
        sa.event.remove(database, "before_cursor_execute", executes)
    assert len(mailbox.mails) == 90
    assert mailbox.connections == 1
    asked = cloud.keystone.requests
    people = [line for line in asked if "/users/" in line or "/projects/" in line]
    assert len(people) == len(set(people)) == 6
    writes = [each for each in statements if each.startswith("DELETE FROM warre_deliveries")]
    assert len(writes) == 1
    assert len(statements) <= 18


def test_limits_hold_within_a_batch_and_from_batch_to_batch(
    cloud: Cloud, sent: Send, database: sa.Engine
):
    limits = MessageLimits(own=3, others=3)
    hours = iter(range(1, 100))

    def made(bookings: int) -> list[Message]:
        for _ in range(bookings):
            start = next(hours)
            book(cloud, world.hours(start, start + 1))
        return sent(world.NOW + datetime.timedelta(minutes=30), limits=limits)

    assert [message.to for message in made(2)] == 2 * [ADDRESS]
    (last,) = made(4)
    assert "No more are sent to it before" in last.text
    assert len(given_up(database)) == 3
    assert made(1) == []
