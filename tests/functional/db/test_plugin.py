"""The methods of the resource plugin, on real rows."""

import datetime

import pytest
from blazar import context
from blazar import exceptions as blazar_exc
from blazar.db import api as db_api
from blazar.manager import exceptions as manager_exc
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.plugin_calls import SPAN, reserve, values
from warre_blazar import enforcement
from warre_blazar.domain.running import backing_names
from warre_blazar.errors import blazar_errors, exceptions
from warre_blazar.plugins import flavor_slot
from warre_blazar.services.booking import lookup
from warre_blazar.services.running import backing
from warre_blazar.site_rules import conditions

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
def plugin(cloud: Cloud):
    """The plugin in the context of a request, with a host that has room for eight instances."""
    world.add_host(cloud, "a", vcpus=16, properties={"gpu": "a100"})
    timeutils.set_time_override(world.NOW)
    with context.BlazarContext(project_id=world.PROJECT, user_id="user"):
        yield flavor_slot.FlavorSlotPlugin()


@pytest.fixture
def flavor(plugin):
    return world.add_flavor(slots=3)


def resource_id(lease: world.Lease) -> str:
    return db_api.reservation_get(lease.reservation_id)["resource_id"]


def test_plugin_does_not_load_without_v1(plugin, conf):
    """Blazar loads this package's API together with its v1."""
    conf.config(enable_v1_api=False)
    with pytest.raises(exceptions.Misconfigured, match=r"enable_v1_api is .*: set it to true"):
        flavor_slot.FlavorSlotPlugin()


@pytest.mark.parametrize("named", [[], ["MaxLeaseDurationFilter"]])
def test_plugin_enables_its_filters(plugin, conf, named):
    conf.config(enabled_filters=named, group="enforcement")
    flavor_slot.FlavorSlotPlugin()
    assert conf.conf.enforcement.enabled_filters == [*named, *enforcement.FILTERS]


def test_candidates_are_hosts(plugin, flavor):
    (host_id,) = plugin.allocation_candidates(values(flavor))
    host = plugin.get(host_id)
    assert (host["hypervisor_hostname"], host["vcpus"], host["gpu"]) == ("a", 16, "a100")
    assert plugin.get("nonesuch") is None


def test_candidates_of_an_existing_reservation_are_its_hosts(plugin, flavor):
    """For an update of a lease, Blazar calls the method with the reservation's row."""
    lease = reserve(plugin, flavor)
    row = db_api.reservation_get(lease.reservation_id)
    assert plugin.allocation_candidates(row) == [db_api.host_list()[0]["id"]]


@pytest.mark.parametrize("by", ["id", "name"])
def test_reserving_books_by_flavor_id_or_name(plugin, flavor, cloud: Cloud, by):
    lease = reserve(plugin, flavor, flavor_id=getattr(flavor, by), amount="2")
    row = db_api.instance_reservation_get(resource_id(lease))
    assert (row["reservation_id"], row["amount"]) == (lease.reservation_id, 2)
    assert cloud.nova.requests == []
    backing.make_planned(lease.reservation_id)
    assert list(cloud.nova.flavors) == [backing_names.nova_flavor_id(lease.reservation_id)]


#: The forms that Blazar's instance plugin takes, and their meanings.
AFFINITIES = {True: True, "true": True, "False": False, "None": None, None: None}


@pytest.mark.parametrize("given", AFFINITIES)
def test_affinity_is_taken_in_each_form(plugin, flavor, given):
    lease = reserve(plugin, flavor, affinity=given, amount=1)
    row = db_api.instance_reservation_get(resource_id(lease))
    assert row["affinity"] is AFFINITIES[given]


def test_reservation_belongs_to_the_project_of_the_lease(plugin, flavor, cloud: Cloud):
    lease = world.add_lease(SPAN, project_id="project-beta")
    plugin.reserve_resource(lease.reservation_id, values(flavor, lease_id=lease.id))
    backing.make_planned(lease.reservation_id)
    (aggregate,) = cloud.nova.aggregates.values()
    assert aggregate["metadata"]["filter_tenant_id"] == "project-beta,reservation"


BAD = {
    "no flavor": {"flavor_id": None},
    "flavor not text": {"flavor_id": 7},
    "flavor empty": {"flavor_id": ""},
    "flavor too long": {"flavor_id": "x" * 65},
    "no amount": {"amount": None},
    "amount zero": {"amount": 0},
    "amount negative": {"amount": -1},
    "amount a boolean": {"amount": True},
    "amount a fraction": {"amount": 1.5},
    "amount text": {"amount": "two"},
    "amount signed": {"amount": "-2"},
    "amount huge": {"amount": 2**31},
    "affinity a word": {"affinity": "together"},
    "affinity a number": {"affinity": 1},
    "unknown field": {"vcpus": 2},
}


