"""Snapshots before the end: one of each server, whatever fails, and never a late end."""

import datetime
import itertools

import pytest
import sqlalchemy as sa
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from tests.fakes.cloud import Cloud
from tests.fakes.glance import SERVICE_PROJECT
from tests.functional.db import world
from tests.functional.db.faults import Call, Fault, Killed, Outside
from tests.functional.db.managers import OVER, Manager, state
from tests.functional.db.notices import waiting
from warre_blazar.db import session, tables
from warre_blazar.db.messages import deliveries
from warre_blazar.db.running import executions
from warre_blazar.db.running import snapshots as stored
from warre_blazar.domain.messages.notices import Notice
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.execution import DELETE
from warre_blazar.domain.running.holders import Server
from warre_blazar.domain.running.snapshots import BeforeEndRule, ServerSnapshot, Status
from warre_blazar.openstack import caches
from warre_blazar.plugins import change_records
from warre_blazar.services.records import history as keeping
from warre_blazar.services.running import snapshots

pytestmark = pytest.mark.usefixtures("database", "channel")

SPAN = world.hours(1, 3)
MINUTE = datetime.timedelta(minutes=1)
RULE = BeforeEndRule("snapshot", 30 * MINUTE)
BEGIN = SPAN.end - RULE.ahead
#: The pause between two looks.
PAUSE = datetime.timedelta(seconds=20)


@pytest.fixture
def channel(database: sa.Engine) -> None:
    change_records.register()
    change_records.register_deletions()
    session.change(deliveries.set_channels, {"mail": False})


class Site:
    """A manager, and a running reservation of a host with room for several servers."""

    def __init__(self, cloud: Cloud, rule: BeforeEndRule = RULE, **flavor: object) -> None:
        self.cloud, self.rule = cloud, rule
        world.add_host(cloud, "a")
        self.lease = world.book(world.request(world.add_flavor(slots=4, **flavor), SPAN, 3))
        self.manager = Manager(before_end=rule)
        self.manager.run(SPAN.start)

    def boot(self, name: str = "web", *, on_volume: bool = False) -> str:
        flavor_id = backing_names.nova_flavor_id(self.lease.reservation_id)
        return self.cloud.nova.boot(flavor_id, world.PROJECT, name, on_volume=on_volume)

    def look(self, now: datetime.datetime) -> None:
        self.manager.executor.beat()
        snapshots.look(now, self.manager.executor.manager_id, self.rule)

    def look_on(self, now: datetime.datetime, times: int = 6) -> None:
        """Look several times, with a pause that is longer than any pause between attempts."""
        for number in range(times):
            self.look(now + number * 2 * MINUTE)

    def made(self) -> list[ServerSnapshot]:
        with session.reader() as db:
            return stored.of_reservation(db, self.lease.reservation_id)

    def statuses(self) -> list[tuple[str, str]]:
        return [(each.server_id, each.status.value) for each in self.made()]

    def told(self) -> list[Notice]:
        return [notice for notice in waiting("mail") if notice.news.kind.value == "snapshot"]


@pytest.fixture
def site(cloud: Cloud) -> Site:
    return Site(cloud)


def test_each_server_gets_an_image_that_belongs_to_its_project(site: Site, cloud: Cloud):
    servers = [site.boot("web"), site.boot("data 😀")]
    site.look(BEGIN - PAUSE)
    assert cloud.glance.images == {}
    site.look(BEGIN)
    assert sorted(site.statuses()) == sorted((server, "saving") for server in servers)
    assert site.told() == []
    cloud.glance.finish()
    site.look(BEGIN + PAUSE)
    assert {status for _, status in site.statuses()} == {"saved"}
    images = {image["instance_uuid"]: image for image in cloud.glance.images.values()}
    assert len(cloud.glance.images) == 2
    first = images[servers[0]]
    assert (first["owner"], first["visibility"]) == (world.PROJECT, "private")
    assert first["warre_reservation"] == site.lease.reservation_id
    short = site.lease.reservation_id[:8]
    when = f"{BEGIN:%Y-%m-%d %H:%M} UTC"
    assert first["name"] == f"reservation {short}, web, {when}"
    assert images[servers[1]]["name"] == f"reservation {short}, data ?, {when}"
    (notice,) = site.told()
    assert [s["status"] for s in notice.news.after["snapshots"]] == ["saved"] * 2
    assert {s["image"] for s in notice.news.after["snapshots"]} == set(cloud.glance.images)
    before = len(cloud.glance.requests)
    site.look_on(BEGIN + 2 * PAUSE)
    assert len(cloud.glance.requests) == before
    site.manager.run(SPAN.end)
    assert state(site.lease) == OVER
    assert cloud.nova.servers == {}
    assert len(site.told()) == 1


