"""A booking's life: what is written, what Nova and Placement hold, and what goes again."""

import datetime
import json

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, races, world
from warre_blazar import exceptions
from warre_blazar.clients import placement
from warre_blazar.db import models, session
from warre_blazar.services import backing, flavors, reservations

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)


@pytest.fixture
def flavor(cloud: Cloud):
    """A flavor with everything set, of which two instances fit on host a and one on host b."""
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


def test_rows(database: sa.Engine, flavor):
    lease = world.book(world.request(flavor, SPAN, 3))
    rows = {name: len(found) for name, found in databases.dump(database).items()}
    assert {
        name: rows[name] for name in rows if name.startswith(("warre", "inst", "computehost_a"))
    } == {
        "warre_flavors": 1,
        "warre_reservations": 1,
        "warre_hosts": 2,
        "warre_backings": 1,
        "instance_reservations": 1,
        "computehost_allocations": 3,
    }
    found, of = reservations.get(lease.reservation_id, world.PROJECT)
    assert (found.id, found.reservation_id) == (lease.reservation_id, lease.reservation_id)
    assert (found.lease_id, found.instance_count, found.state) == (lease.id, 3, "ALLOCATED")
    assert (found.span, found.shape, of.id) == (SPAN, flavor.shape, flavor.id)


def test_the_row_stock_plugins_read(flavor, cloud: Cloud):
    lease = world.book(world.request(flavor, SPAN, 3))
    resource_id = db_api.reservation_get(lease.reservation_id)["resource_id"]
    row = db_api.instance_reservation_get(resource_id)
    # Once per host is how the instance plugin counts it: the fullest holds two.
    assert (row["vcpus"], row["memory_mb"], row["disk_gb"]) == (4, 4096, 50)
    assert (row["amount"], row["flavor_id"]) == (3, backing.nova_flavor(lease.reservation_id))
    assert row["aggregate_id"] in cloud.nova.aggregates
    assert json.loads(row["resource_properties"])["OS-FLV-EXT-DATA:ephemeral"] == 5


def test_what_the_cloud_holds_once_booked(flavor, cloud: Cloud):
    lease = world.book(world.request(flavor, SPAN, 3))
    ours = lease.reservation_id
    cls = backing.resource_class(ours)
    made = cloud.nova.flavors[backing.nova_flavor(ours)]
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
    assert aggregate["metadata"]["filter_tenant_id"] == world.PROJECT
    # Nobody is let in before the start.
    assert made["access"] == set()
    assert (cloud.placement.classes, cloud.placement.offered()) == ({cls}, {})


def test_start_and_end(database: sa.Engine, flavor, cloud: Cloud):
    lease = world.book(world.request(flavor, SPAN, 3))
    world.begin(lease)
    cls = backing.resource_class(lease.reservation_id)
    (aggregate,) = cloud.nova.aggregates.values()
    assert sorted(aggregate["hosts"]) == ["a", "b"]
    assert cloud.placement.offered() == {"blazar_a": {cls: 2}, "blazar_b": {cls: 1}}
    cloud.nova.boot(backing.nova_flavor(lease.reservation_id), world.PROJECT)
    world.finish(lease)
    assert cloud.leftovers() == {}
    left = databases.dump(database)
    assert "computehost_allocations" not in left
    assert "warre_backings" not in left
    assert reservations.get(lease.reservation_id, None)[0].state == "COMPLETE"


def test_one_login_for_all(flavor, cloud: Cloud):
    lease = world.book(world.request(flavor, SPAN, 3))
    world.begin(lease)
    world.finish(lease)
    assert cloud.keystone.logins == 1


def test_a_token_that_is_refused_is_replaced(flavor, cloud: Cloud):
    lease = world.book(world.request(flavor, SPAN))
    world.begin(lease)
    cloud.keystone.forget_tokens()
    world.finish(lease)  # one request after the other
    assert cloud.keystone.logins == 2


def test_threads_whose_token_is_refused_at_once(cloud: Cloud):
    """Whoever comes second finds the token dropped already, and gets a new one all the same."""
    for number in range(5):
        placement.make_class(f"CUSTOM_BEFORE_{number}")
        cloud.keystone.forget_tokens()
        names = [f"CUSTOM_{number}_{thread}" for thread in range(8)]
        result = races.in_threads([lambda n=n: placement.make_class(n) for n in names])
        assert result.outcomes == {"held": len(names)}


def test_deleting_the_lease_frees_the_slots_at_once(database: sa.Engine, flavor, cloud: Cloud):
    lease = world.book(world.request(flavor, SPAN, 3))
    with pytest.raises(exceptions.SlotsExhausted):
        reservations.check(world.request(flavor, SPAN))
    db_api.lease_destroy(lease.id)
    left = databases.dump(database)
    assert not {"warre_reservations", "instance_reservations", "computehost_allocations"} & set(
        left
    )
    world.book(world.request(flavor, SPAN, 3))
    assert len(cloud.nova.flavors) == 2
    backing.reconcile()
    assert len(cloud.nova.flavors) == 1


def test_a_lease_of_several(flavor, cloud: Cloud):
    """Each reservation has its own things; the lease's end frees them all."""
    one = world.add_lease(SPAN)
    second = db_api.reservation_create(
        {"lease_id": one.id, "resource_type": "flavor:slot", "status": "pending"}
    )
    for reservation_id, count in ((one.reservation_id, 1), (second["id"], 2)):
        reservations.book(reservation_id, world.request(flavor, SPAN, count))
    ids = (one.reservation_id, second["id"])
    assert set(cloud.nova.flavors) == {backing.nova_flavor(i) for i in ids}
    with pytest.raises(exceptions.LeaseShared):
        reservations.check_sole(reservations.get(second["id"], None)[0])
    db_api.lease_destroy(one.id)
    backing.reconcile()
    assert cloud.leftovers() == {}


