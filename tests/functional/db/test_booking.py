"""The life of a booking: the rows it writes, and what Nova and Placement hold."""

import datetime
import json
import uuid

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, races, world
from tests.functional.db.fake_clock import FakeClock
from warre_blazar.db import session, tables
from warre_blazar.db.records import history
from warre_blazar.domain.running import backing_names
from warre_blazar.errors import exceptions
from warre_blazar.openstack import placement
from warre_blazar.services.booking import admission, lookup
from warre_blazar.services.flavors import flavors
from warre_blazar.services.hosts import host_refresh
from warre_blazar.services.running import backing

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)


@pytest.fixture
def flavor(cloud: Cloud):
    """A flavor with all attributes set. Two instances fit on host a, and one fits on host b."""
    world.add_host(cloud, "a", vcpus=4, properties={"gpu": "a100"}, zone="z1")
    world.add_host(cloud, "b", vcpus=2, properties={"gpu": "a100"}, zone="z1")
    return world.add_flavor(
        slots=3,
        vcpu=2,
        ephemeral_gb=5,
        extra_specs={"hw:cpu_sockets": "1"},
        properties='["==", "$gpu", "a100"]',
        availability_zone="z1",
    )


def test_booking_writes_its_rows(database: sa.Engine, flavor):
    lease = world.book(world.request(flavor, SPAN, 3))
    rows = {name: len(found) for name, found in databases.dump(database).items()}
    assert {
        name: rows[name] for name in rows if name.startswith(("warre", "inst", "computehost_a"))
    } == {
        "warre_flavors": 1,
        "warre_reservations": 1,
        "warre_hosts": 2,
        "warre_host_providers": 2,
        "warre_backings": 1,
        "instance_reservations": 1,
        "computehost_allocations": 3,
    }
    found, of = lookup.get(lease.reservation_id, world.PROJECT)
    assert (found.id, found.reservation_id) == (lease.reservation_id, lease.reservation_id)
    assert (found.lease_id, found.instance_count, found.state) == (lease.id, 3, "ALLOCATED")
    assert (found.span, found.shape, of.id) == (SPAN, flavor.shape, flavor.id)


def test_booking_writes_the_row_that_stock_plugins_read(flavor, cloud: Cloud):
    lease = world.book(world.request(flavor, SPAN, 3))
    resource_id = db_api.reservation_get(lease.reservation_id)["resource_id"]
    row = db_api.instance_reservation_get(resource_id)
    # The instance plugin counts the amount once per host, and the fullest host holds two.
    assert (row["vcpus"], row["memory_mb"], row["disk_gb"]) == (4, 4096, 50)
    assert (row["amount"], row["flavor_id"]) == (
        3,
        backing_names.nova_flavor_id(lease.reservation_id),
    )
    assert row["aggregate_id"] in cloud.nova.aggregates
    assert json.loads(row["resource_properties"])["OS-FLV-EXT-DATA:ephemeral"] == 5


def test_class_that_placement_only_claims_to_have_is_made_again(flavor, cloud: Cloud):
    cloud.placement.colliding_ids = 2
    lease = world.book(world.request(flavor, SPAN))
    assert cloud.placement.classes == {backing_names.resource_class(lease.reservation_id)}


def test_booking_is_refused_while_placement_never_makes_the_class(flavor, cloud: Cloud):
    cloud.placement.colliding_ids = 1000
    with pytest.raises(exceptions.ServiceUnavailable, match="isn't made"):
        world.book(world.request(flavor, SPAN))
    backing.reconcile()
    assert cloud.is_clean()


