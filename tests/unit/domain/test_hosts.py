"""Which hosts hold a booking, against a count minute by minute."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain import minutes
from tests.unit.domain.minutes import span
from tests.unit.domain.test_flavor import shape
from warre_blazar.domain import hosts
from warre_blazar.domain.hosts import Holding, Host, Inventory
from warre_blazar.domain.timeline import Span

SHAPE = shape(vcpu=2, memory_mb=3, disk_gb=1, ephemeral_gb=0)
_CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")


def host(name: str = "h", holdings: tuple[Holding, ...] = (), **changes: Any) -> Host:
    inventories = {cls: Inventory(total=9) for cls in _CLASSES}
    plain = Host(name, name, "nova", {}, inventories, frozenset(), holdings)
    return dataclasses.replace(plain, **changes)


_RESOURCES = st.none() | st.dictionaries(st.sampled_from(_CLASSES), st.integers(0, 4))
HOLDINGS = st.lists(
    st.builds(Holding, st.sampled_from("abc"), minutes.spans(), _RESOURCES), max_size=5
)
_HOSTS = st.lists(HOLDINGS, max_size=4).map(
    lambda found: [host(f"h{n}", tuple(held)) for n, held in enumerate(found)]
)


def room_at(one: Host, minute: int) -> int:
    held = [h for h in one.holdings if minutes.holds(h.span, minute)]
    if any(h.resources is None for h in held):
        return 0
    free = {cls: 9 - sum(h.resources.get(cls, 0) for h in held) for cls in _CLASSES}
    return max(min(free[cls] // amount for cls, amount in SHAPE.resources.items()), 0)


def room(one: Host, window: Span) -> int:
    inside = [m for m in range(minutes.HORIZON) if minutes.holds(window, m)]
    return min(room_at(one, m) for m in inside)


@given(HOLDINGS, minutes.spans(0, minutes.HORIZON))
def test_room_is_that_of_the_fullest_minute(held: list[Holding], window: Span) -> None:
    one = host(holdings=tuple(held))
    assert one.room(SHAPE.resources, window) == room(one, window)


@given(_HOSTS, st.integers(1, 8), minutes.spans(0, minutes.HORIZON), st.data())
def test_choice_fills_no_host_and_wastes_no_room(
    found: list[Host], count: int, window: Span, data: st.DataObject
) -> None:
    rooms = {h.id: room(h, window) for h in found}
    preferred = {h.id: data.draw(st.integers(0, 3)) for h in found}
    chosen, fits = hosts.choose(found, SHAPE, count, window, preferred)
    assert fits == min(count, sum(rooms.values())) == sum(chosen.values())
    assert all(0 < n <= rooms[h] for h, n in chosen.items())
    kept = sum(min(preferred[h], rooms[h]) for h in rooms)
    # What could stay where it was did.
    stayed = sum(min(chosen.get(h, 0), preferred[h]) for h in rooms)
    assert stayed >= min(kept, count)
    assert (chosen, fits) == hosts.choose(found[::-1], SHAPE, count, window, preferred)


def test_the_fullest_host_comes_first() -> None:
    full = host("b", (Holding("r", span(0, 9), {"VCPU": 4}),))
    assert hosts.choose([host("a"), full], SHAPE, 1, span(0, 5)) == ({"b": 1}, 1)


@pytest.mark.parametrize(
    ("inventory", "fits"),
    [
        pytest.param(Inventory(total=8), 4, id="total"),
        pytest.param(Inventory(total=8, reserved=3), 2, id="reserved"),
        pytest.param(Inventory(total=4, allocation_ratio=1.5), 3, id="ratio"),
        pytest.param(Inventory(total=8, max_unit=1), 0, id="more than one server may have"),
        pytest.param(Inventory(total=8, min_unit=3), 0, id="less than one server may have"),
        pytest.param(Inventory(total=8, step_size=3), 0, id="not in steps"),
        pytest.param(None, 0, id="none of the class"),
    ],
)
def test_inventory(inventory: Inventory | None, fits: int) -> None:
    found = {"VCPU": inventory} if inventory else {}
    assert host(inventories=found).room({"VCPU": 2}, span(0, 5)) == fits


@pytest.mark.parametrize(
    ("changes", "matches"),
    [
        pytest.param({}, True, id="asks for nothing"),
        pytest.param({"availability_zone": "nova"}, True, id="zone"),
        pytest.param({"availability_zone": "az1"}, False, id="other zone"),
        pytest.param({"properties": '["==", "$gpu", "a100"]'}, True, id="property"),
        pytest.param({"properties": '["==", "$gpu", "h100"]'}, False, id="other value"),
        pytest.param({"extra_specs": {"trait:T": "required"}}, True, id="trait"),
        pytest.param({"extra_specs": {"trait:U": "required"}}, False, id="no such trait"),
        pytest.param({"extra_specs": {"trait:T": "forbidden"}}, False, id="forbidden trait"),
    ],
)
def test_matches(changes: dict[str, Any], matches: bool) -> None:
    one = host(properties={"gpu": "a100"}, traits=frozenset("T"))
    assert one.matches(shape(**changes)) is matches


def test_a_reservation_taken_away() -> None:
    held = (Holding("mine", span(0, 9), None), Holding("other", span(0, 9), {"VCPU": 7}))
    assert host(holdings=held).without("mine").room({"VCPU": 1}, span(0, 5)) == 2