@pytest.mark.parametrize(
    ("default", "of_flavor", "chosen", "images"),
    [
        ("nothing", None, None, 0),
        ("snapshot", None, None, 1),
        ("snapshot", "nothing", None, 0),
        ("nothing", "snapshot", None, 1),
        ("nothing", "snapshot", "nothing", 0),
        ("nothing", "nothing", "snapshot", 1),
    ],
)
def test_reservation_flavor_and_site_decide_in_this_order(
    cloud: Cloud, default, of_flavor, chosen, images
):
    site = Site(cloud, BeforeEndRule(default, RULE.ahead), before_end=of_flavor)
    with session.writer() as db:
        db.execute(tables.bookings.update().values(before_end=chosen))
    site.boot()
    site.look(BEGIN)
    assert len(cloud.glance.images) == images
    site.manager.run(SPAN.end)
    # Without snapshots, nothing is noted about any.
    assert bool(site.made()) == bool(images)


def test_server_that_boots_late_gets_a_snapshot_too(site: Site, cloud: Cloud):
    site.look(BEGIN)
    assert site.made() == []
    late = site.boot()
    site.look(SPAN.end - PAUSE)
    assert site.statuses() == [(late, "saving")]


def test_server_that_is_deleted_needs_no_snapshot(site: Site, cloud: Cloud):
    server = site.boot()
    cloud.nova.fail(status=409, match="action")
    site.look(BEGIN)
    assert site.statuses() == [(server, "waiting")]
    del cloud.nova.servers[server]
    site.look(BEGIN + PAUSE)
    assert site.made() == []


def test_server_that_arrives_by_a_resize_is_told_of(site: Site, cloud: Cloud):
    nova = cloud.nova
    cloud.add_host("other", inventories={"VCPU": {"total": 4}})
    ordinary = nova.make_flavor("m1")
    server = nova.boot(ordinary, world.PROJECT, "late", host="other")
    before = dict(nova.servers[server])
    flavor_id = backing_names.nova_flavor_id(site.lease.reservation_id)
    migration = nova.move(server, "a", flavor_id)
    # Until the resize is finished, Nova lists the server on its former flavor, but its new host.
    nova.servers[server] |= {**before, "host": "a", "status": "RESIZE"}
    nova.migrations[migration]["status"] = "migrating"
    site.look_on(BEGIN, 2)
    assert site.statuses() == [(server, "waiting")]
    assert "while it is RESIZE" in (site.made()[0].error or "")


def test_server_that_is_not_deleted_at_the_end_gets_no_snapshot(site: Site, cloud: Cloud):
    nova = cloud.nova
    flavor_id = backing_names.nova_flavor_id(site.lease.reservation_id)
    moved = nova.boot(flavor_id, world.PROJECT, "moved", host="a")
    cloud.add_host("other", inventories={"VCPU": {"total": 4}})
    nova.move(moved, "other", nova.make_flavor("m1"))
    nova.servers[site.boot("failed")]["status"] = "ERROR"  # It found no host, and has no disk.
    site.look(BEGIN)
    assert site.made() == []


def test_servers_get_snapshots_while_placement_is_away(site: Site, cloud: Cloud):
    server = site.boot()
    cloud.placement.fail(status=503)
    site.look(BEGIN)
    assert site.statuses() == [(server, "saving")]


def test_no_image_is_made_of_a_server_on_a_volume_and_that_is_told(site: Site, cloud: Cloud):
    server = site.boot(on_volume=True)
    site.look(BEGIN)
    site.look(BEGIN + PAUSE)
    (snapshot,) = site.made()
    assert (snapshot.server_id, snapshot.status) == (server, Status.FAILED)
    assert "volume" in (snapshot.error or "")
    assert cloud.glance.images == {}
    (notice,) = site.told()
    assert notice.news.after["snapshots"] == [snapshot.document()]