def test_booking_makes_the_backing_without_access(flavor, cloud: Cloud):
    lease = world.book(world.request(flavor, SPAN, 3))
    ours = lease.reservation_id
    cls = backing_names.resource_class(ours)
    made = cloud.nova.flavors[backing_names.nova_flavor_id(ours)]
    assert made["name"] == f"reservation:{ours}"
    assert (made["vcpus"], made["ram"], made["disk"]) == (2, 2048, 20)
    assert made["OS-FLV-EXT-DATA:ephemeral"] == 5
    assert made["os-flavor-access:is_public"] is False
    assert made["extra_specs"] == {
        "hw:cpu_sockets": "1",
        "aggregate_instance_extra_specs:reservation": ours,
        f"resources:{cls}": "1",
    }
    (aggregate,) = cloud.nova.aggregates.values()
    assert (aggregate["name"], aggregate["hosts"]) == (ours, [])
    assert aggregate["metadata"]["reservation"] == ours
    assert aggregate["metadata"]["filter_tenant_id"] == f"{world.PROJECT},reservation"
    # No project has access before the start.
    assert made["access"] == set()
    assert (cloud.placement.classes, cloud.placement.offered()) == ({cls}, {})


@pytest.mark.parametrize(
    "specs",
    [
        {"hw:cpu_sockets": "1"},
        {"resources1:VCPU": "1", "resources2:MEMORY_MB": "1", "group_policy": "none"},
        {"hide_hypervisor_id": "true"},
        {"ssd": "<or> fast <or> faster"},
        {"aggregate_instance_extra_specs:ssd": "fast"},
    ],
)
def test_open_backing_passes_novas_filter_of_aggregates(cloud: Cloud, specs):
    world.add_host(cloud, "a")
    world.add_host(cloud, "b")
    cloud.nova.aggregates[77] = {"id": 77, "name": "ssd", "hosts": ["b"]}
    cloud.nova.aggregates[77]["metadata"] = {"ssd": "fast"}
    host_refresh.refresh()
    lease = world.book(world.request(world.add_flavor(extra_specs=specs), SPAN))
    flavor_id = backing_names.nova_flavor_id(lease.reservation_id)
    assert cloud.nova.passing_hosts(flavor_id) == set()
    world.begin(lease)
    _, aggregate = cloud.nova.aggregates.values()
    assert cloud.nova.passing_hosts(flavor_id) == set(aggregate["hosts"]) != set()


def test_start_opens_the_backing_and_end_removes_it(database: sa.Engine, flavor, cloud: Cloud):
    lease = world.book(world.request(flavor, SPAN, 3))
    world.begin(lease)
    cls = backing_names.resource_class(lease.reservation_id)
    (aggregate,) = cloud.nova.aggregates.values()
    assert sorted(aggregate["hosts"]) == ["a", "b"]
    assert cloud.placement.offered() == {"blazar_a": {cls: 2}, "blazar_b": {cls: 1}}
    cloud.nova.boot(backing_names.nova_flavor_id(lease.reservation_id), world.PROJECT)
    world.finish(lease)
    assert cloud.leftovers() == {}
    left = databases.dump(database)
    assert "computehost_allocations" not in left
    assert "warre_backings" not in left
    assert lookup.get(lease.reservation_id, None)[0].state == "COMPLETE"


def test_several_bookings_use_one_login(flavor, cloud: Cloud):
    lease = world.book(world.request(flavor, SPAN, 3))
    world.begin(lease)
    world.finish(lease)
    assert cloud.keystone.logins == 1


def test_refused_token_is_replaced(flavor, cloud: Cloud):
    lease = world.book(world.request(flavor, SPAN))
    world.begin(lease)
    cloud.keystone.forget_tokens()
    world.finish(lease)  # One request is sent after the other.
    assert cloud.keystone.logins == 2


def test_threads_with_the_same_refused_token_each_get_a_new_one(cloud: Cloud):
    """A thread that finds the refused token already dropped gets a new one all the same."""
    for number in range(5):
        placement.make_class(f"CUSTOM_BEFORE_{number}")
        cloud.keystone.forget_tokens()
        names = [f"CUSTOM_{number}_{thread}" for thread in range(8)]
        result = races.in_threads([lambda n=n: placement.make_class(n) for n in names])
        assert result.outcomes == {"held": len(names)}


