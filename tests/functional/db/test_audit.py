"""The audit on real rows and a fake cloud: each kind of difference is made, found and mended."""

import dataclasses
import datetime
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.fakes.service import Request
from tests.functional.db import scenes, world
from tests.functional.db.managers import RUNNING, WAITING, Manager, state, told
from tests.functional.db.test_statements import counted
from warre_blazar import times
from warre_blazar.db import session, tables
from warre_blazar.db.hosts import allocations
from warre_blazar.db.messages import deliveries, outbox
from warre_blazar.db.running import backings
from warre_blazar.domain.audit.differences import DifferenceKind, Needs
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.handles import Handle
from warre_blazar.services.audit import Audit, Result, looking
from warre_blazar.services.hosts import host_refresh
from warre_blazar.services.maintenance import maintenance_windows
from warre_blazar.services.running import backing

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)
PATIENCE = 600.0
#: Blazar's own plugins serve its own types.
STOCK = looking.StockTypes(lambda count: PATIENCE * count, are_exact=False)
#: The time of the audit.
NOW = SPAN.start + datetime.timedelta(minutes=20)
FIX, YES = frozenset({Needs.FIX}), frozenset({Needs.FIX, Needs.YES})


@dataclasses.dataclass
class Scene:
    """A flavor with 3 slots on two hosts, and a pending and a running reservation of it."""

    cloud: Cloud
    flavor: Any
    waiting: world.Lease
    running: world.Lease
    manager: Manager
    #: The pauses that the audit has made, in seconds.
    slept: list[float] = dataclasses.field(default_factory=list)
    #: Whether the exact plugins are on.
    are_exact: bool = True
    #: The leases that a manager was asked to delete.
    deleted: list[str] = dataclasses.field(default_factory=list)
    #: Called in each pause, to do what managers do meanwhile.
    meanwhile: Callable[[], None] = lambda: None

    def audit(self) -> Audit:
        return Audit(
            patience=lambda count: PATIENCE * count,
            server_patience=0.1,
            trust_grace=60.0,
            neighbors=looking.StockTypes(lambda count: PATIENCE * count, self.are_exact),
            delete_lease=self.deleted.append,
            now=lambda: NOW,
            sleep=self._sleep,
        )

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.meanwhile()

    def found(self) -> set[DifferenceKind]:
        return {difference.kind for difference in self.audit().run().left}

    def mend(self, allowed: frozenset[Needs]) -> Result:
        result = self.audit().run(allowed)
        self.manager.run(NOW)
        return result

    def nova_flavor(self, lease: world.Lease) -> dict[str, Any]:
        return self.cloud.nova.flavors[backing_names.nova_flavor_id(lease.reservation_id)]

    def aggregate(self, lease: world.Lease) -> dict[str, Any]:
        named = (
            a for a in self.cloud.nova.aggregates.values() if a["name"] == lease.reservation_id
        )
        return next(named)

    def inventories(self, lease: world.Lease) -> dict[str, int]:
        cls = backing_names.resource_class(lease.reservation_id)
        offered = self.cloud.placement.offered()
        return {name: totals[cls] for name, totals in offered.items() if cls in totals}


@pytest.fixture
def scene(database: sa.Engine, cloud: Cloud) -> Scene:
    flavor, waiting, running = scenes.put_back(database, cloud, lambda: furnish(cloud))
    return Scene(cloud, flavor, waiting, running, Manager())


def furnish(cloud: Cloud) -> tuple[Any, world.Lease, world.Lease]:
    for name in ("a", "b"):
        world.add_host(cloud, name, vcpus=4)
        provider = cloud.placement.named(name)
        assert provider is not None
        for cls, total in {"VCPU": 4, "MEMORY_MB": 65536, "DISK_GB": 1000}.items():
            provider["inventories"][cls] = {"total": total, "reserved": 0, "allocation_ratio": 1.0}
    cloud.add_freepool("a", "b")
    flavor = world.add_flavor(slots=5, extra_specs={"hw:cpu_sockets": "1"})
    waiting = world.book(world.request(flavor, world.hours(2, 4)))
    running = world.book(world.request(flavor, SPAN, 3))
    Manager().run(SPAN.start)
    assert (state(waiting), state(running)) == (WAITING, RUNNING)
    return flavor, waiting, running


