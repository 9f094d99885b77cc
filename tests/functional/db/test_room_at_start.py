"""A start looks whether its hosts have the room that is booked on them."""

from collections.abc import Callable
from typing import Any

import pytest
from blazar.db import api as db_api
from blazar.notification import notifier
from oslo_db import exception as db_exc
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.fake_clock import FakeClock
from tests.functional.db.managers import OVER, RUNNING, Manager, state
from tests.functional.db.outage import fail, flags, heal, hosts_of, recover
from warre_blazar import timer, times
from warre_blazar.db import session, tables
from warre_blazar.db.hosts import allocations, host_marks
from warre_blazar.db.records import changes
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.records.changes import Change, ChangeKind
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.execution import LEAD, START
from warre_blazar.errors import exceptions
from warre_blazar.openstack import host_rooms
from warre_blazar.plugins import notifications
from warre_blazar.services.booking import lookup
from warre_blazar.services.moves import opening
from warre_blazar.services.records import server_samples
from warre_blazar.services.running import backing, blazar_start_end, room_look

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)
#: When a manager claims and prepares a start.
EARLY = SPAN.start - LEAD[START]
WELL, MISSING, CHANGED = (False, False, False), (True, False, True), (False, True, True)


@pytest.fixture
def manager() -> Manager:
    return Manager()


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """A clock on which time passes only while somebody waits."""
    fake = FakeClock()
    monkeypatch.setattr(timer, "clock", fake)
    return fake


def reconcile(manager: Manager) -> None:
    timeutils.set_time_override(SPAN.start + times.MINUTE)
    backing.reconcile(manager.opener.open)
    timeutils.clear_time_override()


def on_hosts(lease: world.Lease) -> dict[str, int]:
    with session.reader() as db:
        hosts = allocations.hosts_of(db, lease.reservation_id)
    return {host.hypervisor: host.instances for host in hosts}


def offered(cloud: Cloud, lease: world.Lease) -> dict[str, int]:
    """How many units the hosts offer, by the hosts' names."""
    cls = backing_names.resource_class(lease.reservation_id)
    return {
        name.removeprefix("blazar_"): totals[cls]
        for name, totals in cloud.placement.offered().items()
        if cls in totals
    }


def shown(lease: world.Lease) -> Any:
    return lookup.get(lease.reservation_id, None)[0]


def reason(lease: world.Lease) -> str | None:
    return shown(lease).status_reason


def has_access(cloud: Cloud, lease: world.Lease) -> bool:
    return bool(cloud.nova.flavors[backing_names.nova_flavor_id(lease.reservation_id)]["access"])


def boot(cloud: Cloud, lease: world.Lease, host: str) -> str:
    """Boot a server of a reservation on a host."""
    flavor_id = backing_names.nova_flavor_id(lease.reservation_id)
    return cloud.nova.boot(flavor_id, world.PROJECT, host=host)


def intrude(cloud: Cloud, host: str, number: int) -> list[str]:
    """Boot servers of 1 VCPU that have no reservation, as an administrator can."""
    flavor_id = cloud.nova.make_flavor("ordinary")
    return [cloud.nova.boot(flavor_id, "beta", "stranger", host=host) for _ in range(number)]


def leave(cloud: Cloud, server_ids: list[str]) -> None:
    """Delete servers."""
    for server_id in server_ids:
        cloud.nova.servers.pop(server_id)
        cloud.placement.free(server_id)


def log(lease: world.Lease) -> list[Change]:
    """The changes of a reservation, without its creation."""
    with session.reader() as db:
        of = changes.by_reservation(db, changes.is_change(lease.reservation_id))
    return [c for c in of[lease.reservation_id] if c.kind is not ChangeKind.CREATED]


def moves(lease: world.Lease) -> list[Any]:
    return [change.after for change in log(lease) if change.kind is ChangeKind.MOVED]


def shortages(manager: Manager) -> list[tuple[str, dict[str, int]]]:
    """Of what operators were told: the reservations, each with places by host."""
    return [
        (each.reservation_id, {lacking.host.hypervisor: lacking.places for lacking in each.hosts})
        for each in manager.told
    ]


