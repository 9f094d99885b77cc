"""Reminders are written once for each end of a reservation and each number of hours."""

import datetime
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.managers import Manager
from tests.functional.db.notices import waiting
from tests.functional.db.test_outbox import move
from warre_blazar.db import session, turns
from warre_blazar.db.messages import deliveries, outbox
from warre_blazar.domain.messages.notices import Kind
from warre_blazar.domain.timeline import Span
from warre_blazar.services.messages import reminders

pytestmark = pytest.mark.usefixtures("database", "channel")

#: A reservation of 30 hours.
SPAN = world.hours(1, 31)
MINUTE = datetime.timedelta(minutes=1)
HOUR = datetime.timedelta(hours=1)
HOURS = (24, 1)


@pytest.fixture
def channel(database: sa.Engine) -> None:
    session.change(deliveries.set_channels, {"mail": False})


@pytest.fixture
def running(cloud: Cloud) -> Iterator[world.Lease]:
    """A reservation that is running. Somebody has looked for reminders at its start."""
    world.add_host(cloud, "a")
    lease = world.book(world.request(world.add_flavor(), SPAN))
    Manager().run(SPAN.start)
    look(SPAN.start)
    return lease


def look(now: datetime.datetime, manager_id: str = "one") -> None:
    reminders.remind(now, manager_id, HOURS)


def told() -> list[tuple[int, str]]:
    """The hours and the end of each reminder."""
    notices = [notice for notice in waiting("mail") if notice.news.kind is Kind.REMINDED]
    return [((n.news.after or {})["hours"], n.content["end"]) for n in notices]


def end_of(span: Span) -> str:
    return f"{span.end.isoformat()}+00:00"


def test_each_reminder_is_written_once_by_any_number_of_managers(running: world.Lease):
    now, number = SPAN.start, 0
    while now < SPAN.end + HOUR:
        for _ in range(2):
            look(now, f"manager-{number % 3}")
            number += 1
        now += 7 * MINUTE
    assert told() == [(24, end_of(SPAN)), (1, end_of(SPAN))]


def test_reminder_comes_when_its_moment_has_come(running: world.Lease):
    look(SPAN.end - 24 * HOUR - MINUTE)
    assert told() == []
    look(SPAN.end - 24 * HOUR)
    assert told() == [(24, end_of(SPAN))]


def test_extension_makes_a_reminder_due_again(running: world.Lease):
    look(SPAN.end - HOUR)
    longer = Span(SPAN.start, SPAN.end + 4 * HOUR)
    move(running, longer)
    world.set_status(running, "ACTIVE")
    look(SPAN.end)
    look(longer.end - HOUR)
    look(longer.end - MINUTE)
    # When the reservation was extended, less than 24 hours were left.
    assert told() == [(1, end_of(SPAN)), (1, end_of(longer))]


def test_after_an_outage_only_the_last_reminder_is_written(running: world.Lease):
    look(SPAN.end - 30 * MINUTE)
    assert told() == [(1, end_of(SPAN))]


def test_no_reminder_is_written_after_the_end(running: world.Lease):
    look(SPAN.end)
    assert told() == []


def test_reservation_that_has_not_begun_or_is_too_short_gets_no_reminder(cloud: Cloud):
    world.add_host(cloud, "a")
    world.book(world.request(world.add_flavor(), world.hours(1, 25)))
    look(world.NOW)
    look(world.NOW + HOUR)  # The reservation begins, and 24 hours are left.
    Manager().run(world.NOW + HOUR)
    look(world.NOW + 2 * HOUR)
    assert told() == []


def test_booking_within_the_last_hours_gets_only_the_reminders_that_are_left(running: world.Lease):
    late = world.hours(20, 50)
    look(late.end - 23 * HOUR)
    lease = world.book(world.request(world.add_flavor(name="late"), late))
    Manager().run(late.start + 8 * HOUR)
    look(late.end - 20 * HOUR)
    look(late.end - HOUR)
    assert (24, end_of(late)) not in told()
    assert (1, end_of(late)) in told()
    assert lease.id != running.id


def test_first_manager_of_a_site_reminds_of_nothing_that_was_due_before(
    running: world.Lease, database: sa.Engine
):
    with database.begin() as connection:
        connection.execute(turns.turns.delete())
    look(SPAN.end - 30 * MINUTE)
    assert told() == []


def test_reminder_that_fails_is_written_by_the_next_look(
    running: world.Lease, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object) -> None:
        raise ValueError

    with monkeypatch.context() as patch, pytest.raises(ValueError):
        patch.setattr(outbox, "add", fail)
        look(SPAN.end - HOUR)
    look(SPAN.end - HOUR)
    assert told() == [(1, end_of(SPAN))]
