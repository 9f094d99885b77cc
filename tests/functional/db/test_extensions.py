"""How far a reservation can be extended: to exactly the end that a change may have."""

import datetime
from collections.abc import Callable

import pytest

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar.db import session
from warre_blazar.db.booking import reservations
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import changing, dry_run
from warre_blazar.services.flavors import flavors
from warre_blazar.services.maintenance import maintenance_windows
from warre_blazar.services.slots import extension

pytestmark = pytest.mark.usefixtures("database")

HOUR = datetime.timedelta(hours=1)
MINUTE = datetime.timedelta(minutes=1)


def other(flavor: Flavor, start: float, end: float, **more: str) -> None:
    world.plan(world.request(flavor, world.hours(start, end), **more))


def by_slots(flavor: Flavor) -> None:
    flavors.update(flavor.id, {"slots": 1})
    other(flavor, 5, 6)


def by_hosts(flavor: Flavor) -> None:
    other(flavor, 4, 6)
    other(flavor, 4, 6)


def by_window(flavor: Flavor) -> None:
    maintenance_windows.create(world.hours(7, 8), None, [flavor.id], world.NOW)


def by_length(flavor: Flavor) -> None:
    flavors.update(flavor.id, {"max_length_hours": 8})


def by_days(flavor: Flavor) -> None:
    flavors.update(flavor.id, {"max_days_ahead": 1})


def by_gap(flavor: Flavor) -> None:
    flavors.update(flavor.id, {"gap_hours": 3})
    other(flavor, 9, 10)


STOPS = [
    pytest.param(by_slots, "slots_exhausted", 5, id="slots"),
    pytest.param(by_hosts, "hosts_exhausted", 4, id="hosts"),
    pytest.param(by_window, "maintenance", 7, id="window"),
    pytest.param(by_length, "too_long", 9, id="length"),
    pytest.param(by_days, "too_far_ahead", 24, id="days ahead"),
    pytest.param(by_gap, "gap_too_short", 6, id="gap"),
]


@pytest.mark.parametrize("is_active", [False, True])
@pytest.mark.parametrize(("prepare", "stop", "end"), STOPS)
def test_latest_end_is_the_last_that_a_change_may_have(
    cloud: Cloud,
    kind: str,
    prepare: Callable[[Flavor], None],
    stop: str,
    end: int,
    is_active: bool,
):
    world.add_host(cloud, "host", vcpus=4)
    flavor = world.add_flavor(slots=9)
    lease = world.book(world.request(flavor, world.hours(1, 3)))
    prepare(flavor)
    if is_active:
        world.begin(lease)
    with session.reader() as db:
        reservation = reservations.require(db, lease.reservation_id)
        flavor = flavors.get(flavor.id, project_id=None, everything=True)
    found = extension.find(reservation, flavor, world.conditions(), world.NOW)
    assert found.stop is not None
    assert (found.end, found.stop.code) == (world.hours(0, end).end, stop)

    def refusals(until: datetime.datetime) -> tuple[exceptions.WarreError, ...]:
        span = Span(reservation.span.start, until)
        return changing.foresee(reservation, span, 1, world.conditions(), world.NOW).refusals

    assert refusals(found.end) == ()
    later = found.end + (HOUR if stop == "too_long" else MINUTE)
    assert [refusal.code for refusal in refusals(later)] == [stop]
    outcome = changing.foresee(
        reservation, Span(reservation.span.start, later), 1, world.conditions(), world.NOW
    )
    foreseen = dry_run.change(outcome, flavor, world.conditions(), world.NOW)
    assert foreseen.longest == found.end - reservation.span.start


def test_too_early_an_extension_says_from_when_on(cloud: Cloud, kind: str):
    world.add_host(cloud, "host", vcpus=4)
    flavor = world.add_flavor(slots=9, extend_within_hours=1)
    lease = world.book(world.request(flavor, world.hours(1, 3)))
    with session.reader() as db:
        reservation = reservations.require(db, lease.reservation_id)
    found = extension.find(reservation, flavor, world.conditions(), world.NOW)
    assert found.stop is not None
    assert (found.end, found.stop.code) == (reservation.span.end, "too_early_to_extend")
    assert found.stop.detail["extend_from"] == f"{world.hours(0, 2).end.isoformat()}+00:00"
    now = world.hours(0, 2).end
    assert extension.find(reservation, flavor, world.conditions(), now).end > reservation.span.end


def test_nothing_stops_an_extension_within_a_year(cloud: Cloud, kind: str):
    world.add_host(cloud, "host", vcpus=4)
    flavor = world.add_flavor(slots=9, max_length_hours=100_000)
    lease = world.book(world.request(flavor, world.hours(1, 3)))
    with session.reader() as db:
        reservation = reservations.require(db, lease.reservation_id)
    found = extension.find(reservation, flavor, world.conditions(), world.NOW)
    assert (found.end - reservation.span.end, found.stop) == (datetime.timedelta(days=365), None)