def start(manager: Manager) -> None:
    manager.run(EARLY)
    manager.run(SPAN.start)


def book(flavor: Any, count: int = 1, span: Any = SPAN) -> world.Lease:
    return world.book(world.request(flavor, span, count))


# Without a finding.


def requests(cloud: Cloud, what: Callable[[], None]) -> list[str]:
    """The requests that are sent to Nova and Placement."""
    services = (cloud.nova, cloud.placement)
    before = [len(service.requests) for service in services]
    what()
    return [
        request
        for service, number in zip(services, before, strict=True)
        for request in service.requests[number:]
    ]


@pytest.mark.parametrize("count", [1, 3])
def test_start_costs_one_request_more(manager: Manager, cloud: Cloud, count: int):
    for number in range(3):
        world.add_host(cloud, f"host-{number}", vcpus=2)
    lease = book(world.add_flavor(slots=3), count)
    sent = requests(cloud, lambda: start(manager))
    assert state(lease) == RUNNING
    assert sum("allocation_candidates" in each for each in sent) == 1
    # For each host: host into aggregate, provider, inventory. Then the project gets access.
    assert len(sent) == 1 + 3 * count + 1


def test_starts_that_are_claimed_together_share_the_look(manager: Manager, cloud: Cloud):
    world.add_host(cloud, "a", vcpus=16)
    flavor = world.add_flavor(slots=8)
    leases = [book(flavor) for _ in range(8)]
    sent = requests(cloud, lambda: start(manager))
    assert {state(lease) for lease in leases} == {RUNNING}
    assert sum("allocation_candidates" in each for each in sent) == 1


def test_look_comes_before_the_start(manager: Manager, cloud: Cloud):
    """When the start's time has come, nobody asks Placement any more."""
    world.add_host(cloud, "a")
    book(world.add_flavor())
    manager.run(EARLY)
    sent = requests(cloud, lambda: manager.run(SPAN.start))
    assert [each.split()[0] for each in sent] == ["POST"]


def test_start_happens_if_placement_has_no_answer(manager: Manager, cloud: Cloud):
    world.add_host(cloud, "a")
    lease = book(world.add_flavor())
    cloud.placement.fail(match="allocation_candidates", status=503)
    start(manager)
    assert state(lease) == RUNNING
    assert reason(lease) is None
    assert has_access(cloud, lease)


def test_places_without_servers_of_other_reservations_are_no_shortage(
    manager: Manager, cloud: Cloud
):
    world.add_host(cloud, "a", vcpus=8)
    flavor = world.add_flavor(slots=4)
    first = book(flavor, 2, world.hours(0.5, 3))
    manager.run(first.span.start)
    boot(cloud, first, "a")
    second = book(flavor, 2)
    start(manager)
    assert (reason(second), offered(cloud, second)) == (None, {"a": 2})


# A host lacks room.


def test_instances_go_to_a_host_with_room_before_the_start(manager: Manager, cloud: Cloud):
    a = world.add_host(cloud, "a", vcpus=4)
    world.add_host(cloud, "b", vcpus=4)
    lease = book(world.add_flavor(slots=2), 2)
    assert on_hosts(lease) == {"a": 2}
    intrude(cloud, "a", 2)
    start(manager)
    assert state(lease) == RUNNING
    assert on_hosts(lease) == offered(cloud, lease) == {"a": 1, "b": 1}
    assert reason(lease) is None
    assert not shown(lease).missing_resources
    assert not shown(lease).resources_changed
    with session.reader() as db:
        assert not host_marks.every(db)[a].abandoned
    assert manager.told == []
    assert moves(lease) == [{"reason": "no_room"}]


