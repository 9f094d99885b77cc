"""What hosts have is read from Placement and Nova, stored, and followed when it changes."""

import datetime
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.test_statements import counted
from warre_blazar import times
from warre_blazar.db import generations, session, tables
from warre_blazar.db.hosts import allocations, host_providers, reservable_hosts
from warre_blazar.domain.flavors.request_groups import Group, PlacementRequest
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.slots import free_time
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import admission
from warre_blazar.services.hosts import host_refresh
from warre_blazar.services.hosts.host_refresh import Refreshed
from warre_blazar.services.slots import free_slots

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)
#: What hosts have in Placement.
ROOM = {"VCPU": 16, "MEMORY_MB": 65536, "DISK_GB": 1000}
DEVICE = "a_0000:01:00.0"


@pytest.fixture
def host(cloud: Cloud) -> str:
    """A host with a device in Placement, about which nothing is stored; its id in Blazar."""
    return add(cloud, "a")


def add(cloud: Cloud, name: str, **values: Any) -> str:
    host_id = world.add_host(cloud, name, children=None, **values)
    cloud.placement.change(name, "COMPUTE_NODE", **ROOM)
    (root,) = (i for i, p in cloud.placement.providers.items() if p["name"] == name)
    cloud.placement.add_provider(f"{name}_0000:01:00.0", root, "CUSTOM_A100", CUSTOM_GPU=1)
    return host_id


def read_hosts() -> dict[str, BookableHost]:
    with session.reader() as db:
        return {h.name: h for h in reservable_hosts.empty(db)}


def refresh_one(*args: Any, **kwargs: Any) -> Refreshed:
    (refreshed,) = host_refresh.refresh(*args, **kwargs).hosts
    return refreshed


def rows() -> dict[str, Any]:
    with session.reader() as db:
        found = db.execute(sa.select(tables.host_providers)).mappings().all()
    return {row["host_id"]: row for row in found}


# What is read, and what hosts have then.


def test_unread_host_has_what_blazar_recorded(cloud: Cloud):
    world.add_host(cloud, "a", vcpus=4, traits=("HW_CPU_X86_VMX",), children=None)
    read = read_hosts()["a"]
    assert read.inventories["VCPU"].total == 4
    assert (read.traits, read.providers) == ({"HW_CPU_X86_VMX"}, ())


def test_read_host_has_what_placement_says(cloud: Cloud, host):
    host_refresh.refresh()
    read = read_hosts()["a"]
    assert {cls: inventory.total for cls, inventory in read.inventories.items()} == ROOM
    assert read.traits == {"COMPUTE_NODE"}
    root, device = read.providers
    assert (root.name, root.parent_id) == ("a", None)
    assert (device.name, device.parent_id, device.traits) == (DEVICE, root.id, {"CUSTOM_A100"})
    assert device.inventories["CUSTOM_GPU"].capacity == 1


def test_hosts_of_these_tests_are_in_placement_as_they_are_stored(cloud: Cloud):
    # Managers in processes of their own read them again in the middle of other tests.
    more = {"CUSTOM_NPU": {"total": 4, "reserved": 1}, "VCPU": {"allocation_ratio": 2.0}}
    world.add_host(cloud, "a", traits=("HW_CPU_X86_VMX",), more=more)
    before = rows()
    host_refresh.refresh()
    assert rows() == before


def test_device_that_waits_to_be_cleaned_can_be_booked(cloud: Cloud, host):
    device = cloud.placement.named(DEVICE)
    device["inventories"]["CUSTOM_GPU"]["reserved"] = 1
    device["traits"].append("HW_PCI_ONE_TIME_USE")
    host_refresh.refresh()
    gpu = PlacementRequest.of(Group.of({"VCPU": 1}), [Group.of({"CUSTOM_GPU": 1})])
    assert read_hosts()["a"].when_empty(gpu) == 1


def test_trees_are_read_back_as_they_were_stored(cloud: Cloud, host):
    host_refresh.refresh()
    before = read_hosts()
    host_providers._parsed.clear()
    assert read_hosts() == before


def test_first_reading_is_compared_with_what_blazar_recorded(cloud: Cloud):
    add(cloud, "a", vcpus=20, memory_mb=ROOM["MEMORY_MB"], disk_gb=ROOM["DISK_GB"])
    found = refresh_one().difference
    assert found is not None
    assert found.totals == {"VCPU": (20, 16), "CUSTOM_GPU": (0, 1)}
    assert (found.providers_new, found.providers_gone, found.zone) == ((DEVICE,), (), None)


