"""The comparisons of an audit: what was read, and the differences that are found."""

import collections
import dataclasses
import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain import shapes
from warre_blazar.domain.audit import cloud_side, overselling, table_side, taken_room
from warre_blazar.domain.audit.differences import Difference, DifferenceKind, Needs, in_both
from warre_blazar.domain.audit.facts import (
    Booking,
    InstanceReservation,
    KnownHost,
    NovaFacts,
    Offered,
    PlacementFacts,
    SeenLease,
    Taking,
    TrustedLease,
    WithoutBooking,
)
from warre_blazar.domain.hosts import providers
from warre_blazar.domain.hosts.host_marks import OnHost
from warre_blazar.domain.hosts.providers import Inventory
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.backing import Note, Phase
from warre_blazar.domain.running.holders import Holder, Migration, Server
from warre_blazar.domain.running.lease_states import Age, ClaimState, State, Statuses, Summary
from warre_blazar.domain.running.wanted import (
    HostUse,
    NovaAggregate,
    NovaFlavor,
    in_nova,
    in_placement,
)
from warre_blazar.domain.timeline import Span

ID = "11111111-2222-4333-8444-555555555555"
PROJECT = "project"
SHAPE = shapes.shape(extra_specs={"hw:a": "1", "hide_hypervisor_id": "true"})
START = datetime.datetime(2100, 1, 1)
HOUR = datetime.timedelta(hours=1)
CLASS = backing_names.resource_class(ID)


def span(first: float, last: float) -> Span:
    return Span(START + first * HOUR, START + last * HOUR)


def booking(status: str = "active", **changes: Any) -> Booking:
    """A reservation of two instances on host a and one on host b, open unless it waits."""
    is_active = status == "active"
    usual = Booking(
        reservation_id=ID,
        lease_id="lease",
        status=status,
        shape=SHAPE,
        count=3,
        places=(HostUse("1", "a", "a.example", 2), HostUse("2", "b", "b.example", 1)),
        note=Note(
            ID,
            PROJECT,
            7,
            Phase.OPEN if is_active else Phase.MADE,
            backing_names.nova_flavor_id(ID),
            SHAPE,
        ),
        row=InstanceReservation(3, 8, 16384, 60, 7, backing_names.nova_flavor_id(ID)),
    )
    return dataclasses.replace(usual, **changes)


def flavor(**changes: Any) -> NovaFlavor:
    usual = NovaFlavor(
        id=backing_names.nova_flavor_id(ID),
        name=f"reservation:{ID}",
        vcpus=4,
        ram=8192,
        disk=30,
        ephemeral=0,
        is_public=False,
        extra_specs=backing_names.flavor_specs(ID, SHAPE),
        projects=frozenset({PROJECT}),
    )
    return dataclasses.replace(usual, **changes)


METADATA = backing_names.aggregate_metadata(ID, PROJECT, SHAPE)


def aggregate(**changes: Any) -> NovaAggregate:
    usual = NovaAggregate(7, ID, frozenset({"a", "b"}), METADATA)
    return dataclasses.replace(usual, **changes)


def nova(flavors: Any = (), aggregates: Any = (), servers: Any = ()) -> NovaFacts:
    return NovaFacts(tuple(flavors), tuple(aggregates), tuple(servers))


def server(reservation_id: str) -> Server:
    flavor = backing_names.FLAVOR_PREFIX + reservation_id
    return Server("server", "s1", PROJECT, flavor, {}, "ACTIVE", "a")


def in_the_cloud(
    booked: Booking, nova: NovaFacts | None = None, placement: PlacementFacts | None = None
) -> list[Difference]:
    """The differences of a reservation from what one of the services has."""
    side = in_nova if nova else in_placement
    return list(cloud_side.compare([booked], cloud_side.actual(nova, placement), [side]))


def kinds(found: Any) -> list[DifferenceKind]:
    return [difference.kind for difference in found]


WAITS = {"flavor": flavor(projects=frozenset()), "aggregate": aggregate(hosts=frozenset())}
NOTE = booking().note
assert NOTE is not None


