"""Room on hosts and the choice of hosts, compared with counts of every class by the minute."""

import datetime
import itertools

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.unit.domain.choosing import choose
from tests.unit.domain.clock import level_at, longest, minutes, span, spans
from tests.unit.domain.shapes import shape
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Holding, around
from warre_blazar.domain.hosts.placing import Packing, free_spans, kept
from warre_blazar.domain.hosts.providers import Inventory

LAST = 12
NO_TIME = datetime.timedelta()
WHOLE = None


def host(number=1, **values):
    defaults = {
        "id": f"id{number}",
        "name": f"compute{number}",
        "availability_zone": "nova",
        "properties": {},
        "inventories": {
            "VCPU": Inventory(8),
            "MEMORY_MB": Inventory(16384),
            "DISK_GB": Inventory(100),
        },
        "traits": frozenset(),
        "holdings": (),
    }
    return BookableHost(**{**defaults, **values})


def held(start, end, resources, reservation="other"):
    request = WHOLE if resources is WHOLE else PlacementRequest.plain(resources)
    return Holding(reservation, span(start, end), request)


# The reference puts instances on a host one by one, and looks at every minute.


def overfilled(one, asked, count, minute):
    """Whether a host can't hold ``count`` more instances at a minute."""
    present = [h for h in one.holdings if minute in minutes(h.span)]
    if any(h.request is WHOLE for h in present):
        return True
    return any(
        sum(h.request.amounts.get(cls, 0) for h in present) + count * amount
        > one.inventories[cls].capacity
        for cls, amount in asked.amounts.items()
    )


def may_ask(inventory, amount):
    return (
        inventory is not None
        and inventory.min_unit <= amount <= inventory.max_unit
        and amount % inventory.step_size == 0
    )


def room_for(one, asked, window):
    amounts = asked.amounts
    if not amounts or not all(may_ask(one.inventories.get(c), n) for c, n in amounts.items()):
        return 0
    fits = (
        count
        for count in itertools.count(1)
        if any(overfilled(one, asked, count, minute) for minute in minutes(window))
    )
    return next(fits) - 1


def taken(holding):
    return {} if holding.request is WHOLE else holding.request.amounts


def fullness(one, asked, window):
    """The share that is held of the class of which most is held, on average over a span."""
    shares = [0.0]
    for cls in asked.amounts:
        if cls in one.inventories and (capacity := one.inventories[cls].capacity) > 0:
            taken = [
                (capacity if h.request is WHOLE else h.request.amounts.get(cls, 0)) * part
                for h in one.holdings
                if (part := min(h.span.end, window.end) - max(h.span.start, window.start)) > NO_TIME
            ]
            shares.append(sum(taken, NO_TIME) / (capacity * (window.end - window.start)))
    return round(max(shares), 6)


inventories = st.builds(
    Inventory,
    total=st.integers(0, 9),
    reserved=st.integers(0, 2),
    min_unit=st.integers(1, 2),
    max_unit=st.integers(2, 9),
    step_size=st.sampled_from([1, 1, 1, 2]),
    allocation_ratio=st.sampled_from([0.0, 0.5, 1.0, 1.0, 1.5, 4.0]),
)
amounts = st.dictionaries(st.sampled_from(["VCPU", "MEMORY_MB", "DISK_GB"]), st.integers(0, 4))
requests = st.builds(PlacementRequest.plain, amounts)
holdings = st.builds(
    Holding,
    st.sampled_from(["a", "b"]),
    spans(LAST),
    requests | requests | requests | st.none(),
)


@st.composite
def many_hosts(draw):
    """Hosts, of which some have the same name, lack a class, or hold more than they have."""
    return [
        host(
            number,
            name=draw(st.sampled_from(["one", "other"])),
            inventories={
                "VCPU": draw(inventories | st.just(Inventory(8))),
                "MEMORY_MB": draw(inventories | st.just(Inventory(8))),
                **draw(st.fixed_dictionaries({}, optional={"DISK_GB": inventories})),
            },
            holdings=draw(st.lists(holdings, max_size=4)),
        )
        for number in range(draw(st.integers(0, 4)))
    ]


