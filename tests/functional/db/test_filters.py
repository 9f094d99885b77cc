"""Our enforcement filters, called as Blazar calls them: with whole leases of any types."""

import datetime
from typing import Any

import pytest
from blazar import exceptions as blazar_exc
from blazar.db import api as db_api
from oslo_config import cfg
from oslo_config import fixture as config_fixture

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar import times
from warre_blazar.enforcement.max_length import FlavorMaxLengthFilter
from warre_blazar.enforcement.quota import ProjectQuotaFilter
from warre_blazar.errors import blazar_errors
from warre_blazar.site_rules import conditions

pytestmark = pytest.mark.usefixtures("database")

ALL = ["flavor:slot", "virtual:instance", "flavor:instance", "physical:host"]
SPAN = world.hours(1, 3)


@pytest.fixture
def counting(
    conf: config_fixture.Config, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> ProjectQuotaFilter:
    """The filter with every type counted, and a project limited to 3 reservations and 20 hours."""
    conf.config(
        group="enforcement",
        enabled_filters=[conditions.QUOTA_FILTER],
        project_quota_resource_types=ALL,
    )
    monkeypatch.setattr(times, "LIMITS_CACHED_FOR", 0)
    cloud.keystone.limits = {(world.PROJECT, "reservation"): 3, (world.PROJECT, "hours"): 20}
    return ProjectQuotaFilter(cfg.CONF)


def asked(resource_type: str, instances: int = 1) -> dict[str, Any]:
    """A reservation as a client requests it, with the values that Blazar adds."""
    if resource_type == "physical:host":
        return {"resource_type": resource_type, "min": 1, "allocations": [{}] * instances}
    return {"resource_type": resource_type, "amount": str(instances), "allocations": []}


def lease(span, *reservations: dict[str, Any]) -> dict[str, Any]:
    return {
        "project_id": world.PROJECT,
        "start_date": span.start,
        "end_date": span.end,
        "reservations": list(reservations),
    }


@pytest.mark.parametrize("resource_type", ALL)
def test_instances_of_each_type_are_counted(counting: ProjectQuotaFilter, resource_type: str):
    counting.check_create({}, lease(SPAN, asked(resource_type, 10)))
    with pytest.raises(blazar_errors.WarreQuotaExceeded, match="hours: 22 asked, 0 of 20 used"):
        counting.check_create({}, lease(SPAN, asked(resource_type, 11)))


def test_reservations_of_a_lease_are_counted_together(counting: ProjectQuotaFilter):
    counting.check_create({}, lease(SPAN, *(asked(t, 2) for t in ALL[:3])))
    with pytest.raises(blazar_errors.WarreQuotaExceeded, match="reservation: 4 asked, 0 of 3 used"):
        counting.check_create({}, lease(SPAN, *(asked(t, 2) for t in ALL)))


def test_uncounted_types_and_projects_without_limit_pass(
    conf, cloud: Cloud, counting: ProjectQuotaFilter
):
    conf.config(group="enforcement", project_quota_resource_types=["flavor:slot"])
    counting.check_create({}, lease(SPAN, asked("physical:host", 100)))
    for name in ("reservation", "hours"):
        cloud.keystone.limits[world.PROJECT, name] = -1
    counting.check_create({}, lease(SPAN, asked("flavor:slot", 100)))


@pytest.mark.parametrize("resource_type", ALL)
def test_update_needs_quota_for_the_added_hours(
    cloud: Cloud, counting: ProjectQuotaFilter, resource_type: str
):
    """The update adds instances or hours; a host reservation counts at least ``min`` hosts."""
    host = world.add_host(cloud, "a", vcpus=100)
    if resource_type == "flavor:slot":
        held = world.book(world.request(world.add_flavor(slots=9), SPAN, 2))
    else:
        held = world.add_stock([host] * 2, SPAN, resource_type)
    current = db_api.lease_get(held.id)

    def update(span, **change: Any) -> None:
        changed = {"id": held.reservation_id, **change}
        counting.check_update(
            {},
            current,
            lease(span, changed)
            if change
            else {**current, "start_date": span.start, "end_date": span.end},
        )

    update(world.hours(1, 11))
    with pytest.raises(blazar_exc.InvalidInput, match="hours: 18 asked, 4 of 20 used") as caught:
        update(world.hours(1, 12))
    # For this exact type, Blazar's update_lease doesn't set the lease to ERROR.
    assert type(caught.value) is blazar_exc.InvalidInput
    assert caught.value.kwargs["warre"]["code"] == "quota_exceeded"
    key = "min" if resource_type == "physical:host" else "amount"
    update(SPAN, **{key: "10"})
    with pytest.raises(blazar_exc.InvalidInput, match="hours: 18 asked"):
        update(SPAN, **{key: 11})
    for for_its_plugin in ("many", None, []):
        update(SPAN, **{key: for_its_plugin})
    cloud.keystone.limits[world.PROJECT, "hours"] = 0
    update(SPAN)
    update(world.hours(1, 2))


def test_end_needs_no_quota(cloud: Cloud, counting: ProjectQuotaFilter):
    cloud.keystone.fail(status=503)
    counting.on_end({}, lease(SPAN, asked("flavor:slot")))


@pytest.mark.parametrize("exempt", [False, True])
def test_too_long_extension_is_refused_unless_exempt(conf, cloud: Cloud, exempt: bool):
    if exempt:
        conf.config(
            group="enforcement", flavor_max_length_exempt_project_ids=[world.PROJECT, "other"]
        )
    flavor = world.add_flavor(max_length_hours=2)
    world.add_host(cloud, "a")
    held = db_api.lease_get(world.book(world.request(flavor, SPAN)).id)
    longest = FlavorMaxLengthFilter(cfg.CONF)
    longer = {"end_date": SPAN.end + datetime.timedelta(minutes=1)}
    longest.check_update({}, held, held)
    if exempt:
        longest.check_update({}, held, {**held, **longer})
    else:
        with pytest.raises(blazar_exc.InvalidInput, match="max allowed is 2 hours"):
            longest.check_update({}, held, {**held, **longer})


def test_exempt_project_books_longer_than_the_flavor_allows(cloud: Cloud):
    world.add_host(cloud, "a")
    flavor = world.add_flavor(max_length_hours=2)
    request = world.request(flavor, world.hours(1, 4))
    allowed = {"any_length": frozenset({world.PROJECT})}
    exempt = type(request.conditions)(world.NO_CLEANING, world.NO_QUOTA, **allowed)
    world.book(type(request)(**{**vars(request), "conditions": exempt}))


def test_option_with_uncountable_type_is_refused(conf: config_fixture.Config):
    with pytest.raises(ValueError, match="virtual:floatingip"):
        conf.config(group="enforcement", project_quota_resource_types=["virtual:floatingip"])
