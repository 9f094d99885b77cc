"""``warre-blazar-manage host drain`` and ``host fail``: what moves, what stays and why."""

import dataclasses
import functools
import json

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, oversold, races, world
from tests.functional.db.outage import book_on, booked_on, fail, flags, heal, hosts_of
from warre_blazar.cmd import host_drain
from warre_blazar.cmd.manage import main as manage_main
from warre_blazar.db import session
from warre_blazar.db.records import changes
from warre_blazar.domain.hosts.host_marks import Drain
from warre_blazar.domain.records.changes import ChangeKind
from warre_blazar.domain.running import backing_names
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import admission
from warre_blazar.services.moves import drained_hosts, emptying, failed_hosts
from warre_blazar.services.moves.emptying import Emptied

pytestmark = pytest.mark.usefixtures("database")

hours = world.hours


@pytest.fixture
def pair(cloud: Cloud) -> tuple[str, str]:
    """Two hosts with room for two instances each."""
    return world.add_host(cloud, "a", vcpus=4), world.add_host(cloud, "b", vcpus=4)


@pytest.fixture
def flavor(pair):
    return world.add_flavor(slots=99)


def drain(host: str = "a") -> Emptied:
    return drained_hosts.drain(host, Drain("op", world.NOW, "fans"), world.conditions(), world.NOW)


def whys(drained: Emptied) -> dict[str, str]:
    return {left.on_host.reservation_id: left.why for left in drained.left}


def test_drained_host_is_empty_and_can_be_deleted(database: sa.Engine, pair, flavor):
    a, b = pair
    made = [book_on(a, flavor, hours(n, n + 1), 2) for n in range(3)]
    drained = drain()
    moved = [(each.on_host.reservation_id, each.new_hosts) for each in drained.moved]
    assert moved == [(lease.reservation_id, ("b",)) for lease in made]
    assert drained.left == []
    assert all(hosts_of(lease) == {b: 2} for lease in made)
    with session.reader() as db:
        (moved,) = changes.of_reservation(db, made[0].reservation_id)
    assert (moved.kind, moved.user_id) == (ChangeKind.MOVED, None)
    assert moved.after == {"reason": "drain"}
    assert oversold.find(database) == []
    # What Blazar asks before it deletes a host.
    assert db_api.host_allocation_get_all_by_values(compute_host_id=a) == []
    db_api.host_destroy(a)


def test_reservation_that_begins_while_a_host_is_drained_stays(
    pair, flavor, monkeypatch: pytest.MonkeyPatch
):
    a, _ = pair
    lease = book_on(a, flavor, hours(1, 3))
    relocate = emptying.relocate

    def begun_meanwhile(*args, **kwargs):
        world.begin(lease)
        return relocate(*args, **kwargs)

    monkeypatch.setattr(emptying, "relocate", begun_meanwhile)
    drained = drain()
    assert drained.moved == []
    assert whys(drained)[lease.reservation_id].startswith("it has begun")
    assert hosts_of(lease) == {a: 1}


def test_drained_host_gets_no_new_bookings_and_no_moves_until_undone(pair, flavor):
    a, b = pair
    drain()
    book_on_b = [world.book(world.request(flavor, hours(1, 3))) for _ in range(2)]
    assert [hosts_of(lease) for lease in book_on_b] == [{b: 1}, {b: 1}]
    with pytest.raises(exceptions.HostsExhausted):
        admission.check(world.request(flavor, hours(1, 3)))
    fail(b)
    heal()
    assert [hosts_of(lease) for lease in book_on_b] == [{b: 1}, {b: 1}]
    drained_hosts.resume("a")
    heal()
    assert [hosts_of(lease) for lease in book_on_b] == [{a: 1}, {a: 1}]


def test_host_that_was_deleted_and_registered_again_is_not_drained(cloud: Cloud, pair, flavor):
    drain()
    db_api.host_destroy(pair[0])
    again = world.add_host(cloud, "a")
    book_on(again, flavor, hours(1, 3))


