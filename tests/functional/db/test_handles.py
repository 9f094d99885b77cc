"""Reservations with the same handle have the same Nova flavor, one after the other."""

import dataclasses
from typing import Any

import pytest

from tests.fakes.cloud import Cloud
from tests.functional.db import races, world
from tests.functional.db.managers import OVER, RUNNING, Manager, state
from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.hosts import allocations
from warre_blazar.db.running import backings
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.execution import LEAD, START
from warre_blazar.domain.running.handles import Handle
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import admission, dry_run, lookup, shrinking
from warre_blazar.services.running import altered, backing, room, shares
from warre_blazar.services.slots import extension

pytestmark = pytest.mark.usefixtures("database")

HANDLE = Handle("nightly")
VISIBLE = Handle("nightly", visible=True)
ID, NAME = HANDLE.flavor_id(world.PROJECT), f"reservation:nightly@{world.PROJECT}"
FIRST, SECOND = world.hours(1, 3), world.hours(3, 5)


@pytest.fixture
def flavor(cloud: Cloud):
    for name in ("a", "b"):
        world.add_host(cloud, name, vcpus=4)
    return world.add_flavor(slots=9)


def wish(flavor, span: Span, handle: Handle = HANDLE, **values: Any) -> admission.BookingRequest:
    return dataclasses.replace(world.request(flavor, span, **values), handle=handle)


def on(host: str):
    """A flavor of which instances are only on one host."""
    return world.add_flavor(properties=f'["==", "$hypervisor_hostname", "{host}"]')


def owner(cloud: Cloud) -> str:
    """The reservation to which the Nova flavor belongs."""
    specs: dict[str, str] = cloud.nova.flavors[ID]["extra_specs"]
    return specs[backing_names.AGGREGATE_SPEC]


def boot(cloud: Cloud, project_id: str = world.PROJECT) -> str:
    """Boot a server on the Nova flavor, as the same request of a template does each time."""
    with session.reader() as db:
        hosts = allocations.hosts_of(db, owner(cloud))
    return cloud.nova.boot(ID, project_id, host=hosts[0].hypervisor)


def note(lease: world.Lease) -> Any:
    with session.reader() as db:
        return backings.get(db, lease.reservation_id)


def test_nova_flavor_has_the_same_name_and_id_in_each_reservation(cloud: Cloud, flavor):
    booked = [world.book(wish(flavor, span)) for span in (FIRST, SECOND)]
    for lease in booked:
        assert ID not in cloud.nova.flavors, "it is made at the start"
        world.begin(lease)
        made = cloud.nova.flavors[ID]
        assert (made["name"], made["access"], owner(cloud)) == (
            NAME,
            {world.PROJECT},
            lease.reservation_id,
        )
        assert lookup.get(lease.reservation_id, None)[0].nova_flavor == ID
        world.finish(lease)
    assert not cloud.nova.flavors


def test_two_at_a_time_are_refused_and_one_after_the_other_are_not(flavor):
    world.book(wish(flavor, FIRST))
    with pytest.raises(exceptions.FlavorNotBookable) as caught:
        world.book(wish(world.add_flavor(name="other"), world.hours(2, 4)))
    assert caught.value.code == "handle_taken"
    assert caught.value.detail["start_from"] == "2100-01-01T03:00:00+00:00"
    world.book(wish(flavor, SECOND))
    world.book(wish(flavor, FIRST, Handle("weekly")))
    world.book(wish(flavor, FIRST, project_id="beta"))
    world.book(world.request(flavor, FIRST))


def test_projects_with_one_handle_have_nova_flavors_of_their_own(cloud: Cloud, flavor):
    """A program that looks for the name takes the first flavor that has it."""
    for project_id in (world.PROJECT, "beta"):
        world.begin(world.book(wish(flavor, FIRST, project_id=project_id)))
    known = {each["name"]: each["access"] for each in cloud.nova.flavors.values()}
    assert known == {NAME: {world.PROJECT}, "reservation:nightly@beta": {"beta"}}


def test_all_views_follow(flavor):
    lease = world.book(wish(flavor, FIRST))
    world.book(wish(flavor, SECOND))
    foreseen = dry_run.booking(wish(flavor, world.hours(2, 4)))
    assert [error.code for error in foreseen.refusals] == ["handle_taken"]
    assert foreseen.next_start == SECOND.end
    free = dry_run.booking(wish(flavor, world.hours(0, 1)))
    assert (free.refusals, free.longest) == ([], times.HOUR)
    reservation, booked = lookup.get(lease.reservation_id, None)
    furthest = extension.find(reservation, booked, world.conditions(), world.NOW)
    assert (furthest.end, furthest.stop and furthest.stop.code) == (FIRST.end, "handle_taken")
    with pytest.raises(exceptions.FlavorNotBookable, match="handle nightly"):
        world.move(lease, world.hours(1, 4))
    world.move(lease, world.hours(1, 2))


