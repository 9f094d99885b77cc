"""Series beside bookings, ends and managers: what is booked belongs to a series that expects it."""

import dataclasses
import datetime
import functools
from collections.abc import Callable, Sequence

import pytest
import sqlalchemy as sa
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import races, world
from tests.functional.db.managers import Manager
from warre_blazar import times
from warre_blazar.db import series as stored
from warre_blazar.db import session, tables
from warre_blazar.domain.booking.labels import NO_LABELS
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.series.recurrence import Recurrence
from warre_blazar.domain.series.series import (
    BookedSeries,
    RepeatedBooking,
    SeriesStatus,
    SeriesWork,
)
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import admission
from warre_blazar.services.series import progress
from warre_blazar.services.series import unattended as keeping

pytestmark = pytest.mark.usefixtures("database")

WORK = "11111111-1111-4111-8111-111111111111"
ID = "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def flavor(cloud: Cloud) -> Flavor:
    world.add_host(cloud, "a", vcpus=16)
    return world.add_flavor(slots=9, vcpu=1)


def begin(
    flavor: Flavor, *, all_or_none: bool = False, days: Sequence[int] = range(31)
) -> BookedSeries:
    rule = Recurrence(world.NOW, "UTC", "FREQ=DAILY", datetime.timedelta(hours=1))
    booking = RepeatedBooking(flavor.id, 1, None, NO_LABELS, None)
    return progress.begin(
        BookedSeries(
            id=ID,
            project_id=world.PROJECT,
            user_id="user",
            booking=booking,
            recurrence=rule,
            all_or_none=all_or_none,
            status=SeriesStatus.BOOKING,
            work_id=WORK,
            ends_running=False,
            created_at=world.NOW,
        ),
        [hour(day) for day in days],
    )


def hour(day: int) -> Span:
    return world.hours(24 * day, 24 * day + 1)


def booking(flavor: Flavor, day: int, work: str = WORK) -> admission.BookingRequest:
    request = world.request(flavor, hour(day))
    return dataclasses.replace(request, series=SeriesWork(ID, work))


def occurrences() -> int:
    with session.reader() as db:
        query = sa.select(sa.func.count()).select_from(tables.bookings)
        live = tables.bookings.c.live_id.is_not(None)
        return db.execute(query.where(tables.bookings.c.series_id == ID, live)).scalar_one()


def status() -> SeriesStatus | None:
    item = progress.find(ID)
    return item.status if item else None


def silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each series count as one on which nobody works."""
    monkeypatch.setattr(times, "BOOKING_SERIES_DEAD_AFTER", -1)
    monkeypatch.setattr(times, "DELETING_SERIES_DEAD_AFTER", -1)


def look(times: int = 3) -> None:
    """Let a manager look at the series, and do what it requests."""
    for _ in range(times):
        keeping.look()
        Manager().run(timeutils.utcnow())


def test_only_the_request_that_books_joins(flavor: Flavor):
    item = begin(flavor)
    world.book(booking(flavor, 1))
    other = "33333333-3333-4333-8333-333333333333"
    with pytest.raises(exceptions.SeriesEnded):
        world.book(booking(flavor, 2, other))
    progress.finish(progress.tries(item))
    with pytest.raises(exceptions.SeriesEnded):
        world.book(booking(flavor, 3))
    assert occurrences() == 1


def test_end_beside_bookings_is_exact(flavor: Flavor, monkeypatch: pytest.MonkeyPatch):
    begin(flavor)
    races.unlock(monkeypatch)
    requests = [booking(flavor, day) for day in range(1, 7)]
    leases = [world.add_lease(request.span) for request in requests]
    jobs: list[Callable[[], None]] = [
        races.Job(lease, request, whole=False)
        for lease, request in zip(leases, requests, strict=True)
    ]

    def end() -> None:
        progress.end(ID, None, running=False)

    result = races.in_threads([*jobs[:3], end, *jobs[3:]])
    assert set(result.outcomes) <= {"held", "series_ended"}
    # One of those that held is the end itself.
    assert occurrences() == result.outcomes["held"] - 1
    assert status() is SeriesStatus.ENDING
    with pytest.raises(exceptions.SeriesEnded):
        world.book(booking(flavor, 8))


@pytest.mark.parametrize("all_or_none", [True, False])
def test_managers_lead_a_dead_request_out(
    flavor: Flavor, monkeypatch: pytest.MonkeyPatch, all_or_none: bool
):
    item = begin(flavor, all_or_none=all_or_none, days=[1, 2, 3])
    for day in (1, 2):
        item = progress.tries(item)
        world.book(booking(flavor, day))
    timeutils.set_time_override(world.NOW)
    keeping.look()
    assert status() is SeriesStatus.BOOKING
    silence(monkeypatch)
    races.in_threads([keeping.look] * 3)
    look()
    if all_or_none:
        assert (status(), occurrences()) == (None, 0)
    else:
        assert (status(), occurrences()) == (SeriesStatus.BOOKED, 2)
        assert progress.get(ID).planned == 3
        assert [each.is_missing for each in progress.plan(item)] == [False, False, True]
    # The request wasn't dead after all.
    with pytest.raises(exceptions.SeriesEnded):
        progress.tries(item)


def test_undone_extension_keeps_what_was_booked_before(
    flavor: Flavor, monkeypatch: pytest.MonkeyPatch
):
    item = begin(flavor, all_or_none=True, days=[1])
    world.book(booking(flavor, 1))
    item = progress.begin_extension(
        progress.finish(progress.tries(item)), [hour(2), hour(3)], "work-2"
    )
    world.book(booking(flavor, 2, item.work_id))
    timeutils.set_time_override(world.NOW)
    silence(monkeypatch)
    look()
    assert (status(), occurrences(), progress.get(ID).planned) == (SeriesStatus.BOOKED, 1, 1)


def test_end_leaves_what_has_begun(flavor: Flavor, monkeypatch: pytest.MonkeyPatch):
    item = begin(flavor)
    for day in (1, 2):
        world.book(booking(flavor, day))
    progress.finish(progress.tries(item))
    Manager().run(world.hours(24, 25).start)
    silence(monkeypatch)
    progress.end(ID, None, running=False)
    look()
    assert (status(), occurrences()) == (SeriesStatus.ENDED, 1)
    progress.end(ID, None, running=True)
    look()
    assert (status(), occurrences()) == (SeriesStatus.ENDED, 0)


def test_two_extensions_exclude_each_other(flavor: Flavor):
    item = progress.finish(progress.tries(begin(flavor)))
    begins = [functools.partial(progress.begin_extension, item, (), f"w{n}") for n in range(4)]
    result = races.in_threads([lambda begin=begin: begin() and None for begin in begins])
    assert result.outcomes["held"] == 1
    assert result.outcomes["invalid_state"] == 3


def test_forgets_what_has_no_reservation(flavor: Flavor):
    item = begin(flavor)
    progress.finish(progress.tries(item))
    later = world.NOW + datetime.timedelta(days=3)
    assert keeping.forget(later, 4) == 0
    assert keeping.forget(later, 2) == 1
    with session.reader() as db:
        assert stored.find(db, ID) is None
