"""Quotas are exact: no project gets more than its limits, whatever happens at the same time."""

import dataclasses
import datetime
import random

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api

from tests.fakes.cloud import Cloud
from tests.functional.db import races, world
from warre_blazar.db import session
from warre_blazar.db.booking import quotas as stored
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import admission, changing, quotas
from warre_blazar.services.running import repair

pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.every_kind]

PROJECT = world.PROJECT
MANY, ROOM = 40, 5
TYPES = ("flavor:slot", "virtual:instance", "flavor:instance", "physical:host")


@pytest.fixture
def flavor(cloud: Cloud):
    """A flavor with more slots and room than any quota allows."""
    world.add_host(cloud, "big", vcpus=1000, memory_mb=10**7, disk_gb=10**6)
    return world.add_flavor(slots=1000, vcpu=1, memory_mb=1, disk_gb=1)


def limit(cloud: Cloud, **limits: int) -> None:
    """Set the project's limits."""
    cloud.keystone.limits |= {(PROJECT, name): value for name, value in limits.items()}


def wish(flavor, span=None, count: int = 1) -> admission.BookingRequest:
    return world.request(flavor, span or world.hours(1, 3), count, rule=world.QUOTA)


def held(types: tuple[str, ...] = ("flavor:slot",)) -> Amount:
    with session.reader() as db:
        return stored.usage(db, PROJECT, types)


def test_booking_within_the_limit_passes_and_beyond_it_is_refused(cloud: Cloud, flavor):
    limit(cloud, reservation=2, hours=7)
    first = world.book(wish(flavor, count=2))
    with pytest.raises(exceptions.QuotaExceeded) as caught:
        world.book(wish(flavor, world.hours(0, 4)))
    assert caught.value.detail["exceeded"] == [
        {"resource": "hours", "limit": 7, "used": 4, "asked": 4}
    ]
    assert held() == Amount(1, 4)
    world.book(wish(flavor, world.hours(0, 2.5)))
    assert held() == Amount(2, 7)
    with pytest.raises(exceptions.QuotaExceeded, match="reservation: 1 asked, 2 of 2 used"):
        admission.check(wish(flavor, world.hours(0, 1)))
    world.begin(first)
    world.finish(first)
    assert held() == Amount(1, 3)
    world.book(wish(flavor, world.hours(5, 9)))


def test_extension_needs_the_added_hours_and_shortening_frees_them(cloud: Cloud, flavor):
    limit(cloud, reservation=1, hours=5)
    lease = world.book(wish(flavor))
    limit(cloud, reservation=0)
    before = db_api.lease_get(lease.id)
    with pytest.raises(exceptions.QuotaExceeded, match="hours: 4 asked, 2 of 5 used"):
        world.move(lease, world.hours(1, 7), rule=world.QUOTA)
    assert {**db_api.lease_get(lease.id), "updated_at": None} == {**before, "updated_at": None}
    # A promise that was never written isn't part of the next change.
    lease = world.move(lease, world.hours(1, 6), rule=world.QUOTA)
    assert held() == Amount(1, 5)
    lease = world.move(lease, world.hours(1, 2), rule=world.QUOTA)
    assert held() == Amount(1, 1)
    world.move(lease, world.hours(3, 8), rule=world.QUOTA)
    assert held() == Amount(1, 5)


def test_promise_counts_until_it_is_dropped(cloud: Cloud, flavor):
    limit(cloud, reservation=9, hours=6)
    lease = world.book(wish(flavor))
    world.write_lease(lease.id, {"status": "UPDATING"})
    changing.move(
        lease.reservation_id, world.hours(1, 6), world.conditions(rule=world.QUOTA), world.NOW
    )
    with pytest.raises(exceptions.QuotaExceeded, match="hours: 2 asked, 5 of 6 used"):
        world.book(wish(flavor))
    # Blazar hasn't written the change, so it is requested again. The earlier promise to the same
    # reservation doesn't count against it.
    changing.move(
        lease.reservation_id, world.hours(1, 7), world.conditions(rule=world.QUOTA), world.NOW
    )
    assert held() == Amount(1, 6)
    world.write_lease(lease.id, {"status": "PENDING"})
    assert held() == Amount(1, 6)
    world.age_promise(lease, 9999)
    repair.Repairer(lambda _: 600).look(world.NOW)
    assert held() == Amount(1, 2)