def test_instances_go_to_a_host_with_room_if_blazar_starts_their_lease(
    manager: Manager, cloud: Cloud
):
    """Blazar's own executor comes first if a lease is booked just before its turn."""
    world.add_host(cloud, "a", vcpus=4)
    world.add_host(cloud, "b", vcpus=4)
    lease = book(world.add_flavor(slots=2), 2)
    intrude(cloud, "a", 3)
    db_api.lease_update(lease.id, {"status": "STARTING"})
    timeutils.set_time_override(SPAN.start)
    blazar_start_end.start(lease.reservation_id, SPAN.start, manager.opener.open_for_blazar)
    timeutils.clear_time_override()
    assert on_hosts(lease) == offered(cloud, lease) == {"b": 2}
    assert reason(lease) is None
    assert moves(lease) == [{"reason": "no_room"}]
    assert manager.told == []


def test_instances_stay_that_have_room(manager: Manager, cloud: Cloud):
    """A host can be a candidate and hold 1 of 3."""
    world.add_host(cloud, "a", vcpus=6)
    lease = book(world.add_flavor(slots=3), 3)
    intrude(cloud, "a", 4)
    start(manager)
    assert state(lease) == RUNNING
    assert reason(lease) == "2 of 3 places can't be used yet: the operator was told"
    # What servers can't use isn't offered, so that other reservations on the host keep their room.
    assert offered(cloud, lease) == {"a": 1}
    assert on_hosts(lease) == {"a": 3}
    assert has_access(cloud, lease)
    assert flags(lease) == MISSING
    assert shortages(manager) == [(lease.reservation_id, {"a": 2})]
    # Each stranger is named.
    (told,) = manager.told[0].hosts
    assert len(told.in_the_way) == 4
    assert "stranger, ACTIVE, project beta, Nova flavor ordinary" in told.in_the_way[0]


def test_operator_is_told_once_and_the_reason_goes_away(manager: Manager, cloud: Cloud):
    world.add_host(cloud, "a", vcpus=4)
    lease = book(world.add_flavor(slots=2), 2)
    strangers = intrude(cloud, "a", 2)
    start(manager)
    boot(cloud, lease, "a")
    for _ in range(3):
        reconcile(manager)
        assert reason(lease) == "1 of 2 places can't be used yet: the operator was told"
        assert offered(cloud, lease) == {"a": 1}
    assert len(manager.told) == 1
    leave(cloud, strangers)
    reconcile(manager)
    assert reason(lease) is None
    assert flags(lease) == WELL
    assert offered(cloud, lease) == {"a": 2}
    assert world.phase(lease) == "open"
    # Nothing more is done.
    assert requests(cloud, lambda: reconcile(manager)) == []


@pytest.mark.parametrize(
    ("cls", "less"),
    [
        ("VCPU", {"allocation_ratio": 0.5}),
        ("MEMORY_MB", {"total": 2048}),
        ("DISK_GB", {"total": 20}),
        ("MEMORY_MB", {"reserved": 63000}),
    ],
)
def test_start_says_that_a_host_has_less_than_was_booked(
    manager: Manager, cloud: Cloud, cls: str, less: dict[str, float]
):
    world.add_host(cloud, "a", vcpus=4)
    lease = book(world.add_flavor(slots=2), 2)
    host = cloud.placement.named("a")
    assert host is not None
    has = host["inventories"]
    usual = has[cls]
    has[cls] = {**usual, **less}
    start(manager)
    boot(cloud, lease, "a")
    assert reason(lease) == "1 of 2 places can't be used yet: the operator was told"
    has[cls] = usual
    reconcile(manager)
    assert reason(lease) is None
    boot(cloud, lease, "a")


def test_notification_names_who_is_in_the_way(
    manager: Manager, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
):
    sent: list[tuple[str, Any]] = []

    class Notifier:
        def warn(self, _: Any, event: str, payload: Any) -> None:
            sent.append((event, payload))

    monkeypatch.setattr(notifier, "get_notifier", lambda _: Notifier())
    host_id = world.add_host(cloud, "a", vcpus=2)
    lease = book(world.add_flavor())
    (stranger,) = intrude(cloud, "a", 1)
    start(manager)
    notifications.tell_unusable(*manager.told)
    ((event, payload),) = sent
    (lacking,) = payload["hosts"]
    (sentence,) = lacking.pop("in_the_way")
    assert (event, payload["reservation_id"]) == (
        "host.lacks_room",
        lease.reservation_id,
    )
    assert lacking == {"host_id": host_id, "host": "a", "places": 1}
    assert f"server {stranger} (stranger" in sentence


