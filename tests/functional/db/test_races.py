"""Exact admission: simultaneous bookings never oversell (the page "Booking and moves")."""

import itertools
import threading
from collections.abc import Callable

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, oversold, races, world
from warre_blazar.db import generations, session, tables
from warre_blazar.db.hosts import reservable_hosts
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import admission, changing

pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.every_kind]

MANY = 40
ROOM = 5
SPAN = world.hours(1, 3)

# The resource that runs out, the flavor's slots, and the room on one of the two hosts.
SCARCE = [
    pytest.param("slots_exhausted", ROOM, 1000, id="slots"),
    pytest.param("hosts_exhausted", 100, ROOM, id="hosts"),
]


def make_world(cloud: Cloud, slots: int, room: int):
    """A flavor and two hosts: one has room for at most ``room`` instances, and one for none."""
    world.add_host(cloud, "small", vcpus=1)
    world.add_host(cloud, "big", vcpus=2 * room + 1, memory_mb=10**7, disk_gb=10**6)
    return world.add_flavor(slots=slots, vcpu=2)


def jobs(kind: str, flavor, how_many: int = MANY) -> list[races.Job]:
    request = world.request(flavor, SPAN)
    whole = races.is_whole(kind)
    return [races.Job(world.add_lease(SPAN), request, whole) for _ in range(how_many)]


def planned(database: sa.Engine) -> int:
    """The number of backings that are planned."""
    with database.connect() as db:
        return db.scalar(sa.select(sa.func.count()).select_from(tables.backings))


def report(kind: str, what: str, result: races.Result) -> None:
    print(f"\n{kind} {what}: {dict(result.outcomes)}, {result.retries} retries")


@pytest.mark.parametrize(("refusal", "slots", "room"), SCARCE)
def test_simultaneous_threads_do_not_oversell(
    kind, database: sa.Engine, cloud: Cloud, refusal, slots, room
):
    flavor = make_world(cloud, slots, room)
    result = races.in_threads(jobs(kind, flavor))
    report(kind, "threads", result)
    assert result.outcomes == {"held": ROOM, refusal: MANY - ROOM}
    assert oversold.find(database) == []
    assert planned(database) == ROOM


