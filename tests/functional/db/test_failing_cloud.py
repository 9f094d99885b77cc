"""Nova or Placement is unavailable or refuses, at each step of a booking, a start and an end."""

import datetime

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.fakes.service import Request
from tests.functional.db import databases, world
from warre_blazar import times
from warre_blazar.domain.running import backing_names
from warre_blazar.errors import exceptions
from warre_blazar.openstack import keystone
from warre_blazar.services.running import backing, blazar_start_end

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)
GONE = {
    "warre_reservations",
    "warre_backings",
    "instance_reservations",
    "computehost_allocations",
    "leases",
}
# The fault, and the code of the error with which an attempt fails then.
FAILURES = {
    "away": ({"status": 503}, {"service_unavailable"}),
    "bad request": ({"status": 400}, {"service_refused"}),
    "forbidden": ({"status": 403}, {"service_refused"}),
    # A step may expect a 404 or a 409.
    "not found once": ({"status": 404, "times": 1}, {"service_refused", None}),
    "conflict once": ({"status": 409, "times": 1}, {"service_refused", None}),
    "away once": ({"status": 503, "times": 1}, {"service_unavailable"}),
}
# keystoneauth repeats a request after a lost connection by itself, after half a second. The service
# may still execute a request whose connection was lost.
LOST = {
    "cut": ({"drop": True}, {"service_unavailable"}),
    # The step is executed twice.
    "answer lost once": ({"lose": True, "times": 1}, {None}),
}
# For tests that wait for a client's timeout.
ONE_DATABASE = pytest.mark.parametrize("kind", ["sqlite"], indirect=True, scope="session")


@pytest.fixture
def flavor(cloud: Cloud):
    """A flavor with 3 slots, on two hosts."""
    world.add_host(cloud, "a", vcpus=4)
    world.add_host(cloud, "b", vcpus=4)
    return world.add_flavor(slots=3, extra_specs={"hw:cpu_sockets": "1"})


def requests_of(cloud: Cloud, what) -> list[tuple[str, int]]:
    """Each request that ``what`` makes, as the service and the request's number there."""
    cloud.mend()
    what()
    requests = [
        (name, n + 1)
        for name in ("nova", "placement")
        for n in range(len(getattr(cloud, name).requests))
    ]
    cloud.mend()
    return requests


def outcome(what) -> str | None:
    """The code of the error that ``what`` raises."""
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
    """Parametrize a test with each fault, by name."""
    ids = [name.replace(" ", "-") for name in failures]
    return pytest.mark.parametrize(("fault", "expected"), failures.values(), ids=ids)


def make(lease: world.Lease) -> None:
    """Make a planned backing, as a manager does shortly before the start."""
    backing.make_planned(lease.reservation_id)


def check_making(
    database: sa.Engine, cloud: Cloud, flavor, fault, expected, ends: datetime.datetime = world.NOW
) -> None:
    """Repeat the making of a backing, and let another one of its requests fail each time.

    The next attempt makes it. If the lease is deleted before that, nothing is left.

    :param ends: when nothing is left any more.
    """
    request = world.request(flavor, SPAN, 3)
    first = world.plan(request)
    steps = requests_of(cloud, lambda: make(first))
    databases.delete_leases()
    assert_all_gone(database, cloud)
    assert len(steps) >= 5
    # What the next attempt asks of the services doesn't depend on the kind of database.
    ways = (False, True) if database.dialect.name == "sqlite" else (False,)
    for service, n in steps:
        for is_tried_again in ways:
            lease = world.plan(request)
            cloud.mend()
            getattr(cloud, service).fail(first=n, **fault)
            said = outcome(lambda lease=lease: make(lease))
            assert said in expected, (service, n)
            assert world.phase(lease) == ("making" if said else "made")
            cloud.mend()
            if is_tried_again:
                make(lease)
                assert world.phase(lease) == "made"
                assert set(cloud.nova.flavors) == {
                    backing_names.nova_flavor_id(lease.reservation_id)
                }
                assert len(cloud.nova.aggregates) == len(cloud.placement.classes) == 1
            databases.delete_leases()
            timeutils.set_time_override(ends)
            assert_all_gone(database, cloud)
            timeutils.clear_time_override()


@cases(FAILURES)
def test_making_with_a_failing_request(database: sa.Engine, cloud: Cloud, flavor, fault, expected):
    check_making(database, cloud, flavor, fault, expected)


@ONE_DATABASE
@cases(LOST)
def test_making_with_lost_connections(database, cloud: Cloud, flavor, fault, expected):
    check_making(database, cloud, flavor, fault, expected, world.NOW + times.ANSWER_MAY_BE_LATE)


def begun(flavor) -> world.Lease:
    lease = world.book(world.request(flavor, SPAN, 3))
    world.begin(lease)
    return lease