def test_consistent_records_have_no_differences(scene: Scene):
    result = scene.audit().run(YES)
    assert (result.left, result.mended, result.away, scene.slept) == ([], [], {}, [])


def at(lease: world.Lease, table: sa.Table, **values: Any) -> None:
    """Write columns of a row of a lease or its reservation, as a person with SQL would."""
    key = table.c.id if table is tables.reservations else table.c.reservation_id
    with session.writer() as db:
        db.execute(table.update().where(key == lease.reservation_id).values(**values))
        world.outdate_hosts(db)


def delete_row(lease: world.Lease, table: sa.Table) -> None:
    with session.writer() as db:
        db.execute(table.delete().where(table.c.reservation_id == lease.reservation_id))
        world.outdate_hosts(db)


# Differences that --fix alone mends.


def stale_start(scene: Scene) -> None:
    world.set_event(scene.running, "start_lease", "ERROR")


def stale_promise(scene: Scene) -> None:
    span = world.hours(9, 10)
    values = {"claim_start": span.start, "claim_end": span.end}
    at(scene.waiting, tables.bookings, **values)
    world.age_promise(scene.waiting, int(PATIENCE) + 100)


def missing_instance_row(scene: Scene) -> None:
    delete_row(scene.running, tables.instance_reservations)


def other_instance_row(scene: Scene) -> None:
    at(scene.running, tables.instance_reservations, vcpus=1)


def other_noted_aggregate(scene: Scene) -> None:
    at(scene.waiting, tables.backings, aggregate_id=4711)


def missing_class(scene: Scene) -> None:
    cls = backing_names.resource_class(scene.running.reservation_id)
    for provider in scene.cloud.placement.providers.values():
        provider["inventories"].pop(cls, None)
    scene.cloud.placement.classes.remove(cls)


def missing_aggregate(scene: Scene) -> None:
    del scene.cloud.nova.aggregates[scene.aggregate(scene.running)["id"]]


def other_metadata(scene: Scene) -> None:
    scene.aggregate(scene.waiting)["metadata"]["filter_tenant_id"] = "project-beta"


def missing_flavor(scene: Scene) -> None:
    del scene.cloud.nova.flavors[backing_names.nova_flavor_id(scene.running.reservation_id)]


def other_specs(scene: Scene) -> None:
    del scene.nova_flavor(scene.waiting)["extra_specs"]["hw:cpu_sockets"]


def tell(scene: Scene, lease: world.Lease) -> str:
    """Let a reservation's Nova flavor require its trait in a group, and return the trait."""
    at(lease, tables.backings, told={"1": ["VCPU"]})
    trait = backing_names.resource_class(lease.reservation_id)
    scene.nova_flavor(lease)["extra_specs"][f"trait1:{trait}"] = "required"
    return trait


def missing_trait(scene: Scene) -> None:
    tell(scene, scene.running)


def trait_too_early(scene: Scene) -> None:
    trait = tell(scene, scene.waiting)
    provider = scene.cloud.placement.named("a")
    assert provider is not None
    provider["traits"].append(trait)


def half_open(scene: Scene) -> None:
    at(scene.running, tables.backings, phase="opening")


def missing_host(scene: Scene) -> None:
    scene.aggregate(scene.running)["hosts"].pop()


def missing_inventory(scene: Scene) -> None:
    cls = backing_names.resource_class(scene.running.reservation_id)
    provider = scene.cloud.placement.named("blazar_a")
    assert provider is not None
    del provider["inventories"][cls]


def missing_access(scene: Scene) -> None:
    scene.nova_flavor(scene.running)["access"].clear()


def host_too_early(scene: Scene) -> None:
    scene.aggregate(scene.waiting)["hosts"].append("a")


def access_too_early(scene: Scene) -> None:
    scene.nova_flavor(scene.waiting)["access"].add(world.PROJECT)


def access_of_another(scene: Scene) -> None:
    scene.nova_flavor(scene.running)["access"].add("project-beta")


