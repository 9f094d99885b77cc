"""Boots the servers of hosts that are sold full on a real Placement, which has made the hosts."""

import collections
import random
import urllib.parse
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.functional.cloud import scratch_trees
from tests.functional.cloud.placement_side import Placement
from tests.functional.cloud.scratch_trees import Planned
from tests.unit.domain.clock import minutes
from tests.unit.domain.hosts import selling
from warre_blazar.domain.flavors import nova_requests
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.hosts.bookable_host import BookableHost

#: The candidates for a server, in the order in which they are tried.
Order = Callable[[list[Any]], list[Any]]


def first(candidates: list[Any]) -> list[Any]:
    """As Nova does."""
    return candidates


def in_random_order(dice: random.Random) -> Order:
    return lambda candidates: dice.sample(candidates, len(candidates))


def check(placement: Placement, seed: int, random_orders: int) -> int:
    """Sell a random host full, and boot its servers on the first candidate and in random orders.

    :returns: the number of servers.
    """
    dice = random.Random(seed)
    one, shapes_of = selling.sold_full(dice)
    orders = [first, *(in_random_order(dice) for _ in range(random_orders))]
    for name in ("CUSTOM_X", *shapes_of):
        placement.asks("PUT", f"/traits/{name}")
    placement.asks("PUT", "/resource_classes/CUSTOM_MEMORY")
    with scratch_trees.made(placement, [_planned(one)]) as roots:
        ((_, root),) = roots.items()
        listed = placement.asks("GET", f"/resource_providers?in_tree={root}")["resource_providers"]
        ids = {_position(each["name"]): each["uuid"] for each in listed}
        real = {p.id: ids[number] for number, p in enumerate(one.providers)}
        for order in orders:
            _boot_all(placement, one, shapes_of, real, dice, order)
    return len(one.holdings)


def _planned(one: BookableHost) -> list[Planned]:
    return [
        Planned(
            0 if number else None,
            {cls: {"total": each.total} for cls, each in provider.inventories.items()},
            sorted(provider.traits),
        )
        for number, provider in enumerate(one.providers)
    ]


def _position(name: str) -> int:
    """Which provider of a tree has a name (``scratch_trees.made``). The root has no number."""
    last = name.removeprefix("scratch-")[36:]
    return int(last[1:]) if last else 0


def _boot_all(
    placement: Placement,
    one: BookableHost,
    shapes_of: Mapping[str, Shape],
    real: Mapping[str, str],
    dice: random.Random,
    order: Order,
) -> None:
    """Boot each server at any moment of its reservation."""
    spans = {held.reservation_id: minutes(held.span) for held in one.holdings}
    numbers = collections.Counter(held.reservation_id for held in one.holdings)
    due = [(name, dice.choice(spans[name])) for name in numbers.elements()]
    servers: dict[str, list[str]] = collections.defaultdict(list)
    root = real[one.providers[0].id]
    for minute in range(selling.LAST + 1):
        for name, of_reservation in spans.items():
            carriers = [real[i] for i in selling.carriers(one, name, shapes_of[name])]
            if minute == of_reservation[-1] + 1:
                placement.free(servers.pop(name, []))
                _change(placement, carriers, lambda traits, t=name: traits - {t})
            if minute == of_reservation[0]:
                _change(placement, carriers, lambda traits, t=name: traits | {t})
        now = [name for name, at in due if at == minute]
        dice.shuffle(now)
        for name in now:
            request = selling.requiring(one, name, shapes_of[name])
            query = urllib.parse.urlencode(nova_requests.candidates_query(request))
            candidates = order(placement.candidates(query, root))
            server = next(filter(None, map(placement.allocate, candidates)), None)
            assert server, f"no server of {name} boots on {one.providers} beside {one.holdings}"
            servers[name].append(server)


def _change(
    placement: Placement, providers: Iterable[str], change: Callable[[set[str]], set[str]]
) -> None:
    for provider in providers:
        path = f"/resource_providers/{provider}/traits"
        read = placement.asks("GET", path)
        traits = sorted(change(set(read["traits"])))
        placement.asks("PUT", path, {**read, "traits": traits})