def check_start(cloud: Cloud, flavor, fault) -> None:
    """Let another request of a start fail each time: ``reconcile`` opens the reservation."""
    lease = world.book(world.request(flavor, SPAN, 3))
    steps = requests_of(cloud, lambda: world.begin(lease))
    world.finish(lease)
    for service, n in steps:
        lease = world.book(world.request(flavor, SPAN, 3))
        cloud.mend()
        getattr(cloud, service).fail(first=n, **fault)
        outcome(lambda lease=lease: blazar_start_end.start(lease.reservation_id, lease.span.start))
        cloud.mend()
        world.set_status(lease, "ACTIVE")
        backing.reconcile()
        assert cloud.nova.flavors[backing_names.nova_flavor_id(lease.reservation_id)]["access"] == {
            world.PROJECT
        }
        assert sum(sum(c.values()) for c in cloud.placement.offered().values()) == 3
        world.finish(lease)
        assert cloud.leftovers() == {}


def check_end(cloud: Cloud, flavor, fault) -> None:
    """Let another request of an end fail each time: the end frees the slots all the same."""
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
def test_start_and_end_with_a_failing_request(cloud: Cloud, flavor, fault, expected):
    check_start(cloud, flavor, fault)
    check_end(cloud, flavor, fault)


@ONE_DATABASE
@cases({name: FAILURES[name] for name in ("forbidden", "away once")})
def test_start_and_end_with_a_refused_request(database, cloud: Cloud, flavor, fault, expected):
    check_start(cloud, flavor, fault)
    check_end(cloud, flavor, fault)


@ONE_DATABASE
@cases({"answer lost once": LOST["answer lost once"]})
def test_start_with_lost_connections(database, cloud: Cloud, flavor, fault, expected):
    check_start(cloud, flavor, fault)


@pytest.mark.parametrize("service", ["keystone", "nova", "placement"])
def test_booking_needs_no_service(database: sa.Engine, cloud: Cloud, flavor, service):
    getattr(cloud, service).stop()
    lease = world.plan(world.request(flavor, SPAN))
    assert outcome(lambda: make(lease)) == "service_unavailable"
    cloud.mend()
    databases.delete_leases()
    assert_all_gone(database, cloud)


@ONE_DATABASE
def test_provider_made_at_the_same_moment_is_used(cloud: Cloud, flavor):
    """Simultaneous starts may find the same provider missing."""
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
def test_backing_is_removed_although_others_write_to_the_provider(cloud: Cloud, flavor):
    """Placement then answers 409, as it does if servers use the class."""
    booked = world.book(world.request(flavor, SPAN))
    world.begin(booked)
    cloud.placement.fail(match="DELETE .*inventories", times=1, status=409)
    backing.remove(booked.reservation_id, patience=0)
    assert cloud.is_clean()


@ONE_DATABASE
@pytest.mark.parametrize(
    "fault",
    [{"hang": True}, {"drop": True}, {"status": 504}, {"status": 502}],
    ids=["no answer in time", "connection lost", "proxy's 504", "proxy's 502"],
)
def test_what_nova_makes_without_an_answer_of_its_own_is_removed_later(
    database: sa.Engine, cloud: Cloud, flavor, conf, fault
):
    conf.config(group="warre", request_timeout=1)
    keystone.service_session.cache_clear()
    lease = world.plan(world.request(flavor, SPAN))
    cloud.nova.fail(**fault)
    assert outcome(lambda: make(lease)) == "service_unavailable"
    cloud.mend()
    databases.delete_leases()
    # Nova may still carry out the request.
    backing.reconcile()
    assert cloud.leftovers() == {}
    name = lease.reservation_id
    cloud.nova.aggregates[1] = {"id": 1, "name": name, "hosts": [], "metadata": {}}
    backing.reconcile()
    assert cloud.leftovers() == {}
    timeutils.set_time_override(world.NOW + times.ANSWER_MAY_BE_LATE)
    assert_all_gone(database, cloud)


@pytest.mark.parametrize(
    ("fault", "code"),
    [({"status": 503}, "service_unavailable"), ({"status": 401}, "service_refused")],
    ids=["away", "unauthorized"],
)
def test_making_without_login_leaves_nothing(
    database: sa.Engine, cloud: Cloud, flavor, fault, code
):
    lease = world.plan(world.request(flavor, SPAN))
    cloud.keystone.fail(**fault)
    assert outcome(lambda: make(lease)) == code
    cloud.mend()
    databases.delete_leases()
    assert_all_gone(database, cloud)


def test_lease_deleted_during_the_making_leaves_nothing_behind(
    database: sa.Engine, cloud: Cloud, flavor
):
    """Another manager deletes the lease and reconciles, at each step of the making."""
    request = world.request(flavor, SPAN)
    first = world.plan(request)
    steps = requests_of(cloud, lambda: make(first))
    databases.delete_leases()
    assert_all_gone(database, cloud)
    for service, n in steps:
        lease = world.plan(request)
        cloud.mend()
        getattr(cloud, service).fail(first=n, times=1, then=lambda _: delete_all(cloud))
        outcome(lambda lease=lease: make(lease))
        cloud.mend()
        # What was made after the deletion goes as soon as no request of the making can come late.
        timeutils.set_time_override(world.NOW + times.ANSWER_MAY_BE_LATE)
        assert_all_gone(database, cloud)
        timeutils.clear_time_override()


def delete_all(cloud: Cloud) -> None:
    for service in cloud.services:
        service.faults.clear()
    databases.delete_leases()
    backing.reconcile()


def test_failed_reconciliation_does_not_prevent_others(cloud: Cloud, flavor):
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