@pytest.mark.parametrize("case", BAD, ids=[name.replace(" ", "-") for name in BAD])
def test_bad_value_is_refused_and_named(plugin, flavor, case):
    with pytest.raises(blazar_exc.InvalidInput) as refused:
        plugin.allocation_candidates(values(flavor, **BAD[case]))
    (field,) = BAD[case]
    assert refused.value.kwargs["warre"]["detail"]["field"] == field


def test_refusals_are_blazars_exceptions(plugin, flavor, cloud: Cloud, conf):
    reserve(plugin, flavor)
    with pytest.raises(blazar_exc.InvalidInput) as full:
        plugin.allocation_candidates(values(flavor))
    assert full.value.kwargs["warre"]["code"] == "slots_exhausted"
    with pytest.raises(blazar_exc.NotFound):
        plugin.allocation_candidates(values(flavor, flavor_id="nonesuch"))
    cloud.keystone.fail(status=503)
    quotas = [conditions.STRICT_FILTER, conditions.QUOTA_FILTER]
    conf.config(enabled_filters=quotas, group="enforcement")
    with pytest.raises(blazar_errors.WarreServiceUnavailable):
        reserve(plugin, flavor, amount=1)


def test_unavailable_database_gives_errors_that_blazar_understands(plugin, flavor, database):
    """A start is repeated later; other calls raise errors that Blazar understands."""
    lease = reserve(plugin, flavor)
    row = resource_id(lease)
    timeutils.set_time_override(SPAN.end)
    with database.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE warre_backings RENAME TO warre_away")
    try:
        plugin.on_start(row)
        with pytest.raises(blazar_errors.WarreServiceUnavailable):
            plugin.on_end(row)
    finally:
        with database.begin() as connection:
            connection.exec_driver_sql("ALTER TABLE warre_away RENAME TO warre_backings")


def test_allocations_list_the_reservations_of_hosts(plugin, flavor):
    lease, other = reserve(plugin, flavor, amount=1), reserve(plugin, flavor, amount=1)
    (host_id,) = (h["id"] for h in db_api.host_list())
    shown = {
        "id": lease.reservation_id,
        "lease_id": lease.id,
        "start_date": SPAN.start,
        "end_date": SPAN.end,
    }
    assert plugin.query_allocations([host_id], lease_id=lease.id) == {host_id: [shown]}
    assert plugin.list_allocations({"reservation_id": lease.reservation_id}) == [
        {"resource_id": host_id, "reservations": [shown]}
    ]
    (both,) = plugin.list_allocations({})
    ids = {r["id"] for r in both["reservations"]}
    assert ids == {lease.reservation_id, other.reservation_id}
    assert plugin.list_allocations(None)


def test_allocations_of_a_free_host_are_empty(plugin, flavor, cloud: Cloud):
    host_id = world.add_host(cloud, "b")
    assert plugin.query_allocations([host_id]) == {host_id: []}


def new_dates(**changes):
    return {"start_date": SPAN.start, "end_date": world.hours(1, 5).end, **changes}


def test_update_promises_the_new_dates(plugin, flavor):
    lease = reserve(plugin, flavor)
    world.set_status(lease, "UPDATING")
    plugin.update_reservation(lease.reservation_id, new_dates())
    same = {"flavor_id": flavor.name, "amount": "2", "affinity": "none"}
    same["id"] = lease.reservation_id
    plugin.update_reservation(lease.reservation_id, new_dates(**same))


def test_update_writes_a_new_amount(plugin, flavor):
    lease = reserve(plugin, flavor)
    world.set_status(lease, "UPDATING")
    plugin.update_reservation(lease.reservation_id, new_dates(amount="3"))
    assert db_api.instance_reservation_get(resource_id(lease))["amount"] == 3


FIXED = {
    "flavor": ({"flavor_id": "another"}, manager_exc.CantUpdateParameter),
    "amount too large": ({"amount": 4}, blazar_exc.InvalidInput),
    "amount none": ({"amount": 0}, blazar_exc.InvalidInput),
    "affinity": ({"affinity": False}, manager_exc.CantUpdateParameter),
    "affinity no affinity": ({"affinity": "together"}, blazar_exc.InvalidInput),
    "unknown": ({"vcpus": 3}, blazar_exc.InvalidInput),
    "shown": ({"shown": {"tags": ["x"], "sent": {}}}, blazar_exc.InvalidInput),
    "shown before": (
        {"shown": {"tags": [{"end": "0123456789"}], "sent": {"end": "x"}}},
        manager_exc.CantUpdateParameter,
    ),
    "too long": ({"end_date": world.hours(1, 5000).end}, blazar_exc.InvalidInput),
}