def test_what_is_left_is_said_with_its_reason(cloud: Cloud, pair, flavor):
    a, b = pair
    begun = book_on(a, flavor, hours(1, 2))
    world.begin(begun)
    stock = world.add_stock([a], hours(8, 9), "physical:host")
    changing = book_on(a, flavor, hours(3, 4))
    world.set_status(changing, "UPDATING")
    crowded = book_on(a, flavor, hours(5, 6), 2)
    book_on(b, flavor, hours(5, 6))
    reasons = whys(drain())
    assert set(reasons) == {x.reservation_id for x in (begun, stock, changing, crowded)}
    assert "has begun" in reasons[begun.reservation_id]
    assert "physical:host" in reasons[stock.reservation_id]
    assert "run this command again" in reasons[changing.reservation_id]
    assert reasons[crowded.reservation_id].startswith("no room for 1 of its instances")
    assert hosts_of(begun) == {a: 1}


def test_reservation_that_only_the_drained_host_matches_is_left(cloud: Cloud):
    world.add_host(cloud, "a", zone="one")
    world.add_host(cloud, "b", zone="two")
    flavor = world.add_flavor(availability_zone="one")
    lease = world.book(world.request(flavor, hours(1, 3)))
    assert whys(drain())[lease.reservation_id].startswith("no other host matches")


def test_affinity_is_the_reason_if_each_other_host_has_an_instance(pair, flavor):
    wish = world.request(flavor, hours(1, 3), 2)
    lease = world.book(dataclasses.replace(wish, affinity=False))
    assert hosts_of(lease) == {host_id: 1 for host_id in pair}
    assert whys(drain())[lease.reservation_id] == (
        "its affinity is false, and each other host that matches (1) has an instance of it "
        "already; add a host, or ask its project to delete it"
    )


def test_unknown_and_ambiguous_hosts_are_refused(cloud: Cloud, pair):
    with pytest.raises(exceptions.InvalidField, match="no such host"):
        drain("nonesuch")
    world.add_host(None, "a")
    with pytest.raises(exceptions.InvalidField, match="several"):
        drain("a")
    drain(pair[0])


def test_drained_host_is_not_taken_for_a_failed_one(cloud: Cloud, pair, flavor):
    lease = book_on(pair[0], flavor, hours(1, 3))
    world.begin(lease)
    drain()
    heal()
    assert hosts_of(lease) == {pair[0]: 1}


@pytest.mark.parametrize("first", [True, False], ids=["first-claim", "later-claim"])
def test_simultaneous_booking_and_drain_leave_the_host_empty(
    database: sa.Engine, cloud: Cloud, flavor, pair, monkeypatch: pytest.MonkeyPatch, first
):
    """The generations alone decide: the booking is moved, or is made elsewhere."""
    races.unlock(monkeypatch)
    for number in range(8):
        host_id = world.add_host(cloud, f"host-{number}", vcpus=64)
        if not first:
            db_api.lease_destroy(book_on(host_id, flavor, hours(1, 2)).id)
        wish = world.request(flavor, hours(10 * number, 10 * number + 5))
        booking = races.Job(world.add_lease(wish.span), wish, whole=False)
        leases = [booking.lease]

        def finish(booking: races.Job = booking) -> None:
            booking()
            world.set_status(booking.lease, "PENDING")

        drained: list[Emptied] = []

        def empty(host_id: str = host_id, drained: list[Emptied] = drained) -> None:
            drained.append(drain(host_id))

        result = races.in_threads([finish, empty])
        assert result.outcomes == {"held": 2}
        # A booking that was being made is left: the operator runs the command again.
        left = {each.on_host.reservation_id for each in drained[0].left}
        assert booked_on(database, host_id) <= left
        assert drain(host_id).left == []
        assert booked_on(database, host_id) == set()
        assert sum(hosts_of(leases[0]).values()) == 1
        assert oversold.find(database) == []


@pytest.fixture
def run(database: sa.Engine, cloud: Cloud, tmp_path, capsys):
    """Run the command, and return its exit status and what it prints."""
    path = tmp_path / "blazar.conf"
    url = database.url.render_as_string(hide_password=False).replace("%", "%%")

    def call(*words: str, action: str = "drain", healing_interval: int = 0) -> tuple[int, str, str]:
        interval = f"[physical:host]\nhealing_interval = {healing_interval}\n"
        path.write_text(f"[database]\nconnection = {url}\n{interval}")
        capsys.readouterr()
        status = manage_main(["--config-file", str(path), "host", action, *words])
        return status, *capsys.readouterr()

    return call


