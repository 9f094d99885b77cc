"""Bookings and changes that place other reservations again to get room."""

import dataclasses
import datetime
import random

import pytest
import sqlalchemy as sa

from tests.fakes.cloud import Cloud
from tests.functional.db import oversold, races, world
from warre_blazar.db import session, tables
from warre_blazar.db.booking import reservations
from warre_blazar.db.hosts import allocations
from warre_blazar.db.moves import movables
from warre_blazar.db.records import changes
from warre_blazar.domain.hosts.aggregates import HostAggregates
from warre_blazar.domain.maintenance import Outcome, OverBookings
from warre_blazar.domain.records.changes import ChangeKind, MoveReason
from warre_blazar.domain.slots.free_time import Question
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import admission, changing, dry_run, lookup
from warre_blazar.services.maintenance import over_bookings
from warre_blazar.services.moves import relocation
from warre_blazar.services.slots import availability, extension, free_slots, offers

pytestmark = pytest.mark.usefixtures("database")

HOUR = datetime.timedelta(hours=1)
SPAN = world.hours(1, 3)
MOVING = dataclasses.replace(world.conditions(), moves=10)


def request(flavor, span=SPAN, count=1, conditions=MOVING, **project):
    return dataclasses.replace(world.request(flavor, span, count, **project), conditions=conditions)


def held(lease: world.Lease) -> dict[str, int]:
    with session.reader() as db:
        return dict(allocations.allocated(db, lease.reservation_id))


def add_flavor(name: str, vcpu: int):
    return world.add_flavor(name=name, vcpu=vcpu, slots=100)


@pytest.fixture
def flavors(cloud: Cloud):
    """A small and a large flavor. Two hosts are half full of a small one each."""
    for name in ("a", "b"):
        world.add_host(cloud, name, vcpus=4)
    return add_flavor("small", 2), add_flavor("large", 4)


@pytest.fixture
def scattered(flavors) -> list[world.Lease]:
    """A small reservation on each host, whose partner was deleted."""
    small, _ = flavors
    leases = [world.book(request(small)) for _ in range(4)]
    by_host = {next(iter(held(lease))): lease for lease in leases}
    for lease in leases:
        if lease not in by_host.values():
            with session.writer() as db:
                allocations.release(db, lease.reservation_id)
    return list(by_host.values())


def test_booking_moves_a_reservation_that_has_not_begun(database: sa.Engine, flavors, scattered):
    lease = world.book(request(flavors[1]))
    assert oversold.find(database) == []
    assert sum(held(lease).values()) == 1
    places = [held(each) for each in scattered]
    assert places[0] == places[1] != held(lease)
    with database.connect() as db:
        kinds = list(db.scalars(sa.select(tables.log_entries.c.kind)))
    assert kinds.count(ChangeKind.MOVED.value) == 1


def test_check_says_what_a_booking_would_do(flavors, scattered):
    before = [held(each) for each in scattered]
    decision = admission.check(request(flavors[1]))
    assert len(decision.require().placed_again) == 1
    assert [held(each) for each in scattered] == before


def question(flavor, moves: int) -> Question:
    return Question(
        flavor.id, world.PROJECT, False, 1, SPAN, world.NOW, world.NO_CLEANING, moves=moves
    )


@pytest.mark.parametrize(("moves", "found"), [(0, 0), (10, 1)])
def test_free_slots_offers_and_availability_tell_what_can_be_booked(
    flavors, scattered, moves, found
):
    large = flavors[1]
    asked = question(large, moves)
    choice = offers.FlavorChoice(large.id)
    offered = offers.find(dataclasses.replace(asked, least=HOUR), choice, world.NO_QUOTA)
    counted, _ = availability.find(asked, choice, HOUR)
    assert free_slots.find(asked) == [SPAN] * found
    assert [offer.span for offer in offered.offers] == [SPAN] * found
    assert [part.instances for each in counted for part in each.parts] == [1, 1] * found


@pytest.mark.parametrize(("conditions", "most"), [(world.conditions(), 0), (MOVING, 1)])
def test_dry_run_tells_what_can_be_booked(flavors, scattered, conditions, most):
    foreseen = dry_run.booking(request(flavors[1], conditions=conditions))
    assert (foreseen.most, len(foreseen.hosts)) == (most, most)
    assert foreseen.next_start == (SPAN.start if most else SPAN.end)


