"""Room that is made by placing other reservations again, judged by the minute."""

import collections
import random
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.domain.clock import minutes, span, spans
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.placing import Packing, Wanted, choose
from warre_blazar.domain.hosts.providers import Inventory
from warre_blazar.domain.moves.move_plans import MovableHosts, MoveLimits
from warre_blazar.domain.moves.must_move import Movable
from warre_blazar.domain.moves.room_by_moves import RoomByMoves

LAST = 12
CPUS = 8


def request(vcpus):
    return PlacementRequest.plain({"VCPU": vcpus})


def host(number, holdings=()):
    name = f"host{number}"
    return BookableHost(
        name, name, None, {}, {"VCPU": Inventory(CPUS)}, frozenset(), tuple(holdings)
    )


def movable(name, vcpus, when, hosts, among=("host0", "host1", "host2"), affinity=None):
    return Movable(name, request(vcpus), when, hosts, among, affinity)


def world(count, reservations, fixed=()):
    """Hosts that hold reservations, and other holdings by host number."""
    held = collections.defaultdict(list)
    for each in reservations:
        for host_id, instances in each.hosts.items():
            held[host_id] += [Holding(each.reservation_id, each.span, each.request)] * instances
    for number, vcpus, when in fixed:
        held[f"host{number}"].append(Holding("fixed", when, request(vcpus)))
    return [host(number, held[f"host{number}"]) for number in range(count)]


def search(hosts, wanted, reservations, moves=10):
    everywhere = [host.id for host in hosts]
    return RoomByMoves(hosts, reservations, MoveLimits(moves)).place(wanted, everywhere)


DAY = span(0, LAST)


def test_small_reservations_share_a_host_to_free_the_other():
    small = [movable("a", 4, DAY, {"host0": 1}), movable("b", 4, DAY, {"host1": 1})]
    found = search(world(2, small), Wanted(request(8), 1, DAY), small)
    assert sorted(len(chosen) for chosen in found.moved.values()) == [1]
    assert found.chosen.keys() != next(iter(found.moved.values())).keys()


def test_what_has_begun_stays():
    fixed = [(0, 4, DAY), (1, 4, DAY)]
    assert search(world(2, [], fixed), Wanted(request(8), 1, DAY), []) is None


def test_no_more_reservations_move_than_allowed():
    small = [movable(name, 2, DAY, {"host0": 1}) for name in "abc"]
    hosts = world(2, small, [(1, 2, DAY)])
    wanted = Wanted(request(8), 1, DAY)
    assert search(hosts, wanted, small, moves=2) is None
    assert len(search(hosts, wanted, small, moves=3).moved) == 3
    assert search(hosts, wanted, small, moves=0) is None


def test_others_leave_a_host_for_what_was_cleared_away():
    # The small one can only be on host1 or host2, the large one on host0 or host1.
    large = movable("large", 6, DAY, {"host0": 1}, among=("host0", "host1"))
    small = movable("small", 4, DAY, {"host1": 1}, among=("host1", "host2"))
    hosts = world(3, [large, small], [(2, 2, DAY)])
    wanted = Wanted(request(8), 1, DAY)
    found = RoomByMoves(hosts, [large, small], MoveLimits(10)).place(wanted, ["host0"])
    assert found.chosen == {"host0": 1}
    assert found.moved == {"large": {"host1": 1}, "small": {"host2": 1}}


def test_instances_stay_apart_or_together():
    apart = movable("apart", 4, DAY, {"host0": 1, "host1": 1}, affinity=False)
    hosts = world(3, [apart], [(2, 8, DAY)])
    assert search(hosts, Wanted(request(8), 1, DAY), [apart]) is None
    together = movable("together", 2, DAY, {"host0": 2}, affinity=True)
    found = search(world(2, [together], [(1, 4, DAY)]), Wanted(request(8), 1, DAY), [together])
    assert found.moved == {"together": {"host1": 2}}