@pytest.mark.parametrize(("refusal", "slots", "room"), SCARCE)
def test_simultaneous_processes_do_not_oversell(
    kind, database: sa.Engine, cloud: Cloud, refusal, slots, room
):
    flavor = make_world(cloud, slots, room)
    all_jobs = jobs(kind, flavor)
    url = database.url.render_as_string(hide_password=False)
    shares = [all_jobs[: MANY // 2], all_jobs[MANY // 2 :]]
    result = races.in_processes(shares, url, cloud.options())
    report(kind, "processes", result)
    assert result.outcomes == {"held": ROOM, refusal: MANY - ROOM}
    assert oversold.find(database) == []
    assert planned(database) == ROOM


@pytest.fixture
def unlocked(monkeypatch: pytest.MonkeyPatch) -> None:
    races.unlock(monkeypatch)


@pytest.mark.usefixtures("unlocked")
@pytest.mark.parametrize(("refusal", "slots", "room"), SCARCE)
def test_generations_alone_prevent_overselling(
    kind, database: sa.Engine, cloud: Cloud, refusal, slots, room
):
    flavor = make_world(cloud, slots, room)
    result = races.in_threads(jobs(kind, flavor, 16))
    report(kind, "generations alone", result)
    # With this many at once, some may lose every race, but none may get too much.
    assert set(result.outcomes) <= {"held", refusal, "try_again"}
    assert 1 <= result.outcomes["held"] <= ROOM
    assert oversold.find(database) == []


def test_two_flavors_do_not_oversell_their_common_hosts(kind, database: sa.Engine, cloud: Cloud):
    for name in ("a", "b"):
        world.add_host(cloud, name, vcpus=7)
    flavors = [world.add_flavor(slots=100, vcpu=vcpu) for vcpu in (2, 3)]
    pairs = zip(*(jobs(kind, flavor, 12) for flavor in flavors), strict=True)
    result = races.in_threads(list(itertools.chain(*pairs)))
    report(kind, "two flavors", result)
    assert set(result.outcomes) == {"held", "hosts_exhausted"}
    assert oversold.find(database) == []
    for flavor in flavors:
        with pytest.raises(exceptions.HostsExhausted):
            admission.check(world.request(flavor, SPAN))


def extend(lease: world.Lease, span):
    return lambda: changing.move(lease.reservation_id, span, world.conditions(), world.NOW)


def race_move_and_book(kind, cloud: Cloud, flavor, held: world.Lease, hour: int) -> None:
    """Extend a lease into an hour that another lease books at the same moment."""
    wish = world.request(flavor, world.hours(hour, hour + 1))
    booking = races.Job(world.add_lease(wish.span), wish, whole=False)
    world.set_status(held, "UPDATING")
    longer = world.hours(1, hour + 1)
    result = races.in_threads([booking, extend(held, longer)])
    assert result.outcomes["held"] == 1, result
    assert result.outcomes.total() == 2


@pytest.mark.parametrize("locked", [False, True], ids=["generations-alone", "with-the-lock"])
@pytest.mark.parametrize(("slots", "room"), [(1, 1000), (100, 1)], ids=["slots", "hosts"])
def test_simultaneous_move_and_booking_do_not_oversell(
    kind, database: sa.Engine, cloud: Cloud, monkeypatch: pytest.MonkeyPatch, slots, room, locked
):
    if not locked:
        races.unlock(monkeypatch)
    flavor = make_world(cloud, slots, room)
    for _ in range(5):
        held = world.book(world.request(flavor, world.hours(1, 2)))
        race_move_and_book(kind, cloud, flavor, held, 2)
        assert oversold.find(database) == []
        databases.delete_leases()


def take_away(engine: sa.Engine, host_id: str) -> None:
    """Write what Blazar's monitor writes about a failed host."""
    is_this_host = tables.compute_hosts.c.id == host_id
    with engine.begin() as connection:
        connection.execute(
            tables.compute_hosts.update().where(is_this_host).values(reservable=False)
        )


def delete(engine: sa.Engine, host_id: str) -> None:
    """Do what an operator's ``host-delete`` does."""
    db_api.host_destroy(host_id)


@pytest.mark.parametrize("change", [take_away, delete])
def test_host_that_failed_since_it_was_read_is_not_claimed(
    database: sa.Engine, change: Callable[[sa.Engine, str], None]
):
    host_id = world.add_host(None, "a")
    with session.reader() as db:
        read = reservable_hosts.empty(db)
    change(database, host_id)
    with pytest.raises(session.LostRace), session.writer() as db:
        generations.increase_hosts(db, read)


def test_two_claims_within_a_second_both_change_the_hosts_row(database: sa.Engine):
    """Galera doesn't certify a row whose values stay the same."""
    world.add_host(None, "a")
    seen = []
    for _ in range(3):
        with session.writer() as db:
            generations.increase_hosts(db, reservable_hosts.empty(db))
        with database.connect() as connection:
            seen.append(connection.scalar(sa.select(tables.compute_hosts.c.updated_at)))
    assert seen[0] != seen[1] != seen[2]


def test_write_of_failed_host_waits_for_a_claim_under_way(database: sa.Engine):
    """Healing, which reads after that write, therefore sees the booking."""
    host_id = world.add_host(None, "a")
    failing = threading.Thread(target=take_away, args=(database, host_id))
    with session.writer() as db:
        generations.increase_hosts(db, reservable_hosts.empty(db))
        failing.start()
        failing.join(0.5)
        waits = failing.is_alive()
    failing.join()
    assert waits


@pytest.mark.usefixtures("unlocked")
def test_booking_on_a_failing_host_is_seen_or_refused(kind, database: sa.Engine, cloud: Cloud):
    """After the host has been marked as failed, no further booking appears on it."""
    flavor = world.add_flavor(slots=100)
    outcomes: list[str] = []
    for number in range(10):
        host_id = world.add_host(cloud, f"host-{number}")
        (booking,) = jobs("sqlite", flavor, 1)
        healed: list[set[str]] = []

        def fail(host_id: str = host_id, healed: list[set[str]] = healed) -> None:
            take_away(database, host_id)
            healed.append(booked_on(database, host_id))

        result = races.in_threads([booking, fail])
        assert result.outcomes.total() == 2
        assert booked_on(database, host_id) == healed[0], result
        outcomes += [o for o in result.outcomes if o != "held"] or ["held"]
    assert set(outcomes) <= {"held", "no_host_matches"}, outcomes


def booked_on(engine: sa.Engine, host_id: str) -> set[str]:
    """The ids of the reservations on a host."""
    held = tables.allocations.c
    query = sa.select(held.reservation_id).where(held.compute_host_id == host_id)
    with engine.connect() as connection:
        return set(connection.scalars(query))