@pytest.mark.parametrize(
    ("status", "changes", "expected"),
    [
        pytest.param("active", {}, [], id="as it should be"),
        pytest.param("pending", WAITS, [], id="as it should be before its start"),
        pytest.param("active", {"flavor": None}, [DifferenceKind.FLAVOR_MISSING], id="no flavor"),
        pytest.param(
            "active",
            {"flavor": flavor(ram=1)},
            [DifferenceKind.FLAVOR_WRONG],
            id="flavor of another size",
        ),
        pytest.param(
            "active",
            {"flavor": flavor(is_public=True)},
            [DifferenceKind.FLAVOR_WRONG],
            id="public flavor",
        ),
        pytest.param(
            "active",
            {"flavor": flavor(extra_specs={"hw:a": "1"})},
            [DifferenceKind.FLAVOR_SPECS],
            id="flavor without our specs",
        ),
        pytest.param(
            "active",
            {"flavor": flavor(extra_specs={**flavor().extra_specs, "more": "1"})},
            [],
            id="flavor with a spec that an operator added",
        ),
        pytest.param(
            "active",
            {"flavor": flavor(projects=frozenset())},
            [DifferenceKind.ACCESS_MISSING],
            id="project not let in",
        ),
        pytest.param(
            "active",
            {"flavor": flavor(projects=frozenset({PROJECT, "other"}))},
            [DifferenceKind.ACCESS_TOO_MANY],
            id="another project let in",
        ),
        pytest.param(
            "pending",
            {**WAITS, "flavor": flavor()},
            [DifferenceKind.ACCESS_TOO_MANY],
            id="let in too early",
        ),
        pytest.param(
            "error",
            {**WAITS, "flavor": flavor()},
            [DifferenceKind.ACCESS_TOO_MANY],
            id="let in after error",
        ),
        pytest.param(
            "active", {"aggregate": None}, [DifferenceKind.AGGREGATE_MISSING], id="no aggregate"
        ),
        pytest.param(
            "active",
            {"aggregate": aggregate(metadata={"reservation": ID})},
            [DifferenceKind.AGGREGATE_METADATA],
            id="aggregate without project",
        ),
        pytest.param(
            "active",
            {"aggregate": aggregate(metadata=METADATA | {"filter_tenant_id": PROJECT})},
            [DifferenceKind.AGGREGATE_METADATA],
            id="aggregate that keeps its project off other hosts",
        ),
        pytest.param(
            "active",
            {"aggregate": aggregate(id=8)},
            [DifferenceKind.NOTE_WRONG],
            id="another aggregate",
        ),
        pytest.param(
            "active",
            {"aggregate": aggregate(hosts=frozenset({"a"}))},
            [DifferenceKind.HOSTS_MISSING],
            id="host missing",
        ),
        pytest.param(
            "active",
            {"aggregate": aggregate(hosts=frozenset("abc"))},
            [DifferenceKind.HOST_TOO_MANY],
            id="host too many",
        ),
        pytest.param(
            "pending",
            {**WAITS, "aggregate": aggregate()},
            [DifferenceKind.HOST_TOO_MANY] * 2,
            id="too early",
        ),
    ],
)
def test_backing_in_nova_gives_these_differences(
    status: str, changes: dict[str, Any], expected: list[DifferenceKind]
):
    backing = {"flavor": flavor(), "aggregate": aggregate(), **changes}
    facts = nova(
        [backing["flavor"]] if backing["flavor"] else (),
        [backing["aggregate"]] if backing["aggregate"] else (),
    )
    assert kinds(in_the_cloud(booking(status), facts)) == expected


def test_running_reservation_that_is_half_open_is_a_difference():
    half = booking(note=dataclasses.replace(NOTE, phase=Phase.OPENING))
    facts = nova([flavor(projects=frozenset())], [aggregate(hosts=frozenset())])
    assert kinds(in_the_cloud(half, facts)) == [DifferenceKind.NOT_OPENED]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("active", []),
        ("pending", [DifferenceKind.SERVER_OUTSIDE]),
        ("error", [DifferenceKind.SERVER_OUTSIDE]),
    ],
)
def test_server_on_a_reservation_that_does_not_run_is_a_difference(
    status: str, expected: list[DifferenceKind]
):
    backing = [flavor(), aggregate()] if status == "active" else WAITS.values()
    nova_flavor, nova_aggregate = backing
    facts = nova([nova_flavor], [nova_aggregate], [server(ID)])
    assert kinds(in_the_cloud(booking(status), facts)) == expected


