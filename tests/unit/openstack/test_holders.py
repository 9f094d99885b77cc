"""Reading from Placement and Nova who holds room on hosts."""

import pytest

from tests.fakes.cloud import Cloud
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.holders import HolderKind
from warre_blazar.openstack import holders, placement

RESERVATION = "11111111-2222-3333-4444-555555555555"
CLASS = backing_names.resource_class(RESERVATION)
HOSTS = {"cmp1": "cmp1", "cmp2": "cmp2"}
PROJECT = "alpha"


@pytest.fixture
def nova(cloud: Cloud):
    for name in HOSTS:
        cloud.add_host(name, inventories={"VCPU": {"total": 8}})
    blazars = cloud.placement.named("blazar_cmp1")
    assert blazars is not None
    cloud.placement.classes.add(CLASS)
    blazars["inventories"][CLASS] = backing_names.inventory(3)
    return cloud.nova


@pytest.fixture
def reserved(nova) -> str:
    """The id of a Nova flavor whose servers take units of the reservation."""
    specs = backing_names.AGGREGATE_SPEC, f"resources:{CLASS}"
    return nova.make_flavor(
        backing_names.FLAVOR_PREFIX + RESERVATION, dict(zip(specs, (RESERVATION, "1"), strict=True))
    )


def test_servers_of_a_host_are_named(cloud: Cloud, nova, reserved):
    own = nova.boot(reserved, PROJECT, "own", host="cmp1")
    spot = nova.make_flavor("spot", {"blazar:preemptible": "True"})
    nova.boot(spot, "beta", "cheap", host="cmp1")
    nova.boot(spot, "beta", "elsewhere", host="cmp2")
    found = holders.of_hosts({"cmp1": "cmp1"})["cmp1"]
    (cheap,) = [h for h in found if h.consumer != own]
    (mine,) = [h for h in found if h.consumer == own]
    assert (mine.kind, mine.resources) == (HolderKind.SERVER, {"VCPU": 1, CLASS: 1})
    assert mine.reservation_ids == {RESERVATION}
    assert mine.server is not None and cheap.server is not None
    assert (mine.server.name, mine.server.project_id) == ("own", PROJECT)
    assert (mine.server.reservation_id, mine.server.service_name) == (RESERVATION, "cmp1")
    assert not mine.server.is_preemptible
    assert (cheap.server.is_preemptible, cheap.reservation_ids) == (True, frozenset())


def test_unconfirmed_resize_holds_what_the_server_had(cloud: Cloud, nova, reserved):
    server = nova.boot(reserved, PROJECT, "s1", host="cmp1")
    migration = nova.move(server, "cmp2", nova.make_flavor("other"))
    (left,) = holders.of_class(CLASS, HOSTS)
    assert (left.kind, left.consumer, left.host) == (HolderKind.MIGRATION, migration, "cmp1")
    assert left.server is not None and left.server.service_name == "cmp2"
    assert (left.server_id, left.is_confirmable) == (server, True)
    assert "server " + server in str(left) and "move isn't confirmed" in str(left)
    (moved,) = holders.of_hosts(HOSTS)["cmp2"]
    assert (moved.kind, moved.consumer) == (HolderKind.SERVER, server)


def test_server_on_a_host_that_was_not_asked_about_is_named(nova, reserved):
    server = nova.boot(reserved, PROJECT, "s1", host="cmp1")
    nova.move(server, "cmp2", nova.make_flavor("other"))
    (left,) = holders.of_class(CLASS, {"cmp1": "cmp1"})
    assert left.server is not None and left.server.name == "s1"


def test_move_under_way_is_not_confirmed(nova, reserved):
    server = nova.boot(reserved, PROJECT, host="cmp1")
    migration = nova.move(server, "cmp2", nova.make_flavor("other"))
    nova.migrations[migration]["status"] = "migrating"
    (left,) = holders.of_class(CLASS, HOSTS)
    assert (left.kind, left.is_confirmable) == (HolderKind.MIGRATION, False)
    nova.migrations[migration] |= {"status": "finished", "migration_type": "live-migration"}
    (left,) = holders.of_class(CLASS, HOSTS)
    assert not left.is_confirmable