def test_command_prints_what_moved_and_what_is_left(run, pair, flavor):
    a, b = pair
    lease = book_on(a, flavor, hours(1, 3), 2)
    obstacle = world.add_stock([b], hours(2, 9), "physical:host")
    status, out, _ = run("a")
    assert status == host_drain.LEFT
    assert f"left   {lease.reservation_id}  2100-01-01 01:00 to 2100-01-01 03:00 UTC" in out
    assert "Reservations that were moved: 0, left: 1" in out
    db_api.lease_destroy(obstacle.id)
    status, out, _ = run("a")
    assert status == host_drain.EMPTY
    assert f"moved  {lease.reservation_id}" in out


def test_command_prints_json(run, pair, flavor):
    lease = book_on(pair[0], flavor, hours(1, 3), 2)
    status, out, _ = run("a", "--json")
    assert status == host_drain.EMPTY
    document = json.loads(out)
    assert document["host_id"] == pair[0]
    assert document["left"] == []
    (moved,) = document["moved"]
    assert moved["reservation_id"] == lease.reservation_id
    assert (moved["instances"], moved["start"]) == (2, "2100-01-01T01:00:00+00:00")
    assert json.loads(run("a", "--undo", "--json")[1]) == {"host_id": pair[0], "draining": False}


def test_command_fails_on_an_unknown_host(run, pair):
    status, out, err = run("nonesuch")
    assert (status, out) == (host_drain.FAILED, "")
    assert "no such host: nonesuch" in err


def test_dry_run_says_what_would_be_done_and_changes_nothing(database: sa.Engine, pair, flavor):
    a, b = pair
    made = book_on(a, flavor, hours(1, 3))
    world.begin(book_on(a, flavor, hours(0, 2)))
    before = databases.dump(database)
    foreseen = drained_hosts.foresee(
        "a", Drain("op", world.NOW, None), world.conditions(), world.NOW
    )
    assert databases.dump(database) == before
    assert [each.on_host.reservation_id for each in foreseen.moved] == [made.reservation_id]
    assert len(foreseen.left) == 1
    drained = drain()
    assert drained.moved == foreseen.moved
    assert whys(drained) == whys(foreseen)
    assert hosts_of(made) == {b: 1}


def test_dry_run_of_undo_says_so_and_leaves_the_host_drained(run, pair, flavor):
    drain()
    status, out, _ = run("a", "--undo", "--dry-run")
    assert (status, out) == (
        host_drain.EMPTY,
        "Dry run, nothing was changed: host a would be booked again\n",
    )
    assert json.loads(run("a", "--undo", "--dry-run", "--json")[1])["draining"] is True
    assert run("a", "--undo")[1] == "Host a can be booked again\n"
    for words in (["a", "--undo"], ["a", "--undo", "--dry-run"]):
        said = run(*words)
        assert said[:2] == (0, "Host a isn't drained, so there is nothing to undo\n")


def test_dry_run_begins_by_saying_that_it_is_one(run, pair, flavor):
    lease = book_on(pair[0], flavor, hours(1, 3))
    first, moved, _ = run("a", "--dry-run")[1].splitlines()
    assert first == "Dry run, nothing was changed: host a would be closed for bookings"
    assert moved.startswith(f"would move  {lease.reservation_id}")


# Running reservations.


@pytest.fixture
def running(cloud: Cloud, pair, flavor) -> world.Lease:
    """A running reservation of two instances on the first host, with two servers."""
    lease = book_on(pair[0], flavor, hours(0, 3), 2)
    world.begin(lease)
    for name in ("one", "two"):
        boot(cloud, lease, name)
    return lease


def boot(cloud: Cloud, lease: world.Lease, name: str) -> str:
    flavor_id = backing_names.nova_flavor_id(lease.reservation_id)
    return cloud.nova.boot(flavor_id, world.PROJECT, name, host="a")


