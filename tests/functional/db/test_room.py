"""Who holds the room of reservations that end: servers, and moves that nobody has confirmed."""

import logging

import pytest

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.managers import OVER, RUNNING, Manager, state
from warre_blazar import timer
from warre_blazar.domain.running import backing_names
from warre_blazar.services.running import backing

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)
LATER = world.hours(3, 5)


def nova_flavor(lease: world.Lease) -> str:
    return backing_names.nova_flavor_id(lease.reservation_id)


def booked(flavor, span: world.Span = SPAN) -> world.Lease:
    return world.book(world.request(flavor, span))


class Site:
    """Two running reservations of a project, each of a whole host, and a server in the first."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        for name in ("a", "b"):
            world.add_host(cloud, name, vcpus=2, properties={"name": name})
        self.flavors = {
            name: world.add_flavor(vcpu=2, properties=f'["==", "$name", "{name}"]')
            for name in ("a", "b")
        }
        self.first = booked(self.flavors["a"])
        self.second = booked(self.flavors["b"], world.hours(1, 9))
        self.manager = Manager()
        self.manager.run(SPAN.start)
        self.server = self.boot(self.first, "a")

    def boot(self, lease: world.Lease, host: str) -> str:
        return self.cloud.nova.boot(nova_flavor(lease), world.PROJECT, "s1", host=host)

    def free(self, host: str) -> int:
        """The free processors of a host in Placement."""
        (provider_id,) = (i for i, p in self.cloud.placement.providers.items() if p["name"] == host)
        return self.cloud.placement._free(provider_id, "VCPU")


@pytest.fixture
def site(cloud: Cloud) -> Site:
    return Site(cloud)


def test_unconfirmed_resize_out_is_confirmed_before_the_next_start(site: Site):
    following = booked(site.flavors["a"], LATER)
    migration = site.cloud.nova.move(site.server, "b", nova_flavor(site.second))
    assert site.free("a") == 0
    site.manager.run(LATER.start)
    assert state(site.first) == OVER
    assert site.cloud.nova.migrations[migration]["status"] == "confirmed"
    assert site.free("a") == 2
    site.manager.run(LATER.start)
    assert state(following) == RUNNING
    # Its owner has moved the server into the other reservation, and keeps it there.
    assert site.cloud.nova.servers[site.server]["status"] == "ACTIVE"
    site.boot(following, "a")


def test_unconfirmed_resize_to_an_ordinary_flavor_is_confirmed_at_the_end(site: Site):
    site.cloud.add_host("other", inventories={"VCPU": {"total": 9}})
    site.cloud.nova.move(site.server, "other", site.cloud.nova.make_flavor("m1"))
    site.manager.run(SPAN.end)
    assert state(site.first) == OVER
    assert site.free("a") == 2
    assert site.cloud.nova.servers[site.server]["host"] == "other"
    assert nova_flavor(site.first) not in site.cloud.nova.flavors


def test_unconfirmed_resize_on_the_same_host_is_confirmed_at_the_end(cloud: Cloud):
    """With ``allow_resize_to_same_host``, the migration's source is where the server is now."""
    world.add_host(cloud, "a", vcpus=4)
    first, second = (booked(world.add_flavor(name=n, vcpu=2)) for n in ("first", "second"))
    manager = Manager()
    manager.run(SPAN.start)
    server = cloud.nova.boot(nova_flavor(first), world.PROJECT, host="a")
    migration = cloud.nova.move(server, "a", nova_flavor(second))
    world.finish(first)
    assert cloud.nova.migrations[migration]["status"] == "confirmed"
    assert cloud.nova.servers[server]["flavor"] == nova_flavor(second)
    assert nova_flavor(first) not in cloud.nova.flavors


def with_server_on_a(cloud: Cloud) -> tuple[Manager, world.Lease, str]:
    """A reservation that runs on the full hosts "a" and "b", with a server on "a"."""
    for name in ("a", "b"):
        world.add_host(cloud, name, vcpus=2)
    lease = world.book(world.request(world.add_flavor(slots=2, vcpu=2), SPAN, 2))
    manager = Manager()
    manager.run(SPAN.start)
    server = cloud.nova.boot(nova_flavor(lease), world.PROJECT, host="a")
    return manager, lease, server


def test_unconfirmed_cold_migration_within_a_reservation_goes_with_its_server(cloud: Cloud):
    manager, lease, server = with_server_on_a(cloud)
    cloud.nova.move(server, "b")
    manager.run(SPAN.end)
    assert state(lease) == OVER
    assert cloud.is_clean()
    assert cloud.placement.allocations == {}


def test_evacuated_server_leaves_nothing_on_the_host_that_never_came_back(cloud: Cloud):
    manager, lease, server = with_server_on_a(cloud)
    migration = cloud.nova.move(server, "b")
    cloud.nova.migrations[migration] |= {"status": "done", "migration_type": "evacuation"}
    # Until nova-compute runs on the failed host again, the server itself holds room on both.
    cloud.placement.allocations[server] |= cloud.placement.allocations.pop(migration)
    cloud.nova.servers[server]["status"] = "ACTIVE"
    manager.run(SPAN.end)
    assert state(lease) == OVER
    assert cloud.is_clean()
    assert cloud.placement.allocations == {}


def test_move_that_is_reverted_in_the_end_loses_its_server(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    migration = site.cloud.nova.move(site.server, "b", nova_flavor(site.second))
    site.cloud.nova.migrations[migration]["status"] = "reverting"
    looks = 0

    class Clock(timer.Clock):
        """Nova finishes the revert while the end waits."""

        def sleep(self, seconds: float) -> None:
            nonlocal looks
            looks += 1
            if looks == 1:
                site.cloud.nova.migrations[migration]["status"] = "finished"
                site.cloud.nova.revert(site.server)

    monkeypatch.setattr(timer, "clock", Clock())
    site.manager.run(SPAN.end)
    assert looks == 2
    assert site.server not in site.cloud.nova.servers
    assert site.free("a") == 2


def test_end_without_hidden_holders_asks_placement_once_more(site: Site):
    site.cloud.placement.requests.clear()
    site.manager.run(SPAN.end)
    looks = [r for r in site.cloud.placement.requests if "usages" in r or "allocations" in r]
    assert looks == ["GET /usages"] * 2
    assert "GET /v2.1/os-migrations" not in site.cloud.nova.requests


def test_end_while_placement_is_away_deletes_the_servers(site: Site):
    site.cloud.placement.fail(status=503)
    site.manager.run(SPAN.end)
    assert state(site.first) == OVER
    assert site.server not in site.cloud.nova.servers
    site.cloud.placement.mend()
    backing.reconcile()
    assert nova_flavor(site.first) not in site.cloud.nova.flavors


def test_holder_that_stays_is_named(site: Site, caplog: pytest.LogCaptureFixture):
    site.cloud.nova.move(site.server, "b", nova_flavor(site.second))
    site.cloud.nova.down.add("a")
    with caplog.at_level(logging.WARNING):
        backing.remove_or_leave(site.first.reservation_id)
    said = caplog.records[-1].getMessage()
    assert site.server in said and "s1" in said and world.PROJECT in said and "on a" in said
    assert "isn't confirmed" in said
    site.cloud.nova.down.clear()
    backing.remove_or_leave(site.first.reservation_id)
    assert site.free("a") == 2