@st.composite
def sites(draw):
    reservations = []
    hosts = [host(number) for number in range(3)]
    for number in range(draw(st.integers(0, 9))):
        affinity = draw(st.sampled_from([None, None, True, False]))
        wanted = Wanted(
            request(draw(st.integers(1, 6))),
            draw(st.integers(1, 3)),
            draw(spans(LAST)),
            packing=Packing(affinity=affinity, spread=draw(st.booleans())),
        )
        chosen, room = choose(hosts, wanted)
        if room == wanted.count:
            name = f"r{number}"
            everywhere = ("host0", "host1", "host2")
            reservations.append(
                Movable(name, wanted.request, wanted.window, chosen, everywhere, affinity)
            )
            hosts = world(3, reservations)
    return reservations


@given(
    sites(),
    st.data(),
    st.integers(1, CPUS),
    st.integers(1, 3),
    spans(LAST),
    st.sampled_from([None, True, False]),
    st.integers(0, 5),
)
def test_every_minute_fits_and_nothing_is_lost(site, data, vcpus, count, window, affinity, moves):
    begun = data.draw(st.sets(st.sampled_from([r.reservation_id for r in site]))) if site else set()
    movables = [each for each in site if each.reservation_id not in begun]
    wanted = Wanted(request(vcpus), count, window, packing=Packing(affinity=affinity))
    found = search(world(3, site), wanted, movables, moves)
    if found is None:
        return
    assert found.moved.keys().isdisjoint(begun)
    assert len(found.moved) <= moves
    booking = Movable("new", wanted.request, window, found.chosen, (), affinity)
    assert sum(found.chosen.values()) == count
    judge(site, found.moved, booking)


@given(sites(), spans(LAST), st.integers(0, 5))
def test_every_minute_fits_if_a_reservation_stays_for_longer(site, more, moves):
    if not site:
        return
    own, *others = site
    window = own.span.hull(more)
    count = sum(own.hosts.values())
    wanted = Wanted(own.request, count, window, preferred=own.hosts)
    found = RoomByMoves(world(3, others), others, MoveLimits(moves)).keep(wanted)
    if found is None:
        return
    assert found.chosen == own.hosts
    assert len(found.moved) <= moves
    longer = Movable(own.reservation_id, own.request, window, own.hosts, (), own.affinity)
    judge(others, found.moved, longer)


class Dice(random.Random):
    def span(self):
        return span(*sorted(self.sample(range(LAST + 1), 2)))

    def crowd(self):
        """Five hosts with many reservations that can move, some of them on several hosts."""
        reservations, hosts = [], world(5, [])
        for number in range(30):
            wanted = Wanted(request(self.randint(1, 5)), self.choice([1, 1, 2, 3]), self.span())
            chosen, room = choose(self.sample(hosts, 3), wanted)
            if room == wanted.count:
                among = [each.id for each in hosts]
                name = f"r{number}"
                reservations.append(Movable(name, wanted.request, wanted.window, chosen, among))
                hosts = world(5, reservations)
        return hosts, reservations


@settings(max_examples=150)
@given(st.builds(Dice, st.integers(0, 2**64)))
def test_host_that_a_plan_cannot_clear_needs_no_plan(dice):
    hosts, movables = dice.crowd()
    wanted = Wanted(request(dice.randint(3, CPUS)), 1, dice.span())

    def found():
        plans = RoomByMoves(hosts, movables, MoveLimits(6))
        return plans.place(wanted, [host.id for host in hosts])

    skipping = found()
    with mock.patch.object(MovableHosts, "may_leave", lambda *_: True):
        assert skipping == found()


def judge(site, moved, booking):
    """Nothing is lost or oversold once reservations have moved to make room for a booking."""
    after = [
        Movable(
            each.reservation_id,
            each.request,
            each.span,
            moved.get(each.reservation_id, each.hosts),
            (),
            each.affinity,
        )
        for each in site
    ]
    before = {each.reservation_id: sum(each.hosts.values()) for each in site}
    assert {each.reservation_id: sum(each.hosts.values()) for each in after} == before
    taken = collections.Counter()
    for each in [*after, booking]:
        if each.affinity:
            assert len(each.hosts) == 1
        if each.affinity is False:
            assert set(each.hosts.values()) == {1}
        for host_id, instances in each.hosts.items():
            for minute in minutes(each.span):
                taken[host_id, minute] += instances * each.request.amounts["VCPU"]
    assert max(taken.values()) <= CPUS
