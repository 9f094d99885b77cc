"""What somebody deletes or changes in Nova of a running reservation is made anew."""

from collections.abc import Callable

import pytest
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.managers import OVER, Manager, state
from tests.functional.db.outage import fail, heal
from warre_blazar.domain.running import backing_names
from warre_blazar.openstack import nova
from warre_blazar.services.booking import lookup
from warre_blazar.services.running import altered, backing

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)
MANAGER = "manager"


class Site:
    """A reservation that runs on two hosts, and another one that begins later."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud, self.manager = cloud, Manager()
        self.hosts = {name: world.add_host(cloud, name, vcpus=4) for name in ("a", "b")}
        flavor = world.add_flavor(slots=9, vcpu=2, extra_specs={"hw:cpu_sockets": "1"})
        self.lease = world.book(world.request(flavor, SPAN, 4))
        world.book(world.request(flavor, world.hours(3, 5), 4))
        self.manager.run(SPAN.start)
        self.flavor_id = backing_names.nova_flavor_id(self.id)

    @property
    def aggregate(self) -> dict:
        (own,) = (each for each in self.cloud.nova.aggregates.values() if each["name"] == self.id)
        return own

    def delete_flavor(self) -> None:
        del self.cloud.nova.flavors[self.flavor_id]

    def delete_aggregate(self) -> None:
        del self.cloud.nova.aggregates[self.aggregate["id"]]

    def take_host_out(self) -> None:
        self.aggregate["hosts"].remove("b")

    def change_metadata(self) -> None:
        self.aggregate["metadata"]["reservation"] = "another"

    def change_specs(self) -> None:
        del self.cloud.nova.flavors[self.flavor_id]["extra_specs"]["hw:cpu_sockets"]

    def seen(self) -> tuple:
        """What a server of the reservation needs in Nova."""
        flavor = self.cloud.nova.flavors[self.flavor_id]
        return (
            {k: v for k, v in flavor.items() if k != "number"},
            set(self.aggregate["hosts"]),
            self.aggregate["metadata"],
        )

    @property
    def id(self) -> str:
        return self.lease.reservation_id

    def reason(self) -> str | None:
        return lookup.get(self.id, None)[0].status_reason

    def tend(self) -> None:
        """Do what a manager does from time to time."""
        timeutils.set_time_override(world.hours(1.5, 2).start)
        altered.look(MANAGER)
        backing.reconcile(self.manager.opener.open)
        timeutils.clear_time_override()


@pytest.fixture
def site(cloud: Cloud) -> Site:
    return Site(cloud)


DEEDS = (
    Site.delete_flavor,
    Site.delete_aggregate,
    Site.take_host_out,
    Site.change_metadata,
    Site.change_specs,
)


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__)
def test_what_is_missing_is_made_anew(site: Site, deed: Callable, caplog):
    server = site.cloud.nova.boot(site.flavor_id, world.PROJECT, host="a")
    before = site.seen()
    deed(site)
    altered.look(MANAGER)
    reason = site.reason() or ""
    assert reason.startswith(f"Somebody has changed it in Nova: reservation {site.id} ")
    site.tend()
    assert site.seen() == before
    assert (world.phase(site.lease), site.reason()) == ("open", None)
    assert f"changed Nova: reservation {site.id} " in caplog.text
    assert server in site.cloud.nova.servers
    site.cloud.nova.boot(site.flavor_id, world.PROJECT, host="b")
    caplog.clear()
    site.tend()
    assert "changed Nova" not in caplog.text


def test_what_somebody_has_added_stays(site: Site):
    site.cloud.nova.flavors[site.flavor_id]["access"].add("a friend")
    site.aggregate["hosts"].append("c")
    site.tend()
    assert "a friend" in site.cloud.nova.flavors[site.flavor_id]["access"]
    assert "c" in site.aggregate["hosts"]


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__)
def test_end_leaves_nothing_of_a_reservation_whose_backing_was_changed(site: Site, deed: Callable):
    site.cloud.nova.boot(site.flavor_id, world.PROJECT, host="a")
    deed(site)
    altered.look(MANAGER)
    site.manager.run(SPAN.end)
    for _ in range(2):
        backing.reconcile(site.manager.opener.open)
    assert state(site.lease) == OVER
    assert site.cloud.nova.servers == {}
    assert site.flavor_id not in site.cloud.nova.flavors
    assert site.cloud.placement.allocations == {}


def test_reservation_that_moves_meanwhile_is_left_alone(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    def moved() -> list:
        fail(site.hosts["b"])
        world.add_host(site.cloud, "c", vcpus=4)
        heal()
        backing.reconcile(site.manager.opener.open)
        return found()

    found = nova.aggregates
    monkeypatch.setattr(nova, "aggregates", moved)
    altered.look(MANAGER)
    assert "c" in site.aggregate["hosts"]
    assert (world.phase(site.lease), site.reason()) == ("open", None)


def test_look_takes_two_requests_and_changes_nothing(site: Site):
    requests = site.cloud.nova.requests
    requests.clear()
    site.tend()
    assert [each.split("?")[0].split("/v2.1")[-1] for each in requests] == [
        "/flavors/detail",
        "/flavors/detail",
        "/os-aggregates",
    ]


def test_nothing_is_asked_without_a_running_reservation(site: Site):
    site.manager.run(SPAN.end)
    site.cloud.nova.requests.clear()
    altered.look(MANAGER)
    assert site.cloud.nova.requests == []


def test_host_whose_service_was_deleted_is_no_change_of_the_aggregate(site: Site):
    fail(site.hosts["b"])
    site.take_host_out()
    altered.look(MANAGER)
    assert world.phase(site.lease) == "open"