def test_extension_by_little_keeps_the_snapshots(site: Site, cloud: Cloud):
    site.boot()
    site.look(BEGIN)
    cloud.glance.finish()
    site.look(BEGIN + PAUSE)
    later = world.Span(SPAN.start, SPAN.end + RULE.ahead)
    world.write_dates(site.lease, world.Span(SPAN.start, SPAN.end - MINUTE))
    site.look(BEGIN + 2 * PAUSE)
    assert len(cloud.glance.images) == 1
    world.write_dates(site.lease, later)
    site.look(BEGIN + 3 * PAUSE)
    assert len(cloud.glance.images) == 1


def test_extension_gets_new_snapshots_before_the_new_end(site: Site, cloud: Cloud):
    server = site.boot()
    site.look(BEGIN)
    cloud.glance.finish()
    site.look(BEGIN + PAUSE)
    later = SPAN.end + 60 * MINUTE
    world.write_dates(site.lease, world.Span(SPAN.start, later))
    site.look(SPAN.end)
    assert len(cloud.glance.images) == 1
    for now in (later - RULE.ahead, later - RULE.ahead + PAUSE):
        site.look(now)
        cloud.glance.finish()
    # The first image stays.
    assert [(s.server_id, s.number) for s in site.made()] == [(server, 1), (server, 2)]
    assert len(cloud.glance.images) == 2
    site.look(later - RULE.ahead + 2 * PAUSE)
    assert len(site.told()) == 2


def test_attempt_that_waits_when_the_reservation_is_extended_goes_on_before_the_new_end(
    site: Site, cloud: Cloud
):
    server = site.boot()
    cloud.nova.fail(status=409, match="action")
    site.look(BEGIN)
    cloud.nova.mend()
    later = SPAN.end + 60 * MINUTE
    world.write_dates(site.lease, world.Span(SPAN.start, later))
    site.look_on(BEGIN + PAUSE)
    assert site.statuses() == [(server, "waiting")]
    site.look(later - RULE.ahead)
    assert site.statuses() == [(server, "saving")]


def test_snapshot_that_nova_gives_up_is_tried_again(site: Site, cloud: Cloud):
    server = site.boot()
    site.look(BEGIN)
    cloud.glance.images.clear()
    site.look(BEGIN + 2 * MINUTE)
    assert site.statuses() == [(server, "waiting")]
    site.look(BEGIN + 4 * MINUTE)
    cloud.glance.finish()
    site.look(BEGIN + 6 * MINUTE)
    assert site.statuses() == [(server, "saved")]
    assert len(cloud.glance.images) == 1


def test_end_waits_for_no_snapshot(site: Site, cloud: Cloud):
    """The server is deleted while Nova makes its image, so Nova gives the image up."""
    site.boot()
    site.look(SPAN.end - PAUSE)
    site.manager.run(SPAN.end)
    assert state(site.lease) == OVER
    assert site.told() == []
    site.look(SPAN.end + PAUSE)
    (snapshot,) = site.made()
    assert (snapshot.status, snapshot.image_id) == (Status.FAILED, None)
    assert "wasn't finished" in (snapshot.error or "")
    (notice,) = site.told()
    assert notice.content["status"] == "COMPLETE"
    assert notice.news.after["snapshots"] == [snapshot.document()]


def test_image_that_becomes_complete_after_the_end_is_given_to_the_project(
    site: Site, cloud: Cloud
):
    site.boot()
    site.look(SPAN.end - PAUSE)
    cloud.glance.finish()
    site.manager.run(SPAN.end)
    site.look(SPAN.end + PAUSE)
    (snapshot,) = site.made()
    assert snapshot.status is Status.SAVED
    assert cloud.glance.images[snapshot.image_id]["owner"] == world.PROJECT
    assert len(site.told()) == 1


def test_image_that_never_becomes_complete_is_given_up(site: Site, cloud: Cloud, monkeypatch):
    monkeypatch.setattr(cloud.glance, "forget_server", lambda _: None)
    server = site.boot()
    site.look(SPAN.end - PAUSE)
    site.manager.run(SPAN.end)
    site.look(SPAN.end + 59 * MINUTE)
    assert site.statuses() == [(server, "saving")]
    site.look(SPAN.end + 61 * MINUTE)
    assert site.statuses() == [(server, "failed")]
    assert len(site.told()) == 1