def test_reconcile_leaves_the_living_alone(database: sa.Engine, flavor, cloud: Cloud):
    world.begin(world.book(world.request(flavor, SPAN)))
    world.book(world.request(flavor, SPAN))
    before = (databases.dump(database), cloud.leftovers())
    backing.reconcile()
    assert (databases.dump(database), cloud.leftovers()) == before


def test_servers_that_stay_do_not_keep_the_slots(flavor, cloud: Cloud):
    lease = world.book(world.request(flavor, SPAN, 3))
    world.begin(lease)
    cloud.nova.boot(backing.nova_flavor(lease.reservation_id), world.PROJECT)
    cloud.nova.servers_stay = True
    world.finish(lease, patience=0)
    world.book(world.request(flavor, SPAN, 3))
    cloud.nova.servers_stay = False
    backing.reconcile()
    backing.reconcile()
    assert list(cloud.nova.servers) == []
    assert len(cloud.nova.flavors) == 1


def test_names_differ_by_case_and_accent(cloud: Cloud):
    for name in ("gpu", "GPU", "gpü"):
        world.add_flavor(name=name)
    with pytest.raises(exceptions.FlavorExists):
        world.add_flavor(name="gpu")


# One rule each: how the flavor differs, how the request does, the code.
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
    "no such property": ({"properties": '["==", "$gpu", "v100"]'}, {}, "hosts_exhausted"),
    "no such zone": ({"availability_zone": "z2"}, {}, "hosts_exhausted"),
    "no such trait": ({"extra_specs": {"trait:CUSTOM_X": "required"}}, {}, "hosts_exhausted"),
    "a trait too many": ({"extra_specs": {"trait:CUSTOM_T": "forbidden"}}, {}, "hosts_exhausted"),
    "no such class": ({"extra_specs": {"resources:VGPU": "1"}}, {}, "hosts_exhausted"),
    "vcpus": ({"vcpu": 17}, {}, "hosts_exhausted"),
    "memory": ({"memory_mb": 65537}, {}, "hosts_exhausted"),
    "disk with ephemeral": ({"disk_gb": 999, "ephemeral_gb": 2}, {}, "hosts_exhausted"),
    "more than max_unit": ({"extra_specs": {"resources:PCI": "3"}}, {}, "hosts_exhausted"),
    "not a step": ({"extra_specs": {"resources:STEP": "3"}}, {}, "hosts_exhausted"),
    "count": ({}, {"count": 9}, "hosts_exhausted"),
}


@pytest.mark.parametrize("case", REFUSALS, ids=[name.replace(" ", "-") for name in REFUSALS])
def test_a_refusal_writes_nothing(database: sa.Engine, cloud: Cloud, case):
    terms, wish, code = REFUSALS[case]
    more = {"PCI": {"total": 8, "max_unit": 2}, "STEP": {"total": 8, "step_size": 2}}
    world.add_host(cloud, "a", properties={"gpu": "a100"}, traits=("CUSTOM_T",), more=more)
    world.add_host(cloud, "not-reservable", vcpus=100, memory_mb=10**6, reservable=False)
    flavor = world.add_flavor(**{"slots": 100, **terms})
    before = databases.dump(database)
    request = world.request(
        wish.get("flavor", flavor), wish.get("span", SPAN), wish.get("count", 1)
    )
    with pytest.raises(exceptions.WarreError) as checked:
        reservations.check(request)
    with pytest.raises(exceptions.WarreError) as booked:
        world.book(request)
    assert (checked.value.code, booked.value.code) == (code, code)
    assert databases.dump(database) == before
    assert (cloud.leftovers(), cloud.nova.requests, cloud.placement.requests) == ({}, [], [])


def test_access_to_a_private_flavor(cloud: Cloud):
    world.add_host(cloud, "a")
    flavor = world.add_flavor(is_public=False)
    with session.writer() as db:
        values = {"id": "access", "flavor_id": flavor.id, "project_id": world.PROJECT}
        db.execute(models.flavor_projects.insert().values(**values))
    with pytest.raises(exceptions.FlavorNotBookable):
        world.book(world.request(flavor, SPAN, project_id="project-beta"))
    world.book(world.request(flavor, SPAN))


def test_the_present_minute_may_be_booked(cloud: Cloud):
    world.add_host(cloud, "a")
    now = world.NOW + datetime.timedelta(seconds=59)
    world.book(world.request(world.add_flavor(), world.hours(0, 1), now=now))


def test_a_flavor_by_name(cloud: Cloud):
    world.add_host(cloud, "a")
    flavor = world.add_flavor(name="by-name")
    lease = world.book(world.request("by-name", SPAN))
    assert reservations.get(lease.reservation_id, None)[1].id == flavor.id


def test_a_reservation_keeps_the_shape_it_was_booked_with(flavor, cloud: Cloud):
    lease = world.book(world.request(flavor, SPAN))
    flavors.update(flavor.id, {"vcpu": 1, "properties": None, "slots": 1})
    assert reservations.get(lease.reservation_id, None)[0].shape == flavor.shape
    # Fewer slots than are booked: nothing is cancelled, nothing new is taken.
    with pytest.raises(exceptions.SlotsExhausted):
        reservations.check(world.request(flavor, SPAN))
    with pytest.raises(exceptions.FlavorInUse):
        flavors.delete(flavor.id)
    world.begin(lease)
    world.finish(lease)
    flavors.delete(flavor.id)
    assert reservations.get(lease.reservation_id, None)[1].name == flavor.name