def test_nothing_moves_if_the_option_is_zero(flavors, scattered):
    with pytest.raises(exceptions.HostsExhausted):
        world.book(request(flavors[1], conditions=world.conditions()))


@pytest.mark.parametrize("status", ["STARTING", "ACTIVE", "UPDATING", "DELETING", "ERROR"])
def test_reservation_that_is_worked_on_stays(flavors, scattered, status):
    for each in scattered:
        world.set_status(each, status)
    with pytest.raises(exceptions.HostsExhausted):
        world.book(request(flavors[1]))


@pytest.mark.parametrize("status", ["STARTING", "UPDATING", "DELETING"])
def test_claim_between_decision_and_write_wins(flavors, scattered, status):
    """A claim of a lease changes no host's generation."""
    wanted = request(flavors[1])
    decision = admission.check(wanted)
    (moved,) = decision.require().placed_again
    for each in scattered:
        world.set_status(each, status)
    before = [held(each) for each in scattered]
    lease = world.add_lease(SPAN)
    with pytest.raises(exceptions.HostsExhausted):
        admission.book(lease.reservation_id, wanted, decision)
    assert [held(each) for each in scattered] == before
    assert moved.unbegun.reservation_id in {each.reservation_id for each in scattered}


def test_extension_moves_what_is_in_its_way(database: sa.Engine, cloud: Cloud):
    for name in ("a", "b"):
        world.add_host(cloud, name, vcpus=4)
    large = add_flavor("large", 4)
    later = world.hours(3, 5)
    running = world.book(request(large))
    (host_id,) = held(running)
    other = world.book(request(large, later))
    with session.writer() as db:
        allocations.reallocate(db, other.reservation_id, {host_id: 1})
    world.begin(running)
    reservation = lookup.get(running.reservation_id, None)[0]
    reaches = {
        moves: extension.find(
            reservation, large, dataclasses.replace(MOVING, moves=moves), world.NOW
        ).end
        for moves in (0, 10)
    }
    assert reaches[0] == later.start
    assert reaches[10] >= later.end
    world.set_status(running, "UPDATING")
    changing.move(running.reservation_id, world.hours(1, 5), MOVING, world.NOW)
    assert held(running) == {host_id: 1}
    assert host_id not in held(other)
    assert oversold.find(database) == []


def test_simultaneous_bookings_that_move_others_do_not_oversell(
    kind, database: sa.Engine, cloud: Cloud, monkeypatch
):
    races.unlock(monkeypatch)
    for name in "abcdef":
        world.add_host(cloud, name, vcpus=4)
    small = add_flavor("small", 2)
    large = add_flavor("large", 4)
    leases = [world.book(request(small)) for _ in range(12)]
    by_host = {next(iter(held(lease))): lease for lease in leases}
    for lease in leases:
        if lease not in by_host.values():
            with session.writer() as db:
                allocations.release(db, lease.reservation_id)
    jobs = [races.Job(world.add_lease(SPAN), request(large), whole=False) for _ in range(12)]
    result = races.in_threads(jobs)
    assert result.outcomes == {"held": 3, "hosts_exhausted": 9}
    assert oversold.find(database) == []
    assert all(sum(held(lease).values()) == 1 for lease in by_host.values())


def test_only_reservations_of_leases_that_wait_are_movable(flavors, scattered):
    with session.reader() as db:
        found = {each.reservation_id for each in movables.read(db, world.NOW)}
    assert {each.reservation_id for each in scattered} <= found