def test_device_that_is_gone_is_named(cloud: Cloud, host):
    host_refresh.refresh()
    cloud.placement.remove_provider(DEVICE)
    found = refresh_one().difference
    assert found is not None
    assert (found.totals, found.providers_gone) == ({"CUSTOM_GPU": (1, 0)}, (DEVICE,))
    assert found.traits_lost == {"CUSTOM_A100"}
    assert [p.name for p in read_hosts()["a"].providers] == ["a"]


def test_only_what_has_changed_is_written(cloud: Cloud, database: sa.Engine, host):
    add(cloud, "b")
    host_refresh.refresh()
    before = rows()
    generations = {h.name: h.generation for h in read_hosts().values()}
    # A server that boots moves the generation in Placement and changes nothing else.
    cloud.placement.use("b", "VCPU", 1)
    with counted(database) as statements:
        result = host_refresh.refresh()
    assert [r.difference for r in result.hosts] == [None, None]
    assert not [s for s in statements if not s.startswith("SELECT")]
    cloud.placement.change("b", VCPU=8)
    host_refresh.refresh()
    after = rows()
    assert after[host] == before[host]
    changed = {h.name for h in read_hosts().values() if h.generation != generations[h.name]}
    assert changed == {"b"}


def test_device_that_nova_reports_late_is_seen_while_its_host_is_settling(
    cloud: Cloud, host, monkeypatch: pytest.MonkeyPatch
):
    def totals() -> set[str]:
        return {cls for p in read_hosts()["a"].providers for cls in p.inventories}

    cloud.placement.remove_provider(DEVICE)
    host_refresh.refresh_settling()
    assert totals() == set(ROOM)
    root = read_hosts()["a"].providers[0].id
    cloud.placement.add_provider(DEVICE, root, "CUSTOM_A100", CUSTOM_GPU=1)
    host_refresh.refresh_settling()
    assert totals() == {*ROOM, "CUSTOM_GPU"}
    # Once the host has settled, only the reading of all hosts finds changes.
    cloud.placement.remove_provider(DEVICE)
    monkeypatch.setattr(times, "HOST_SETTLES_FOR", datetime.timedelta(minutes=-1))
    host_refresh.refresh_settling()
    assert totals() == {*ROOM, "CUSTOM_GPU"}
    host_refresh.refresh()
    assert totals() == set(ROOM)


def test_single_host_is_refreshed_alone(cloud: Cloud, host):
    add(cloud, "b")
    assert refresh_one({host}).name == "a"
    assert set(rows()) == {host}


def test_hosts_that_cannot_be_booked_are_read_too(cloud: Cloud):
    add(cloud, "a", reservable=False)
    (refreshed,) = host_refresh.refresh().hosts
    assert (refreshed.name, refreshed.failure) == ("a", "")
    assert len(rows()) == 1


def test_host_that_blazar_deletes_takes_its_providers_along(cloud: Cloud, host):
    host_refresh.refresh()
    db_api.host_destroy(host)
    assert rows() == {}


# Zones.


def in_zone(zone: str) -> list[str]:
    flavor = world.add_flavor(availability_zone=zone)
    with session.reader() as db:
        return [
            h.name
            for h in allocations.matching_hosts(
                db, flavor.id, lambda h: h.matches(flavor.shape, None)
            ).hosts
        ]


def test_flavors_zone_follows_novas(cloud: Cloud, host):
    host_refresh.refresh()
    assert (in_zone("nova"), in_zone("gpu")) == (["a"], [])
    cloud.nova.zones["a"] = "gpu"
    found = refresh_one().difference
    assert found is not None
    assert found.zone == ("nova", "gpu")
    assert (in_zone("nova"), in_zone("gpu")) == ([], ["a"])
    assert read_hosts()["a"].properties["availability_zone"] == "gpu"


def test_zone_stays_while_the_host_is_reserved_as_a_whole(cloud: Cloud, host):
    cloud.nova.zones["a"] = "gpu"
    host_refresh.refresh()
    cloud.nova.zones["a"] = "blazar_0c0ffee0"
    assert refresh_one().difference is None
    assert in_zone("gpu") == ["a"]


def test_zone_stays_while_nova_is_away(cloud: Cloud, host):
    cloud.nova.zones["a"] = "gpu"
    host_refresh.refresh()
    cloud.nova.fail(status=503)
    result = host_refresh.refresh()
    assert "Nova" in result.zones_failure
    assert (result.hosts[0].difference, in_zone("gpu")) == (None, ["a"])


def test_zone_is_blazars_if_zones_are_not_known(cloud: Cloud, host, conf):
    cloud.nova.zones["a"] = "gpu"
    host_refresh.refresh()
    conf.config(az_aware=False, group="nova")
    host_refresh.refresh()
    assert in_zone("nova") == ["a"]