def test_keystone_is_not_asked_without_a_quota(cloud: Cloud, flavor):
    rule = dataclasses.replace(world.QUOTA, enforced=False)
    limit(cloud, reservation=0, hours=0)
    cloud.keystone.fail(match="limits", status=503)
    request = world.request(flavor, world.hours(1, 3), rule=rule)
    lease = world.book(request)
    world.move(lease, world.hours(1, 9), rule=rule)


def test_limits_are_cached_and_read_again_before_a_refusal(cloud: Cloud, flavor):
    rule = dataclasses.replace(world.QUOTA, cache_time=1000)
    limit(cloud, reservation=1, hours=-1)

    def book():
        return world.book(world.request(flavor, world.hours(1, 3), rule=rule))

    def asked() -> int:
        return sum("limits" in line for line in cloud.keystone.requests)

    book()
    limit(cloud, reservation=3)
    before = asked()
    book()  # Cached limits refuse, so Keystone was asked again.
    assert asked() > before
    before = asked()
    book()
    assert asked() == before
    with pytest.raises(exceptions.QuotaExceeded):
        book()


@pytest.mark.parametrize("fault", [{"status": 503}, {"drop": True}, {"status": 403}])
def test_unavailable_keystone_refuses_only_what_needs_quota(cloud: Cloud, flavor, fault):
    lease = world.book(wish(flavor))
    cloud.keystone.fail(match="limits", **fault)
    for act in (
        lambda: world.book(wish(flavor)),
        lambda: world.move(lease, world.hours(1, 9), rule=world.QUOTA),
    ):
        with pytest.raises(exceptions.ServiceUnavailable, match="Keystone's list of limits"):
            act()
    assert held() == Amount(1, 2)
    world.move(lease, world.hours(1, 2), rule=world.QUOTA)  # This change needs no quota.
    cloud.keystone.mend()
    world.book(wish(flavor))


def test_unregistered_limit_is_refused(cloud: Cloud, flavor):
    lease = world.book(wish(flavor))
    del cloud.keystone.registered["hours"]
    with pytest.raises(exceptions.LimitsNotRegistered, match="hours"):
        world.book(wish(flavor))
    with pytest.raises(exceptions.LimitsNotRegistered):
        world.move(lease, world.hours(1, 9), rule=world.QUOTA)


FEW_RESERVATIONS = {"reservation": ROOM, "hours": -1}
FEW_HOURS = {"reservation": -1, "hours": 2 * ROOM + 1}


def jobs(kind: str, flavor, how_many: int = MANY) -> list[races.Job]:
    # The jobs' times don't overlap, so only the quota can refuse them.
    whole = races.is_whole(kind)
    spans = [world.hours(3 * n, 3 * n + 2) for n in range(how_many)]
    return [races.Job(world.add_lease(span), wish(flavor, span), whole) for span in spans]


@pytest.mark.parametrize("limits", [FEW_RESERVATIONS, FEW_HOURS], ids=["reservations", "hours"])
def test_simultaneous_threads_do_not_exceed_the_quota(kind, cloud: Cloud, flavor, limits):
    limit(cloud, **limits)
    result = races.in_threads(jobs(kind, flavor))
    assert result.outcomes == {"held": ROOM, "quota_exceeded": MANY - ROOM}
    assert held() == Amount(ROOM, 2 * ROOM)