def sample(minutes: int) -> None:
    """Do what managers do every few minutes about running reservations."""
    moment = SPAN.start + minutes * times.MINUTE
    empty = server_samples.take(moment, "manager", times.MINUTE)
    room_look.look_again(empty, moment)


def test_room_that_is_taken_after_the_start_is_noticed(manager: Manager, cloud: Cloud):
    world.add_host(cloud, "a", vcpus=4)
    lease = book(world.add_flavor(slots=2), 2)
    start(manager)
    sample(1)
    assert world.phase(lease) == "open"
    strangers = intrude(cloud, "a", 2)
    sample(2)
    reconcile(manager)
    assert reason(lease) == "1 of 2 places can't be used yet: the operator was told"
    assert shortages(manager) == [(lease.reservation_id, {"a": 1})]
    leave(cloud, strangers)
    reconcile(manager)
    assert (reason(lease), offered(cloud, lease)) == (None, {"a": 2})


def test_reservations_with_all_of_their_servers_are_not_looked_at(manager: Manager, cloud: Cloud):
    world.add_host(cloud, "a", vcpus=4)
    lease = book(world.add_flavor(slots=2), 2)
    start(manager)
    for _ in range(2):
        boot(cloud, lease, "a")
    sent = requests(cloud, lambda: sample(1))
    assert not [each for each in sent if "allocation_candidates" in each]


def test_reservations_on_the_same_hosts_are_looked_at_by_one_request(
    manager: Manager, cloud: Cloud
):
    world.add_host(cloud, "a", vcpus=16)
    flavor = world.add_flavor(slots=4)
    for _ in range(4):
        book(flavor)
    start(manager)
    sent = requests(cloud, lambda: sample(1))
    assert sum("allocation_candidates" in each for each in sent) == 1


def test_healing_leaves_the_flag_to_those_who_look(manager: Manager, cloud: Cloud):
    world.add_host(cloud, "a", vcpus=2)
    lease = book(world.add_flavor())
    intrude(cloud, "a", 2)
    start(manager)
    heal()
    assert flags(lease) == MISSING


def test_running_reservation_goes_to_a_host_that_gets_room_later(manager: Manager, cloud: Cloud):
    world.add_host(cloud, "a", vcpus=4)
    b = world.add_host(cloud, "b", vcpus=4)
    fail(b)
    lease = book(world.add_flavor(slots=2), 2)
    strangers = intrude(cloud, "a", 2)
    start(manager)
    boot(cloud, lease, "a")
    recover(b)
    # Somebody is on b as well, so nothing goes there.
    strangers = intrude(cloud, "b", 4)
    reconcile(manager)
    assert on_hosts(lease) == {"a": 2}
    leave(cloud, strangers)
    reconcile(manager)
    assert on_hosts(lease) == offered(cloud, lease) == {"a": 1, "b": 1}
    assert flags(lease) == CHANGED
    assert (reason(lease), world.phase(lease)) == (None, "open")


def test_instances_of_one_host_move_together(manager: Manager, cloud: Cloud):
    world.add_host(cloud, "a", vcpus=4)
    world.add_host(cloud, "b", vcpus=4)
    lease = book(world.add_flavor(slots=2), 2)
    with session.writer() as db:
        rows = tables.instance_reservations
        mine = rows.c.reservation_id == lease.reservation_id
        db.execute(rows.update().where(mine).values(affinity=True))
    intrude(cloud, "a", 2)
    start(manager)
    assert on_hosts(lease) == offered(cloud, lease) == {"b": 2}