def test_zones_of_hosts_are_novas_and_blazars_if_novas_were_not_read(cloud: Cloud, host):
    cloud.nova.zones["a"] = "gpu"
    host_refresh.refresh()
    unread = add(cloud, "b")
    other = add(cloud, "c")
    with session.reader() as db:
        assert host_providers.zones(db, [host, unread]) == {host: "gpu", unread: "nova"}
        assert host_providers.zones(db, [other, "no host"]) == {other: "nova"}
        assert host_providers.zones(db, []) == {}


# Capabilities that name devices.


@pytest.mark.parametrize("is_read", [True, False])
def test_capability_gives_a_host_devices(cloud: Cloud, is_read):
    children = () if is_read else None
    world.add_host(cloud, "a", properties={"pci_alias_a100": "4"}, children=children)
    root, devices = read_hosts()["a"].providers
    assert root.inventories["VCPU"].total == 16
    assert devices.parent_id == root.id
    assert {cls: i.capacity for cls, i in devices.inventories.items()} == {"pci_alias_a100": 4}


def test_capability_that_is_no_number_counts_nothing_and_is_logged(cloud: Cloud, caplog):
    reservable_hosts._warn.cache_clear()
    world.add_host(cloud, "a", properties={"pci_alias_a100": "some"})
    for _ in range(2):
        _, devices = read_hosts()["a"].providers
    assert devices.inventories["pci_alias_a100"].capacity == 0
    assert caplog.text.count("pci_alias_a100 is 'some'") == 1


# When a host is first needed.


def question(flavor: Any) -> free_time.Question:
    return free_time.Question(
        flavor=flavor.id,
        project_id=world.PROJECT,
        everything=False,
        count=1,
        window=SPAN,
        now=world.NOW,
        cleaning=world.NO_CLEANING,
    )


def test_new_host_is_read_before_it_is_booked(cloud: Cloud):
    """Blazar recorded too little of the host."""
    host_id = add(cloud, "a", vcpus=1)
    world.book(world.request(world.add_flavor(vcpu=8), SPAN))
    assert set(rows()) == {host_id}


def test_new_host_is_read_before_free_slots_are_searched(cloud: Cloud):
    host_id = add(cloud, "a", vcpus=1)
    assert free_slots.find(question(world.add_flavor(vcpu=8))) == [SPAN]
    assert set(rows()) == {host_id}


def test_placement_away_leaves_what_blazar_recorded(cloud: Cloud, caplog):
    add(cloud, "a", vcpus=8)
    flavor = world.add_flavor(vcpu=8)
    cloud.placement.fail(status=503)
    assert free_slots.find(question(flavor)) == [SPAN]
    assert admission.check(world.request(flavor, SPAN))
    assert "host a couldn't be read" in caplog.text
    requests = len(cloud.placement.requests)
    assert free_slots.find(question(flavor)) == [SPAN]
    assert len(cloud.placement.requests) == requests  # Not asked again for a while.


def test_placement_that_hangs_is_not_waited_for(cloud: Cloud, monkeypatch):
    monkeypatch.setattr(times, "NEW_HOSTS_WAIT", 0.05)
    host_id = add(cloud, "a", vcpus=8)
    cloud.placement.fail(hang=True)
    assert free_slots.find(question(world.add_flavor(vcpu=8))) == [SPAN]
    assert rows() == {}
    cloud.placement.mend()
    world.until(lambda: set(rows()) == {host_id})


def test_several_requests_wait_for_the_same_reading_of_a_new_host(cloud: Cloud):
    add(cloud, "a", vcpus=1)
    asked = question(world.add_flavor(vcpu=8))
    cloud.placement.fail(hang=True)
    with futures.ThreadPoolExecutor(2) as pool:
        searches = [pool.submit(free_slots.find, asked) for _ in range(2)]
        futures.wait(searches, 0.5)
        cloud.placement.mend()
        assert [search.result() for search in searches] == [[SPAN], [SPAN]]


def test_known_host_is_not_read_again_when_placement_is_away(cloud: Cloud, host):
    host_refresh.refresh()
    cloud.placement.fail(status=503)
    refreshed = refresh_one()
    assert (refreshed.difference, bool(refreshed.failure)) == (None, True)
    assert len(read_hosts()["a"].providers) == 2
    assert free_slots.find(question(world.add_flavor(vcpu=8))) == [SPAN]


# Bookings and readings at the same time.