def stock_lease(status: str) -> world.Lease:
    """A lease of a stock resource type that a killed manager has left long ago."""
    host_ids = [host["id"] for host in db_api.host_list()[:1]]
    lease = world.add_stock(host_ids, world.hours(5, 6), "virtual:instance")
    world.write_lease(lease.id, {"status": status, "updated_at": world.LONG_AGO, "trust_id": None})
    return lease


def stopped_change(scene: Scene) -> None:
    stock_lease("UPDATING")


def service_came_back(scene: Scene) -> None:
    """A compute service was deleted in Nova, and came back before anybody had noticed."""
    scene.cloud.nova.aggregates[1000]["hosts"].remove("b")


FIXABLE = {
    stopped_change: DifferenceKind.LEASE_HALTED,
    stale_start: DifferenceKind.LEASE_STATE,
    stale_promise: DifferenceKind.STALE_PROMISE,
    missing_instance_row: DifferenceKind.INSTANCE_ROW,
    other_instance_row: DifferenceKind.INSTANCE_ROW,
    other_noted_aggregate: DifferenceKind.NOTE_WRONG,
    missing_class: DifferenceKind.CLASS_MISSING,
    missing_aggregate: DifferenceKind.AGGREGATE_MISSING,
    other_metadata: DifferenceKind.AGGREGATE_METADATA,
    missing_flavor: DifferenceKind.FLAVOR_MISSING,
    other_specs: DifferenceKind.FLAVOR_SPECS,
    service_came_back: DifferenceKind.HOST_OUTSIDE_FREEPOOL,
    missing_trait: DifferenceKind.TRAIT_MISSING,
    trait_too_early: DifferenceKind.TRAIT_TOO_MANY,
    half_open: DifferenceKind.NOT_OPENED,
    missing_host: DifferenceKind.HOSTS_MISSING,
    missing_inventory: DifferenceKind.INVENTORY_MISSING,
    missing_access: DifferenceKind.ACCESS_MISSING,
    host_too_early: DifferenceKind.HOST_TOO_MANY,
    access_too_early: DifferenceKind.ACCESS_TOO_MANY,
    access_of_another: DifferenceKind.ACCESS_TOO_MANY,
}


# Differences that only --fix --yes mends, because something is deleted or ended.


def lost_hosts(scene: Scene) -> None:
    with session.writer() as db:
        allocations.release(db, scene.waiting.reservation_id)


def missing_note(scene: Scene) -> None:
    delete_row(scene.waiting, tables.backings)


def orphan_event(scene: Scene) -> None:
    db_api.event_create({"event_type": "start_lease", "time": SPAN.start, "status": "UNDONE"})


def other_sizes(scene: Scene) -> None:
    scene.nova_flavor(scene.running)["vcpus"] = 64


def flavor_too_early(scene: Scene) -> None:
    """Somebody has made the Nova flavor of a handle before the start."""
    handle, lease = Handle("nightly"), scene.waiting
    flavor_id = handle.flavor_id(world.PROJECT)
    made = scene.cloud.nova.flavors.pop(backing_names.nova_flavor_id(lease.reservation_id))
    scene.cloud.nova.flavors[flavor_id] = {
        **made,
        "id": flavor_id,
        "name": handle.flavor_name(world.PROJECT),
    }
    at(lease, tables.backings, nova_flavor=flavor_id)
    at(lease, tables.bookings, handle=handle.name)
    at(lease, tables.instance_reservations, flavor_id=flavor_id)


def inventory_too_early(scene: Scene) -> None:
    provider = scene.cloud.placement.named("blazar_b")
    assert provider is not None
    cls = backing_names.resource_class(scene.waiting.reservation_id)
    provider["inventories"][cls] = {"total": 1, "reserved": 0, "allocation_ratio": 1.0}


def server_too_early(scene: Scene) -> None:
    scene.nova_flavor(scene.waiting)["access"].add(world.PROJECT)
    scene.cloud.nova.boot(backing_names.nova_flavor_id(scene.waiting.reservation_id), world.PROJECT)
    scene.nova_flavor(scene.waiting)["access"].clear()


def leftover(scene: Scene) -> None:
    db_api.lease_destroy(scene.waiting.id)


GONE = "0c0ffee0-0000-4000-8000-000000000001"


