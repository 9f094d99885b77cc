"""Preemptible servers give way to reservations, and cost sites without them no request."""

import datetime
from collections.abc import Iterator

import pytest

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.managers import Manager
from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.hosts import allocations
from warre_blazar.domain.running.preemptible import WARNING
from warre_blazar.openstack import preemptible_flavors
from warre_blazar.services.running import backing, preemptible

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(2, 6)
MINUTE = times.MINUTE
SPEC = {"blazar:preemptible": "true"}


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    preemptible_flavors.forget()
    yield
    preemptible_flavors.forget()


@pytest.fixture
def servers(cloud: Cloud) -> dict[str, str]:
    """Two preemptible servers on hosts a and b, and an ordinary one on host a."""
    for name in "ab":
        world.add_host(cloud, name)
    kinds = {"pre": cloud.nova.make_flavor("pre", SPEC), "usual": cloud.nova.make_flavor("usual")}
    preemptible_flavors.read()
    wanted = {"a": ("pre", "a"), "b": ("pre", "b"), "ordinary": ("usual", "a")}
    return {
        name: cloud.nova.boot(kinds[kind], "other", name, host=host)
        for name, (kind, host) in wanted.items()
    }


def left(cloud: Cloud) -> set[str]:
    return {server["name"] for server in cloud.nova.servers.values()}


def book(span=SPAN) -> tuple[world.Lease, str]:
    """Book one instance, and return it with the name of its host."""
    lease = world.plan(world.request(world.add_flavor(), span, 1))
    with session.reader() as db:
        (use,) = allocations.hosts_of(db, lease.reservation_id)
    return lease, use.service_name


def look(now: datetime.datetime, ahead: datetime.timedelta = times.NO_TIME) -> None:
    preemptible.look(now, "manager", ahead)


def test_start_deletes_those_on_its_hosts(cloud: Cloud, servers: dict[str, str]):
    lease, host = book()
    backing.prepare(lease.reservation_id)
    assert left(cloud) == {"a", "b", "ordinary"} - {host}


def test_start_without_such_a_flavor_asks_nova_nothing_more(cloud: Cloud, servers: dict[str, str]):
    cloud.nova.flavors = {
        i: flavor for i, flavor in cloud.nova.flavors.items() if flavor["name"] != "pre"
    }
    assert preemptible_flavors.read() == frozenset()
    lease, _ = book()
    cloud.nova.requests.clear()
    backing.prepare(lease.reservation_id)
    lists = ("GET /v2.1/servers", "GET /v2.1/flavors/detail")
    assert [line for line in cloud.nova.requests if line.startswith(lists)] == []


def test_nova_that_does_not_list_servers_holds_no_start_up(cloud: Cloud, servers: dict[str, str]):
    lease, host = book()
    cloud.nova.fail(match="GET /v2.1/servers", status=503)
    backing.open_to_project(lease.reservation_id)
    assert left(cloud) == {"a", "b", "ordinary"}
    cloud.nova.mend()
    Manager().run(SPAN.start)
    look(SPAN.start + MINUTE)
    assert left(cloud) == {"a", "b", "ordinary"} - {host}


def test_server_that_comes_during_the_reservation_is_deleted_and_told(
    cloud: Cloud, servers: dict[str, str], caplog: pytest.LogCaptureFixture
):
    _, host = book()
    Manager().run(SPAN.start)
    flavor = cloud.nova.servers[servers["b" if host == "a" else "a"]]["flavor"]
    cloud.nova.boot(flavor, "other", "late", host=host)
    look(SPAN.start + 5 * MINUTE)
    assert left(cloud) == {"a", "b", "ordinary"} - {host}
    assert "allow_preemptibles must be false" in caplog.text


def test_servers_are_warned_before_the_start_if_the_site_wants_it(
    cloud: Cloud, servers: dict[str, str]
):
    lease, host = book()
    warned, other = servers[host], servers["b" if host == "a" else "a"]
    look(SPAN.start - 30 * MINUTE)
    assert WARNING not in cloud.nova.servers[warned].get("metadata", {})
    for _ in range(2):
        look(SPAN.start - 30 * MINUTE, ahead=times.HOUR)
    moment = f"{SPAN.start.isoformat()}+00:00"
    assert cloud.nova.servers[warned]["metadata"] == {WARNING: moment}
    assert "metadata" not in cloud.nova.servers[other]
    assert sum("metadata" in line for line in cloud.nova.requests) == 1
    with session.writer() as db:
        allocations.release(db, lease.reservation_id)
    look(SPAN.start - 20 * MINUTE, ahead=times.HOUR)
    assert cloud.nova.servers[warned]["metadata"] == {}


def test_servers_stay_when_nobody_has_reserved_their_host(cloud: Cloud, servers: dict[str, str]):
    look(SPAN.start)
    book()
    look(SPAN.start - MINUTE)
    Manager().run(SPAN.start)
    Manager().run(SPAN.end)
    flavor = cloud.nova.make_flavor("again", SPEC)
    preemptible_flavors.forget()
    cloud.nova.boot(flavor, "other", "later", host="a")
    look(SPAN.end)
    assert "later" in left(cloud)
