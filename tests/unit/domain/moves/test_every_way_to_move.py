"""Room that moves make, compared with every way to move what is on the hosts.

If one reservation of each host can move, none of them takes another one's place. Then a booking
finds room if and only if any of them can leave its host: for a host with room, or for a host that
another one leaves for it.
"""

import collections
import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.domain.clock import minutes, spans
from tests.unit.domain.moves import test_move_plans as scene
from warre_blazar.domain.hosts.placing import Packing, Wanted, choose
from warre_blazar.domain.moves.move_plans import MoveLimits
from warre_blazar.domain.moves.must_move import Movable
from warre_blazar.domain.moves.room_by_moves import RoomByMoves

LAST = 6
HOSTS = ("host0", "host1", "host2")


@st.composite
def full_sites(draw):
    """What is on three hosts that are nearly full: each reservation on one of them."""
    site: list[Movable] = []
    for number in range(draw(st.integers(3, 9))):
        count, among = draw(st.sampled_from([1, 1, 2])), draw(st.permutations(HOSTS))
        hosts = [h for h in scene.world(3, site) if h.id in among[: draw(st.integers(2, 3))]]
        packing = Packing(affinity=True)
        wanted = Wanted(
            scene.request(draw(st.integers(2, 5))), count, draw(spans(LAST)), packing=packing
        )
        chosen, room = choose(hosts, wanted)
        if room == count:
            ids = tuple(host.id for host in hosts)
            site.append(Movable(f"r{number}", wanted.request, wanted.window, chosen, ids, True))
    return site


class Minutes:
    """What is taken of each host at each minute."""

    def __init__(self, site: list[Movable]) -> None:
        self._taken: collections.Counter[tuple[str, int]] = collections.Counter()
        for each in site:
            (host_id,) = each.hosts
            self.add(each, host_id)

    def add(self, each: Movable, host_id: str, sign: int = 1) -> None:
        amount = sign * sum(each.hosts.values()) * each.request.amounts["VCPU"]
        self._taken.update({(host_id, minute): amount for minute in minutes(each.span)})

    def fit(self) -> bool:
        return max(self._taken.values(), default=0) <= scene.CPUS


def fits_after(site: list[Movable], steps: list[tuple[Movable, str]]) -> bool:
    """Whether each minute fits once reservations were moved to hosts, the last of them first."""
    taken = Minutes([each for each in site if all(each is not moved for moved, _ in steps)])
    for each, host_id in steps:
        taken.add(each, host_id)
    return taken.fit()


def every_way(movables: list[Movable], booking: Movable, moves: int):
    """Every way to book a host: what gets which host."""
    for host_id in HOSTS:
        begin = [(booking, host_id)]
        yield begin
        first = [m for m in movables if host_id in m.hosts]
        for mover, target in itertools.product(first, HOSTS):
            if moves < 1 or target == host_id or target not in mover.among:
                continue
            yield [*begin, (mover, target)]
            second = [m for m in movables if target in m.hosts]
            for other, last in itertools.product(second, HOSTS):
                if moves > 1 and last not in (host_id, target) and last in other.among:
                    yield [*begin, (mover, target), (other, last)]


@settings(deadline=None, max_examples=400)
@given(full_sites(), st.data(), st.integers(2, scene.CPUS), spans(LAST), st.integers(1, 3))
def test_room_is_found_if_and_only_if_there_is_a_way(site, data, vcpus, when, moves):
    movables = []
    for host_id in HOSTS:
        there = [each for each in site if host_id in each.hosts]
        movables += [data.draw(st.sampled_from(there))] if there else []
    wanted = Wanted(scene.request(vcpus), 1, when)
    hosts = scene.world(3, site)
    found = RoomByMoves(hosts, movables, MoveLimits(moves)).place(wanted, HOSTS)
    booking = Movable("new", wanted.request, when, {"": 1}, ())
    is_direct = choose(hosts, wanted)[1] == 1
    possible = any(fits_after(site, way) for way in every_way(movables, booking, moves))
    if not is_direct:
        assert (found is not None) == possible


@settings(deadline=None)
@given(full_sites(), st.integers(2, scene.CPUS), spans(LAST), st.integers(1, 5))
def test_nothing_moves_but_what_is_in_the_way_of_the_booking_or_of_what_leaves_for_it(
    site, vcpus, when, moves
):
    wanted = Wanted(scene.request(vcpus), 1, when)
    found = RoomByMoves(scene.world(3, site), site, MoveLimits(moves)).place(wanted, HOSTS)
    if found is None:
        return
    (chosen,) = found.chosen
    before = {each.reservation_id: next(iter(each.hosts)) for each in site}
    after = {reservation_id: next(iter(hosts)) for reservation_id, hosts in found.moved.items()}
    targets = {after[i] for i in after if before[i] == chosen}
    assert all(before[i] == chosen or before[i] in targets for i in after)
    # What makes way for another one goes where nothing makes way.
    left_again = {before[i] for i in after if before[i] != chosen}
    assert all(after[i] not in {chosen, *left_again} for i in after if before[i] != chosen)