@pytest.mark.parametrize(
    "limits",
    [FEW_RESERVATIONS, pytest.param(FEW_HOURS, marks=pytest.mark.whole)],
    ids=["reservations", "hours"],
)
def test_simultaneous_processes_do_not_exceed_the_quota(
    kind, database: sa.Engine, cloud: Cloud, flavor, limits
):
    limit(cloud, **limits)
    all_jobs = jobs(kind, flavor)
    url = database.url.render_as_string(hide_password=False)
    shares = [all_jobs[: MANY // 2], all_jobs[MANY // 2 :]]
    result = races.in_processes(shares, url, {**cloud.options(), **cloud.limit_options()})
    assert result.outcomes == {"held": ROOM, "quota_exceeded": MANY - ROOM}
    assert held() == Amount(ROOM, 2 * ROOM)


def test_projects_generation_alone_protects_the_quota(
    kind, cloud: Cloud, flavor, monkeypatch: pytest.MonkeyPatch
):
    """The bookings have only the project in common, and no lock keeps them apart."""
    races.unlock(monkeypatch)
    limit(cloud, reservation=ROOM)
    flavors = [flavor, *(world.add_flavor(slots=9, vcpu=1) for _ in range(3))]
    for number in range(3):
        world.add_host(cloud, f"host-{number}")
    racing = [job for each in flavors for job in jobs(kind, each, 4)]
    result = races.in_threads(racing)
    assert set(result.outcomes) <= {"held", "quota_exceeded", "try_again"}
    assert 1 <= result.outcomes["held"] <= ROOM
    assert held().reservations == result.outcomes["held"]


@pytest.mark.parametrize("lock", [True, False], ids=["with-the-lock", "generations-alone"])
def test_simultaneous_bookings_and_extensions_do_not_exceed_the_quota(
    kind, cloud: Cloud, flavor, lock: bool, monkeypatch: pytest.MonkeyPatch
):
    """There are hours for five more: bookings don't get the hours that extensions take."""
    if not lock:
        races.unlock(monkeypatch)
    limit(cloud, reservation=-1, hours=4 * 2 + 5 * 2)
    leases = [world.book(wish(flavor)) for _ in range(4)]
    for lease in leases:
        world.set_status(lease, "UPDATING")
    conditions = world.conditions(rule=world.QUOTA)
    extensions = [
        lambda lease=lease: changing.move(
            lease.reservation_id, world.hours(1, 5), conditions, world.NOW
        )
        for lease in leases
    ]
    result = races.in_threads([*extensions, *jobs(kind, flavor, 8)])
    outcomes = {"held", "quota_exceeded"} | (set() if lock else {"try_again"})
    assert set(result.outcomes) <= outcomes
    assert held().hours <= 4 * 2 + 5 * 2
    if lock:
        assert result.outcomes["held"] == 5
        assert held().hours == 4 * 2 + 5 * 2


LEASE_STATES = ["CREATING", "PENDING", "STARTING", "ACTIVE", "TERMINATING", "TERMINATED"]
LEASE_STATES += ["ERROR", "UPDATING", "DELETING"]


def test_usage_query_equals_a_count_in_python(cloud: Cloud, flavor):
    """The query sums all types, states and lengths as Python does."""
    chosen = random.Random(4)
    host = world.add_host(cloud, "stocks", zone="other")
    flavor = world.add_flavor(slots=1000, vcpu=1, properties='["==", "$service_name", "big"]')
    expected = {project: Amount() for project in (PROJECT, "project-beta")}
    for number in range(60):
        start = chosen.uniform(0, 50)
        length = datetime.timedelta(minutes=chosen.randint(1, 600))
        span = world.hours(start, start)
        span = dataclasses.replace(span, end=span.start + length)
        resource_type = TYPES[number % len(TYPES)]
        instances = chosen.randint(1, 3)
        if resource_type == "flavor:slot":
            lease = world.book(world.request(flavor, span, instances))
        else:
            lease = world.add_stock([host] * instances, span, resource_type)
        project = chosen.choice(sorted(expected))
        state = chosen.choice(LEASE_STATES)
        of_reservation = chosen.choice(["pending", "active", "error", "deleted"])
        world.write_lease(lease.id, {"status": state, "project_id": project})
        db_api.reservation_update(lease.reservation_id, {"status": of_reservation})
        live = (
            reservation_states.derive(state, of_reservation) in reservation_states.LIVE
            and of_reservation != "deleted"
        )
        if live:
            expected[project] += Amount(1, span.hours() * instances)
    with session.reader() as db:
        for project, amount in expected.items():
            assert stored.usage(db, project, TYPES) == amount
        assert stored.usage_by_project(db, TYPES) == expected
        assert stored.usage(db, "nobody", TYPES) == Amount()


def test_standings_of_all_projects(cloud: Cloud, flavor):
    cloud.keystone.registered = {"reservation": 10, "hours": -1}
    cloud.keystone.limits = {("project-limited", "hours"): 5, ("project-limited", "cores"): 1}
    world.book(wish(flavor))
    assert quotas.of_all_projects(world.QUOTA) == [
        quotas.QuotaStanding(PROJECT, Amount(10, -1), Amount(1, 2)),
        quotas.QuotaStanding("project-limited", Amount(10, 5), Amount(), own=frozenset({"hours"})),
    ]