@pytest.mark.parametrize("service", ["nova", "glance"])
def test_service_that_is_away_is_tried_again_until_the_end(site: Site, cloud: Cloud, service):
    server = site.boot()
    away = getattr(cloud, service)
    away.stop()
    site.look_on(BEGIN)
    away.start()
    site.look_on(BEGIN + 20 * MINUTE, 2)
    cloud.glance.finish()
    site.look(BEGIN + 25 * MINUTE)
    assert site.statuses() == [(server, "saved")]
    assert len(cloud.glance.images) == 1


def test_nova_that_is_away_until_the_end_is_told(site: Site, cloud: Cloud):
    site.boot()
    cloud.nova.fail(status=503, match="GET")
    site.look_on(BEGIN, 3)
    cloud.nova.mend()
    site.manager.run(SPAN.end)
    assert state(site.lease) == OVER
    (snapshot,) = site.made()
    assert (snapshot.server_id, snapshot.status) == ("", Status.FAILED)
    assert snapshot.document()["server"] is None
    assert "Nova" in (snapshot.error or "")
    (notice,) = site.told()
    assert notice.content["status"] == "ACTIVE"


def test_refusals_until_the_end_are_told_with_what_nova_said(site: Site, cloud: Cloud):
    server = site.boot()
    cloud.nova.fail(status=409, match="action")
    site.look_on(BEGIN, 3)
    attempts = [line for line in cloud.nova.requests if "/servers/" in line and "action" in line]
    assert len(attempts) == 3
    cloud.nova.mend()
    site.manager.run(SPAN.end)
    # The last attempt is so long ago that Nova can't carry it out any more.
    site.look(SPAN.end + PAUSE)
    assert site.statuses() == [(server, "failed")]
    assert "the fake said so" in (site.made()[0].error or "")
    assert len(site.told()) == 1


def test_no_manager_before_the_end_is_told(site: Site, cloud: Cloud):
    site.boot()
    site.manager.run(SPAN.end + 60 * MINUTE)
    assert state(site.lease) == OVER
    (snapshot,) = site.made()
    assert (snapshot.server_id, snapshot.status) == ("", Status.FAILED)
    assert len(site.told()) == 1


def test_reservation_without_servers_tells_nothing(site: Site):
    site.look(SPAN.end - PAUSE)
    site.manager.run(SPAN.end)
    assert (site.made(), site.told()) == ([], [])


def test_image_that_cant_be_given_away_is_saved_and_that_is_said(site: Site, cloud: Cloud):
    cloud.glance.owners_are_fixed = True
    site.boot()
    site.look(BEGIN)
    cloud.glance.finish()
    site.look(BEGIN + PAUSE)
    (snapshot,) = site.made()
    assert snapshot.status is Status.SAVED
    assert "shared with yours" in (snapshot.error or "")
    assert cloud.glance.images[snapshot.image_id]["owner"] == SERVICE_PROJECT


def test_user_cant_pass_an_image_off_as_a_snapshot(site: Site, cloud: Cloud):
    server = site.boot()
    cloud.glance.add(
        owner="project-mallory",
        instance_uuid=server,
        warre_reservation=site.lease.reservation_id,
        warre_server=server,
        warre_snapshot="1",
    )
    cloud.nova.fail(lose=True, match="action")
    site.look(BEGIN)
    cloud.nova.mend()
    site.look(BEGIN + 2 * MINUTE)
    (snapshot,) = site.made()
    assert cloud.glance.images[snapshot.image_id]["owner"] == SERVICE_PROJECT


def test_deleted_reservation_keeps_what_is_known_until_it_is_purged(site: Site, cloud: Cloud):
    first, second = site.boot("a"), site.boot("b")
    cloud.nova.fail(status=409, match=f"{second}/action")
    site.look(BEGIN)
    cloud.nova.mend()
    cloud.glance.finish()
    session.change(executions.request, site.lease.id, DELETE)
    site.manager.run(BEGIN + MINUTE)
    assert state(site.lease) is None
    site.look(BEGIN + 2 * MINUTE)
    assert dict(site.statuses()) == {first: "saved", second: "waiting"}
    site.look(BEGIN + 12 * MINUTE)
    assert dict(site.statuses()) == {first: "saved", second: "failed"}
    keeping.purge(BEGIN + datetime.timedelta(days=2), 3)
    assert len(site.made()) == 2
    keeping.purge(BEGIN + datetime.timedelta(days=4), 3)
    assert site.made() == []


