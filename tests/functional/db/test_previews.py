"""Previews and dry runs write nothing, and no booking waits for one that is half way."""

import contextlib
import datetime
import functools
import threading
from collections.abc import Callable
from concurrent import futures
from typing import Any, NamedTuple

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from sqlalchemy.orm import Session

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, world
from tests.functional.db.outage import book_on
from tests.functional.db.test_series import begin
from warre_blazar.db import foreseeing, session, tables
from warre_blazar.db.records import history
from warre_blazar.domain.flavors.devices import NO_DEVICES
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.hosts.host_marks import Drain
from warre_blazar.domain.maintenance import OverBookings
from warre_blazar.domain.series.series import BookedSeries
from warre_blazar.domain.waits import Wait
from warre_blazar.services.booking import dry_run, lookup
from warre_blazar.services.booking.through_manager import change
from warre_blazar.services.flavors import devices, flavors
from warre_blazar.services.maintenance import over_bookings
from warre_blazar.services.moves import drained_hosts, failed_hosts
from warre_blazar.services.series import occurrences
from warre_blazar.services.waits import waits

pytestmark = pytest.mark.usefixtures("database")

#: The time of the reservations that are there, and of the bookings beside a preview.
SPAN = world.hours(2, 3)
LATER = world.hours(2, 5)


class Scene(NamedTuple):
    """Two hosts, a reservation of a flavor on the first of them, and a series without any."""

    flavor: Flavor
    lease: world.Lease
    series: BookedSeries


@pytest.fixture
def scene(cloud: Cloud) -> Scene:
    a, _ = (world.add_host(cloud, name, vcpus=999) for name in ("a", "b"))
    flavor = world.add_flavor(slots=999)
    return Scene(flavor, book_on(a, flavor, SPAN), begin(flavor, days=()))


def _change(scene: Scene) -> Any:
    reservation, _ = lookup.get(scene.lease.reservation_id, None)
    wanted = change.ChangeRequest(end=LATER.end, count=2)
    return change.foresee(reservation, scene.flavor, wanted, world.conditions())


def _series(scene: Scene) -> Any:
    spans = [world.hours(24 * day + 2, 24 * day + 3) for day in range(3)]
    asked = occurrences.Occurrences(scene.series, spans, world.conditions())
    return occurrences.foresee(asked)


def _wait(scene: Scene) -> Any:
    ours = {"id": "w", "project_id": world.PROJECT, "user_id": "u"}
    what = {"flavor_id": scene.flavor.id, "category": None, "instance_count": 1}
    when = {"length": datetime.timedelta(hours=1), "window": LATER, "expires_at": LATER.start}
    return waits.foresee(Wait(**ours, **what, **when, created_at=world.NOW), 9, frozenset())


def _window(choice: OverBookings, **more: Any) -> Any:
    over = over_bookings.OverBookingsRequest(choice, world.conditions(), world.NOW, "op")
    return over_bookings.create(LATER, "fans", (), ("a",), over, **more)


def _drain() -> Any:
    return drained_hosts.foresee("a", Drain(None, world.NOW, None), world.conditions(), world.NOW)


PREVIEWS: dict[str, Callable[[Scene], Any]] = {
    "booking": lambda scene: dry_run.booking(world.request(scene.flavor, SPAN)),
    "refused booking": lambda scene: dry_run.booking(world.request(scene.flavor, SPAN, 1000)),
    "change": _change,
    "series": _series,
    "wait": _wait,
    "changed flavor": lambda scene: flavors.update(scene.flavor.id, {"slots": 1}, dry_run=True),
    "counted devices": lambda scene: devices.find_changed(NO_DEVICES),
    "shown window": lambda scene: _window(OverBookings.SHOW),
    "window": lambda scene: _window(OverBookings.MOVE, dry_run=True),
    "drain": lambda scene: _drain(),
    "failed host": lambda scene: failed_hosts.foresee(
        "a", world.conditions(), world.NOW, LATER.end
    ),
}


@pytest.mark.every_kind
@pytest.mark.parametrize("preview", PREVIEWS)
def test_preview_writes_nothing_and_no_booking_waits_for_it(
    database: sa.Engine, kind: str, scene: Scene, preview: str
):
    foresee = functools.partial(PREVIEWS[preview], scene)
    foresee()  # Before the first preview, what is known of new hosts is written.
    before = databases.dump(database)
    foresee()
    assert databases.dump(database) == before
    if kind != "sqlite":  # There, writers wait for whoever reads.
        assert booked_beside(database, scene, foresee)


def test_only_what_has_taken_something_of_what_was_deleted_is_copied(scene: Scene):
    before, after = (
        _deleted(world.book(world.request(scene.flavor, SPAN)), at)
        for at in (SPAN.start, SPAN.start + datetime.timedelta(minutes=1))
    )
    copied = foreseeing.foreseen(lambda: session.change(_booked))
    assert copied == {scene.lease.reservation_id, after}
    assert session.change(_booked) == {*copied, before}


def _booked(db: Session) -> set[str]:
    return set(db.scalars(sa.select(tables.bookings.c.reservation_id)))


def _deleted(lease: world.Lease, at: datetime.datetime) -> str:
    """Delete a lease as a manager does."""
    with session.writer() as db:
        history.record_deletion(db.connection(), lease.id, at, None)
        db_api.lease_destroy(lease.id)
    return lease.reservation_id


def booked_beside(database: sa.Engine, scene: Scene, foresee: Callable[[], Any]) -> list[Any]:
    """Book beside a preview, each time when it has read, and still has its locks."""
    ours, booked = threading.get_ident(), []

    def ends(_: sa.Connection) -> None:
        if threading.get_ident() == ours:
            wanted = world.request(scene.flavor, SPAN)
            booked.append(pool.submit(world.plan, wanted).result(60))

    with futures.ThreadPoolExecutor(1) as pool, contextlib.ExitStack() as stack:
        for event in ("commit", "rollback"):
            sa.event.listen(database, event, ends)
            stack.callback(sa.event.remove, database, event, ends)
        foresee()
    return booked