shapes = st.builds(
    shape,
    vcpu=st.integers(0, 3),
    memory_mb=st.integers(0, 3),
    disk_gb=st.just(0) | st.integers(0, 3),
)
counts = st.integers(1, 12)
windows = spans(LAST)


@given(many_hosts(), shapes, windows)
def test_room_is_the_most_that_overfills_no_minute(hosts, wanted, window):
    for one in hosts:
        assert one.room(wanted.request, window) == room_for(one, wanted.request, window)


@given(many_hosts(), shapes, windows)
def test_levels_are_the_room_of_every_minute(hosts, wanted, window):
    for one in hosts:
        levels = one.levels(wanted.request, window, 10**6)
        assert levels.steps[0][0] == window.start
        assert levels.steps[-1][0] < window.end
        for minute in minutes(window):
            expected = room_for(one, wanted.request, span(minute, minute + 1))
            assert level_at(levels, minute) == expected


@given(many_hosts(), shapes, windows)
def test_when_empty_is_the_room_beside_nothing(hosts, wanted, window):
    for one in hosts:
        alone = one.holding([])
        assert one.when_empty(wanted.request) == room_for(alone, wanted.request, window)


@given(many_hosts(), shapes, windows)
def test_fullness_is_the_share_held_on_average(hosts, wanted, window):
    for one in hosts:
        swept = one.swept(wanted.request, window)
        assert swept.fullness(window) == pytest.approx(
            fullness(one, wanted.request, window), abs=2e-6
        )


@given(many_hosts(), shapes, windows, windows)
def test_room_of_a_part_is_that_of_the_part_alone(hosts, wanted, window, part):
    for one in hosts:
        swept = one.swept(wanted.request, window.hull(part))
        assert swept.room(part) == one.room(wanted.request, part)


@given(many_hosts(), shapes, counts, windows, st.dictionaries(st.integers(0, 4), counts))
def test_choose_takes_all_there_is_and_overfills_nothing(hosts, wanted, count, window, before):
    preferred = {f"id{number}": amount for number, amount in before.items()}
    chosen, room = choose(hosts, wanted, count, window, preferred)
    rooms = {h.id: room_for(h, wanted.request, window) for h in hosts}
    assert sum(chosen.values()) == room == min(count, sum(rooms.values()))
    assert all(0 < amount <= rooms[one] for one, amount in chosen.items())


@given(many_hosts(), shapes, windows, st.data())
def test_preferred_hosts_keep_theirs(hosts, wanted, window, data):
    ids = [h.id for h in hosts]
    assume(ids)
    preferred = data.draw(st.dictionaries(st.sampled_from(ids), st.integers(1, 4), min_size=1))
    count = sum(preferred.values())
    chosen, _ = choose(hosts, wanted, count, window, preferred)
    rooms = {h.id: room_for(h, wanted.request, window) for h in hosts}
    for one, amount in preferred.items():
        assert chosen.get(one, 0) >= min(amount, rooms[one])


@given(many_hosts(), shapes, counts, windows)
def test_no_instance_goes_to_an_emptier_host_than_it_has_to(hosts, wanted, count, window):
    chosen, _ = choose(hosts, wanted, count, window)
    asked = wanted.request
    order = {h.id: (-fullness(h, asked, around(window)), h.name, h.id) for h in hosts}
    with_room = [h for h in hosts if chosen.get(h.id, 0) < room_for(h, asked, window)]
    for one, other in itertools.product(chosen, with_room):
        assert order[one] <= order[other.id]