def test_one_manager_at_a_time_makes_snapshots(site: Site, cloud: Cloud):
    server = site.boot()
    other = Manager()
    session.change(executions.beat, other.executor.manager_id, "host")
    site.look(BEGIN - PAUSE)
    snapshots.look(BEGIN, other.executor.manager_id, RULE)
    assert site.made() == []
    # The first manager dies.
    with session.writer() as db:
        mine = tables.managers.c.id == site.manager.executor.manager_id
        db.execute(tables.managers.update().where(mine).values(heartbeat=world.LONG_AGO))
    snapshots.look(BEGIN, other.executor.manager_id, RULE)
    assert site.statuses() == [(server, "saving")]


def test_managers_that_both_believe_to_have_the_turn_make_one_image(site: Site, cloud: Cloud):
    """The first one is suspended before it notes an attempt, and goes on after the second one."""
    site.boot()
    with session.reader() as db:
        (due,) = stored.due(db, RULE, BEGIN)
    servers = snapshots.nova.servers_of_flavor(due.nova_flavor)
    session.change(stored.looked, due, servers, RULE, BEGIN)
    with session.reader() as db:
        (read,) = stored.unfinished(db)
    site.look(BEGIN)
    snapshots._go_on(read, RULE, BEGIN)
    session.change(stored.looked, due, servers, RULE, BEGIN)
    assert len(cloud.glance.images) == 1
    assert len(site.made()) == 1


#: What a manager does, up to a complete image.
STEPS = 3


def life(site: Site, outside: Outside | None = None, call: Call | None = None, fault=Fault.BEFORE):
    """Let a manager work on the snapshots of a server, and meet a fault once."""
    timeutils.set_time_override(BEGIN)
    try:
        for number in range(STEPS):
            site.look(BEGIN + number * 2 * MINUTE)
            if number == 1:
                site.cloud.glance.finish()
    finally:
        timeutils.clear_time_override()


CALLS = [
    Call("Nova", "GET /servers/detail", 1),
    Call("Placement", "GET /usages", 1),
    Call("Nova", "POST /servers/ID/action createImage", 1),
    Call("Glance", "GET /v2/images/ID", 1),
    Call("Glance", "PATCH /v2/images/ID", 1),
]


def test_calls_are_those_that_meet_faults(site: Site, cloud: Cloud, monkeypatch):
    outside = Outside(cloud, monkeypatch)
    site.boot()
    with outside.failing(None):
        life(site)
        met = {(call.service, call.what) for call in outside.calls if call.service != "Keystone"}
    assert met == {(call.service, call.what) for call in CALLS}


@pytest.mark.parametrize(("call", "fault"), list(itertools.product(CALLS, Fault)), ids=str)
def test_each_call_meets_each_fault(site: Site, cloud: Cloud, monkeypatch, call, fault):
    """Another manager goes on where one was killed, and each server gets one image."""
    outside = Outside(cloud, monkeypatch)
    server = site.boot()
    caches.forget()
    with outside.failing(call, fault):
        try:
            life(site)
        except Killed:
            killed = True
        else:
            killed = False
    assert killed == fault.name.startswith("KILLED")
    outside.act_late()
    site.manager = Manager(before_end=RULE)
    with session.writer() as db:
        db.execute(tables.managers.update().values(heartbeat=world.LONG_AGO))
    for minutes in (6, 8, 10, 12):
        site.look(BEGIN + minutes * MINUTE)
        cloud.glance.finish()
    assert site.statuses() == [(server, "saved")]
    images = list(cloud.glance.images.values())
    assert [image["owner"] for image in images] == [world.PROJECT]
    assert len(site.told()) == 1
    site.manager.run(SPAN.end)
    assert state(site.lease) == OVER
    assert len(site.told()) == 1