def test_later_reservation_is_the_one_that_lacks_room(manager: Manager, cloud: Cloud):
    """The earlier one has no servers yet, but may boot them at any time."""
    world.add_host(cloud, "a", vcpus=8)
    flavor = world.add_flavor(slots=4)
    first = book(flavor, 2, world.hours(0.5, 3))
    manager.run(first.span.start)
    second = book(flavor, 2)
    intrude(cloud, "a", 2)
    start(manager)
    assert reason(first) is None
    assert offered(cloud, first) == {"a": 2}
    assert reason(second) == "1 of 2 places can't be used yet: the operator was told"
    assert offered(cloud, second) == {"a": 1}


def test_devices_count_by_their_providers(manager: Manager, cloud: Cloud):
    """Two of four devices are taken by a stranger. VCPUs and memory are free."""
    spec = {"resources:CUSTOM_GPU": "2"}
    child = Provider(
        "gpus", "a_gpus", "provider-a", {"CUSTOM_GPU": Inventory(4)}, frozenset({"CUSTOM_FAST"})
    )
    cloud.placement.classes.add("CUSTOM_GPU")
    host_id = world.add_host(cloud, "a", children=(child,))
    (root,) = (i for i, p in cloud.placement.providers.items() if p["name"] == "a")
    cloud.placement.add_provider("a_gpus", root, "CUSTOM_FAST", CUSTOM_GPU=4)
    lease = book(world.add_flavor(slots=2, extra_specs=spec), 2)
    assert hosts_of(lease) == {host_id: 2}
    cloud.placement.use("a_gpus", "CUSTOM_GPU", 1)
    start(manager)
    assert reason(lease) == "1 of 2 places can't be used yet: the operator was told"


def test_truncated_answer_is_no_finding(
    manager: Manager, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
):
    """Placement leaves hosts out of its answer if it has more candidates than it may name."""
    monkeypatch.setattr(host_rooms, "_MOST_CANDIDATES", 1)
    for name in "abc":
        world.add_host(cloud, name, vcpus=2)
    lease = book(world.add_flavor(slots=3), 3)
    start(manager)
    assert (reason(lease), on_hosts(lease)) == (None, {"a": 1, "b": 1, "c": 1})
    assert offered(cloud, lease) == {"a": 1, "b": 1, "c": 1}


def test_what_another_manager_has_opened_meanwhile_is_looked_at_again(
    manager: Manager, cloud: Cloud
):
    """Its look came later than that of this manager, which has withheld a place."""
    host_id = world.add_host(cloud, "a", vcpus=4)
    lease = book(world.add_flavor(slots=2), 2)
    manager.run(EARLY)
    with session.reader() as db:
        hosts = allocations.hosts_of(db, lease.reservation_id)
    manager.run(SPAN.start)
    short = backing.Prepared(hosts, {host_id: 1})
    backing.withhold(lease.reservation_id, short)
    with pytest.raises(exceptions.PlacesUnusable):
        backing.grant(lease.reservation_id, short)
    assert offered(cloud, lease) == {"a": 1}
    reconcile(manager)
    assert offered(cloud, lease) == {"a": 2}
    assert world.phase(lease) == "open"


# Back to back.


def test_booking_that_follows_another_is_neither_moved_nor_blamed(manager: Manager, cloud: Cloud):
    """The earlier servers fill the host until the start."""
    world.add_host(cloud, "a", vcpus=2)
    flavor = world.add_flavor()
    first = book(flavor, 1, world.hours(0.5, 1))
    second = book(flavor)
    world.add_host(cloud, "b", vcpus=2)
    manager.run(first.span.start)
    boot(cloud, first, "a")
    sent = requests(cloud, lambda: manager.run(EARLY))
    assert not any("allocation_candidates" in each for each in sent)
    sent = requests(cloud, lambda: [manager.run(SPAN.start) for _ in range(2)])
    assert (state(first), state(second)) == (OVER, RUNNING)
    assert sum("allocation_candidates" in each for each in sent) == 1
    assert (on_hosts(second), reason(second), moves(second)) == ({"a": 1}, None, [])


