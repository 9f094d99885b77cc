"""Nova and Placement away, or refusing, at every step of a booking, a start and an end."""

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api

from tests.fakes.cloud import Cloud
from tests.fakes.service import Request
from tests.functional.db import databases, world
from warre_blazar import exceptions
from warre_blazar.clients import keystone
from warre_blazar.services import backing, reservations

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)
GONE = {
    "warre_reservations",
    "warre_backings",
    "instance_reservations",
    "computehost_allocations",
    "leases",
}
# How it fails, and what a booking says then.
FAILURES = {
    "away": ({"status": 503}, {"service_unavailable"}),
    "bad request": ({"status": 400}, {"service_refused"}),
    "forbidden": ({"status": 403}, {"service_refused"}),
    # A 404 or 409 may be an answer that a step expects.
    "not found once": ({"status": 404, "times": 1}, {"service_refused", None}),
    "conflict once": ({"status": 409, "times": 1}, {"service_refused", None}),
    "away once": ({"status": 503, "times": 1}, {"service_unavailable"}),
}
# keystoneauth tries a lost connection again by itself, after half a second.
LOST = {
    "cut": ({"drop": True}, {"service_unavailable"}),
    # The step is done twice.
    "answer lost once": ({"lose": True, "times": 1}, {None}),
}
# For what takes seconds of a client's patience.
ONE_DATABASE = pytest.mark.parametrize("kind", ["sqlite"], indirect=True, scope="module")


@pytest.fixture
def flavor(cloud: Cloud):
    """A flavor of 3 slots, on two hosts."""
    world.add_host(cloud, "a", vcpus=4)
    world.add_host(cloud, "b", vcpus=4)
    return world.add_flavor(slots=3, extra_specs={"hw:cpu_sockets": "1"})


def requests_of(cloud: Cloud, what) -> list[tuple[str, int]]:
    """Each request that ``what`` makes, as its service and its number there."""
    cloud.mend()
    what()
    found = [
        (name, n + 1)
        for name in ("nova", "placement")
        for n in range(len(getattr(cloud, name).requests))
    ]
    cloud.mend()
    return found


def outcome(what) -> str | None:
    """The code of what ``what`` raises."""
    try:
        what()
    except exceptions.WarreError as error:
        return error.code
    return None


def assert_all_gone(database: sa.Engine, cloud: Cloud) -> None:
    backing.reconcile()
    assert cloud.leftovers() == {}
    assert GONE & set(databases.dump(database)) == set()


def cases(failures) -> pytest.MarkDecorator:
    """A test of each failure by name."""
    ids = [name.replace(" ", "-") for name in failures]
    return pytest.mark.parametrize(("fault", "expected"), failures.values(), ids=ids)


def check_booking(database: sa.Engine, cloud: Cloud, flavor, fault, expected) -> None:
    """Let each request of a booking fail in its turn."""
    request = world.request(flavor, SPAN, 3)
    steps = requests_of(cloud, lambda: world.book(request))
    databases.delete_leases()
    assert_all_gone(database, cloud)
    assert len(steps) >= 5
    for service, n in steps:
        cloud.mend()
        getattr(cloud, service).fail(first=n, **fault)
        said = outcome(lambda: world.book(request))
        assert said in expected, (service, n)
        if said:
            # What is left in the services, if anything, is noted; nothing else is.
            assert GONE & set(databases.dump(database)) <= {"warre_backings"}, (service, n)
        cloud.mend()
        databases.delete_leases()
        assert_all_gone(database, cloud)


@cases(FAILURES)
def test_booking(database: sa.Engine, cloud: Cloud, flavor, fault, expected):
    check_booking(database, cloud, flavor, fault, expected)


@ONE_DATABASE
@cases(LOST)
def test_booking_with_lost_connections(database, cloud: Cloud, flavor, fault, expected):
    check_booking(database, cloud, flavor, fault, expected)


def begun(flavor) -> world.Lease:
    lease = world.book(world.request(flavor, SPAN, 3))
    world.begin(lease)
    return lease


def check_start(cloud: Cloud, flavor, fault) -> None:
    """Let each request of a start fail in its turn: ``reconcile`` makes up for it."""
    lease = world.book(world.request(flavor, SPAN, 3))
    steps = requests_of(cloud, lambda: world.begin(lease))
    world.finish(lease)
    for service, n in steps:
        lease = world.book(world.request(flavor, SPAN, 3))
        cloud.mend()
        getattr(cloud, service).fail(first=n, **fault)
        outcome(lambda lease=lease: reservations.start(lease.reservation_id))
        cloud.mend()
        world.set_status(lease, "ACTIVE")
        backing.reconcile()
        assert cloud.nova.flavors[backing.nova_flavor(lease.reservation_id)]["access"] == {
            world.PROJECT
        }
        assert sum(sum(c.values()) for c in cloud.placement.offered().values()) == 3
        world.finish(lease)
        assert cloud.leftovers() == {}