@pytest.mark.parametrize("drained", [False, True])
def test_healing_and_draining_make_room(database: sa.Engine, cloud: Cloud, drained):
    ids = {name: world.add_host(cloud, name, vcpus=4) for name in "abc"}
    small, large = add_flavor("small", 2), add_flavor("large", 4)
    lost = world.book(request(large))
    scattered = [world.book(request(small)) for _ in range(2)]
    with session.writer() as db:
        for lease, name in ((lost, "a"), (scattered[0], "b"), (scattered[1], "c")):
            allocations.reallocate(db, lease.reservation_id, {ids[name]: 1})
        world.outdate_hosts(db)
        if not drained:
            failing = tables.compute_hosts.c.id == ids["a"]
            db.execute(tables.compute_hosts.update().where(failing).values(reservable=False))
    by = MoveReason.DRAIN if drained else MoveReason.HOST_FAILED
    away_from = [ids["a"]] if drained else None
    healed = relocation.relocate(
        lost.reservation_id, away_from, relocation.Why(by), MOVING, world.NOW
    )
    assert healed.outcome is relocation.MoveResult.MOVED
    places = [held(lease) for lease in scattered]
    assert places[0] == places[1] != held(lost)
    assert ids["a"] not in held(lost)
    assert oversold.find(database) == []
    with session.reader() as db:
        reasons = [
            [c.after for c in changes.of_reservation(db, each.reservation_id)]
            for each in (lost, *scattered)
        ]
    assert reasons[0] == [{"reason": by.value}]
    assert sorted(reasons[1:], key=len) == [[], [{"reason": "made_room"}]]


@pytest.mark.same_logic
@pytest.mark.parametrize("seed", range(3))
def test_random_requests_lose_nothing_and_leave_what_has_begun(
    database: sa.Engine, cloud: Cloud, seed
):
    dice = random.Random(seed)
    tenants: dict[str, str | None] = {}
    for name, only in (("a", "alpha"), ("b", "beta"), ("c", None), ("d", None), ("e", None)):
        told = HostAggregates(tenants=frozenset({only}) if only else None)
        tenants[world.add_host(cloud, name, vcpus=4, aggregates=told)] = only
    kinds = [add_flavor(f"of-{vcpus}", vcpus) for vcpus in (1, 2, 4)]
    counts: dict[world.Lease, int] = {}
    owners: dict[world.Lease, str] = {}
    places: dict[world.Lease, dict[str, int]] = {}
    begun: dict[world.Lease, dict[str, int]] = {}
    moves = 0
    for _ in range(60):
        start = dice.randrange(1, 24)
        span = world.hours(start, start + dice.randrange(1, 9))
        wanted = request(
            dice.choice(kinds),
            span,
            dice.choice([1, 1, 2]),
            project_id=dice.choice(["alpha", "beta"]),
        )
        try:
            lease = world.plan(wanted)
        except exceptions.HostsExhausted:
            continue
        before, places = places, {one: held(one) for one in (*counts, lease)}
        moves += sum(places[other] != old for other, old in before.items())
        counts[lease] = wanted.count
        owners[lease] = wanted.project_id
        if dice.random() < 0.2:
            world.set_status(lease, "STARTING")
            begun[lease] = places[lease]
        assert oversold.find(database) == []
        assert {one: sum(places[one].values()) for one in counts} == counts
        assert {one: places[one] for one in begun} == begun
        assert all(
            tenants[host_id] in (None, owners[one])
            for one, place in places.items()
            for host_id in place
        )
    assert moves


def test_reservation_that_a_window_postpones_moves_what_is_in_its_way(
    database: sa.Engine, cloud: Cloud
):
    ids = {name: world.add_host(cloud, name, vcpus=4) for name in "ab"}
    small, large = add_flavor("small", 2), add_flavor("large", 4)
    postponed = world.book(request(large))
    later = [world.book(request(small, world.hours(3, 5))) for _ in range(2)]
    fixed = world.book(request(large))
    with session.writer() as db:
        for lease, name in zip((postponed, fixed, *later), "abab", strict=True):
            allocations.reallocate(db, lease.reservation_id, {ids[name]: 1})
        world.outdate_hosts(db)
        reservations.set_values(db, postponed.reservation_id, {"movable_hours": 2})
    over = over_bookings.OverBookingsRequest(OverBookings.MOVE, MOVING, world.NOW)
    _, met = over_bookings.create(SPAN, None, [], ["a"], over)
    assert [each.outcome for each in met] == [Outcome.POSTPONED]
    assert met[0].span == world.hours(3, 5)
    assert held(later[0]) == held(later[1]) != held(postponed)
    assert oversold.find(database) == []