@pytest.mark.parametrize("case", FIXED, ids=[name.replace(" ", "-") for name in FIXED])
def test_refused_update_does_not_set_the_lease_to_error(plugin, flavor, case):
    changes, expected = FIXED[case]
    lease = reserve(plugin, flavor)
    world.set_status(lease, "UPDATING")
    with pytest.raises(blazar_exc.BlazarException) as refused:
        plugin.update_reservation(lease.reservation_id, new_dates(**changes))
    # Only for these exact types, Blazar doesn't set the lease to ERROR.
    assert type(refused.value) is expected


def test_start_opens_the_reservation_and_end_removes_it(plugin, flavor, cloud: Cloud):
    lease = reserve(plugin, flavor)
    row = resource_id(lease)
    timeutils.set_time_override(SPAN.start)
    plugin.on_start(row)
    assert cloud.nova.flavors[backing_names.nova_flavor_id(lease.reservation_id)]["access"] == {
        world.PROJECT
    }
    world.set_status(lease, "ACTIVE")
    cloud.nova.boot(backing_names.nova_flavor_id(lease.reservation_id), world.PROJECT)
    plugin.before_end(row)
    timeutils.set_time_override(SPAN.end)
    plugin.on_end(row)
    assert cloud.leftovers() == {}
    plugin.on_end(row)
    with pytest.raises(blazar_exc.NotFound):
        plugin.on_start("nonesuch")


def test_refused_start_keeps_its_reason_and_is_opened_later(plugin, flavor, cloud: Cloud):
    """Blazar's own executor may start the lease before this package's."""
    lease = reserve(plugin, flavor)
    timeutils.set_time_override(SPAN.start)
    cloud.nova.fail(match="action", status=403)
    plugin.on_start(resource_id(lease))
    assert "Nova refused" in lookup.get(lease.reservation_id, None)[0].status_reason
    cloud.mend()
    world.set_status(lease, "ACTIVE")
    backing.reconcile()
    assert lookup.get(lease.reservation_id, None)[0].status_reason is None


MINUTE = datetime.timedelta(minutes=1)


@pytest.mark.parametrize("event", ["on_start", "on_end"])
def test_event_before_its_time_does_nothing(plugin, flavor, cloud: Cloud, event):
    """The event was written by a client, or Blazar read it before the lease was changed."""
    lease = reserve(plugin, flavor)
    due = SPAN.start
    if event == "on_end":
        due = SPAN.end
        timeutils.set_time_override(SPAN.start)
        plugin.on_start(resource_id(lease))
        world.set_status(lease, "ACTIVE")
    timeutils.set_time_override(due - MINUTE)
    requests = [len(service.requests) for service in cloud.services]
    with pytest.raises(blazar_errors.TooEarly) as early:
        getattr(plugin, event)(resource_id(lease))
    # An exception of Blazar's own would set the reservation to ERROR.
    assert not isinstance(early.value, blazar_exc.BlazarException)
    assert requests == [len(service.requests) for service in cloud.services]
    timeutils.set_time_override(due)
    getattr(plugin, event)(resource_id(lease))


def test_deletion_before_the_end_is_executed(plugin, flavor, cloud: Cloud):
    lease = reserve(plugin, flavor)
    world.set_status(lease, "DELETING")
    plugin.on_end(resource_id(lease))
    assert cloud.is_clean()


def test_poll_removes_the_backing_of_deleted_reservation(plugin, flavor, cloud: Cloud):
    lease = reserve(plugin, flavor)
    db_api.lease_destroy(lease.id)
    assert plugin.monitor.poll() == {}
    assert cloud.leftovers() == {}


def test_cleaning_time_follows_the_booking(plugin, flavor, conf):
    conf.config(cleaning_time=10)
    reserve(plugin, flavor, amount=3)
    minute = datetime.timedelta(minutes=1)
    soon, enough = SPAN.end + 9 * minute, SPAN.end + 10 * minute
    for start, fits in ((soon, False), (enough, True)):
        wanted = values(flavor, start_date=start, end_date=start + 60 * minute)
        if fits:
            plugin.allocation_candidates(wanted)
        else:
            with pytest.raises(blazar_exc.InvalidInput):
                plugin.allocation_candidates(wanted)


def test_fair_terms_are_asked_by_blazars_own_way_in(plugin):
    """A lease of v1 comes to the plugin without any controller of this package."""
    flavor = world.add_flavor(slots=3, max_instances_per_project=1)
    reserve(plugin, flavor, amount=1)
    with pytest.raises(blazar_exc.InvalidInput) as refused:
        plugin.allocation_candidates(values(flavor, amount=1))
    assert refused.value.kwargs["warre"]["code"] == "too_many_instances"
    with pytest.raises(blazar_exc.InvalidInput):
        reserve(plugin, flavor, amount=1)