def check_end(cloud: Cloud, flavor, fault) -> None:
    """Let each request of an end fail in its turn: it ends all the same and frees the slots."""
    lease = begun(flavor)
    steps = requests_of(cloud, lambda: world.finish(lease))
    for service, n in steps:
        lease = begun(flavor)
        cloud.mend()
        getattr(cloud, service).fail(first=n, **fault)
        world.finish(lease)
        cloud.mend()
        world.book(world.request(flavor, SPAN, 3))
        databases.delete_leases()
        backing.reconcile()
        assert cloud.leftovers() == {}, (service, n)


@cases({"away": FAILURES["away"]})
def test_start_and_end(cloud: Cloud, flavor, fault, expected):
    check_start(cloud, flavor, fault)
    check_end(cloud, flavor, fault)


@ONE_DATABASE
@cases({name: FAILURES[name] for name in ("forbidden", "away once")})
def test_start_and_end_refused(database, cloud: Cloud, flavor, fault, expected):
    check_start(cloud, flavor, fault)
    check_end(cloud, flavor, fault)


@ONE_DATABASE
@cases({"answer lost once": LOST["answer lost once"]})
def test_start_with_lost_connections(database, cloud: Cloud, flavor, fault, expected):
    check_start(cloud, flavor, fault)


@pytest.mark.parametrize("service", ["keystone", "nova", "placement"])
def test_connections_are_refused(database: sa.Engine, cloud: Cloud, flavor, service):
    getattr(cloud, service).stop()
    assert outcome(lambda: world.book(world.request(flavor, SPAN))) == "service_unavailable"
    cloud.mend()
    assert_all_gone(database, cloud)


@ONE_DATABASE
def test_a_provider_that_somebody_makes_meanwhile(cloud: Cloud, flavor):
    """Starts that are due at once may miss the same one."""
    booked = world.book(world.request(flavor, SPAN))
    placement = cloud.placement
    for provider_id in [i for i, p in placement.providers.items() if p["parent"]]:
        del placement.providers[provider_id]

    def make(request: Request) -> None:
        placement.add_provider(request.body["name"], request.body["parent_provider_uuid"])

    placement.fail(match="POST .*resource_providers", times=1, then=make)
    world.begin(booked)
    assert list(placement.offered()) == ["blazar_a"]


@ONE_DATABASE
def test_no_answer_in_time(database: sa.Engine, cloud: Cloud, flavor, conf):
    conf.config(group="warre", request_timeout=1)
    keystone.service_session.cache_clear()
    cloud.nova.fail(hang=True)
    assert outcome(lambda: world.book(world.request(flavor, SPAN))) == "service_unavailable"
    cloud.mend()
    assert_all_gone(database, cloud)


@pytest.mark.parametrize(
    ("fault", "code"),
    [({"status": 503}, "service_unavailable"), ({"status": 401}, "service_refused")],
    ids=["away", "unauthorized"],
)
def test_no_login(database: sa.Engine, cloud: Cloud, flavor, fault, code):
    cloud.keystone.fail(**fault)
    assert outcome(lambda: world.book(world.request(flavor, SPAN))) == code
    cloud.mend()
    assert_all_gone(database, cloud)


def test_a_lease_deleted_while_it_is_made(database: sa.Engine, cloud: Cloud, flavor):
    """By another manager, whose reconciliation comes between too, at every step."""
    request = world.request(flavor, SPAN)
    steps = requests_of(cloud, lambda: world.book(request))
    databases.delete_leases()
    backing.reconcile()
    for service, n in steps:
        cloud.mend()
        lease = world.add_lease(SPAN)
        getattr(cloud, service).fail(first=n, times=1, then=lambda _: delete_all(cloud))
        assert outcome(lambda lease=lease: reservations.book(lease.reservation_id, request))
        cloud.mend()
        assert_all_gone(database, cloud)


def delete_all(cloud: Cloud) -> None:
    for service in cloud.services:
        service.faults.clear()
    databases.delete_leases()
    backing.reconcile()


def test_one_failure_does_not_keep_others_from_reconciliation(cloud: Cloud, flavor):
    for _ in range(3):
        world.book(world.request(flavor, SPAN))
    first = min(cloud.nova.flavors)
    for lease in db_api.lease_list():
        db_api.lease_destroy(lease["id"])
    cloud.nova.fail(match=f"DELETE .*{first}", status=403)
    backing.reconcile()
    assert list(cloud.nova.flavors) == [first]
    cloud.mend()
    backing.reconcile()
    assert cloud.leftovers() == {}