def test_deleted_lease_frees_its_slots_at_once(database: sa.Engine, flavor, cloud: Cloud):
    lease = world.book(world.request(flavor, SPAN, 3))
    with pytest.raises(exceptions.SlotsExhausted):
        admission.check(world.request(flavor, SPAN))
    db_api.lease_destroy(lease.id)
    left = databases.dump(database)
    assert not {"warre_reservations", "instance_reservations", "computehost_allocations"} & set(
        left
    )
    world.book(world.request(flavor, SPAN, 3))
    assert len(cloud.nova.flavors) == 2
    backing.reconcile()
    assert len(cloud.nova.flavors) == 1


def test_lease_with_several_reservations_has_a_backing_for_each(flavor, cloud: Cloud):
    """Each reservation has a backing of its own, and the lease's end removes all of them."""
    one = world.add_lease(SPAN)
    second = db_api.reservation_create(
        {"lease_id": one.id, "resource_type": "flavor:slot", "status": "pending"}
    )
    for reservation_id, count in ((one.reservation_id, 1), (second["id"], 2)):
        admission.book(reservation_id, world.request(flavor, SPAN, count))
        backing.make_planned(reservation_id)
    ids = (one.reservation_id, second["id"])
    assert set(cloud.nova.flavors) == {backing_names.nova_flavor_id(i) for i in ids}
    with pytest.raises(exceptions.LeaseShared):
        lookup.check_sole(lookup.get(second["id"], None)[0])
    db_api.lease_destroy(one.id)
    backing.reconcile()
    assert cloud.leftovers() == {}


def test_reconciler_keeps_the_backing_of_live_reservation(
    database: sa.Engine, flavor, cloud: Cloud
):
    world.begin(world.book(world.request(flavor, SPAN)))
    world.book(world.request(flavor, SPAN))
    before = (databases.dump(database), cloud.leftovers())
    backing.reconcile()
    assert (databases.dump(database), cloud.leftovers()) == before


def test_end_frees_the_slots_even_if_servers_stay(flavor, cloud: Cloud):
    lease = world.book(world.request(flavor, SPAN, 3))
    world.begin(lease)
    cloud.nova.boot(backing_names.nova_flavor_id(lease.reservation_id), world.PROJECT)
    cloud.nova.servers_stay = True
    world.finish(lease, patience=0)
    world.book(world.request(flavor, SPAN, 3))
    cloud.nova.servers_stay = False
    backing.reconcile()
    backing.reconcile()
    assert list(cloud.nova.servers) == []
    assert len(cloud.nova.flavors) == 1


def test_deletion_that_nova_has_given_up_is_requested_anew(flavor, cloud: Cloud):
    lease = world.book(world.request(flavor, SPAN))
    world.begin(lease)
    server = cloud.nova.servers[
        cloud.nova.boot(backing_names.nova_flavor_id(lease.reservation_id), world.PROJECT)
    ]
    cloud.nova.deletions_fail = True
    world.finish(lease, patience=0)
    cloud.nova.deletions_fail = False
    backing.reconcile()
    assert server["deleting"], "a deletion that may be slow was given up"
    (action,) = server["actions"]
    began = datetime.datetime.fromisoformat(action["start_time"])
    action["start_time"] = (began - datetime.timedelta(minutes=3)).isoformat()
    backing.reconcile()
    backing.reconcile()
    assert cloud.leftovers() == {}


@pytest.mark.parametrize("deleted", [False, True])
def test_server_that_appears_after_the_end_is_deleted(flavor, cloud: Cloud, deleted: bool):
    lease, other = (world.book(world.request(flavor, SPAN)) for _ in range(2))
    for each in (lease, other):
        world.begin(each)
    servers = cloud.nova.servers
    late, running = (
        cloud.nova.boot(backing_names.nova_flavor_id(each.reservation_id), world.PROJECT)
        for each in (lease, other)
    )
    # Nova lists it only when the reservation has ended. The other one isn't ours.
    unlisted = servers.pop(late)
    world.finish(lease)
    if deleted:
        with session.writer() as db:
            history.record_deletion(db.connection(), lease.id, world.NOW, "user")
        db_api.lease_destroy(lease.id)
    foreign = {**unlisted, "flavor_name": f"reservation:{uuid.uuid4()}"}
    servers.update({late: unlisted, "foreign": foreign})
    backing.delete_late_servers(timeutils.utcnow())
    assert set(servers) == {running, "foreign"}