@given(many_hosts(), shapes, counts, windows)
def test_spread_takes_as_many_and_from_the_emptiest_first(hosts, wanted, count, window):
    chosen, room = choose(hosts, wanted, count, window, packing=Packing(spread=True))
    assert room == choose(hosts, wanted, count, window)[1] == sum(chosen.values())
    asked = wanted.request
    order = {h.id: (fullness(h, asked, around(window)), h.name, h.id) for h in hosts}
    rooms = {h.id: room_for(h, asked, window) for h in hosts}
    with_room = [h.id for h in hosts if chosen.get(h.id, 0) < rooms[h.id]]
    assert all(0 < amount <= rooms[one] for one, amount in chosen.items())
    for one, other in itertools.product(chosen, with_room):
        # Each host gets its last instance before hosts that come later have as many.
        assert chosen[one] <= chosen.get(other, 0) + (order[one] <= order[other])


@given(many_hosts(), shapes, counts, windows, st.booleans())
def test_together_instances_go_to_the_host_with_the_most_room(hosts, wanted, count, window, spread):
    chosen, room = choose(hosts, wanted, count, window, packing=Packing(spread, affinity=True))
    rooms = [room_for(h, wanted.request, window) for h in hosts]
    assert room == min(count, max(rooms, default=0)) == sum(chosen.values())
    assert len(chosen) == (room > 0)


@given(many_hosts(), shapes, counts, windows, st.booleans())
def test_apart_instances_go_to_a_host_each(hosts, wanted, count, window, spread):
    chosen, room = choose(hosts, wanted, count, window, packing=Packing(spread, affinity=False))
    rooms = [room_for(h, wanted.request, window) for h in hosts]
    assert room == min(count, sum(r > 0 for r in rooms)) == len(chosen)
    assert set(chosen.values()) <= {1}


@given(many_hosts(), shapes, windows, st.data())
def test_together_instances_stay_on_their_host_if_it_has_room(hosts, wanted, window, data):
    rooms = {h.id: room_for(h, wanted.request, window) for h in hosts}
    able = [one for one, room in rooms.items() if room]
    if not able:
        return  # So many examples have no room that hypothesis would complain about ``assume``.
    mine = data.draw(st.sampled_from(able))
    count = rooms[mine]
    together = Packing(affinity=True)
    assert choose(hosts, wanted, count, window, {mine: count}, packing=together)[0] == {mine: count}


@given(many_hosts(), shapes, st.integers(1, 4), windows, st.sampled_from([None, True, False]))
def test_free_spans_are_the_longest_in_which_so_many_can_be_put(
    hosts, wanted, count, window, affinity
):
    def fits(stretch):
        part = span(stretch[0], stretch[-1] + 1)
        return choose(hosts, wanted, count, part, packing=Packing(affinity=affinity))[1] == count

    found = free_spans(hosts, wanted.request, count, window, affinity)
    assert found == longest(fits, window)


@given(many_hosts(), shapes, counts, windows, st.randoms(use_true_random=False))
def test_the_choice_is_the_same_in_whatever_order_hosts_come(hosts, wanted, count, window, random):
    shuffled = random.sample(hosts, len(hosts))
    preferred = {h.id: 1 for h in hosts[:2]}
    first = choose(hosts, wanted, count, window, preferred)
    assert choose(shuffled, wanted, count, window, preferred) == first


def test_hosts_of_one_name_go_by_id():
    hosts = [host(2, name="same"), host(1, name="same")]
    for order in (hosts, hosts[::-1]):
        assert choose(order, shape(), 1, span(0, 60)) == ({"id1": 1}, 1)


@given(many_hosts(), shapes, counts, windows, windows)
def test_chosen_hosts_fit_throughout_both_spans(hosts, wanted, count, window, also):
    chosen, room = choose(hosts, wanted, count, window, also=also)
    asked = wanted.request
    rooms = {h.id: min(room_for(h, asked, w) for w in (window, also)) for h in hosts}
    assert sum(chosen.values()) == room == min(count, sum(rooms.values()))
    assert all(0 < amount <= rooms[one] for one, amount in chosen.items())


