"""Changes with the same ETag at the same time: one of them is made, the others are refused."""

from collections.abc import Callable

import pytest

from tests.fakes.cloud import Cloud
from tests.functional.db import races, world
from warre_blazar.domain import etags
from warre_blazar.domain.etags import Shown
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import changing, lookup
from warre_blazar.services.flavors import flavors
from warre_blazar.services.maintenance import maintenance_windows

pytestmark = pytest.mark.usefixtures("database")

MANY = 8
SPAN = world.hours(10, 14)


@pytest.fixture
def flavor(cloud: Cloud):
    world.add_host(cloud, "a", vcpus=100)
    return world.add_flavor(slots=20)


@pytest.fixture
def lease(flavor) -> world.Lease:
    return world.book(world.request(flavor, SPAN))


@pytest.fixture(params=[True, False], ids=["with-the-lock", "without-the-lock"])
def locked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bookings and changes take turns within a process. Between processes they don't."""
    if not request.param:
        races.unlock(monkeypatch)


def said(item_id: str, values: etags.Values, **sent: object) -> Shown:
    """What somebody sends who was shown the values."""
    return Shown((etags.digests(etags.tag(item_id, values)),), sent)


def race(change: Callable[[int], Callable[[], object]], *others: str) -> None:
    """Let many clients change the same field, each to another value."""
    result = races.in_threads([change(number) for number in range(1, MANY + 1)])
    assert result.outcomes["held"] == 1, result
    assert result.outcomes.keys() <= {"held", "changed_since_shown", *others}, result


def test_one_of_many_names_is_written(lease: world.Lease):
    found, _ = lookup.get(lease.reservation_id, None)
    values = etags.of_reservation(found)

    def rename(number: int) -> Callable[[], object]:
        sent = {"name": f"name {number}", "movable_hours": number}
        return lambda: lookup.write(found, sent, "user", said(found.id, values, **sent))

    race(rename)
    present, _ = lookup.get(lease.reservation_id, None)
    assert present.labels.name == f"name {present.movable_hours}"


def test_one_of_many_changes_of_a_flavor_is_written(flavor):
    values = etags.of_flavor(flavor)

    def change(number: int) -> Callable[[], object]:
        sent = {"slots": 20 + number}
        return lambda: flavors.update(flavor.id, sent, shown=said(flavor.id, values, **sent))

    race(change)


def test_one_of_many_changes_of_a_window_is_written(flavor):
    window = maintenance_windows.create(SPAN, None, [flavor.id], world.NOW)
    values = etags.of_window(window)

    def change(number: int) -> Callable[[], object]:
        sent = {"note": str(number)}
        said_ = said(window.id, values, **sent)
        return lambda: maintenance_windows.update(window.id, sent, world.NOW, said_)

    race(change)


def test_changes_of_different_fields_of_a_window_are_all_written(flavor):
    """Also without an ETag, none of them takes back what another one has written."""
    window = maintenance_windows.create(SPAN, None, [flavor.id], world.NOW)
    changes = ({"note": "x"}, {"start": world.hours(11, 14).start}, {"end": world.hours(1, 15).end})
    jobs = [
        lambda sent=sent: maintenance_windows.update(window.id, sent, world.NOW) for sent in changes
    ]
    assert races.in_threads(jobs).outcomes == {"held": 3}
    present = maintenance_windows.get(window.id, project_id=None, everything=True)
    assert (present.note, present.span) == ("x", world.hours(11, 15))


@pytest.mark.usefixtures("locked")
def test_one_of_many_counts_is_written(lease: world.Lease):
    found, _ = lookup.get(lease.reservation_id, None)
    values = etags.of_reservation(found)
    world.set_status(lease, "UPDATING")

    def resize(number: int) -> Callable[[], object]:
        count = number + 1
        said_ = said(found.id, values, instance_count=count)
        return lambda: changing.move(
            lease.reservation_id, SPAN, world.conditions(), world.NOW, count, said_
        )

    race(resize, "try_again")


@pytest.mark.usefixtures("locked")
def test_one_of_many_times_is_promised(lease: world.Lease):
    """Blazar writes a promised time later. Until then another change can't be decided."""
    found, _ = lookup.get(lease.reservation_id, None)
    values = etags.of_reservation(found)
    world.set_status(lease, "UPDATING")

    def extend(number: int) -> Callable[[], object]:
        span = world.hours(10, 14 + number)
        said_ = said(found.id, values, end=f"{span.end.isoformat()}+00:00")
        return lambda: changing.move(
            lease.reservation_id, span, world.conditions(), world.NOW, None, said_
        )

    race(extend, "invalid_state", "try_again")


def test_time_that_was_written_meanwhile_refuses_another_one(lease: world.Lease):
    found, _ = lookup.get(lease.reservation_id, None)
    values = etags.of_reservation(found)
    world.move(lease, world.hours(10, 16))
    world.set_status(lease, "UPDATING")
    earlier = world.hours(10, 15)
    said_ = said(found.id, values, end=f"{earlier.end.isoformat()}+00:00")
    with pytest.raises(exceptions.ChangedSinceShown) as refused:
        changing.move(lease.reservation_id, earlier, world.conditions(), world.NOW, None, said_)
    now = f"{world.hours(10, 16).end.isoformat()}+00:00"
    assert refused.value.detail["fields"]["end"] == {"now": now, "sent": said_.sent["end"]}
    # It says nothing about the name.
    unrelated = said(found.id, values, name="x")
    changing.move(lease.reservation_id, earlier, world.conditions(), world.NOW, None, unrelated)