def test_deleted_reservation_is_in_nobodys_way(flavor):
    lease = world.book(wish(flavor, FIRST))
    world.begin(lease)
    world.finish(lease)
    world.book(wish(flavor, FIRST))


@pytest.mark.every_kind
@pytest.mark.parametrize("seed", range(3))
def test_of_bookings_at_once_with_one_handle_one_is_held(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, kind: str, seed: int
):
    """Each is of a flavor and on a host of its own, so that nothing else makes them exclusive."""
    races.unlock(monkeypatch)
    jobs = []
    for n in range(6):
        world.add_host(cloud, f"host{n}", vcpus=2)
        wanted = wish(on(f"host{n}"), world.hours(1 + n / 10, 3))
        jobs.append(races.Job(world.add_lease(wanted.span), wanted, races.is_whole(kind)))
    outcome = races.in_threads(list(jobs))
    assert outcome.outcomes == {"held": 1, "handle_taken": 5}


@pytest.mark.every_kind
def test_of_changes_at_once_with_one_handle_one_is_made(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, flavor
):
    races.unlock(monkeypatch)
    leases = [world.book(wish(flavor, world.hours(start, start + 1))) for start in (1, 5)]
    spans = (world.hours(1, 4), world.hours(3, 6))
    jobs = [
        lambda lease=lease, span=span: world.move(lease, span)
        for lease, span in zip(leases, spans, strict=True)
    ]
    outcome = races.in_threads(list(jobs)).outcomes
    assert outcome == {"held": 1, "handle_taken": 1}


def test_servers_of_the_earlier_one_are_deleted_and_those_of_the_next_stay(cloud: Cloud, flavor):
    first, second = (world.book(wish(flavor, span)) for span in (FIRST, SECOND))
    world.begin(first)
    old = boot(cloud)
    cloud.nova.servers_stay = True
    # A host has failed, so the server stays for longer than anybody waits.
    world.finish(first, patience=0)
    assert ID not in cloud.nova.flavors, "the next one needs it"
    world.begin(second)
    new = boot(cloud)
    cloud.nova.servers_stay = False
    for _ in range(2):
        backing.reconcile()
    assert set(cloud.nova.servers) == {new}
    assert old != new
    assert owner(cloud) == second.reservation_id
    assert note(first) is None
    inside = room.inside(second.reservation_id, ID, {world.PROJECT})
    assert [server.id for server in inside.servers] == [new]


def test_start_takes_the_nova_flavor_of_one_that_does_not_end(cloud: Cloud, flavor):
    first, second = (world.book(wish(flavor, span)) for span in (FIRST, SECOND))
    world.begin(first)
    old = boot(cloud)
    world.begin(second)
    assert owner(cloud) == second.reservation_id
    new = boot(cloud)
    world.finish(first)
    assert (set(cloud.nova.servers), owner(cloud)) == ({new}, second.reservation_id)
    assert cloud.nova.flavors[ID]["access"] == {world.PROJECT}
    assert old not in cloud.nova.servers


def test_reservation_that_is_over_never_takes_it_back(
    cloud: Cloud, flavor, monkeypatch: pytest.MonkeyPatch
):
    first, second = (world.book(wish(flavor, span)) for span in (FIRST, SECOND))
    world.begin(first)
    world.begin(second)
    monkeypatch.setattr("oslo_utils.timeutils.utcnow", lambda *_, **__: FIRST.end)
    altered.look("manager")
    backing.reconcile()
    assert owner(cloud) == second.reservation_id
    session.change(backings.half_close, first.reservation_id)
    with pytest.raises(exceptions.InvalidState):
        backing.open_to_project(first.reservation_id)


def test_nova_flavor_that_somebody_deletes_is_made_again(cloud: Cloud, flavor):
    lease = world.book(wish(flavor, FIRST))
    world.begin(lease)
    del cloud.nova.flavors[ID]
    altered.look("manager")
    backing.reconcile()
    assert owner(cloud) == lease.reservation_id


def test_only_its_own_servers_keep_a_reservation_from_shrinking(cloud: Cloud, flavor):
    first, second = (world.book(wish(flavor, span, count=2)) for span in (FIRST, SECOND))
    world.begin(first)
    old = [boot(cloud)]
    world.begin(second)
    for server_id in old:
        cloud.nova.servers[server_id]["status"] = "SHELVED_OFFLOADED"
        cloud.placement.free(server_id)
    boot(cloud)
    assert sum(shrinking.foreseen(second.reservation_id, 1).values()) == 1