def placement(classes: Any = (CLASS,), **offered: dict[str, Any]) -> PlacementFacts:
    return PlacementFacts(
        frozenset(classes),
        {f"blazar_{host}.example": {CLASS: inventory} for host, inventory in offered.items()},
    )


TWO, ONE = backing_names.inventory(2), backing_names.inventory(1)


@pytest.mark.parametrize(
    ("status", "facts", "expected"),
    [
        pytest.param("active", placement(a=TWO, b=ONE), [], id="as it should be"),
        pytest.param("pending", placement(), [], id="as it should be before its start"),
        pytest.param("pending", placement(()), [DifferenceKind.CLASS_MISSING], id="no class"),
        pytest.param(
            "active", placement(a=TWO), [DifferenceKind.INVENTORY_MISSING], id="host missing"
        ),
        pytest.param(
            "active",
            placement(a=ONE, b=ONE),
            [DifferenceKind.INVENTORY_MISSING],
            id="too few on a host",
        ),
        pytest.param(
            "active",
            placement(a={**TWO, "reserved": 1}, b=ONE),
            [DifferenceKind.INVENTORY_MISSING],
            id="reserved by somebody",
        ),
        pytest.param(
            "active",
            placement(a=TWO, b=ONE, c=ONE),
            [DifferenceKind.INVENTORY_TOO_MANY],
            id="another host",
        ),
        pytest.param(
            "pending", placement(a=TWO), [DifferenceKind.INVENTORY_TOO_MANY], id="too early"
        ),
    ],
)
def test_backing_in_placement_gives_these_differences(
    status: str, facts: PlacementFacts, expected: list[DifferenceKind]
):
    assert kinds(in_the_cloud(booking(status), placement=facts)) == expected


OTHER = "99999999-2222-4333-8444-555555555555"


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        pytest.param(
            WithoutBooking(frozenset(), frozenset(), frozenset()),
            [DifferenceKind.LEFTOVER],
            id="unknown",
        ),
        pytest.param(
            WithoutBooking(frozenset(), frozenset({OTHER}), frozenset()),
            [DifferenceKind.LEFTOVER],
            id="over",
        ),
        pytest.param(
            WithoutBooking(frozenset({OTHER}), frozenset(), frozenset()), [], id="somebody's"
        ),
        pytest.param(
            WithoutBooking(frozenset(), frozenset(), frozenset({OTHER})),
            [DifferenceKind.LEFTOVER],
            id="noted",
        ),
    ],
)
def test_backing_without_a_live_reservation_is_a_leftover(
    standing: WithoutBooking, expected: list[DifferenceKind]
):
    facts = PlacementFacts(frozenset({CLASS, backing_names.resource_class(OTHER)}), {})
    found = cloud_side.actual(nova([flavor()], [aggregate()]), facts)
    assert set(found) == {ID, OTHER}
    assert kinds(cloud_side.strays([booking()], standing, found)) == expected


def test_names_of_other_things_belong_to_no_reservation():
    assert backing_names.of_class("CUSTOM_RESERVATION_X") is None
    assert backing_names.of_class("CUSTOM_GPU") is None
    specs = {backing_names.AGGREGATE_SPEC: ID}
    assert backing_names.of_flavor("reservation:x", {}) is None
    assert backing_names.of_flavor("m1.small", specs) is None
    assert backing_names.of_flavor("reservation:x@y", specs) == ID
    assert backing_names.of_flavor(f"reservation:{ID}", {}) == ID
    # Blazar names its aggregates of whole hosts by reservation ids too.
    assert backing_names.of_aggregate(ID, {"blazar:owner": PROJECT}) is None
    assert backing_names.of_aggregate("freepool", {}) is None


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param(booking(), [], id="as it should be"),
        pytest.param(
            booking(shape=None, count=0), [DifferenceKind.BOOKING_MISSING], id="no row of ours"
        ),
        pytest.param(
            booking(count=4),
            [DifferenceKind.ALLOCATIONS_DIFFER, DifferenceKind.INSTANCE_ROW],
            id="count",
        ),
        pytest.param(booking(row=None), [DifferenceKind.INSTANCE_ROW], id="no row of Blazar's"),
        pytest.param(
            booking(row=InstanceReservation(3, 4, 8192, 30, 7, backing_names.nova_flavor_id(ID))),
            [DifferenceKind.INSTANCE_ROW],
            id="row of a smaller one",
        ),
        pytest.param(booking(places=()), [], id="without hosts: the lease's state says so"),
        pytest.param(
            booking(
                places=(
                    HostUse("1", "a", "a.example", 2, reservable=False),
                    HostUse("2", "b", "b.example", 1),
                )
            ),
            [DifferenceKind.HOST_NOT_RESERVABLE],
            id="failed host",
        ),
    ],
)
def test_rows_of_a_reservation_give_these_differences(
    changed: Booking, expected: list[DifferenceKind]
):
    assert kinds(table_side.compare_bookings([changed])) == expected