def test_late_image_of_a_first_request_is_deleted_however_long_the_second_image_takes(
    site: Site, cloud: Cloud, monkeypatch
):
    outside = Outside(cloud, monkeypatch)
    server = site.boot()
    request = Call("Nova", "POST /servers/ID/action createImage", 1)
    with outside.failing(request, Fault.HANGS):
        site.look(BEGIN)
        site.look(BEGIN + 2 * MINUTE)
    site.look(BEGIN + 12 * MINUTE)
    assert site.statuses() == [(server, "saving")]
    cloud.glance.finish()
    # Nova begins a second image of a server once the first one is complete.
    outside.act_late()
    assert len(cloud.glance.images) == 2
    site.look(BEGIN + 14 * MINUTE)
    (snapshot,) = site.made()
    assert snapshot.status is Status.SAVED
    assert list(cloud.glance.images) == [snapshot.image_id]


def test_snapshot_that_is_noted_while_others_are_told_is_told_later(
    site: Site, cloud: Cloud, monkeypatch
):
    """A manager that lists servers notes another one just after the others have been read."""
    site.boot(on_volume=True)
    with session.reader() as db:
        (due,) = stored.due(db, RULE, BEGIN)
    servers = snapshots.nova.servers_of_flavor(due.nova_flavor)
    session.change(stored.looked, due, servers, RULE, BEGIN)
    read = stored.of_reservation

    def read_before_another_is_noted(db: Session, reservation_id: str) -> list[ServerSnapshot]:
        found = read(db, reservation_id)
        late = Server("late", "late", world.PROJECT, "f", {}, "ACTIVE", "a")
        stored._insert(db, stored._new(due, late, 1, BEGIN))
        return found

    with monkeypatch.context() as patched:
        patched.setattr(stored, "of_reservation", read_before_another_is_noted)
        session.change(stored.tell, due.reservation_id, BEGIN)
    site.manager.run(SPAN.end)
    site.look(SPAN.end + PAUSE)
    assert {status for _, status in site.statuses()} == {"failed"}
    told = [notice.news.after["snapshots"] for notice in site.told()]
    assert [len(each) for each in told] == [1, 2]


def is_killed_just_before_the_end(site: Site, monkeypatch: pytest.MonkeyPatch, fault: Fault):
    """A manager is killed while it asks for a snapshot, and another one ends the reservation."""
    outside = Outside(site.cloud, monkeypatch)
    request = Call("Nova", "POST /servers/ID/action createImage", 1)
    with outside.failing(request, fault), pytest.raises(Killed):
        site.look(SPAN.end - PAUSE)
    with session.writer() as db:
        db.execute(tables.managers.update().values(heartbeat=world.LONG_AGO))
    site.manager = Manager(before_end=RULE)
    site.cloud.glance.finish()
    site.manager.run(SPAN.end)
    assert state(site.lease) == OVER


def test_image_of_an_attempt_that_nobody_heard_of_is_found_after_the_end(
    site: Site, cloud: Cloud, monkeypatch
):
    server = site.boot()
    is_killed_just_before_the_end(site, monkeypatch, Fault.KILLED_AFTER)
    cloud.glance.stop()
    site.look(SPAN.end + PAUSE)
    assert (site.statuses(), site.told()) == ([(server, "waiting")], [])
    cloud.glance.start()
    site.look_on(SPAN.end + 2 * MINUTE, 2)
    (snapshot,) = site.made()
    assert snapshot.status is Status.SAVED
    assert cloud.glance.images[snapshot.image_id]["owner"] == world.PROJECT
    assert len(site.told()) == 1


def test_attempt_without_an_image_is_given_up_once_nova_can_not_carry_it_out_any_more(
    site: Site, cloud: Cloud, monkeypatch
):
    server = site.boot()
    is_killed_just_before_the_end(site, monkeypatch, Fault.KILLED_BEFORE)
    site.look(SPAN.end + 9 * MINUTE)
    assert (site.statuses(), site.told()) == ([(server, "waiting")], [])
    site.look(SPAN.end + 11 * MINUTE)
    assert site.statuses() == [(server, "failed")]
    assert "Nova made no image" in (site.made()[0].error or "")
    assert len(site.told()) == 1


def test_snapshot_that_was_never_requested_is_given_up_at_the_end(site: Site, cloud: Cloud):
    server = site.boot()
    with session.reader() as db:
        (due,) = stored.due(db, RULE, BEGIN)
    servers = snapshots.nova.servers_of_flavor(due.nova_flavor)
    session.change(stored.looked, due, servers, RULE, BEGIN)
    site.manager.run(SPAN.end)
    assert site.statuses() == [(server, "failed")]
    assert len(site.told()) == 1