def test_slow_deletion_of_a_server_is_requested_once(flavor, cloud: Cloud, clock: FakeClock):
    lease = world.book(world.request(flavor, SPAN))
    world.begin(lease)
    cloud.nova.boot(backing_names.nova_flavor_id(lease.reservation_id), world.PROJECT)
    cloud.nova.servers_stay = True
    cloud.nova.requests.clear()
    world.finish(lease, patience=1)
    on_servers = [line for line in cloud.nova.requests if "/servers" in line]
    deletions = [line for line in on_servers if line.endswith("/action")]
    assert len(deletions) == 1, on_servers
    assert len(on_servers) > 2, on_servers
    assert clock.seconds <= 1


def test_flavor_names_differ_by_case_and_accent(cloud: Cloud):
    for name in ("gpu", "GPU", "gpü"):
        world.add_flavor(name=name)
    for name in ("gpu", "GPU", "gpü"):
        assert flavors.get(name, project_id=None, everything=False).name == name


def test_a_name_of_two_flavors_stands_for_the_one_that_may_be_booked(cloud: Cloud):
    world.add_host(cloud, "a")
    public = world.add_flavor(name="twin")
    private = world.add_flavor(name="twin", is_public=False)
    lease = world.book(world.request("twin", SPAN))
    assert lookup.get(lease.reservation_id, None)[1].id == public.id
    with session.writer() as db:
        values = {"id": "access", "flavor_id": private.id, "project_id": world.PROJECT}
        db.execute(tables.flavor_projects.insert().values(**values))
    with pytest.raises(exceptions.FlavorAmbiguous) as raised:
        world.book(world.request("twin", SPAN))
    ids = [flavor["id"] for flavor in raised.value.detail["flavors"]]
    assert ids == sorted([public.id, private.id])


# For each rule: the flavor's attributes, the request's attributes, and the error's code.
LONG_AGO = world.NOW - datetime.timedelta(days=1)
REFUSALS = {
    "inactive": ({"active": False}, {}, "flavor_inactive"),
    "private": ({"is_public": False}, {}, "flavor_not_accessible"),
    "too long": ({"max_length_hours": 1}, {}, "too_long"),
    "before its start": ({"start": world.hours(2, 9).start}, {}, "before_flavor_start"),
    "after its end": ({"end": world.hours(0, 2).end}, {}, "after_flavor_end"),
    "no flavor": ({}, {"flavor": "nonesuch"}, "flavor_not_found"),
    "reversed": ({}, {"span": world.hours(3, 1)}, "invalid_period"),
    "empty": ({}, {"span": world.hours(3, 3)}, "invalid_period"),
    "past": ({}, {"span": world.hours(-1, 1)}, "invalid_period"),
    "slots": ({"slots": 1}, {"count": 2}, "slots_exhausted"),
    "no such property": ({"properties": '["==", "$gpu", "v100"]'}, {}, "no_host_matches"),
    "no such zone": ({"availability_zone": "z2"}, {}, "no_host_matches"),
    "no such trait": ({"extra_specs": {"trait:CUSTOM_X": "required"}}, {}, "no_host_matches"),
    "a trait too many": ({"extra_specs": {"trait:CUSTOM_T": "forbidden"}}, {}, "no_host_matches"),
    "no such class": ({"extra_specs": {"resources:VGPU": "1"}}, {}, "no_host_matches"),
    "vcpus": ({"vcpu": 17}, {}, "no_host_matches"),
    "memory": ({"memory_mb": 65537}, {}, "no_host_matches"),
    "disk with ephemeral": ({"disk_gb": 999, "ephemeral_gb": 2}, {}, "no_host_matches"),
    "more than max_unit": ({"extra_specs": {"resources:PCI": "3"}}, {}, "no_host_matches"),
    "not a step": ({"extra_specs": {"resources:STEP": "3"}}, {}, "no_host_matches"),
    "count": ({}, {"count": 9}, "hosts_exhausted"),
}