def lease(
    statuses: tuple[str, str, str],
    reservations: Summary,
    *,
    due: datetime.datetime | None = None,
    is_requested: bool = False,
    **changes: Any,
) -> SeenLease:
    state = State(Statuses(*statuses), reservations, **changes)
    return SeenLease("lease", state, due, is_requested)


RUNNING = (("ACTIVE", "DONE", "UNDONE"), Summary.ACTIVE)
STOPPED = (("CREATING", "UNDONE", "UNDONE"), Summary.PENDING)
BROKEN = (("ACTIVE", "ERROR", "UNDONE"), Summary.ACTIVE)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(lease(*RUNNING), [], id="as it should be"),
        pytest.param(lease(*BROKEN), [DifferenceKind.LEASE_STATE], id="contradiction"),
        pytest.param(lease(*BROKEN, age=Age.FRESH), [], id="contradiction just now"),
        pytest.param(lease(*STOPPED), [DifferenceKind.LEASE_STATE_LOST], id="making stopped"),
        pytest.param(lease(*STOPPED, age=Age.QUIET), [], id="is being made"),
        pytest.param(
            lease(*STOPPED, age=Age.QUIET, claim=ClaimState.DEAD),
            [DifferenceKind.LEASE_STATE_LOST],
            id="its manager has died",
        ),
        pytest.param(lease(*STOPPED, claim=ClaimState.LIVE), [], id="a manager works on it"),
        pytest.param(lease(*STOPPED, is_requested=True), [], id="requested already"),
        pytest.param(
            lease(*RUNNING, holds=False), [DifferenceKind.LEASE_STATE_LOST], id="hosts are gone"
        ),
        pytest.param(
            lease(*RUNNING, due=START - HOUR), [DifferenceKind.LEASE_OVERDUE], id="overdue"
        ),
        pytest.param(lease(*RUNNING, due=START - HOUR / 60), [], id="due a minute ago"),
    ],
)
def test_state_of_a_lease_gives_these_differences(seen: SeenLease, expected: list[DifferenceKind]):
    assert kinds(table_side.compare_leases([seen], START)) == expected


@pytest.mark.parametrize(
    ("used", "trusts", "expected"),
    [
        ({"t"}, {"t"}, []),
        ({"t"}, set(), []),
        ({"t"}, {"t", "u", "v"}, [DifferenceKind.TRUSTS_UNUSED]),
    ],
)
def test_unused_trusts_are_a_difference(
    used: set[str], trusts: set[str], expected: list[DifferenceKind]
):
    assert kinds(cloud_side.compare_trusts(used, trusts)) == expected


def test_lease_whose_trust_is_gone_is_a_difference():
    leases = [TrustedLease(t, f"lease {t}", "PENDING", "user", PROJECT, START, t) for t in "tu"]
    (found,) = cloud_side.compare_leases(leases, {"t"})
    assert (found.kind, found.subject) == (DifferenceKind.TRUST_GONE, "u")
    assert "lease u" in found.text


HOST = KnownHost("h", "host", "host.example", {"VCPU": 4})


def taking(name: str, when: Span, vcpus: int | None = 2) -> Taking:
    amounts = None if vcpus is None else {"VCPU": vcpus}
    return Taking("h", name, (when,), amounts)