def orphan_class(scene: Scene) -> None:
    scene.cloud.placement.classes.add(backing_names.resource_class(GONE))


def orphan_aggregate(scene: Scene) -> None:
    made = {"id": 99, "name": GONE, "hosts": ["a"], "metadata": {"reservation": GONE}}
    scene.cloud.nova.aggregates[99] = made


def orphan_flavor(scene: Scene) -> None:
    scene.cloud.nova.flavors[backing_names.nova_flavor_id(GONE)] = nova_flavor(
        backing_names.nova_flavor_id(GONE)
    )


def orphan_flavor_of_a_stock_plugin(scene: Scene) -> None:
    scene.cloud.nova.flavors[GONE] = nova_flavor(GONE)


def nova_flavor(flavor_id: str) -> dict[str, Any]:
    return {
        "id": flavor_id,
        "name": f"reservation:{GONE}",
        "vcpus": 1,
        "ram": 1,
        "disk": 1,
        "OS-FLV-EXT-DATA:ephemeral": 0,
        "os-flavor-access:is_public": False,
        "extra_specs": {},
        "access": set(),
    }


def orphan_server(scene: Scene) -> None:
    """A server whose Nova flavor is gone, so that Nova doesn't find the server by the flavor."""
    scene.cloud.nova.servers["server"] = {
        "flavor": backing_names.nova_flavor_id(GONE),
        "flavor_name": f"reservation:{GONE}",
        "project_id": world.PROJECT,
    }


def unused_trust(scene: Scene) -> None:
    scene.cloud.keystone.trusts["unused"] = {}


def stopped_creation(scene: Scene) -> None:
    stock_lease("CREATING")


def preemptible_server(scene: Scene) -> None:
    nova = scene.cloud.nova
    nova.boot(nova.make_flavor("spot", {"blazar:preemptible": "true"}), "beta", host="a")


DELETED = {
    preemptible_server: DifferenceKind.ROOM_TAKEN,
    stopped_creation: DifferenceKind.LEASE_UNFINISHED,
    lost_hosts: DifferenceKind.LEASE_STATE_LOST,
    missing_note: DifferenceKind.LEASE_STATE_LOST,
    orphan_event: DifferenceKind.ORPHAN_EVENTS,
    other_sizes: DifferenceKind.FLAVOR_WRONG,
    inventory_too_early: DifferenceKind.INVENTORY_TOO_MANY,
    flavor_too_early: DifferenceKind.FLAVOR_EARLY,
    server_too_early: DifferenceKind.SERVER_OUTSIDE,
    leftover: DifferenceKind.LEFTOVER,
    orphan_class: DifferenceKind.LEFTOVER,
    orphan_aggregate: DifferenceKind.LEFTOVER,
    orphan_flavor: DifferenceKind.LEFTOVER,
    orphan_flavor_of_a_stock_plugin: DifferenceKind.LEFTOVER,
    orphan_server: DifferenceKind.LEFTOVER,
    unused_trust: DifferenceKind.TRUSTS_UNUSED,
}


# Differences about which a person has to decide.


def overdue(scene: Scene) -> None:
    early = world.hours(0, 4)
    world.write_lease(scene.waiting.id, {"start_date": early.start})
    world.write_dates(scene.waiting, early)


def missing_booking(scene: Scene) -> None:
    delete_row(scene.waiting, tables.bookings)


def other_allocations(scene: Scene) -> None:
    at(scene.waiting, tables.bookings, instance_count=2)
    at(scene.waiting, tables.instance_reservations, amount=2)


def given_up_notice(scene: Scene) -> None:
    lease = {"lease_id": GONE, "project_id": world.PROJECT, "user_id": None}
    session.change(outbox.add_leases, [lease], "delete", world.LONG_AGO)
    session.change(deliveries.spread)
    session.change(deliveries.give_up_old, world.NOW, world.NOW)


def interrupted_window(scene: Scene) -> None:
    """A window as it is if the manager that makes it is killed before it moves any reservation."""
    maintenance_windows.create(
        world.hours(3.5, 5), None, [scene.flavor.id], world.NOW, over_bookings=True
    )