def test_room_that_placement_gives_back_late_is_waited_for(
    manager: Manager, cloud: Cloud, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
):
    """Nova forgets a server before it tells Placement so."""
    world.add_host(cloud, "a", vcpus=2)
    flavor = world.add_flavor()
    first = book(flavor, 1, world.hours(0.5, 1))
    second = book(flavor)
    manager.run(first.span.start)
    boot(cloud, first, "a")
    manager.run(EARLY)

    late: list[str] = []
    free = cloud.placement.free
    monkeypatch.setattr(cloud.placement, "free", late.append)

    def sleep(seconds: float) -> None:
        clock.seconds += seconds
        if clock.seconds >= 1:
            free(late.pop())

    monkeypatch.setattr(clock, "sleep", sleep)
    for _ in range(2):
        manager.run(SPAN.start)
    assert state(second) == RUNNING
    assert (reason(second), manager.told) == (None, [])


# Hosts that have vanished.


@pytest.mark.parametrize("service", ["nova", "placement"])
def test_vanished_host_doesnt_keep_others_from_opening(
    manager: Manager, cloud: Cloud, service: str
):
    for name in "ab":
        world.add_host(cloud, name, vcpus=2)
    lease = book(world.add_flavor(slots=2), 2)
    vanish(cloud, "a", service)
    start(manager)
    assert state(lease) == RUNNING
    assert has_access(cloud, lease)
    assert offered(cloud, lease).get("b") == 1
    assert reason(lease) == "1 of 2 places can't be used yet: the operator was told"
    assert flags(lease) == MISSING
    assert shortages(manager) == [(lease.reservation_id, {"a": 1})]
    manager.run(SPAN.end)
    assert state(lease) == OVER


@pytest.mark.parametrize("service", ["nova", "placement"])
def test_instances_on_a_vanished_host_go_elsewhere(manager: Manager, cloud: Cloud, service: str):
    for name in "abc":
        world.add_host(cloud, name, vcpus=2)
    lease = book(world.add_flavor(slots=2), 2)
    vanish(cloud, "a", service)
    start(manager)
    assert on_hosts(lease) == offered(cloud, lease) == {"b": 1, "c": 1}
    assert (reason(lease), flags(lease)) == (None, WELL)


def vanish(cloud: Cloud, name: str, service: str) -> None:
    """Let a host vanish from one service."""
    if service == "nova":
        cloud.nova.hosts.remove(name)
    else:
        cloud.placement.remove_provider(f"blazar_{name}")
        cloud.placement.remove_provider(name)


def test_aggregate_that_is_gone_is_no_vanished_host(manager: Manager, cloud: Cloud):
    world.add_host(cloud, "a")
    lease = book(world.add_flavor())
    cloud.nova.aggregates.clear()
    start(manager)
    assert "Aggregate" in (reason(lease) or "")
    assert not has_access(cloud, lease)


def test_project_is_told_that_it_begins_and_lacks_room(manager: Manager, cloud: Cloud):
    world.add_host(cloud, "a", vcpus=4)
    lease = book(world.add_flavor(slots=2), 2)
    strangers = intrude(cloud, "a", 2)
    start(manager)
    leave(cloud, strangers)
    reconcile(manager)
    assert [c.kind.value for c in log(lease)] == ["missing", "started", "missing"]


def test_project_is_told_once_that_it_begins_if_its_shortage_is_not_noted(
    manager: Manager, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
):
    """The connection to the database is lost before the missing place is noted."""
    world.add_host(cloud, "a", vcpus=4)
    lease = book(world.add_flavor(slots=2), 2)
    strangers = intrude(cloud, "a", 2)

    def disconnected(*_: Any) -> None:
        raise db_exc.DBConnectionError

    with monkeypatch.context() as patched:
        patched.setattr(opening, "relocate", disconnected)
        start(manager)
    assert reason(lease) == "1 of 2 places can't be used yet: the operator was told"
    leave(cloud, strangers)
    reconcile(manager)
    assert reason(lease) is None
    assert [c.kind.value for c in log(lease)] == ["started"]