@pytest.mark.parametrize(
    ("takings", "expected"),
    [
        pytest.param([taking("a", span(0, 2)), taking("b", span(1, 3))], 0, id="full"),
        pytest.param([taking("a", span(0, 2)), taking("b", span(1, 3), 3)], 1, id="one too many"),
        pytest.param([taking("a", span(0, 2), 4), taking("b", span(2, 3), 4)], 0, id="in turn"),
        pytest.param(
            [taking("a", span(-5, -1), 4), taking("b", span(-3, -2), 4)], 0, id="in the past"
        ),
        pytest.param([taking("a", span(0, 2), None), taking("b", span(1, 3))], 1, id="whole host"),
        pytest.param(
            [taking("a", span(0, 2), None), taking("b", span(2, 3))], 0, id="whole before"
        ),
        pytest.param(
            [taking("a", span(0, 2), None), taking("b", span(1, 2), None)], 2, id="whole twice"
        ),
        pytest.param([Taking("h", "a", (span(0, 1),), {"VGPU": 1})], 1, id="what it doesn't have"),
    ],
)
def test_oversold_host_is_a_difference(takings: list[Taking], expected: int):
    found = list(overselling.oversold_hosts([HOST], takings, START))
    assert kinds(found) == [DifferenceKind.HOST_OVERSOLD] * expected


def test_host_that_shrank_counts_with_its_actual_capacity():
    root = providers.Provider(
        "p", "host.example", None, {"VCPU": Inventory(4, reserved=1)}, frozenset()
    )
    facts = PlacementFacts(
        frozenset(),
        {"host.example": {}},
        {"host.example": (root,)},
    )
    assert kinds(overselling.shrunk_hosts([HOST], facts)) == [DifferenceKind.HOST_SHRANK]
    (shrunk,) = overselling.with_actual_capacities([HOST], facts)
    assert shrunk.capacities == {"VCPU": 3}
    assert overselling.with_actual_capacities([HOST], None) == [HOST]
    assert kinds(overselling.shrunk_hosts([HOST], placement())) == []


def test_host_is_in_placement_and_kept_for_bookings_in_nova():
    host = dataclasses.replace(HOST, service_name="cmp1")
    there = PlacementFacts(frozenset(), {"host.example": {}})

    def found(kept: frozenset[str] | None, facts: PlacementFacts = there) -> list[DifferenceKind]:
        in_nova = dataclasses.replace(nova(), kept=kept)
        return kinds(cloud_side.misplaced_hosts([host], in_nova, facts))

    assert found(frozenset({"cmp1"})) == found(None) == []
    assert found(frozenset({"cmp2"})) == [DifferenceKind.HOST_OUTSIDE_FREEPOOL]
    assert found(frozenset(), placement()) == [DifferenceKind.HOST_GONE]
    assert kinds(cloud_side.misplaced_hosts([host], None, there)) == []


def test_host_whose_providers_could_not_be_read_counts_with_what_is_known():
    facts = PlacementFacts(frozenset(), {"host.example": {}})
    assert list(overselling.shrunk_hosts([HOST], facts)) == []
    assert overselling.with_actual_capacities([HOST], facts) == [HOST]


def test_devices_that_only_capabilities_name_are_not_expected_in_placement():
    host = KnownHost("h", "host", "host.example", {"VCPU": 4, "pci_alias_a100": 2})
    root = providers.Provider("p", "host.example", None, {"VCPU": Inventory(4)}, frozenset())
    facts = PlacementFacts(
        frozenset(),
        {"host.example": {}},
        {"host.example": (root,)},
    )
    assert list(overselling.shrunk_hosts([host], facts)) == []
    assert overselling.with_actual_capacities([host], facts) == [host]


def test_overbooked_class_names_the_reservations_at_that_moment():
    takings = [
        Taking("h", "a", (span(0, 2),), {"VCPU": 2}),
        Taking("h", "b", (span(1, 3),), {"VCPU": 3}),
        Taking("h", "later", (span(5, 6),), {"VCPU": 4}),
        Taking("other", "elsewhere", (span(1, 3),), {"VCPU": 4}),
    ]
    (found,) = overselling.overbooked([HOST], takings, START)
    assert (found.booked, found.capacity, found.when) == (5, 4, START + HOUR)
    assert [taking.reservation_id for taking in found.takings] == ["a", "b"]
    text = found.text()
    assert f"a ({START} to {START + 2 * HOUR}), b ({START + HOUR} to {START + 3 * HOUR})" in text


spans = st.tuples(st.integers(-3, 8), st.integers(1, 4)).map(lambda t: span(t[0], t[0] + t[1]))


