"""Blazar's own resource types with exact admission, alone and beside bookings of flavors."""

import contextlib
import dataclasses
import datetime
import json
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from blazar import context
from blazar.db import api as db_api
from blazar.manager import exceptions as manager_exc
from keystoneauth1 import exceptions as ks_exc
from novaclient import exceptions as nova_exc
from oslo_db import exception as db_exc

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, oversold, races, world
from tests.functional.db.stepping import stepping
from tests.functional.db.test_update_races import MARKING, Manager
from warre_blazar import compat
from warre_blazar.db import migration, session
from warre_blazar.db.hosts import allocations
from warre_blazar.db.running import backings
from warre_blazar.domain.running.wanted import NovaAggregate, NovaFlavor
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import blazar_errors, exceptions
from warre_blazar.openstack import nova
from warre_blazar.plugins import exact, lease_contexts
from warre_blazar.services.booking import admission
from warre_blazar.services.running import backing

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


def test_booking_goes_on_after_a_deadlock_at_the_note_of_what_is_made(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
):
    make_hosts(cloud, "flavor:instance")
    real = backings.note_removal
    deadlocks = [db_exc.DBDeadlock()]

    def note_removal(*args: Any) -> None:
        real(*args)
        if deadlocks:
            raise deadlocks.pop()

    monkeypatch.setattr(backings, "note_removal", note_removal)
    lease = world.add_lease(SPAN, resource_type="flavor:instance")
    reserve("flavor:instance", lease)
    assert deadlocks == []
    with session.reader() as db:
        assert backings.get(db, lease.reservation_id) is not None


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
        return sum(allocations.allocated(db, lease.reservation_id).values())


def change(resource_type: str, lease: world.Lease, span: Span, **changes: Any) -> None:
    values = {"start_date": span.start, "end_date": span.end, **changes}
    world.write_lease(lease.id, {"status": "UPDATING"})
    with context.BlazarContext(user_id="user", project_id=world.PROJECT):
        PLUGINS[resource_type]().update_reservation(lease.reservation_id, values)


#: The types whose reservations Blazar can change. Blazar 17 can't change those of flavors.
CHANGEABLE = [t for t in ASKED if t != "flavor:instance" or compat.version("blazar") >= (18, 0)]


@pytest.mark.parametrize("resource_type", CHANGEABLE)
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


@pytest.mark.parametrize("resource_type", CHANGEABLE)
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


def dates(span: Span) -> dict[str, str]:
    return {"start_date": f"{span.start:%Y-%m-%d %H:%M}", "end_date": f"{span.end:%Y-%m-%d %H:%M}"}


class StockManager(Manager):
    """Blazar's manager with the exact plugin for instances."""

    def __init__(self) -> None:
        super().__init__()
        self.blazars.plugins = {"virtual:instance": Instances()}
        self.blazars.enforcement.check_update = lambda *_: None


@pytest.fixture
def without_trusts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leases' trusts are good."""

    @contextlib.contextmanager
    def log_in(_: str) -> Iterator[Any]:
        with context.BlazarContext(user_id="user", project_id=world.PROJECT) as ctx:
            yield ctx

    monkeypatch.setattr(lease_contexts, "_log_in", log_in)


def stock_lease(span: Span, reservations: int = 1) -> world.Lease:
    """A lease of Blazar's own type that waits for its start."""
    lease = world.add_lease(span, resource_type="virtual:instance")
    ids = [lease.reservation_id] + [
        db_api.reservation_create(
            {"lease_id": lease.id, "resource_type": "virtual:instance", "status": "pending"}
        )["id"]
        for _ in range(reservations - 1)
    ]
    for each in ids:
        reserve("virtual:instance", dataclasses.replace(lease, reservation_id=each), span)
    for event, due in (("start_lease", span.start), ("end_lease", span.end)):
        db_api.event_create(
            {"lease_id": lease.id, "event_type": event, "time": due, "status": "UNDONE"}
        )
    world.write_lease(lease.id, {"status": "PENDING"})
    return lease


def buy(flavor: Any, *spans: Span, most: int = 9) -> None:
    """Book what is free at these times, at most so many instances at each."""
    for span in spans:
        with contextlib.suppress(exceptions.WarreError):
            for _ in range(most):
                world.book(world.request(flavor, span))


def check_rest(lease: world.Lease) -> None:
    row = db_api.lease_get(lease.id)
    due = {event["event_type"]: event["time"] for event in row["events"]}
    assert (row["status"], due["start_lease"], due["end_lease"]) == (
        "PENDING",
        row["start_date"],
        row["end_date"],
    )


@pytest.mark.usefixtures("without_trusts")
def test_two_updates_of_a_lease_at_once_oversell_nothing(
    database: sa.Engine, cloud: Cloud, stride: int
):
    """Both have read that nobody works on the lease. Somebody books whatever becomes free."""
    world.add_host(cloud, "only", vcpus=2)
    flavor = world.add_flavor(slots=100, vcpu=2)
    for step in range(MARKING, 60, stride):
        lease = stock_lease(world.hours(10, 14))
        first = StockManager().update(lease, dates(world.hours(10, 16)))
        second = StockManager().update(lease, dates(world.hours(10, 12)))
        with stepping(database, first, second):
            second.run_to(MARKING)
            is_over = first.run_to(step)
            second.finish()
            buy(flavor, world.hours(12, 14), world.hours(14, 16))
        assert oversold.find(database) == [], step
        check_rest(lease)
        databases.delete_leases()
        if is_over:
            return
    pytest.fail("the request has more transactions")