def fewer_slots(scene: Scene) -> None:
    with session.writer() as db:
        flavors = tables.flavors
        db.execute(flavors.update().values(slots=2))


def host_shrank(scene: Scene) -> None:
    provider = scene.cloud.placement.named("a")
    assert provider is not None
    provider["inventories"]["DISK_GB"]["total"] = 900


def host_is_overbooked(scene: Scene) -> None:
    provider = scene.cloud.placement.named("a")
    assert provider is not None
    provider["inventories"]["VCPU"]["total"] = 1


def provider_is_gone(scene: Scene) -> None:
    placement = scene.cloud.placement
    (provider_id,) = [i for i, p in placement.providers.items() if p["name"] == "b"]
    placement.providers[provider_id]["name"] = "renamed"


def host_has_failed(scene: Scene) -> None:
    for host in db_api.host_list():
        db_api.host_update(host["id"], {"reservable": False})


def host_is_disabled_in_nova(scene: Scene) -> None:
    scene.cloud.nova.services["b"] = {"status": "disabled"}


def isolated_host(scene: Scene) -> None:
    """An operator has put all hosts into an aggregate that requires a trait."""
    scene.cloud.nova.aggregates[999] = {
        "id": 999,
        "name": "licensed",
        "hosts": ["a", "b"],
        "metadata": {"trait:CUSTOM_LICENSED": "required"},
    }
    host_refresh.refresh()


def stock_lease_without_its_trust(scene: Scene) -> None:
    stock = world.add_lease(world.hours(5, 6), resource_type="physical:host")
    world.write_lease(stock.id, {"trust_id": "gone", "status": "PENDING"})


def stopped_creation_by_a_stock_plugin(scene: Scene) -> None:
    scene.are_exact = False
    stock_lease("CREATING")


PERSONAL = {
    stopped_creation_by_a_stock_plugin: {DifferenceKind.LEASE_STUCK},
    overdue: {DifferenceKind.LEASE_OVERDUE},
    missing_booking: {DifferenceKind.BOOKING_MISSING},
    other_allocations: {DifferenceKind.ALLOCATIONS_DIFFER},
    interrupted_window: {DifferenceKind.BOOKED_IN_WINDOW},
    fewer_slots: {DifferenceKind.FLAVOR_OVERSOLD},
    given_up_notice: {DifferenceKind.NOTICES_LOST},
    host_shrank: {DifferenceKind.HOST_SHRANK},
    host_is_overbooked: {DifferenceKind.HOST_SHRANK, DifferenceKind.HOST_OVERSOLD},
    provider_is_gone: {DifferenceKind.HOST_GONE},
    host_has_failed: {DifferenceKind.HOST_NOT_RESERVABLE},
    host_is_disabled_in_nova: {DifferenceKind.HOST_OUT_OF_SERVICE},
    isolated_host: {DifferenceKind.HOST_UNLIKE},
    stock_lease_without_its_trust: {DifferenceKind.TRUST_GONE},
}


def test_every_kind_of_difference_has_a_case() -> None:
    made = {*FIXABLE.values(), *DELETED.values()}.union(*PERSONAL.values())
    assert made == set(DifferenceKind)


def cases(table: Any) -> pytest.MarkDecorator:
    ids = [make.__name__ for make in table]
    return pytest.mark.parametrize(("make", "expected"), table.items(), ids=ids)


@cases(FIXABLE)
def test_difference_that_needs_fix_is_mended_with_fix(scene: Scene, make, expected: DifferenceKind):
    before = visible_state(scene)
    make(scene)
    assert expected in scene.found()
    result = scene.mend(FIX)
    assert not result.failures
    assert expected in {difference.kind for difference in result.mended}
    assert scene.found() == set()
    assert visible_state(scene) == before


def visible_state(scene: Scene) -> Any:
    """The part of the state that users depend on."""
    nova, placement = scene.cloud.nova, scene.cloud.placement
    return (
        state(scene.waiting),
        state(scene.running),
        {i: (f["vcpus"], f["extra_specs"], f["access"]) for i, f in sorted(nova.flavors.items())},
        sorted((a["name"], a["hosts"], a["metadata"]) for a in nova.aggregates.values()),
        placement.offered(),
        placement.classes.copy(),
        scene.manager.outside.ended,
        # A repair of a lease is told, but nothing is told twice.
        [news for news in told() if news[1] != "update"],
    )


