"""The room that is counted on hosts is what the real Placement allows.

Random flavors are translated by Nova's own code, and Placement answers for trees of resource
providers that the tests make. Instances are allocated one after the other until Placement refuses.
"""

import datetime
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from oslo_config import cfg

from tests.functional.cloud import devcloud, nova_requests, random_flavors, scratch_trees, world
from tests.functional.cloud.placement_side import Placement
from tests.functional.cloud.waiting import at_once
from warre_blazar.domain.flavors import devices as device_options
from warre_blazar.domain.flavors.devices import Rules
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.hosts import present_room
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.openstack import host_rooms, host_trees
from warre_blazar.services.flavors import devices

pytestmark = pytest.mark.together

FLAVORS, TREES = 100, 2
_SEED = 20


@pytest.fixture(scope="module", autouse=True)
def _configuration(hosts: None) -> Iterator[None]:
    """Blazar's configuration, by which this package's client finds Placement."""
    config = devcloud.home() / "etc" / "blazar" / "blazar.conf"
    cfg.CONF([], default_config_files=[str(config)], default_config_dirs=[])
    yield
    cfg.CONF.reset()


def _hosts(names: Sequence[str]) -> list[BookableHost]:
    """The hosts with these names, as this package reads them from Placement."""
    trees = host_trees.trees(names)
    return [
        BookableHost(
            id=name,
            name=name,
            availability_zone=None,
            properties={},
            inventories={},
            traits=frozenset(),
            holdings=(),
            providers=trees[name],
        )
        for name in names
    ]


def _counted(host: BookableHost, flavor: dict[str, Any], aliases: Sequence[str]) -> int:
    """How many instances this package counts on an empty host."""
    shape = _shape(flavor, aliases)
    return host.when_empty(shape.request) if host.matches(shape, None) else 0


def _shape(flavor: dict[str, Any], aliases: Sequence[str]) -> Shape:
    rules = Rules(device_options.aliases(aliases, in_placement=True), in_placement=True)
    return Shape(
        vcpu=flavor["vcpus"],
        memory_mb=flavor["memory_mb"],
        disk_gb=flavor["root_gb"],
        ephemeral_gb=flavor["ephemeral_gb"],
        extra_specs=flavor["extra_specs"],
        properties=None,
        availability_zone=None,
        device_groups=devices.resolve(flavor["extra_specs"], rules),
    )


def _left(host: BookableHost, shape: Shape) -> int:
    """How many more instances this package counts by what Placement says of the host now."""
    root = host.providers[0].id
    remains = host_rooms.of_host(shape.request, root).constrained(host.providers)
    return present_room.room(remains, shape.request, (), datetime.datetime(2100, 1, 1))


def _allowed(placement: Placement, query: str, root: str, rng: random.Random) -> int:
    """How many instances Placement allocates on a tree, one after the other."""
    consumers: list[str] = []
    try:
        while consumer := _allocated(placement, query, root, rng):
            consumers.append(consumer)
        return len(consumers)
    finally:
        placement.free(consumers)


def _allocated(placement: Placement, query: str, root: str, rng: random.Random) -> str | None:
    """Allocate an instance in one of the ways that Placement proposes, chosen at random."""
    candidates = placement.candidates(query, root)
    rng.shuffle(candidates)
    # Placement proposes ways of which each group fits, but not all groups of them together.
    return next(filter(None, map(placement.allocate, candidates)), None)


@pytest.mark.whole
def test_room_for_random_flavors_is_what_placement_allows(placement: Placement) -> None:
    rng = random.Random(_SEED)
    flavors = [random_flavors.random_flavor(rng) for _ in range(FLAVORS)]
    queries = nova_requests.queries(devcloud.home(), flavors, random_flavors.ALIASES)
    trees = [scratch_trees.random_tree(rng) for _ in range(TREES)]
    with scratch_trees.made(placement, trees) as roots:
        found = _hosts(list(roots))

        def compare(host: BookableHost) -> list[tuple[int, int]]:
            choice = random.Random(_SEED)
            return [
                (
                    _counted(host, flavor, random_flavors.ALIASES),
                    _allowed(placement, query, roots[host.name], choice),
                )
                for flavor, query in zip(flavors, queries, strict=True)
            ]

        rooms = at_once([lambda h=host: compare(h) for host in found])
    wrong = [
        f"counted {counted}, Placement allows {allowed}: {flavor} on {tree}"
        for tree, pairs in zip(trees, rooms, strict=True)
        for flavor, (counted, allowed) in zip(flavors, pairs, strict=True)
        if counted != allowed
    ]
    assert not wrong, "\n".join(wrong)
    numbers = [allowed for pairs in rooms for _, allowed in pairs]
    # Otherwise the flavors and the trees would have to be chosen in another way.
    assert min(numbers.count(0), numbers.count(1), numbers.count(2)) > FLAVORS * TREES // 20


@pytest.mark.whole
def test_room_beside_servers_is_what_placement_allows(placement: Placement) -> None:
    """Each host has one instance of another flavor already."""
    rng = random.Random(_SEED + 1)
    flavors = [random_flavors.random_flavor(rng) for _ in range(FLAVORS)]
    queries = nova_requests.queries(devcloud.home(), flavors, random_flavors.ALIASES)
    (tree,) = trees = [scratch_trees.random_tree(rng)]
    wrong, numbers = [], []
    with scratch_trees.made(placement, trees) as roots:
        (host,) = _hosts(list(roots))
        root = roots[host.name]
        for number, (flavor, query) in enumerate(zip(flavors, queries, strict=True)):
            there = _allocated(placement, queries[number - 1], root, rng)
            left = _left(host, _shape(flavor, random_flavors.ALIASES))
            allowed = _allowed(placement, query, root, rng)
            placement.free([there] if there else [])
            numbers.append(allowed)
            if left != allowed:
                wrong.append(f"counted {left}, Placement allows {allowed}: {flavor} on {tree}")
    assert not wrong, "\n".join(wrong)
    assert len(set(numbers)) > 2


@pytest.mark.parametrize("host", world.HOSTS)
def test_gpus_of_a_compute_are_those_that_placement_proposes(
    placement: Placement, host: str
) -> None:
    config = cfg.ConfigOpts()
    config.register_opts([cfg.MultiStrOpt("alias", default=[])], "pci")
    nova_conf = devcloud.home() / "etc" / "nova" / "nova.conf"
    config([], default_config_files=[str(nova_conf)], default_config_dirs=[])
    flavors = [
        {
            "vcpus": 1,
            "memory_mb": 128,
            "root_gb": 1,
            "ephemeral_gb": 0,
            "extra_specs": {"pci_passthrough:alias": f"a100:{number}"},
        }
        for number in range(1, 6)
    ]
    queries = nova_requests.queries(devcloud.home(), flavors, config.pci.alias)
    (compute,) = _hosts([host])
    fits = [_counted(compute, flavor, config.pci.alias) > 0 for flavor in flavors]
    root = compute.providers[0].id
    assert fits == [bool(placement.candidates(query, root)) for query in queries]
    assert sum(fits) == (4 if host in world.PAIR else 0)
