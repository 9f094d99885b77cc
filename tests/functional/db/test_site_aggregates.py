"""Nova's aggregates are read with the hosts, and decide which hosts match flavors."""

import dataclasses
import datetime

import pytest

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar.db import session
from warre_blazar.db.hosts import allocations, host_providers, reservable_hosts
from warre_blazar.domain.flavors import capacity as capacity_domain
from warre_blazar.domain.records.changes import MoveReason
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.slots.free_time import Question
from warre_blazar.errors import exceptions
from warre_blazar.services.flavors import capacity
from warre_blazar.services.hosts import host_refresh
from warre_blazar.services.moves import relocation
from warre_blazar.services.running import backing
from warre_blazar.services.slots import availability, free_slots, offers

pytestmark = pytest.mark.usefixtures("database")

HOUR = datetime.timedelta(hours=1)
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
        booked = allocations.matching_hosts(db, flavor.id, lambda h: h.matches(flavor.shape, None))
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


# Aggregates of projects.


def run_of(project_id: str, flavor) -> str:
    """Book an instance for a project and begin the reservation; the id of its Nova flavor."""
    lease = world.book(world.request(flavor, SPAN, project_id=project_id))
    world.begin(lease)
    return backing_names.nova_flavor_id(lease.reservation_id)


@pytest.fixture
def elsewhere(cloud: Cloud, hosts, conf) -> str:
    """A host "c" outside of Blazar; the id of a Nova flavor of no reservation.

    Projects may book hosts that aren't in their own aggregates.
    """
    conf.config(nova_aggregate_rules=[], group="warre")
    cloud.nova.hosts.add("c")
    cloud.nova.flavors["ordinary"] = {"id": "ordinary", "name": "ordinary", "extra_specs": {}}
    return "ordinary"


@pytest.mark.parametrize("is_named", [False, True])
def test_project_boots_reserved_and_other_servers(cloud: Cloud, elsewhere, is_named):
    if is_named:
        add_aggregate(cloud, "tenants", "c", filter_tenant_id_1="alpha")
    host_refresh.refresh()
    reserved = run_of("alpha", world.add_flavor())
    assert cloud.nova.scheduled_hosts(reserved, "alpha") <= {"a", "b"}
    assert cloud.nova.scheduled_hosts(reserved, "alpha")
    assert "c" in cloud.nova.scheduled_hosts(elsewhere, "alpha")


def test_projects_share_a_host_although_one_is_named_alone(cloud: Cloud, elsewhere):
    add_aggregate(cloud, "tenants", "c", filter_tenant_id="alpha")
    host_refresh.refresh()
    on_a = world.add_flavor(properties='["==", "$hypervisor_hostname", "a"]', slots=4)
    flavors = {project: run_of(project, on_a) for project in ("alpha", "beta")}
    for project, flavor_id in flavors.items():
        assert cloud.nova.scheduled_hosts(flavor_id, project) == {"a"}
    # The project that isn't named can use all hosts that aren't another project's.
    assert cloud.nova.scheduled_hosts(elsewhere, "beta") == {"a", "b"}


def test_aggregate_follows_what_the_site_says_of_its_project(cloud: Cloud, elsewhere):
    def named() -> str:
        (own,) = (a for a in cloud.nova.aggregates.values() if a["name"] != "tenants")
        return own["metadata"]["filter_tenant_id"]

    host_refresh.refresh()
    reserved = run_of("alpha", world.add_flavor())
    assert named() == "alpha,reservation"
    tenants = add_aggregate(cloud, "tenants", "c", filter_tenant_id="alpha")
    host_refresh.refresh()
    assert cloud.nova.scheduled_hosts(reserved, "alpha") == set()
    cloud.nova.fail(status=503, times=1)
    for _ in range(2):
        backing.reconcile()
    assert named() == "alpha"
    assert cloud.nova.scheduled_hosts(reserved, "alpha")
    del tenants["filter_tenant_id"]
    host_refresh.refresh()
    backing.reconcile()
    assert named() == "alpha,reservation"
    cloud.nova.requests.clear()
    backing.reconcile()
    assert cloud.nova.requests == []


@pytest.fixture
def of_alpha(cloud: Cloud, hosts) -> dict[str, str]:
    """The hosts. "a" is in an aggregate of alpha, and each holds two instances of a flavor."""
    add_aggregate(cloud, "tenants", "a", filter_tenant_id="alpha")
    host_refresh.refresh()
    return hosts


def booked_on(flavor, project_id: str, count: int = 2) -> dict[str, int] | str:
    """Book instances for a project: where they are, or the code of the refusal."""
    try:
        lease = world.book(world.request(flavor, SPAN, count, project_id=project_id))
    except exceptions.WarreError as error:
        return error.code
    with session.reader() as db:
        return allocations.allocated(db, lease.reservation_id)


def test_each_project_books_only_hosts_that_nova_lets_it_use(of_alpha):
    flavor = world.add_flavor(slots=10)
    assert booked_on(flavor, "alpha") == {of_alpha["a"]: 2}
    assert booked_on(flavor, "beta") == {of_alpha["b"]: 2}
    for project in ("alpha", "beta"):
        assert booked_on(flavor, project, 1) == "hosts_exhausted"
    of_a = world.add_flavor(name="a", slots=4, properties='["==", "$hypervisor_hostname", "a"]')
    assert booked_on(of_a, "beta") == "no_host_matches"


def test_views_of_a_project_know_its_hosts(of_alpha):
    of_a = world.add_flavor(slots=4, properties='["==", "$hypervisor_hostname", "a"]')
    choice = offers.FlavorChoice(of_a.id)
    for project, spans in (("alpha", [SPAN]), ("beta", [])):
        question = Question(of_a.id, project, False, 1, SPAN, world.NOW, world.NO_CLEANING)
        offered = offers.find(dataclasses.replace(question, least=HOUR), choice, world.NO_QUOTA)
        counted, _ = availability.find(question, choice, 2 * HOUR)
        assert free_slots.find(question) == spans
        assert [offer.span for offer in offered.offers] == spans
        assert [[(p.span, p.instances) for p in each.parts] for each in counted] == [
            [(span, 2)] for span in spans
        ]
    assert free_slots.why_none(question).why.code == "no_host_matches"


@pytest.mark.parametrize("project_id", ["alpha", "beta"])
def test_nobody_is_moved_to_hosts_of_others(of_alpha, project_id):
    lease = world.book(world.request(world.add_flavor(), SPAN, project_id=project_id))
    with session.reader() as db:
        held = allocations.allocated(db, lease.reservation_id)
    why = relocation.Why(MoveReason.DRAIN)
    moved = relocation.relocate(lease.reservation_id, held, why, world.conditions(), world.NOW)
    assert moved.outcome is relocation.MoveResult.SHORT
    assert moved.why_stays == "no other host matches"


def test_host_that_lost_its_aggregate_is_for_all_projects(cloud: Cloud, of_alpha):
    flavor = world.add_flavor(slots=10)
    cloud.nova.aggregates.clear()
    host_refresh.refresh()
    assert sum(booked_on(flavor, "beta", 4).values()) == 4
