"""Which reservations must leave a host, compared with the definition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain.clock import spans
from tests.unit.domain.placement_reference import host, provider
from warre_blazar.domain.flavors.request_groups import Group, PlacementRequest
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.moves import must_move
from warre_blazar.domain.moves.must_move import Movable, MovablesOnHost

LAST = 10


def taking(vcpus, **devices):
    groups = [Group.of({cls: amount}) for cls, amount in devices.items()]
    return PlacementRequest.of(Group.of({"VCPU": vcpus}), groups)


SPECIAL = PlacementRequest.of(Group.of({"VCPU": 1}), [Group.of({"GPU": 1}, ["CUSTOM_X"])])
PAIR = PlacementRequest.of(Group.of({"VCPU": 1}), [Group.of({"GPU": 1}), Group.of({"GPU": 1})])

#: Hosts on which amounts alone decide, columns of devices too, the places of shares, and a search.
KINDS = {
    "plain": (host(provider("root", VCPU=8)), [taking(n) for n in (1, 2, 3, 5)]),
    "whole devices": (
        host(provider("root", VCPU=8), *(provider(f"gpu{n}", GPU=1) for n in range(3))),
        [taking(1), taking(1, GPU=1), PAIR],
    ),
    "shares of devices": (
        host(provider("root", VCPU=8), provider("a", VGPU=2), provider("b", VGPU=2)),
        [taking(1), taking(1, VGPU=1), taking(1, VGPU=2)],
    ),
    "traits": (
        host(provider("root", VCPU=8), provider("a", ["CUSTOM_X"], GPU=1), provider("b", GPU=1)),
        [taking(1), taking(1, GPU=1), SPECIAL, PAIR],
    ),
}


def by_definition(one, order, request, times, count):
    """Each in turn stays if the instances fit nevertheless."""
    needed = list(order)
    for each in order:
        rest = [other for other in needed if other is not each]
        if must_move.fits(must_move.without(one, rest), request, times, count):
            needed = rest
    return needed


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_no_more_leave_than_must(kind, data):
    one, requests = KINDS[kind]
    some = st.sampled_from(requests)
    held = data.draw(st.lists(st.tuples(some, spans(LAST), st.integers(1, 2)), max_size=6))
    near = []
    for number, (request, when, instances) in enumerate(held):
        if not must_move.fits(one, request, [when], instances):
            continue
        name = f"r{number}"
        one = one.holding([*one.holdings, *[Holding(name, when, request)] * instances])
        if data.draw(st.integers(0, 3)):
            near.append(Movable(name, request, when, {one.id: instances}, ()))
    request, count = data.draw(some), data.draw(st.integers(1, 3))
    first, second = data.draw(spans(LAST)), data.draw(spans(LAST))
    times = [first] if first.overlaps(second) else [first, second]
    near = [each for each in near if any(each.span.overlaps(when) for when in times)]
    order = data.draw(st.permutations(near))
    crowd = MovablesOnHost(one, near, request, times, count)
    fits = must_move.fits(must_move.without(one, near), request, times, count)
    assert crowd.can_make_room() == fits
    staying = order[: data.draw(st.integers(0, len(order)))]
    rest = must_move.without(one, [m for m in near if m not in staying])
    assert crowd.can_make_room(staying) == must_move.fits(rest, request, times, count)
    expected = by_definition(one, order, request, times, count) if fits else None
    assert crowd.in_the_way(order) == expected