@given(st.lists(st.tuples(spans, st.integers(1, 3)), max_size=8))
def test_oversold_slots_are_those_that_a_count_by_the_hour_finds(booked: list[tuple[Span, int]]):
    by_hour = collections.Counter()
    for when, amount in booked:
        for hour in range(12):
            if when.start <= START + hour * HOUR < when.end:
                by_hour[hour] += amount
    expected = max(by_hour.values(), default=0)
    takings = [
        Taking("f", str(number), (when,), {"f": amount})
        for number, (when, amount) in enumerate(booked)
    ]
    for slots in (expected - 1, expected):
        found = overselling.oversold_flavors([Offered("f", "flavor", slots)], takings, START)
        assert len(list(found)) == (1 if slots < expected else 0)


def test_in_both_keeps_only_what_two_looks_find():
    one, two = (Difference(DifferenceKind.LEFTOVER, name, name) for name in "ab")
    changed = dataclasses.replace(one, text="changed")
    assert in_both([one, two], [changed]) == [changed]


def test_only_deletions_need_yes():
    for kind in DifferenceKind:
        rule = kind.value
        deletes = "delete" in rule.remedy or "removed" in rule.remedy
        if rule.needs is not Needs.PERSON and kind is not DifferenceKind.LEASE_STATE_LOST:
            assert deletes == (rule.needs is Needs.YES), kind


def holder(**changes: Any) -> Holder:
    return dataclasses.replace(Holder("server", "a", {CLASS: 1, "VCPU": 2}, server(ID)), **changes)


def on_host(**changes: Any) -> OnHost:
    start = START - datetime.timedelta(hours=1)
    usual = OnHost(
        reservation_id=ID,
        shown_id=ID,
        resource_type="flavor:slot",
        flavor_id=None,
        flavor_name=None,
        project_id=PROJECT,
        user_id="user",
        lease_status="ACTIVE",
        status="active",
        instances=1,
        start=start,
        end=START + datetime.timedelta(hours=1),
    )
    return dataclasses.replace(usual, **changes)


ORDINARY = dataclasses.replace(server(ID), flavor="m1", project_id="beta")
SPOT = dataclasses.replace(ORDINARY, extra_specs={"blazar:preemptible": "true"})
LEFT = Migration("m", "server", "resize", "finished", "b")
ROOM = {
    "own server": (holder(), [on_host()], False),
    "own unconfirmed resize": (holder(migration=LEFT), [on_host()], False),
    "no reservation": (holder(), [], True),
    "later reservation": (
        holder(),
        [on_host(status="pending", start=START + datetime.timedelta(minutes=5))],
        True,
    ),
    "end is overdue": (holder(), [on_host(end=START)], False),
    "ordinary": (holder(resources={"VCPU": 2}, server=ORDINARY), [on_host()], True),
    "unknown": (holder(resources={"VCPU": 2}, server=None), [on_host()], True),
    "whole host": (
        holder(resources={"VCPU": 2}, server=ORDINARY),
        [on_host(resource_type="physical:host", project_id="beta")],
        False,
    ),
    "whole host of others": (
        holder(resources={"VCPU": 2}, server=ORDINARY),
        [on_host(resource_type="physical:host", project_id="gamma")],
        True,
    ),
}


@pytest.mark.parametrize("case", ROOM)
def test_room_is_taken_by_who_has_no_reservation_there(case: str):
    held, present, is_taken = ROOM[case]
    found = list(taken_room.compare([held], {"a": taken_room.entitled(present, START)}, ()))
    assert kinds(found) == [DifferenceKind.ROOM_TAKEN] * is_taken


@pytest.mark.parametrize(
    ("held", "needs"),
    [
        (holder(migration=LEFT), Needs.FIX),
        (holder(migration=dataclasses.replace(LEFT, status="migrating")), Needs.PERSON),
        (holder(server=SPOT), Needs.YES),
        (holder(server=SPOT, migration=LEFT), Needs.FIX),
        (holder(server=ORDINARY), Needs.PERSON),
        (holder(server=None), Needs.PERSON),
    ],
    ids=["move", "move that goes on", "preemptible", "preemptible that has moved", "other", "none"],
)
def test_remedy_depends_on_who_has_taken_the_room(held: Holder, needs: Needs):
    assert taken_room.difference(held).rule.needs is needs


def test_room_on_a_host_that_is_not_reservable_is_nobodys_matter():
    assert list(taken_room.compare([holder()], {}, ())) == []


def test_holder_of_a_reservation_that_a_manager_works_on_is_left_alone():
    assert list(taken_room.compare([holder()], {"a": taken_room.entitled((), START)}, {ID})) == []
