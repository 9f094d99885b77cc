"""Nova's aggregates are read with the hosts, and decide which hosts match flavors."""

import pytest

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar.db import session
from warre_blazar.db.hosts import allocations, host_providers, reservable_hosts
from warre_blazar.domain.flavors import capacity as capacity_domain
from warre_blazar.errors import exceptions
from warre_blazar.services.flavors import capacity
from warre_blazar.services.hosts import host_refresh

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)
SSD = {"aggregate_instance_extra_specs:ssd": "true"}


@pytest.fixture
def hosts(cloud: Cloud) -> dict[str, str]:
    """The ids of two hosts, "a" and "b"."""
    return {name: world.add_host(cloud, name, vcpus=4) for name in ("a", "b")}


def add_aggregate(cloud: Cloud, name: str, members: str, **metadata: str) -> dict[str, str]:
    """Put hosts with names of one letter into a new aggregate of the site; its metadata."""
    number = cloud.nova.last_id = cloud.nova.last_id + 1
    values = {key.replace("__", ":"): value for key, value in metadata.items()}
    made = {"id": number, "name": name, "hosts": list(members), "metadata": values}
    cloud.nova.aggregates[number] = made
    return values


def matching(**values) -> list[str]:
    flavor = world.add_flavor(**values)
    with session.reader() as db:
        booked = allocations.booked_hosts(db, flavor.id, flavor.shape, SPAN)
    return sorted(host.name for host in booked.hosts)


def test_aggregates_of_the_site_decide_which_hosts_match(cloud: Cloud, hosts):
    add_aggregate(cloud, "ssd", "b", ssd="true")
    assert matching(extra_specs=SSD) == []
    host_refresh.refresh()
    assert matching(extra_specs=SSD) == ["b"]
    assert matching(extra_specs={"ssd": "<or> true <or> yes"}) == ["b"]
    assert matching() == ["a", "b"]


def test_isolated_host_matches_only_flavors_with_its_trait(cloud: Cloud, hosts):
    add_aggregate(cloud, "licensed", "a", trait__CUSTOM_LICENSED="required")
    cloud.placement.change("a", "CUSTOM_LICENSED")
    host_refresh.refresh()
    assert matching() == ["b"]
    assert matching(extra_specs={"trait:CUSTOM_LICENSED": "required"}) == ["a"]


def test_rules_that_are_off_decide_nothing(cloud: Cloud, hosts, conf):
    add_aggregate(cloud, "licensed", "a", trait__CUSTOM_LICENSED="required")
    conf.config(nova_aggregate_rules=[], group="warre")
    host_refresh.refresh()
    assert matching(extra_specs=SSD) == matching() == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "metadata"),
    [
        ("freepool", {"ssd": "true"}),
        ("pool", {"ssd": "true", "blazar:owner": "alpha"}),
        ("pool", {"ssd": "true", "availability_zone": "blazar_0c0ffee0"}),
        (
            "0c0ffee0-0000-4000-8000-000000000000",
            {"ssd": "true", "reservation": "0c0ffee0-0000-4000-8000-000000000000"},
        ),
    ],
)
def test_aggregates_of_reservations_and_the_freepool_do_not_count(
    cloud: Cloud, hosts, name, metadata
):
    values = add_aggregate(cloud, name, "a")
    values.update(metadata)
    host_refresh.refresh()
    assert matching(extra_specs=SSD) == []
    with session.reader() as db:
        assert {host.aggregates.facts for host in reservable_hosts.empty(db)} == {frozenset()}


def test_changed_aggregate_changes_the_host_and_its_generation(cloud: Cloud, hosts):
    def generations() -> dict[str, int]:
        with session.reader() as db:
            return {host.name: host.generation for host in reservable_hosts.empty(db)}

    ssd = add_aggregate(cloud, "ssd", "b", ssd="true")
    host_refresh.refresh()
    before = generations()
    host_refresh.refresh()
    assert generations() == before
    ssd["ssd"] = "false"
    result = host_refresh.refresh()
    assert generations() == {"a": before["a"], "b": before["b"] + 1}
    of_a, of_b = (host.difference for host in result.hosts)
    assert of_a is None and of_b is not None
    assert (of_b.metadata_gained, of_b.metadata_lost) == ({"ssd=false"}, {"ssd=true"})
    assert matching(extra_specs=SSD) == []


def test_aggregates_stay_while_nova_is_away(cloud: Cloud, hosts):
    add_aggregate(cloud, "ssd", "b", ssd="true")
    host_refresh.refresh()
    cloud.nova.fail(status=503, match="/os-aggregates")
    cloud.placement.change("b", VCPU=8)
    result = host_refresh.refresh()
    assert "Nova" in result.zones_failure
    assert [bool(host.difference) for host in result.hosts] == [False, True]
    host_providers._parsed.clear()
    assert matching(extra_specs=SSD) == ["b"]


def test_refresh_of_many_hosts_asks_nova_once_for_aggregates(cloud: Cloud, hosts):
    world.add_host(cloud, "c")
    cloud.nova.requests.clear()
    host_refresh.refresh()
    asked = cloud.nova.requests
    assert len([each for each in asked if "os-aggregates" in each]) == 1
    assert len(asked) == 2


def test_all_views_know_which_hosts_match(cloud: Cloud, hosts):
    add_aggregate(cloud, "ssd", "b", ssd="true")
    host_refresh.refresh()
    flavor = world.add_flavor(slots=10, vcpu=2, memory_mb=1, extra_specs=SSD)
    world.book(world.request(flavor, SPAN, 2))
    with pytest.raises(exceptions.WarreError):
        world.book(world.request(flavor, SPAN, 1))
    of_flavor = capacity.limits(flavor)
    assert of_flavor.instances == 2
    (of_a,) = (each for each in of_flavor.hosts if each.host.name == "a")
    (limit,) = of_a.tightest
    assert (limit.kind, limit.name) == (capacity_domain.LimitKind.AGGREGATE, "ssd: true")
    assert capacity.bookable_hosts([flavor]) == {flavor.id: 1}
