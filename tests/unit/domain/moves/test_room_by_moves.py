"""What is shown as free if others are placed again, compared with bookings of every span."""

import dataclasses
import itertools
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.domain.clock import span, spans
from tests.unit.domain.moves import test_move_plans as scene
from warre_blazar.domain.hosts import placing
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.placing import Packing, Wanted
from warre_blazar.domain.moves import move_plans
from warre_blazar.domain.moves import room_by_moves as vacating_module
from warre_blazar.domain.moves.move_plans import MovableHosts, MoveLimits
from warre_blazar.domain.moves.must_move import Movable
from warre_blazar.domain.moves.room_by_moves import RoomByMoves

WINDOW = span(0, scene.LAST)
EVERYWHERE = ("host0", "host1", "host2")
EVERY_SPAN = [span(a, b) for a, b in itertools.combinations(range(scene.LAST + 1), 2)]
AFFINITIES = st.sampled_from([None, True, False])


def site_of(reservations, begun):
    hosts = scene.world(3, reservations)
    return hosts, [each for each in reservations if each.reservation_id not in begun]


def fits(hosts, vacating: RoomByMoves, wanted: Wanted) -> bool:
    _, room = placing.choose(hosts, wanted)
    return room == wanted.count or vacating.place(wanted, EVERYWHERE) is not None


BEGUN = st.sets(st.sampled_from([f"r{number}" for number in range(9)]), max_size=4)


@settings(deadline=None)
@given(
    scene.sites(),
    BEGUN,
    st.integers(1, 8),
    st.integers(1, 3),
    AFFINITIES,
    st.builds(MoveLimits, st.integers(0, 4), st.sampled_from([1, 3, 200])),
)
def test_time_can_be_booked_if_and_only_if_it_is_shown(site, begun, vcpus, count, affinity, limits):
    hosts, movables = site_of(site, begun)
    vacating, request = RoomByMoves(hosts, movables, limits), scene.request(vcpus)
    shown = placing.free_spans(hosts, request, count, WINDOW, affinity)
    shown += vacating.spans(request, count, EVERYWHERE, WINDOW, affinity)
    for each in EVERY_SPAN:
        wanted = Wanted(request, count, each, packing=Packing(affinity=affinity))
        # Each booking is decided with what is read then.
        afresh = RoomByMoves(hosts, movables, limits)
        assert fits(hosts, afresh, wanted) == any(free.contains(each) for free in shown)


@settings(deadline=None)
@given(scene.sites(), BEGUN, st.integers(1, 8), AFFINITIES, st.integers(0, 4), spans(scene.LAST))
def test_most_is_the_largest_number_that_can_be_booked(site, begun, vcpus, affinity, moves, when):
    hosts, movables = site_of(site, begun)
    vacating, request = RoomByMoves(hosts, movables, MoveLimits(moves)), scene.request(vcpus)
    packing = Packing(affinity=affinity)
    _, direct = placing.choose(hosts, Wanted(request, 9, when, packing=packing))
    most = vacating.most(request, EVERYWHERE, WINDOW, when, affinity, direct, 9)
    fitting = [
        count
        for count in range(1, 10)
        if fits(hosts, vacating, Wanted(request, count, when, packing=packing))
    ]
    assert most == max(fitting, default=0)


@settings(deadline=None)
@given(scene.sites(), st.integers(0, 4), spans(scene.LAST))
def test_reservation_stays_where_it_is_if_and_only_if_that_is_shown(site, moves, when):
    if not site:
        return
    own, *others = site
    hosts = scene.world(3, others)
    vacating = RoomByMoves(hosts, others, MoveLimits(moves))
    vacated = vacating.staying(own.hosts)
    shown = all(host.room(own.request, when) >= own.hosts[host.id] for host in vacated)
    wanted = Wanted(own.request, sum(own.hosts.values()), when, preferred=own.hosts)
    found = vacating.keep(wanted)
    assert (found is not None) == (shown and moves > 0 and bool(others))
    if found:
        assert found.chosen == own.hosts
        assert len(found.moved) <= moves


SIZES = st.sampled_from([2, 4, 8])


@st.composite
def full_sites(draw):
    """Hosts that are nearly full, some of them oversold or closed, and what can move."""
    where = st.sampled_from(EVERYWHERE)
    movables = [
        Movable(f"r{number}", scene.request(draw(SIZES)), draw(spans(6)), {draw(where): 1}, among)
        for number, among in enumerate([EVERYWHERE] * draw(st.integers(1, 5)))
    ]
    fixed = draw(st.lists(st.tuples(st.integers(0, 2), SIZES, spans(6)), max_size=3))
    hosts = scene.world(3, movables, fixed)
    closed = draw(st.none() | spans(6))
    if closed is not None:
        window = (Holding("window", closed, None),)
        hosts[0] = dataclasses.replace(hosts[0], closed=window)
    return hosts, movables