@given(many_hosts(), shapes, windows)
def test_without_a_reservation_only_the_others_hold(hosts, wanted, window):
    for one in hosts:
        kept = one.without("a")
        assert {h.reservation_id for h in kept.holdings} <= {"b"}
        assert [h for h in one.holdings if h.reservation_id == "b"] == list(kept.holdings)
        assert kept.room(wanted.request, window) >= one.room(wanted.request, window)


@pytest.mark.parametrize(
    ("inventory", "capacity"),
    [
        pytest.param(Inventory(8), 8, id="all of it"),
        pytest.param(Inventory(8, reserved=2), 6, id="less what is reserved"),
        pytest.param(Inventory(8, allocation_ratio=1.5), 12, id="oversold"),
        pytest.param(Inventory(8, reserved=2, allocation_ratio=1.5), 9, id="reserved first"),
        pytest.param(Inventory(5, allocation_ratio=0.5), 2, id="rounded down"),
        pytest.param(Inventory(8, reserved=8), 0, id="all reserved"),
    ],
)
def test_capacity(inventory, capacity):
    assert inventory.capacity == capacity


@pytest.mark.parametrize(
    ("amount", "takes"),
    [
        pytest.param(1, False, id="less than min_unit"),
        pytest.param(2, True, id="min_unit"),
        pytest.param(3, False, id="between steps"),
        pytest.param(4, True, id="a step"),
        pytest.param(6, True, id="max_unit"),
        pytest.param(8, False, id="more than max_unit"),
    ],
)
def test_takes(amount, takes):
    assert Inventory(16, min_unit=2, max_unit=6, step_size=2).takes(amount) is takes


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        pytest.param({}, True, id="nothing asked"),
        pytest.param({"availability_zone": "nova"}, True, id="its zone"),
        pytest.param({"availability_zone": "east"}, False, id="another zone"),
        pytest.param({"availability_zone": ""}, True, id="no zone"),
        pytest.param({"properties": '["==", "$gpu", "a100"]'}, True, id="property"),
        pytest.param({"properties": '["==", "$gpu", "v100"]'}, False, id="other property"),
        pytest.param({"properties": '["==", "$fpga", "x"]'}, False, id="property it lacks"),
        pytest.param({"extra_specs": {"trait:HW_GPU": "required"}}, True, id="trait it has"),
        pytest.param({"extra_specs": {"trait:HW_TPM": "required"}}, False, id="trait it lacks"),
        pytest.param({"extra_specs": {"trait:HW_TPM": "forbidden"}}, True, id="trait not there"),
        pytest.param({"extra_specs": {"trait:HW_GPU": "forbidden"}}, False, id="forbidden"),
    ],
)
def test_matches(wanted, matches):
    one = host(properties={"gpu": "a100"}, traits=frozenset({"HW_GPU"}))
    assert one.matches(shape(**wanted), None) is matches


def test_a_host_without_a_zone_is_in_none():
    assert not host(availability_zone=None).matches(shape(availability_zone="nova"), None)


@pytest.mark.parametrize(
    ("holdings", "room"),
    [
        pytest.param([], 2, id="empty"),
        pytest.param([held(0, 60, {"VCPU": 4})], 1, id="half held"),
        pytest.param([held(0, 20, {"VCPU": 4})], 2, id="ends as the window starts"),
        pytest.param([held(0, 21, {"VCPU": 4})], 1, id="ends a minute later"),
        pytest.param([held(40, 60, {"VCPU": 8})], 2, id="starts as the window ends"),
        pytest.param([held(39, 60, {"VCPU": 8})], 0, id="starts a minute earlier"),
        pytest.param([held(0, 60, WHOLE)], 0, id="the whole host"),
        pytest.param([held(0, 20, WHOLE), held(40, 60, WHOLE)], 2, id="whole, before and after"),
        pytest.param([held(20, 30, {"VCPU": 4}), held(30, 40, {"VCPU": 4})], 1, id="in turn"),
        pytest.param([held(20, 31, {"VCPU": 4}), held(30, 40, {"VCPU": 4})], 0, id="meeting"),
        pytest.param([held(0, 60, {"VCPU": 99})], 0, id="overfull"),
        pytest.param([held(0, 60, {"VGPU": 1})], 2, id="another class"),
    ],
)
def test_room(holdings, room):
    assert host(holdings=holdings).room(shape().request, span(20, 40)) == room