def offered(cloud: Cloud, lease: world.Lease) -> dict[str, int]:
    cls = backing_names.resource_class(lease.reservation_id)
    return {n: t[cls] for n, t in cloud.placement.offered().items() if cls in t}


def test_running_reservation_and_its_servers_leave_the_host(
    run, cloud: Cloud, clock, pair, running
):
    status, out, _ = run("a", "--running", "--yes")
    moved, *servers, last = out.splitlines()
    assert (status, hosts_of(running)) == (host_drain.EMPTY, {pair[1]: 2})
    assert moved.startswith(f"moved  {running.reservation_id}")
    assert [line.split("  ")[0] for line in servers] == ["migrated", "migrated"]
    assert last == (
        "Host a is closed for bookings. Reservations that were moved: 1, left: 0. Servers that "
        "were migrated: 2, left: 0"
    )
    assert {server["host"] for server in cloud.nova.servers.values()} == {"b"}
    # The servers that were still there kept their part until they left.
    assert offered(cloud, running) == {"blazar_a": 2, "blazar_b": 2}
    failed_hosts.take_back_hosts()
    assert offered(cloud, running) == {"blazar_b": 2}
    assert run("a", "--running", "--yes")[0] == host_drain.EMPTY


def test_server_that_nova_refuses_to_migrate_is_left_and_tried_again(
    run, cloud: Cloud, clock, pair, running
):
    cloud.nova.fail(match="POST .*/servers/.*/action", first=2, times=1, status=400)
    status, out, _ = run("a", "--running", "--yes")
    assert status == host_drain.LEFT
    assert "    Nova refused: the fake said so" in out
    assert "Servers that were migrated: 1, left: 1" in out
    status, out, _ = run("a", "--running", "--yes", "--json")
    (server,) = json.loads(out)["servers"]
    assert (status, server["outcome"], server["why"]) == (host_drain.EMPTY, "migrated", None)
    assert (server["name"], server["reservation_id"]) == ("two", running.reservation_id)


def test_server_that_is_shut_off_or_fails_under_way_is_left_with_its_reason(
    run, cloud: Cloud, clock, pair, running
):
    cloud.nova.migrations_fail = True
    (stopped,) = (s for s in cloud.nova.servers.values() if s["name"] == "one")
    stopped["status"] = "SHUTOFF"
    status, out, _ = run("a", "--running", "--yes", "--json")
    whys = {each["name"]: each["why"] for each in json.loads(out)["servers"]}
    assert status == host_drain.LEFT
    assert "vm_state stopped" in whys["one"]
    assert "has given up" in whys["two"]


def test_servers_are_only_printed_without_migration(run, cloud: Cloud, pair, running):
    status, out, _ = run("a", "--running", "--no-migrate", "--yes")
    assert (status, hosts_of(running)) == (host_drain.LEFT, {pair[1]: 2})
    assert out.count("    openstack server migrate --live-migration ") == 2
    assert "Servers that were migrated: 0, left: 2" in out
    assert {server["host"] for server in cloud.nova.servers.values()} == {"a"}


def test_server_whose_instance_stays_stays_too(run, cloud: Cloud, clock, pair, flavor, running):
    book_on(pair[1], flavor, hours(0, 9))
    status, out, _ = run("a", "--running", "--yes")
    assert (status, hosts_of(running)) == (host_drain.LEFT, {host_id: 1 for host_id in pair})
    assert "no room for 1 of its instances" in out
    assert "make room, add a host, or wait for its end" in out
    assert [s["host"] for s in cloud.nova.servers.values()].count("b") == 1
    assert "Servers that were migrated: 1, left: 0" in out


def test_dry_run_names_the_servers_and_changes_nothing(
    run, database: sa.Engine, cloud: Cloud, pair, running
):
    before = databases.dump(database)
    status, out, _ = run("a", "--running", "--dry-run")
    assert (status, databases.dump(database)) == (host_drain.EMPTY, before)
    assert [line.split("  ")[0] for line in out.splitlines()[1:-1]] == [
        "would move",
        *["would migrate"] * 2,
    ]
    assert "Servers that were migrated: 0, to be migrated: 2" in out
    assert {server["host"] for server in cloud.nova.servers.values()} == {"a"}