@settings(deadline=None, max_examples=300)
@given(full_sites(), SIZES, st.integers(1, 2), spans(6))
def test_what_is_too_much_for_all_hosts_together_is_found_by_no_search(full, vcpus, count, when):
    hosts, movables = full
    wanted = Wanted(scene.request(vcpus), count, when)
    is_full = MovableHosts(hosts, movables, MoveLimits(9)).is_full(
        wanted.request, wanted.spans, count
    )
    with mock.patch.object(MovableHosts, "is_full", return_value=False):
        if fits(hosts, RoomByMoves(hosts, movables, MoveLimits(9)), wanted):
            assert not is_full


@pytest.mark.parametrize(
    ("fixed", "is_full"),
    [
        pytest.param([(0, 2, WINDOW)], False, id="exactly as much as is left"),
        pytest.param([(0, 3, WINDOW)], True, id="more than is left"),
        pytest.param([(0, 3, span(0, 2))], False, id="more than is left before"),
    ],
)
def test_all_hosts_together_are_full(fixed, is_full):
    hosts = scene.world(2, [], [(1, 6, WINDOW), *fixed])
    site = MovableHosts(hosts, [], MoveLimits(9))
    assert site.is_full(scene.request(4), [span(2, 4)], 2) == is_full


def test_oversold_host_takes_nothing_from_the_others():
    hosts = scene.world(2, [], [(0, 8, WINDOW), (0, 8, WINDOW), (1, 6, WINDOW)])
    site = MovableHosts(hosts, [], MoveLimits(9))
    assert not site.is_full(scene.request(2), [WINDOW], 1)
    assert site.is_full(scene.request(2), [WINDOW], 2)


def test_closed_host_adds_nothing():
    hosts = scene.world(2, [])
    hosts[0] = dataclasses.replace(hosts[0], closed=(Holding("window", span(4, 6), None),))
    site = MovableHosts(hosts, [], MoveLimits(9))
    assert not site.is_full(scene.request(8), [span(0, 4)], 2)
    assert site.is_full(scene.request(8), [span(0, 4), span(5, 7)], 2)


def test_no_more_leave_a_host_than_may_be_moved():
    """Three reservations follow each other on a host, and two may be moved."""
    small = [
        Movable(name, scene.request(8), span(at, at + 4), {"host0": 1}, EVERYWHERE)
        for name, at in (("a", 0), ("b", 4), ("c", 8))
    ]
    hosts = scene.world(2, small, [(1, 1, span(0, 0))])
    vacating = RoomByMoves(hosts, small, MoveLimits(2))
    only = ("host0",)
    found = vacating.spans(scene.request(8), 1, only, WINDOW, None)
    assert found == [span(0, 8), span(4, 12)]
    assert len(vacating.place(Wanted(scene.request(8), 1, span(0, 8)), only).moved) == 2
    assert vacating.place(Wanted(scene.request(8), 1, span(3, 9)), only) is None


def test_answer_ends_after_its_steps_and_bookings_do_not(monkeypatch):
    monkeypatch.setattr(vacating_module, "_MOST_STEPS", 1)
    movable = Movable("r0", scene.request(8), WINDOW, {"host0": 1}, EVERYWHERE)
    vacating = RoomByMoves(scene.world(3, [movable]), [movable], MoveLimits(4))

    def shown(vcpus: int) -> list:
        return vacating.spans(scene.request(vcpus), 1, ["host0"], WINDOW, None)

    assert shown(8) == [WINDOW]
    # The plan of the host and the look at it were more than a step.
    assert shown(4) == []
    assert vacating.spans(scene.request(4), 3, EVERYWHERE, WINDOW, None) == []
    assert vacating.place(Wanted(scene.request(4), 1, WINDOW), ["host0"]) is not None
    vacating.renew()
    assert shown(4) == [WINDOW]


def test_plan_ends_after_so_many_reservations():
    movables = [
        Movable(f"r{n}", scene.request(2), WINDOW, {f"host{n}": 1}, EVERYWHERE) for n in range(2)
    ]
    site = MovableHosts(scene.world(3, movables), movables, MoveLimits(9, planned=1))
    plan = move_plans.MovePlan(site, ["host0", "host1"])
    assert (plan.planned, set(plan.moves)) == (1, {"host0"})


@pytest.mark.parametrize(("planned", "is_found"), [(1, False), (2, True)])
def test_booking_looks_at_no_further_host_after_so_many_reservations(planned, is_found):
    """Given what stays on the emptier of two hosts, only the other one can be left."""
    stays = Movable("stays", scene.request(2), WINDOW, {"host0": 1}, ("host0",))
    leaves = Movable("leaves", scene.request(3), WINDOW, {"host1": 1}, EVERYWHERE)
    hosts = scene.world(3, [stays, leaves], [(2, 4, WINDOW)])
    room = RoomByMoves(hosts, [stays, leaves], MoveLimits(9, planned))
    wanted = Wanted(scene.request(8), 1, WINDOW)
    assert (room.place(wanted, ("host0", "host1")) is not None) == is_found
    assert bool(room.spans(wanted.request, 1, ("host0", "host1"), WINDOW, None)) == is_found