def test_shape_with_a_class_that_the_host_lacks_does_not_fit():
    assert host().room(PlacementRequest.plain({"VGPU": 1}), span(0, 60)) == 0


def test_shape_without_resources_fits_nowhere():
    assert host().room(PlacementRequest.plain({}), span(0, 60)) == 0


@pytest.mark.parametrize(
    ("count", "preferred", "expected"),
    [
        pytest.param(1, {}, {"id2": 1}, id="the fuller host first"),
        pytest.param(2, {}, {"id2": 1, "id1": 1}, id="then by name"),
        pytest.param(5, {}, {"id2": 1, "id1": 2, "id3": 2}, id="all there is room for"),
        pytest.param(9, {}, {"id2": 1, "id1": 2, "id3": 2}, id="no more than that"),
        pytest.param(1, {"id3": 1}, {"id3": 1}, id="where it is already"),
        pytest.param(3, {"id3": 1}, {"id3": 1, "id2": 1, "id1": 1}, id="the rest elsewhere"),
        pytest.param(2, {"id2": 2}, {"id2": 1, "id1": 1}, id="no room where it was"),
        pytest.param(1, {"id9": 1}, {"id2": 1}, id="where it was is gone"),
        pytest.param(1, {"id3": 2}, {"id3": 1}, id="fewer than before"),
    ],
)
def test_choose_of_three_hosts(count, preferred, expected):
    hosts = [host(3), host(1), host(2, holdings=[held(0, 60, {"VCPU": 4})])]
    chosen, room = choose(hosts, shape(), count, span(0, 60), preferred)
    assert chosen == expected
    assert room == sum(expected.values())


@pytest.mark.parametrize(
    ("count", "preferred", "expected"),
    [
        pytest.param(1, {}, {"id1": 1}, id="the emptiest first"),
        pytest.param(3, {}, {"id1": 1, "id2": 1, "id3": 1}, id="one on each"),
        pytest.param(4, {}, {"id1": 2, "id2": 1, "id3": 1}, id="and round again"),
        pytest.param(9, {}, {"id1": 2, "id2": 1, "id3": 2}, id="no more than there is room for"),
        pytest.param(2, {"id2": 1}, {"id2": 1, "id1": 1}, id="where it is already"),
    ],
)
def test_spread_over_three_hosts(count, preferred, expected):
    hosts = [host(3), host(1), host(2, holdings=[held(0, 60, {"VCPU": 4})])]
    chosen, room = choose(
        hosts, shape(), count, span(0, 60), preferred, packing=Packing(spread=True)
    )
    assert chosen == expected
    assert room == sum(expected.values())


_instances = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 4), min_size=1)


@given(_instances, st.data())
def test_kept_instances_against_every_way_to_keep_so_many(held, data):
    """A host keeps what its servers take and gets no more, and as few hosts as possible stay."""
    used = {i: data.draw(st.integers(0, n)) for i, n in held.items()}
    count = data.draw(st.integers(max(1, sum(used.values())), sum(held.values())))
    found = kept(held, used, count)
    ranges = [range(used[i], n + 1) for i, n in held.items()]
    ways = [way for way in itertools.product(*ranges) if sum(way) == count]
    assert tuple(found.get(i, 0) for i in held) in ways
    assert 0 not in found.values()
    if not any(used.values()):
        assert len(found) == min(sum(n > 0 for n in way) for way in ways)


@given(_instances, st.integers(1, 4))
def test_servers_stay_where_fewer_were_asked_for(held, count):
    assume(count < sum(held.values()))
    assert kept(held, held, count) == held