@cases(DELETED)
def test_difference_that_needs_yes_is_mended_only_with_yes(
    scene: Scene, make, expected: DifferenceKind
):
    make(scene)
    assert expected in scene.found()
    assert expected in {difference.kind for difference in scene.mend(FIX).left}
    result = scene.mend(YES)
    assert not result.failures
    assert expected in {difference.kind for difference in result.mended}
    assert scene.found() == set()
    assert state(scene.running) == RUNNING
    assert scene.inventories(scene.running)


@cases(PERSONAL)
def test_difference_that_needs_a_person_is_left_alone(
    scene: Scene, make, expected: set[DifferenceKind]
):
    make(scene)
    assert scene.found() == expected
    if make is overdue:
        return  # The test's manager would start or end the lease.
    result = scene.mend(YES)
    assert {difference.kind for difference in result.left} == expected
    assert scene.found() == expected


def test_reservation_that_is_younger_than_a_window_is_no_difference(scene: Scene):
    """Given users who may book inside windows, what they book there isn't reported."""
    interrupted_window(scene)
    at(scene.waiting, tables.bookings, created_at=world.hours(0.1, 1).start)
    assert scene.found() == set()


def test_server_of_running_reservation_is_no_difference(scene: Scene):
    scene.cloud.nova.boot(backing_names.nova_flavor_id(scene.running.reservation_id), world.PROJECT)
    assert scene.found() == set()


def test_several_differences_of_a_reservation_are_mended_together(scene: Scene):
    for make in (missing_class, missing_flavor, missing_aggregate, missing_instance_row):
        make(scene)
    result = scene.mend(FIX)
    assert len(result.mended) >= 4
    assert scene.found() == set()


class TestBesideManagers:
    """Anything that a manager is working on at this moment is no difference."""

    def test_lease_being_created_is_no_difference(self, scene: Scene):
        world.write_lease(scene.waiting.id, {"status": "CREATING", "updated_at": NOW})
        missing_flavor(dataclasses.replace(scene, running=scene.waiting))
        assert scene.found() == set()

    def test_lease_whose_creation_stopped_long_ago_is_a_difference(self, scene: Scene):
        long_ago = NOW - datetime.timedelta(seconds=PATIENCE + 1)
        world.write_lease(scene.waiting.id, {"status": "CREATING", "updated_at": long_ago})
        assert scene.found() == {DifferenceKind.LEASE_STATE_LOST}

    def test_claimed_start_is_no_difference(self, scene: Scene):
        scene.manager.run(scene.waiting.span.start - datetime.timedelta(seconds=5))
        assert scene.inventories(scene.waiting)
        assert scene.found() == set()

    def test_requested_end_is_no_difference(self, scene: Scene):
        lost_hosts(scene)
        scene.audit().run(YES)
        assert scene.found() == set()
        assert state(scene.waiting) == ("DELETING", *WAITING[1:])

    def test_backing_removed_after_an_end_is_no_difference(self, scene: Scene):
        timeutils.set_time_override(NOW)
        world.set_status(scene.running, "TERMINATED")
        timeutils.clear_time_override()
        for event in ("start_lease", "end_lease"):
            world.set_event(scene.running, event, "DONE")
        with session.writer() as db:
            allocations.release(db, scene.running.reservation_id)
        assert scene.found() == set()

    def test_difference_gone_at_the_second_look_is_not_reported(self, scene: Scene):
        missing_access(scene)
        scene.meanwhile = lambda: scene.nova_flavor(scene.running)["access"].add(world.PROJECT)
        assert scene.found() == set()
        assert scene.slept == [times.AUDIT_PAUSE]

    def test_reservation_that_ends_while_it_is_mended_leaves_nothing_behind(self, scene: Scene):
        missing_flavor(scene)

        def end(_: Request) -> None:
            db_api.lease_destroy(scene.running.id)

        scene.cloud.nova.fail(match="POST .*flavors$", times=1, then=end)
        scene.audit().run(FIX)
        backing.reconcile()
        assert scene.inventories(scene.running) == {}
        assert (
            backing_names.nova_flavor_id(scene.running.reservation_id)
            not in scene.cloud.nova.flavors
        )

    def test_reservation_that_moves_while_it_is_mended_is_opened_on_its_new_hosts(
        self, scene: Scene
    ):
        before = scene.inventories(scene.running)
        assert before["blazar_a"] != before["blazar_b"]
        missing_inventory(scene)

        def move(_: Request) -> None:
            with session.writer() as db:
                held = allocations.allocated(db, scene.running.reservation_id)
                swapped = dict(zip(held, reversed(held.values()), strict=True))
                allocations.reallocate(db, scene.running.reservation_id, swapped)

        scene.cloud.placement.fail(match="POST .*inventories$", times=1, then=move)
        scene.audit().run(FIX)
        assert world.phase(scene.running) == "opening"
        backing.reconcile()
        swapped = {"blazar_a": before["blazar_b"], "blazar_b": before["blazar_a"]}
        assert scene.inventories(scene.running) == swapped

    def test_unused_trust_that_a_lease_uses_after_the_pause_is_kept(self, scene: Scene):
        """The trust was made for a lease of a stock type that was just being created."""
        unused_trust(scene)

        def meanwhile() -> None:
            if 60.0 in scene.slept:
                stock = world.add_lease(world.hours(5, 6), resource_type="physical:host")
                world.write_lease(stock.id, {"trust_id": "unused"})

        scene.meanwhile = meanwhile
        scene.audit().run(YES)
        assert "unused" in scene.cloud.keystone.trusts
        assert 60.0 in scene.slept


