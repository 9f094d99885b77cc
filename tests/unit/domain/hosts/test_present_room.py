"""The room that hosts have now: what their providers have left, without places of others."""

import datetime

import pytest

from warre_blazar.domain.flavors import nova_requests
from warre_blazar.domain.flavors.request_groups import Group, PlacementRequest
from warre_blazar.domain.hosts import present_room
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.present_room import Remains
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.timeline import Span

NOON = datetime.datetime(2100, 1, 1, 12)
HOUR = datetime.timedelta(hours=1)
MINE, OTHER = (f"0000000{n}-0000-0000-0000-000000000000" for n in (5, 6))
CPUS = PlacementRequest.plain({"VCPU": 2})


def remains(vcpus: int = 8, **servers: int) -> Remains:
    """What is left of a host with one provider, and the servers of MINE and OTHER there."""
    ids = {"mine": MINE, "other": OTHER}
    root = Provider("root", "", None, {"VCPU": Inventory(vcpus)}, frozenset())
    classes = {backing_names.resource_class(ids[name]): n for name, n in servers.items()}
    return Remains((root,), classes)


def held(reservation_id: str, start: float = 0, end: float = 2, request=CPUS) -> Holding:
    """A place from ``start`` to ``end`` in hours from noon on."""
    return Holding(reservation_id, Span(NOON + start * HOUR, NOON + end * HOUR), request)


@pytest.mark.parametrize(
    ("left", "count", "others", "usable"),
    [
        pytest.param(remains(), 3, [], 3, id="room for more"),
        pytest.param(remains(3), 3, [], 1, id="1 of 3"),
        pytest.param(remains(-2), 3, [], 0, id="more is taken than the host has"),
        pytest.param(Remains(), 3, [], 0, id="full, or gone"),
        pytest.param(remains(2, mine=2), 3, [], 3, id="2 have servers already"),
        pytest.param(remains(0, mine=2), 3, [], 2, id="2 have servers, and the host is full"),
        pytest.param(
            Remains(servers={backing_names.resource_class(MINE): 3}), 3, [], 3, id="all servers"
        ),
        pytest.param(remains(4), 2, [held(OTHER, -1)], 1, id="an earlier one has no server yet"),
        pytest.param(remains(4, other=1), 2, [held(OTHER, -1)], 2, id="an earlier one has its"),
        pytest.param(
            remains(4, other=1), 2, [held(OTHER, -1)] * 2, 1, id="an earlier one has one of two"
        ),
        pytest.param(remains(4), 2, [held(OTHER, 0)], 2, id="of two at a time, the ids decide"),
        pytest.param(remains(4), 2, [held(OTHER, -2, 0)], 2, id="one that ends at the start"),
        pytest.param(remains(4), 2, [held(OTHER, 1)], 2, id="one that begins later"),
        pytest.param(remains(4), 2, [held(OTHER, -1, 2, None)], 2, id="one of the whole host"),
    ],
)
def test_usable_places(left: Remains, count: int, others: list[Holding], usable: int):
    assert present_room.usable(left, held(MINE), count, others, NOON) == usable


def test_devices_that_placement_does_not_know_are_not_counted():
    """A host capability counts them."""
    asked = PlacementRequest.plain({"VCPU": 2, "pci_alias_gpu": 1})
    assert present_room.room(remains(4), asked, [held(OTHER, request=asked)], NOON) == 1


def test_request_keeps_what_placement_knows():
    groups = [Group.of({"CUSTOM_GPU": 1}, {"CUSTOM_FAST"}), Group.of({"pci_alias_gpu": 1})]
    asked = PlacementRequest.of(Group.of({"VCPU": 2}), groups, root_required={"CUSTOM_ROOT"})
    known = PlacementRequest.of(Group.of({"VCPU": 2}), groups[:1], root_required={"CUSTOM_ROOT"})
    assert nova_requests.known_to_placement(asked) == known
    assert nova_requests.known_to_placement(known) is known


def test_constraints_of_units_are_those_that_were_read():
    """Placement's summary of a provider doesn't have them."""
    stored = Provider("root", "", None, {"VCPU": Inventory(16, max_unit=1)}, frozenset())
    assert present_room.room(remains(), CPUS, [], NOON) == 4
    assert present_room.room(remains().constrained([stored]), CPUS, [], NOON) == 0
    ratio = Provider("root", "", None, {"VCPU": Inventory(16, 4, 1, 8, 1, 2.0)}, frozenset())
    assert present_room.room(remains().constrained([ratio]), CPUS, [], NOON) == 4


def test_reservations_that_share_a_host_share_what_is_left():
    """Each instance needs two devices of one provider."""
    gpus = PlacementRequest.of(Group.of({"VCPU": 1}), [Group.of({"CUSTOM_GPU": 2})])
    root = Provider("root", "", None, {"VCPU": Inventory(8)}, frozenset())
    cards = [
        Provider(name, "", "root", {"CUSTOM_GPU": Inventory(left)}, frozenset())
        for name, left in (("a", 3), ("b", 1), ("c", 2))
    ]
    left = Remains((root, *cards))
    assert present_room.room(left, gpus, [], NOON) == 2
    assert present_room.room(left, gpus, [held(OTHER, request=gpus)], NOON) == 1