def test_lease_without_a_length_is_refused_and_stays_as_it_is(cloud: Cloud):
    """Blazar lets an update ask for an end that is the start."""
    world.add_host(cloud, "only", vcpus=2)
    lease = stock_lease(world.hours(10, 14))
    before = db_api.lease_get(lease.id)
    update = StockManager().update(lease, dates(world.hours(12, 12)))
    update.finish()
    assert not update.succeeded
    assert "end of a lease must be after its start" in str(update.outcome)
    after = db_api.lease_get(lease.id)
    for name in ("status", "start_date", "end_date"):
        assert after[name] == before[name]


def test_lease_with_a_floating_ip_too_gets_new_dates(cloud: Cloud):
    world.add_host(cloud, "only", vcpus=2)
    lease = stock_lease(SPAN)
    other = {"lease_id": lease.id, "resource_type": "virtual:floatingip", "status": "pending"}
    db_api.reservation_create(other)
    world.write_lease(lease.id, {"status": "UPDATING"})
    later = world.hours(5, 6)
    db_api.lease_update(lease.id, {"start_date": later.start, "end_date": later.end})
    assert db_api.lease_get(lease.id)["end_date"] == later.end


@pytest.mark.same_logic
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.whole)], ids=["some", "all"])
@pytest.mark.usefixtures("without_trusts")
def test_update_of_several_reservations_oversells_nothing(
    database: sa.Engine, cloud: Cloud, seed: int, stride: int
):
    """Somebody books some or all of what is free between any two steps of the update."""
    world.add_host(cloud, "a", vcpus=4)
    world.add_host(cloud, "b", vcpus=4)
    flavor = world.add_flavor(slots=100, vcpu=2)
    for step in range(MARKING, 90, stride):
        lease = stock_lease(world.hours(10, 12), 3)
        update = StockManager().update(lease, dates(world.hours(14, 16)))
        with stepping(database, update):
            is_over = update.run_to(step)
            buy(flavor, world.hours(14, 16), world.hours(10, 12), most=(1, 9)[seed])
        assert oversold.find(database) == [], step
        check_rest(lease)
        assert (
            update.succeeded
            or "was changed" in str(update.outcome)
            or isinstance(update.outcome, manager_exc.NotEnoughHostsAvailable)
        ), update.outcome
        databases.delete_leases()
        if is_over:
            return
    pytest.fail("the request has more transactions")


#: How a request fails that makes something in Nova or Placement, and what the user is told.
FAILURES: dict[str, tuple[Exception, type[Exception]]] = {
    "refused": (nova_exc.BadRequest(400), manager_exc.NovaClientError),
    "away": (ks_exc.ConnectFailure("no route"), blazar_errors.WarreServiceUnavailable),
}


@pytest.mark.parametrize("is_away", [False, True], ids=["stays", "goes away"])
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("resource_type", ["virtual:instance", "flavor:instance"])
def test_what_a_failed_booking_has_made_is_removed(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, resource_type: str, failure: str, is_away: bool
):
    """Also if Nova can't be asked any more, which is done later then."""
    raised, told = FAILURES[failure]

    def fail_half_way(_self: Any, made: Any) -> Any:
        name = made["reservation_id"]
        nova.make_flavor(NovaFlavor(name, name, 1, 1, 1, 0, False, {}, frozenset()))
        nova.make_aggregate(NovaAggregate(None, name, frozenset(), {}))
        if is_away:
            cloud.nova.stop()
        raise raised

    monkeypatch.setattr(PLUGINS[resource_type], "_create_resources", fail_half_way)
    make_hosts(cloud, resource_type)
    lease = world.add_lease(SPAN, resource_type=resource_type)
    with pytest.raises(told):
        reserve(resource_type, lease)
    # Blazar deletes the lease.
    db_api.lease_destroy(lease.id)
    cloud.nova.start()
    backing.reconcile()
    assert cloud.leftovers() == {}


def test_what_is_made_for_a_lease_whose_creation_fails_afterwards_is_removed(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
):
    """The database was away when Blazar wrote the lease's events, for example."""

    def make(_self: Any, made: Any) -> Any:
        nova.make_aggregate(NovaAggregate(None, made["reservation_id"], frozenset(), {}))
        return _Made, None, _Made

    monkeypatch.setattr(Instances, "_create_resources", make)
    make_hosts(cloud, "virtual:instance")
    lease = world.add_lease(SPAN, resource_type="virtual:instance")
    reserve("virtual:instance", lease)
    backing.reconcile()
    assert "aggregates" in cloud.leftovers()
    db_api.lease_destroy(lease.id)
    backing.reconcile()
    assert cloud.leftovers() == {}


def test_note_of_a_stock_reservation_is_deleted_after_its_end(cloud: Cloud, database: sa.Engine):
    make_hosts(cloud, "virtual:instance")
    lease = world.add_lease(SPAN, resource_type="virtual:instance")
    reserve("virtual:instance", lease)
    with database.connect() as connection:
        assert migration.unfinished(connection) == {}
    db_api.reservation_update(lease.reservation_id, {"status": "deleted"})
    backing.reconcile()
    assert cloud.leftovers() == {}
    with session.reader() as db:
        assert backings.get(db, lease.reservation_id) is None


def test_what_a_killed_manager_has_made_is_removed_with_its_lease(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
):
    def be_killed(_self: Any, made: Any) -> Any:
        nova.make_aggregate(NovaAggregate(None, made["reservation_id"], frozenset(), {}))
        raise SystemExit

    monkeypatch.setattr(Instances, "_create_resources", be_killed)
    make_hosts(cloud, "virtual:instance")
    lease = world.add_lease(SPAN, resource_type="virtual:instance")
    with pytest.raises(SystemExit):
        reserve("virtual:instance", lease)
    assert "aggregates" in cloud.leftovers()
    db_api.lease_destroy(lease.id)
    backing.reconcile()
    assert cloud.leftovers() == {}