def test_trust_of_a_lease_of_an_older_release_is_deleted(scene: Scene):
    unused_trust(scene)
    world.write_lease(scene.waiting.id, {"trust_id": "unused"})
    assert scene.found() == {DifferenceKind.TRUSTS_UNUSED}
    scene.audit().run(YES)
    assert scene.found() == set()
    assert "unused" not in scene.cloud.keystone.trusts
    assert db_api.lease_get(scene.waiting.id)["trust_id"] is None


def test_trust_of_a_lease_that_has_ended_may_be_gone(scene: Scene):
    stock_lease_without_its_trust(scene)
    for lease in db_api.lease_list():
        if lease["trust_id"] == "gone":
            world.write_lease(lease["id"], {"status": "TERMINATED"})
    assert scene.found() == set()


def test_reservation_of_stock_plugin_is_no_difference(scene: Scene):
    """What the stock plugin has made in Nova and Placement is no difference either."""
    lease = world.add_lease(world.hours(5, 6), resource_type="virtual:instance", status="PENDING")
    scene.cloud.placement.classes.add(backing_names.resource_class(lease.reservation_id))
    assert scene.found() == set()


@pytest.mark.parametrize(
    ("service", "says"),
    [("nova", "Nova"), ("placement", "Placement"), ("keystone", "Keystone")],
)
def test_unavailable_service_is_named_and_the_rest_is_compared(
    scene: Scene, service: str, says: str
):
    missing_instance_row(scene)
    path = {"keystone": "trusts"}.get(service, "")
    getattr(scene.cloud, service).fail(match=path, status=503)
    result = scene.audit().run()
    assert set(result.away) == {says}
    # The tables can still be compared.
    assert {difference.kind for difference in result.left} == {DifferenceKind.INSTANCE_ROW}


def test_failed_remedy_is_reported(scene: Scene):
    missing_flavor(scene)
    scene.cloud.nova.fail(match="POST .*flavors", status=403)
    result = scene.audit().run(FIX)
    difference = next(d for d in result.left if d.kind is DifferenceKind.FLAVOR_MISSING)
    assert "403" in result.failures[difference.key] or "said so" in result.failures[difference.key]


def test_number_of_statements_is_independent_of_rows(database: sa.Engine, scene: Scene):
    def statements() -> int:
        with counted(database) as found:
            assert looking.look(NOW, lambda count: PATIENCE, STOCK).differences == []
        return len(found)

    few = statements()
    with session.writer() as db:
        db.execute(tables.flavors.update().values(slots=99))
    for number in range(20):
        world.book(world.request(scene.flavor, world.hours(10 + number, 11 + number)))
    assert statements() == few
    assert few < 30