def test_start_waits_for_the_end_of_the_earlier_one(cloud: Cloud, flavor):
    """They are on hosts of their own."""
    first, second = (
        world.plan(wish(on(name), span)) for name, span in (("a", FIRST), ("b", SECOND))
    )
    manager = Manager()
    manager.run(FIRST.start - LEAD[START])
    manager.run(FIRST.start)
    assert state(first) == RUNNING
    old = boot(cloud)
    cloud.nova.servers_stay = True
    other = Manager()
    other.run(SECOND.start - LEAD[START])
    assert owner(cloud) == first.reservation_id
    other.executor.begin_due(SECOND.start)
    assert owner(cloud) == first.reservation_id, "the first one hasn't ended"
    cloud.nova.servers_stay = False
    manager.run(SECOND.start)
    other.run(SECOND.start)
    assert (state(first), state(second)) == (OVER, RUNNING)
    assert owner(cloud) == second.reservation_id
    assert old not in cloud.nova.servers


def make_ahead() -> None:
    backing.make_ahead(world.NOW)


def test_visible_nova_flavor_is_there_as_soon_as_it_is_its_turn(cloud: Cloud, flavor):
    first, second = (
        world.plan(wish(flavor, span, VISIBLE))
        for span in (world.hours(30, 31), world.hours(40, 41))
    )
    make_ahead()
    assert (owner(cloud), cloud.nova.flavors[ID]["access"]) == (
        first.reservation_id,
        {world.PROJECT},
    )
    too_early = cloud.nova.boot(ID, world.PROJECT)
    earlier = world.plan(wish(flavor, FIRST, HANDLE))
    make_ahead()
    assert owner(cloud) == first.reservation_id
    world.begin(earlier)
    make_ahead()
    assert owner(cloud) == earlier.reservation_id
    assert not note(first).shown
    world.finish(earlier)
    make_ahead()
    assert owner(cloud) == first.reservation_id
    world.begin(first)
    assert owner(cloud) == first.reservation_id
    world.finish(first)
    assert too_early not in cloud.nova.servers
    make_ahead()
    assert owner(cloud) == second.reservation_id
    backing.remove(second.reservation_id, 10)
    assert ID not in cloud.nova.flavors


def test_handle_that_nobody_wants_to_see_is_made_at_the_start_only(cloud: Cloud, flavor):
    world.plan(wish(flavor, world.hours(30, 31)))
    make_ahead()
    assert not cloud.nova.flavors


def inside(lease: world.Lease) -> set[str]:
    """The servers that a reservation shows."""
    found = lookup.inside(lookup.get(lease.reservation_id, None)[0])
    assert found is not None and not found.hidden
    return {server.id for server in found.servers}


@pytest.mark.parametrize("is_ended", [False, True], ids=["shared", "no longer shared"])
def test_servers_of_guests_are_seen_and_deleted_with_their_own_reservation(
    cloud: Cloud, flavor, is_ended: bool
):
    """Both reservations have the same Nova flavor, and only the first one is shared."""
    first, second = (world.book(wish(flavor, span, count=2)) for span in (FIRST, SECOND))
    share = shares.create("share", first.reservation_id, "guest")
    world.begin(first)
    assert cloud.nova.flavors[ID]["access"] == {world.PROJECT, "guest"}
    servers = {boot(cloud), boot(cloud, "guest")}
    assert inside(first) == servers
    if is_ended:
        shares.delete(share)
        backing.reconcile()
        assert cloud.nova.flavors[ID]["access"] == {world.PROJECT}
        assert inside(first) == servers, "the server of the guest stays"
    other = cloud.nova.boot(cloud.nova.make_flavor("other"), "guest")
    world.finish(first)
    assert not servers & cloud.nova.servers.keys()
    assert shares.listing(None, {}, None, 0) == ([], 0)
    world.begin(second)
    assert cloud.nova.flavors[ID]["access"] == {world.PROJECT}
    last = boot(cloud)
    assert inside(second) == {last}
    world.finish(second)
    assert (last in cloud.nova.servers, other in cloud.nova.servers) == (False, True)


def test_share_of_a_reservation_that_has_not_begun_opens_no_earlier_one(cloud: Cloud, flavor):
    first, second = (world.book(wish(flavor, span)) for span in (FIRST, SECOND))
    shares.create("share", second.reservation_id, "guest")
    world.begin(first)
    backing.reconcile()
    assert cloud.nova.flavors[ID]["access"] == {world.PROJECT}
    world.finish(first)
    world.begin(second)
    assert cloud.nova.flavors[ID]["access"] == {world.PROJECT, "guest"}