def test_reservation_that_nova_cannot_open_is_named(run, cloud: Cloud, pair, running):
    cloud.nova.fail(match="POST .*os-aggregates", status=503)
    status, out, _ = run("a", "--running", "--no-migrate", "--yes")
    assert (status, hosts_of(running)) == (host_drain.LEFT, {pair[1]: 2})
    assert f"closed  {running.reservation_id}  a manager opens it" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--running"], "it needs --yes"), (["--no-migrate"], "need --running")],
)
def test_running_reservations_are_not_moved_without_a_yes(run, pair, running, words, said):
    status, out, err = run("a", *words)
    assert (status, out, said in err) == (host_drain.FAILED, "", True)
    assert hosts_of(running) == {pair[0]: 2}


# Hosts that are said to have failed.


@pytest.fixture
def run_fail(run):
    """Run ``host fail``, and return its exit status and what it prints."""
    return functools.partial(run, action="fail")


def test_failed_host_is_healed_at_once(run_fail, cloud: Cloud, pair, running):
    status, out, _ = run_fail("a", "--yes")
    assert (status, hosts_of(running)) == (host_drain.EMPTY, {pair[1]: 2})
    assert out.splitlines()[-1] == (
        "Host a is out of use. Reservations that were moved: 1, left: 0, begin later and stay: 0"
    )
    assert offered(cloud, running) == {"blazar_a": 2, "blazar_b": 2}
    assert not db_api.host_get(pair[0])["reservable"]
    assert flags(running) == (False, True, True)
    assert run_fail("a", "--undo")[:2] == (0, "Host a can be used again\n")
    assert db_api.host_get(pair[0])["reservable"]


@pytest.mark.parametrize(
    ("in_nova", "state"),
    [
        ({"state": "down", "forced_down": True}, "forced down"),
        ({"status": "disabled"}, "disabled"),
        ({"state": "down"}, "down"),
    ],
)
@pytest.mark.parametrize("words", [[], ["--dry-run"]], ids=["undo", "dry-run"])
def test_failed_host_is_not_used_while_nova_boots_nothing_there(
    run_fail, cloud: Cloud, pair, in_nova, state, words
):
    run_fail("a", "--yes")
    cloud.nova.services["a"] = in_nova
    status, out, err = run_fail("a", "--undo", *words)
    assert (status, out) == (host_drain.FAILED, "")
    assert f"Nova says that the compute service of host a is {state}" in err
    assert "compute service set --enable --up a nova-compute" in err
    assert not db_api.host_get(pair[0])["reservable"]


def test_reservation_without_room_elsewhere_is_flagged(run_fail, pair, flavor, running):
    world.add_stock([pair[1]], hours(0, 9), "physical:host")
    status, out, _ = run_fail("a", "--yes", "--json")
    document = json.loads(out)
    assert (status, document["moved"], document["failed"]) == (host_drain.LEFT, [], True)
    assert document["left"][0]["why"].startswith("no room for 2 of its instances")
    assert flags(running) == (True, False, True)


def test_reservations_after_the_healing_interval_stay(run_fail, pair, flavor):
    later = book_on(pair[0], flavor, hours(5, 6))
    status, out, _ = run_fail("a", "--yes", healing_interval=60)
    assert (status, hosts_of(later)) == (host_drain.EMPTY, {pair[0]: 1})
    assert out.endswith("begin later and stay: 1\n")


def test_dry_run_of_a_failure_changes_nothing(run_fail, database: sa.Engine, pair, running):
    before = databases.dump(database)
    status, out, _ = run_fail("a", "--dry-run")
    assert (status, databases.dump(database)) == (host_drain.EMPTY, before)
    assert out.splitlines()[0] == ("Dry run, nothing was changed: host a would be taken out of use")
    assert out.splitlines()[1].startswith(f"would move  {running.reservation_id}")


def test_failure_needs_a_yes_without_a_terminal(run_fail, pair):
    status, _, err = run_fail("a")
    assert (status, "it needs --yes" in err) == (host_drain.FAILED, True)
    assert db_api.host_get(pair[0])["reservable"]
