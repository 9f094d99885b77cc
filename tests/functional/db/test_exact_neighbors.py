"""Blazar's own resource types with exact admission, alone and beside bookings of flavors."""

import dataclasses
import datetime
import json
from typing import Any

import pytest
import sqlalchemy as sa
from blazar import context
from blazar.db import api as db_api
from blazar.manager import exceptions as manager_exc

from tests.fakes.cloud import Cloud
from tests.functional.db import oversold, races, world
from warre_blazar.db import hosts, session
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.plugins import exact
from warre_blazar.services.booking import admission

pytestmark = pytest.mark.usefixtures("database", "cloud")

SPAN = world.hours(1, 3)
ROOM = 5
MANY = 40
SOURCE = {
    "id": "source",
    "vcpus": 2,
    "ram": 2048,
    "disk": 20,
    "OS-FLV-EXT-DATA:ephemeral": 0,
    "extra_specs": {},
}
PROPERTIES = {"hypervisor_properties": "", "resource_properties": ""}
#: What a client asks for, by resource type.
ASKED: dict[str, dict[str, Any]] = {
    "physical:host": {"min": 1, "max": 1, "before_end": "default", **PROPERTIES},
    "virtual:instance": {
        "vcpus": 2,
        "memory_mb": 2048,
        "disk_gb": 20,
        "amount": 1,
        "affinity": None,
        "resource_properties": "",
    },
    "flavor:instance": {"flavor_id": "source", "amount": 1, "affinity": None},
}


class _Made:
    id = 7


class NoNova:
    """What Nova and Placement are asked for after the booking doesn't matter here."""

    def _create_resources(self, made: Any) -> Any:
        return _Made, None, _Made

    def cleanup_resources(self, made: Any) -> None:
        """Nothing was made."""

    def update_resources(self, reservation_id: str) -> None:
        """Nothing is changed."""


class Instances(NoNova, exact.ExactVirtualInstancePlugin):
    pass


class Flavors(exact.ExactFlavorPlugin):
    def _create_resources(self, made: Any) -> Any:
        return _Made.id, _Made.id

    def _get_flavor_details(self, flavor_id: str) -> Any:
        return {}, {}, dict(SOURCE)


PLUGINS = {
    "physical:host": exact.ExactPhysicalHostPlugin,
    "virtual:instance": Instances,
    "flavor:instance": Flavors,
}


def reserve(resource_type: str, lease: world.Lease, span: Span = SPAN, **changes: Any) -> None:
    """Reserve for an existing lease, as Blazar's manager does."""
    dates = {"start_date": span.start, "end_date": span.end}
    values = {"lease_id": lease.id, **dates, **ASKED[resource_type], **changes}
    with context.BlazarContext(user_id="user", project_id=world.PROJECT):
        plugin = PLUGINS[resource_type]()
        plugin.allocation_candidates(dict(values))
        resource_id = plugin.reserve_resource(lease.reservation_id, values)
    session.change(
        lambda _: db_api.reservation_update(lease.reservation_id, {"resource_id": resource_id})
    )


@dataclasses.dataclass(frozen=True)
class StockJob:
    """A reservation of one of Blazar's own types."""

    resource_type: str
    lease: world.Lease

    def __call__(self) -> None:
        try:
            reserve(self.resource_type, self.lease)
        except manager_exc.NotEnoughHostsAvailable:
            raise exceptions.HostsExhausted(1, 0, 1, None) from None


def stock_jobs(resource_type: str, count: int = MANY) -> list[StockJob]:
    leases = (world.add_lease(SPAN, resource_type=resource_type) for _ in range(count))
    return [StockJob(resource_type, lease) for lease in leases]


def make_hosts(cloud: Cloud, resource_type: str) -> None:
    """Hosts with room for five reservations of a type."""
    if resource_type == "physical:host":
        for number in range(ROOM):
            world.add_host(cloud, f"host{number}", vcpus=4)
    else:
        world.add_host(cloud, "small", vcpus=1)
        world.add_host(cloud, "big", vcpus=2 * ROOM + 1)


@pytest.fixture(autouse=True)
def aggregates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact.nova.ReservationPool, "create", lambda *_, **__: _Made)


@pytest.mark.parametrize("resource_type", ASKED)
def test_simultaneous_threads_hold_exactly_what_fits(
    database: sa.Engine, cloud: Cloud, monkeypatch, resource_type
):
    races.unlock(monkeypatch)
    make_hosts(cloud, resource_type)
    result = races.in_threads(stock_jobs(resource_type))
    assert result.outcomes == {"held": ROOM, "hosts_exhausted": MANY - ROOM}
    assert oversold.find(database) == []