def test_note_is_written_before_an_orphan_is_removed(scene: Scene):
    """If the removal of an orphan stops half way, the reconciler finishes it."""
    orphan_class(scene)
    orphan_aggregate(scene)
    scene.cloud.nova.fail(match="DELETE", status=503)
    assert scene.audit().run(YES).failures
    with session.reader() as db:
        assert backings.ended(db) == [GONE]
    scene.cloud.mend()
    backing.reconcile()
    assert scene.found() == set()


def move_away(scene: Scene) -> tuple[str, str]:
    """A server of a reservation that is over keeps its room on host a by an unconfirmed move."""
    nova = scene.cloud.nova
    ordinary = nova.make_flavor("m1")
    server = nova.boot(ordinary, "beta", "s1", host="a")
    scene.cloud.add_host("other", inventories={"VCPU": {"total": 4}})
    return server, nova.move(server, "other")


def taken(result: Result) -> list[str]:
    return [d.text for d in result.left if d.kind is DifferenceKind.ROOM_TAKEN]


def test_unconfirmed_move_that_keeps_room_of_a_reservable_host_is_confirmed(scene: Scene):
    server, migration = move_away(scene)
    (text,) = taken(scene.audit().run())
    assert "1 VCPU of host a" in text and server in text and "s1" in text and "beta" in text
    result = scene.mend(FIX)
    assert (result.left, [d.kind for d in result.mended]) == ([], [DifferenceKind.ROOM_TAKEN])
    assert scene.cloud.nova.migrations[migration]["status"] == "confirmed"
    assert server in scene.cloud.nova.servers


def test_preemptible_server_is_deleted_and_an_ordinary_one_is_named(scene: Scene):
    nova = scene.cloud.nova
    spot = nova.boot(nova.make_flavor("spot", {"blazar:preemptible": "true"}), "beta", host="a")
    forced = nova.boot(nova.make_flavor("m1"), "beta", "forced", host="b")
    assert len(taken(scene.mend(FIX))) == 2
    assert spot in nova.servers
    result = scene.mend(YES)
    assert spot not in nova.servers and forced in nova.servers
    (left,) = result.left
    assert forced in left.text and "forced" in left.text and "host b" in left.text
    assert (left.rule.needs, result.failures) == (Needs.PERSON, {})


def test_servers_of_a_running_reservation_take_no_room_of_others(scene: Scene):
    flavor_id = backing_names.nova_flavor_id(scene.running.reservation_id)
    for host, number in hosts_of(scene.running).items():
        for _ in range(number):
            scene.cloud.nova.boot(flavor_id, world.PROJECT, host=host)
    assert taken(scene.audit().run()) == []


def hosts_of(lease: world.Lease) -> dict[str, int]:
    """The numbers of a reservation's instances by the names of its hosts."""
    with session.reader() as db:
        return {h.hypervisor: h.instances for h in allocations.hosts_of(db, lease.reservation_id)}


def test_leftover_names_who_holds_its_class(scene: Scene):
    flavor_id = backing_names.nova_flavor_id(scene.running.reservation_id)
    host = next(iter(hosts_of(scene.running)))
    server = scene.cloud.nova.boot(flavor_id, world.PROJECT, "s1", host=host)
    scene.cloud.add_host("other", inventories={"VCPU": {"total": 4}})
    scene.cloud.nova.move(server, "other", scene.cloud.nova.make_flavor("m1"))
    db_api.lease_destroy(scene.running.id)
    (left,) = (d for d in scene.audit().run().left if d.kind is DifferenceKind.LEFTOVER)
    assert f"held by server {server} (s1, VERIFY_RESIZE, project {world.PROJECT}" in left.text
    result = scene.mend(YES)
    assert server in scene.cloud.nova.servers
    scene.mend(YES)
    assert scene.audit().run().left == [], result.failures


def test_room_is_not_judged_while_nova_is_away(scene: Scene):
    move_away(scene)
    scene.cloud.nova.fail(status=503, match="/os-migrations")
    result = scene.audit().run()
    assert taken(result) == [] and "Nova" in result.away