@pytest.mark.parametrize("is_claimed", [True, False])
def test_booking_that_has_read_the_former_tree_loses_the_race(cloud: Cloud, host, is_claimed):
    host_refresh.refresh() if is_claimed else None
    before = list(read_hosts().values())
    cloud.placement.change("a", VCPU=8)
    host_refresh.refresh()
    with pytest.raises(session.LostRace), session.writer() as db:
        generations.increase_hosts(db, before)
    with session.writer() as db:
        generations.increase_hosts(db, reservable_hosts.empty(db))


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Callable[[], None]]]:
    """What happens, each time in turn, after Placement was asked and before anything is stored."""
    actions: list[Callable[[], None]] = []
    real = host_refresh.host_trees.trees

    def trees(names):
        found = real(names)
        if actions:
            actions.pop(0)()
        return found

    monkeypatch.setattr(host_refresh.host_trees, "trees", trees)
    yield actions
    assert not actions


def test_older_answer_does_not_replace_a_newer_one(cloud: Cloud, host, meanwhile):
    def change_and_refresh() -> None:
        cloud.placement.change("a", VCPU=8)
        host_refresh.refresh()

    host_refresh.refresh()
    cloud.placement.change("a", VCPU=4)
    meanwhile.append(change_and_refresh)
    host_refresh.refresh()
    assert read_hosts()["a"].inventories["VCPU"].total == 8


def test_older_answer_about_a_new_host_does_not_replace_a_newer_one(cloud: Cloud, host, meanwhile):
    def change_and_refresh() -> None:
        cloud.placement.change("a", VCPU=8)
        host_refresh.refresh()

    meanwhile.append(change_and_refresh)
    host_refresh.refresh()
    assert read_hosts()["a"].inventories["VCPU"].total == 8


def test_host_that_is_deleted_while_it_is_read_is_left_out(cloud: Cloud, meanwhile):
    host_id = add(cloud, "a")
    add(cloud, "b")

    meanwhile.append(lambda: db_api.host_destroy(host_id))
    result = host_refresh.refresh()
    assert {r.name for r in result.hosts if r.difference} == {"b"}
    assert len(rows()) == 1


def test_managers_that_refresh_at_once_agree(cloud: Cloud):
    for number in range(5):
        add(cloud, f"host-{number}")
    failed: list[BaseException] = []

    def manager() -> None:
        try:
            for _ in range(3):
                host_refresh.refresh()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=manager) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(5):
        cloud.placement.change(f"host-{number}", **{**ROOM, "VCPU": 8})
    for thread in threads:
        thread.join()
    assert failed == []
    host_refresh.refresh()
    assert {h.inventories["VCPU"].total for h in read_hosts().values()} == {8}


# What a change makes overbooked.


def test_what_a_change_makes_overbooked_is_reported(cloud: Cloud, host, caplog):
    host_refresh.refresh()
    lease = world.book(world.request(world.add_flavor(vcpu=2, slots=9), SPAN, 4))
    cloud.placement.change("a", **{**ROOM, "VCPU": 6})
    told: list[Refreshed] = []
    refreshed = refresh_one(tell=told.append)
    (overbooked,) = refreshed.overbooked
    assert (overbooked.resource_class, overbooked.booked, overbooked.capacity) == ("VCPU", 8, 6)
    assert overbooked.when == SPAN.start
    assert told == [refreshed]
    warning = f"Host a has 6 of VCPU, but 8 are booked at {SPAN.start}, by these reservations: "
    assert f"{warning}{lease.reservation_id} ({SPAN.start} to {SPAN.end})" in caplog.text
    # Nothing is cancelled, and nothing more is booked.
    with session.reader() as db:
        assert allocations.allocated(db, lease.reservation_id) == {host: 4}
    with pytest.raises(exceptions.HostsExhausted):
        admission.check(world.request(world.add_flavor(vcpu=2), SPAN))
    assert len(host_refresh.all_overbooked()) == 1


def test_device_that_is_gone_makes_its_class_overbooked(cloud: Cloud, host):
    host_refresh.refresh()
    lease = world.book(world.request(world.add_flavor(), SPAN))
    shape = world.add_flavor(extra_specs={"resources1:CUSTOM_GPU": "1"}).shape
    with session.writer() as db:
        db.execute(tables.bookings.update().values(shape=shape.to_json()))
        world.outdate_hosts(db)
    assert host_refresh.all_overbooked() == []
    cloud.placement.remove_provider(DEVICE)
    (overbooked,) = refresh_one().overbooked
    assert (overbooked.resource_class, overbooked.capacity) == ("CUSTOM_GPU", 0)
    assert [t.reservation_id for t in overbooked.takings] == [lease.reservation_id]


def test_change_that_leaves_room_reports_nothing(cloud: Cloud, host):
    host_refresh.refresh()
    world.book(world.request(world.add_flavor(vcpu=2), SPAN))
    cloud.placement.change("a", **{**ROOM, "VCPU": 2})
    told: list[Refreshed] = []
    assert refresh_one(tell=told.append).overbooked == ()
    assert told == []