@pytest.mark.parametrize("resource_type", ["virtual:instance", "flavor:instance"])
def test_simultaneous_processes_hold_exactly_what_fits(
    database: sa.Engine, cloud: Cloud, resource_type
):
    make_hosts(cloud, resource_type)
    jobs = stock_jobs(resource_type, MANY // 2)
    url = database.url.render_as_string(hide_password=False)
    result = races.in_processes([jobs[::2], jobs[1::2]], url, cloud.options())
    assert result.outcomes == {"held": ROOM, "hosts_exhausted": MANY // 2 - ROOM}
    assert oversold.find(database) == []


def test_class_is_made_even_if_another_one_gets_the_same_id(cloud: Cloud):
    clients = (
        exact.ExactVirtualInstancePlugin().placement_client,
        exact.ExactFlavorPlugin()._placement_client,
    )
    for number, client in enumerate(clients):
        cloud.placement.colliding_ids = 2
        client.create_reservation_class(f"r-{number}")
    assert {"CUSTOM_RESERVATION_R_0", "CUSTOM_RESERVATION_R_1"} <= cloud.placement.classes


@pytest.mark.parametrize("resource_type", ["virtual:instance", "flavor:instance"])
def test_reservations_of_all_types_share_room_exactly(
    database: sa.Engine, cloud: Cloud, monkeypatch, resource_type
):
    races.unlock(monkeypatch)
    make_hosts(cloud, resource_type)
    request = world.request(world.add_flavor(slots=100, vcpu=2), SPAN)
    ours = [races.Job(world.add_lease(SPAN), request, whole=False) for _ in range(MANY // 2)]
    stock = stock_jobs(resource_type, MANY // 2)
    result = races.in_threads([*ours, *stock])
    assert result.outcomes == {"held": ROOM, "hosts_exhausted": MANY - ROOM}
    assert oversold.find(database) == []


def test_physical_host_and_ours_race_for_the_same_host(
    database: sa.Engine, cloud: Cloud, monkeypatch
):
    races.unlock(monkeypatch)
    world.add_host(cloud, "only", vcpus=4)
    request = world.request(world.add_flavor(slots=100, vcpu=2), SPAN)
    ours = races.Job(world.add_lease(SPAN), request, whole=False)
    result = races.in_threads([ours, *stock_jobs("physical:host", 1)])
    assert result.outcomes == {"held": 1, "hosts_exhausted": 1}
    assert oversold.find(database) == []


@pytest.mark.parametrize("resource_type", ASKED)
def test_back_to_back_reservations_are_not_refused(
    database: sa.Engine, cloud: Cloud, resource_type
):
    world.add_host(cloud, "only", vcpus=2)
    for hour in range(1, 13):
        span = world.hours(hour, hour + 1)
        reserve(resource_type, world.add_lease(span, resource_type=resource_type), span)
    assert oversold.find(database) == []


def held(lease: world.Lease) -> int:
    with session.reader() as db:
        return sum(hosts.allocated(db, lease.reservation_id).values())


def change(resource_type: str, lease: world.Lease, span: Span, **changes: Any) -> None:
    values = {"start_date": span.start, "end_date": span.end, **changes}
    with context.BlazarContext(user_id="user", project_id=world.PROJECT):
        PLUGINS[resource_type]().update_reservation(lease.reservation_id, values)


@pytest.mark.parametrize("resource_type", ASKED)
def test_extension_into_a_booking_of_ours_is_refused(database: sa.Engine, cloud, resource_type):
    world.add_host(cloud, "only", vcpus=2)
    lease = world.add_lease(SPAN, resource_type=resource_type)
    reserve(resource_type, lease)
    later = Span(SPAN.end, SPAN.end + datetime.timedelta(hours=1))
    world.book(world.request(world.add_flavor(slots=100, vcpu=2), later))
    with pytest.raises(manager_exc.NotEnoughHostsAvailable):
        change(resource_type, lease, Span(SPAN.start, later.end))
    assert db_api.lease_get(lease.id)["end_date"] == SPAN.end
    assert held(lease) == 1
    assert oversold.find(database) == []


@pytest.mark.parametrize("resource_type", ASKED)
def test_extension_is_seen_before_blazar_writes_the_dates(cloud, resource_type):
    world.add_host(cloud, "only", vcpus=2)
    lease = world.add_lease(SPAN, resource_type=resource_type)
    reserve(resource_type, lease)
    later = Span(SPAN.end, SPAN.end + datetime.timedelta(hours=1))
    change(resource_type, lease, Span(SPAN.start, later.end))
    with pytest.raises(exceptions.HostsExhausted):
        admission.check(world.request(world.add_flavor(slots=100, vcpu=2), later))


def test_more_instances_are_claimed_or_refused(database: sa.Engine, cloud: Cloud):
    world.add_host(cloud, "only", vcpus=6)
    lease = world.add_lease(SPAN, resource_type="virtual:instance")
    reserve("virtual:instance", lease)
    change("virtual:instance", lease, SPAN, amount=3)
    assert held(lease) == 3
    with pytest.raises(manager_exc.NotEnoughHostsAvailable):
        change("virtual:instance", lease, SPAN, amount=4)
    assert held(lease) == 3
    assert oversold.find(database) == []


def test_source_flavor_is_stored_as_blazar_stores_it(cloud: Cloud):
    world.add_host(cloud, "only", vcpus=6)
    lease = world.add_lease(SPAN, resource_type="flavor:instance")
    reserve("flavor:instance", lease, amount=2)
    reservation = db_api.reservation_get(lease.reservation_id)
    assert json.loads(reservation["resource_properties"]) == SOURCE
    assert (reservation["vcpus"], reservation["amount"], held(lease)) == (2, 2, 2)
