"""Room that many requests share, compared with a choice of hosts for each request and time."""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain.choosing import choose
from tests.unit.domain.clock import longest, minutes, span, spans
from tests.unit.domain.hosts.test_bookable_host import host, many_hosts
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.placing import FreeSpans, Packing
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.hosts.shared_room import HostGroup
from warre_blazar.domain.slots.free_time import Supply

LAST = 12
WINDOW = span(0, LAST)
#: Sizes of which some are limited by the same classes, so that they fit at the same times.
SHAPES = [
    Shape(vcpu, memory, disk, 0, {}, None, None)
    for vcpu in (1, 2, 3)
    for memory in (1, 2, 4)
    for disk in (0, 1)
]
shapes = st.lists(st.sampled_from(SHAPES), min_size=1, max_size=6)


@st.composite
def alike_hosts(draw):
    """Hosts with one of two trees of providers, on which something is held or that are closed."""
    trees = [
        {c: Inventory(draw(st.integers(2, 9))) for c in ("VCPU", "MEMORY_MB", "DISK_GB")}
        for _ in range(2)
    ]
    made = []
    for number in range(draw(st.integers(1, 5))):
        held = draw(st.lists(st.tuples(spans(LAST), st.sampled_from(SHAPES)), max_size=4))
        closed = draw(st.lists(spans(LAST), max_size=1))
        made.append(
            host(
                number,
                inventories=draw(st.sampled_from(trees)),
                holdings=[Holding("r", when, size.request) for when, size in held],
                closed=[Holding("w", when, None) for when in closed],
            )
        )
    return made


def chosen(hosts, size, count, part, affinity):
    closed = [dataclasses.replace(h, holdings=[*h.holdings, *h.closed], closed=()) for h in hosts]
    return choose(closed, size, count, part, packing=Packing(affinity=affinity))[1]


@given(
    many_hosts() | alike_hosts(), shapes, st.integers(1, 4), st.sampled_from([None, True, False])
)
def test_times_of_many_requests_are_those_of_each_request(hosts, sizes, count, affinity):
    group = HostGroup(hosts)
    for size in sizes:
        free = FreeSpans(group, size.request, count, WINDOW, affinity)

        def fits(stretch, size=size):
            part = span(stretch[0], stretch[-1] + 1)
            return chosen(hosts, size, count, part, affinity) == count

        assert free.of(count) == longest(fits, WINDOW)
        alone = FreeSpans(HostGroup(hosts), size.request, count, WINDOW, affinity)
        assert free.of(count) == alone.of(count)


@given(
    many_hosts() | alike_hosts(),
    shapes,
    st.lists(spans(LAST), min_size=1, max_size=3),
    st.integers(1, 9),
    st.sampled_from([None, True, False]),
)
def test_the_most_that_fits_is_what_a_choice_can_place(hosts, sizes, parts, limit, affinity):
    group = HostGroup(hosts)
    for size in sizes:
        free = FreeSpans(group, size.request, limit, WINDOW, affinity)
        for part in parts:
            assert free.most(part, limit) == chosen(hosts, size, limit, part, affinity)


@given(alike_hosts(), shapes)
def test_empty_hosts_hold_what_each_of_them_says(hosts, sizes):
    group = HostGroup(hosts)
    for size in sizes:
        assert group.when_empty(size.request) == [h.when_empty(size.request) for h in hosts]


def test_shapes_that_the_same_hosts_match_share_a_group():
    gpu = host(2, availability_zone="gpu", traits=frozenset({"CUSTOM_FAST"}))
    supply = Supply([host(1), gpu], {}, {})
    anywhere, zoned = SHAPES[0], dataclasses.replace(SHAPES[0], availability_zone="gpu")
    fast = dataclasses.replace(SHAPES[0], extra_specs={"trait:CUSTOM_FAST": "required"})
    assert [h.id for h in supply.matching(anywhere, None).hosts] == ["id1", "id2"]
    assert supply.matching(SHAPES[-1], None) is supply.matching(anywhere, None)
    assert [h.id for h in supply.matching(zoned, None).hosts] == ["id2"]
    assert supply.matching(fast, None) is supply.matching(zoned, None)


def test_devices_are_counted_for_each_host_by_itself():
    """Only one of the two hosts has its devices free, at other times than its vCPUs."""
    root = Provider("r", "r", None, {"VCPU": Inventory(4)}, frozenset())
    cards = [Provider(n, n, "r", {"CUSTOM_GPU": Inventory(1)}, frozenset({n})) for n in "AB"]
    asked = dataclasses.replace(
        SHAPES[0],
        memory_mb=0,
        extra_specs={"resources:CUSTOM_GPU": "1"},
    ).request
    held = [Holding("r", span(0, 6), asked)] * 2
    hosts = [
        host(1, providers=(root, *cards), holdings=held),
        host(2, providers=(root, *cards), holdings=held[:1]),
    ]
    group = HostGroup(each.settled() for each in hosts)
    assert group.is_contested(asked)
    free = FreeSpans(group, asked, 4, WINDOW)
    assert [len(minutes(s)) for s in free.of(1)] == [LAST]
    assert free.of(2) == [span(6, LAST)]
    assert free.of(4) == [span(6, LAST)]
    assert [free.most(span(a, b), 9) for a, b in ((0, 2), (5, 8), (6, 8))] == [1, 1, 4]