def test_evacuated_server_is_known_on_the_host_that_it_left(cloud: Cloud, nova, reserved):
    server = nova.boot(reserved, PROJECT, "s1", host="cmp1")
    migration = nova.move(server, "cmp2", nova.make_flavor("other"))
    # Until the failed host is back, the server holds room on both hosts.
    both = cloud.placement.allocations.pop(migration) | cloud.placement.allocations[server]
    cloud.placement.allocations[server] = both
    nova.migrations[migration] |= {"status": "done", "migration_type": "evacuation"}
    (left,) = holders.of_class(CLASS, {"cmp1": "cmp1"})
    assert (left.kind, left.consumer) == (HolderKind.SERVER, server)
    assert left.server is not None and left.server.service_name == "cmp2"


def test_consumer_that_nova_does_not_know(cloud: Cloud, nova):
    cloud.placement.use("blazar_cmp1", CLASS, 1)
    (left,) = holders.of_class(CLASS, HOSTS)
    assert (left.kind, left.server_id) == (HolderKind.UNKNOWN, None)
    assert left.consumer in str(left) and "cmp1" in str(left)


def test_old_migrations_are_read_only_until_all_are_found(
    nova, reserved, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("warre_blazar.openstack.nova._PAGE", 2)
    server = nova.boot(reserved, PROJECT, host="cmp1")
    migration = nova.move(server, "cmp2", nova.make_flavor("other"))
    for number in range(7):
        other = {"uuid": f"m{number}", "status": "confirmed"}
        nova.migrations[f"m{number}"] = {**nova.migrations[migration], **other}
    (left,) = holders.of_class(CLASS, HOSTS)
    assert left.consumer == migration
    assert nova.requests.count("GET /v2.1/os-migrations") == 4
    nova.migrations[migration] = nova.migrations.pop(migration)
    nova.requests.clear()
    (left,) = holders.of_class(CLASS, HOSTS)
    assert nova.requests.count("GET /v2.1/os-migrations") == 1


def test_number_of_requests_does_not_depend_on_servers(cloud: Cloud, nova, reserved):
    for each in range(3):
        nova.boot(reserved, PROJECT, f"s{each}", host="cmp1")
    cloud.placement.requests.clear()
    nova.requests.clear()
    assert len(holders.of_class(CLASS, HOSTS)) == 3
    assert len(cloud.placement.requests) == 4
    # Nova is asked for a page after the last one, too.
    assert nova.requests == ["GET /v2.1/servers/detail"] * 2


def test_host_without_provider_has_no_holders(nova):
    assert holders.of_hosts({"gone": "gone"}) == {"gone": []}


def test_many_hosts_are_found_with_one_list(cloud: Cloud, nova, reserved):
    nova.boot(reserved, PROJECT, host="cmp1")
    cloud.placement.requests.clear()
    found = holders.of_hosts({**HOSTS, **{f"none{n}": f"none{n}" for n in range(9)}})
    assert [host for host, those in found.items() if those] == ["cmp1"]
    assert len(cloud.placement.requests) == 5


def test_units_of_a_project_are_counted_with_its_migrations(nova, reserved):
    nova.boot(reserved, PROJECT, host="cmp1")
    moved = nova.boot(reserved, PROJECT, host="cmp1")
    nova.move(moved, "cmp2", nova.make_flavor("other"))
    nova.boot(reserved, "beta", host="cmp1")
    assert placement.used_by_projects({PROJECT})[CLASS] == 2
    assert placement.used_by_projects({PROJECT, "beta"})[CLASS] == 3
    assert placement.used_by_projects({"nobody"})[CLASS] == 0