@pytest.mark.parametrize("case", REFUSALS, ids=[name.replace(" ", "-") for name in REFUSALS])
def test_refused_booking_writes_nothing(database: sa.Engine, cloud: Cloud, case):
    terms, wish, code = REFUSALS[case]
    more = {"PCI": {"total": 8, "max_unit": 2}, "STEP": {"total": 8, "step_size": 2}}
    world.add_host(cloud, "a", properties={"gpu": "a100"}, traits=("CUSTOM_T",), more=more)
    world.add_host(cloud, "not-reservable", vcpus=100, memory_mb=10**6, reservable=False)
    flavor = world.add_flavor(**{"slots": 100, **terms})
    cloud.placement.requests.clear()  # which traits exist was asked for the flavor
    before = databases.dump(database)
    request = world.request(
        wish.get("flavor", flavor), wish.get("span", SPAN), wish.get("count", 1)
    )
    with pytest.raises(exceptions.WarreError) as checked:
        admission.check(request)
    with pytest.raises(exceptions.WarreError) as booked:
        world.book(request)
    assert (checked.value.code, booked.value.code) == (code, code)
    assert databases.dump(database) == before
    assert (cloud.leftovers(), cloud.nova.requests, cloud.placement.requests) == ({}, [], [])


def test_private_flavor_is_booked_only_with_access(cloud: Cloud):
    world.add_host(cloud, "a")
    flavor = world.add_flavor(is_public=False)
    with session.writer() as db:
        values = {"id": "access", "flavor_id": flavor.id, "project_id": world.PROJECT}
        db.execute(tables.flavor_projects.insert().values(**values))
    with pytest.raises(exceptions.FlavorNotAccessible):
        world.book(world.request(flavor, SPAN, project_id="project-beta"))
    world.book(world.request(flavor, SPAN))


def test_booking_from_the_present_minute_is_accepted(cloud: Cloud):
    world.add_host(cloud, "a")
    now = world.NOW + datetime.timedelta(seconds=59)
    world.book(world.request(world.add_flavor(), world.hours(0, 1), now=now))


def test_flavor_is_booked_by_name(cloud: Cloud):
    world.add_host(cloud, "a")
    flavor = world.add_flavor(name="by-name")
    lease = world.book(world.request("by-name", SPAN))
    assert lookup.get(lease.reservation_id, None)[1].id == flavor.id


def test_changed_flavor_leaves_the_shape_of_its_reservations(flavor, cloud: Cloud):
    lease = world.book(world.request(flavor, SPAN))
    flavors.update(flavor.id, {"vcpu": 1, "properties": None, "slots": 1})
    assert lookup.get(lease.reservation_id, None)[0].shape == flavor.shape
    # With fewer slots than are booked, nothing is canceled and nothing new is accepted.
    with pytest.raises(exceptions.SlotsExhausted):
        admission.check(world.request(flavor, SPAN))
    with pytest.raises(exceptions.FlavorInUse):
        flavors.delete(flavor.id)
    world.begin(lease)
    world.finish(lease)
    flavors.delete(flavor.id)
    assert lookup.get(lease.reservation_id, None)[1].name == flavor.name


def test_end_deletes_servers_of_a_nova_flavor_that_was_made_again(flavor, cloud: Cloud):
    """Nova doesn't find these servers by the new flavor."""
    lease = world.book(world.request(flavor, SPAN))
    world.begin(lease)
    flavor_id = backing_names.nova_flavor_id(lease.reservation_id)
    (aggregate,) = cloud.nova.aggregates.values()
    cloud.nova.boot(flavor_id, world.PROJECT, host=aggregate["hosts"][0])
    cloud.nova.flavors[flavor_id] |= {"number": -1}
    world.finish(lease)
    backing.reconcile()
    assert cloud.leftovers() == {}
