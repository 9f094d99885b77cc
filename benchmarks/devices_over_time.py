"""How many bookings of devices are sold if each server must be able to keep its devices.

Random hosts sell bookings for 30 days, once by what fits at each moment and once by what can stay
(``warre_blazar/domain/hosts/fixed_places.py``). For what was sold, a fixed assignment of devices is
searched with many more steps than a booking may take, and each assignment that is found is checked
moment by moment.

    python benchmarks/devices_over_time.py --hosts 60 --seed 1
"""

import argparse
import collections
import datetime
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

import figures

from warre_blazar.domain.flavors.request_groups import Group, PlacementRequest
from warre_blazar.domain.hosts import counting, placing, provider_search
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.fixed_places import Places, Stay, components
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.timeline import Span

START, DAY = datetime.datetime(2030, 1, 1), datetime.timedelta(days=1)
DAYS, WISHES, LONGEST = 30, 40, 10
HEADER = (
    "Devices of a host, and amounts that flavors take",
    "Sold by what fits at each moment",
    "Hosts that can hold it",
    "Sold by what can stay",
    "Hosts that can hold it",
    "Sold, of before",
)
#: The steps of a search for an assignment of what was sold.
MOST_STATES = 200_000
_USUAL = provider_search.MOST_STATES


class Kind(NamedTuple):
    """The devices of a host, by their amounts and traits, and what flavors take of one of them."""

    name: str
    devices: Sequence[tuple[int, tuple[str, ...]]]
    flavors: Sequence[tuple[int, tuple[str, ...]]]


KINDS = [
    Kind("8 whole GPUs, one flavor", [(1, ())] * 8, [(1, ())]),
    Kind(
        "4 whole GPUs, 2 with a trait: any, trait",
        [(1, ("CUSTOM_X",)), (1, ())] * 2,
        [(1, ()), (1, ("CUSTOM_X",))],
    ),
    Kind("4 GPUs of 4 units: 1, 4", [(4, ())] * 4, [(1, ()), (4, ())]),
    Kind("4 GPUs of 4 units: 1, 2, 4", [(4, ())] * 4, [(1, ()), (2, ()), (4, ())]),
    Kind("4 GPUs of 6 units: 2, 3", [(6, ())] * 4, [(2, ()), (3, ())]),
    Kind("8 GPUs of 7 units: 1, 2, 3", [(7, ())] * 8, [(1, ()), (2, ()), (3, ())]),
]

Room = Callable[[BookableHost, PlacementRequest, Span], int]


def by_moments(host: BookableHost, request: PlacementRequest, span: Span) -> int:
    return host.room(request, span)


def by_places(host: BookableHost, request: PlacementRequest, span: Span) -> int:
    return placing.choose([host], placing.Wanted(request, 1, span))[1]


def empty(kind: Kind) -> BookableHost:
    root = Provider("h", "h", None, {"VCPU": Inventory(10_000)}, frozenset())
    devices = [
        Provider(f"d{n}", f"d{n}", "h", {"UNITS": Inventory(amount)}, frozenset(traits))
        for n, (amount, traits) in enumerate(kind.devices)
    ]
    return BookableHost(
        "h", "h", None, {}, root.inventories, root.traits, (), providers=(root, *devices)
    )


def wishes(kind: Kind, dice: random.Random) -> list[tuple[PlacementRequest, Span]]:
    requests = [
        PlacementRequest.of(Group.of({"VCPU": 1}), [Group.of({"UNITS": amount}, traits)])
        for amount, traits in kind.flavors
    ]
    found = []
    for _ in range(WISHES * len(kind.devices) // 4):
        length = dice.randint(1, LONGEST)
        start = START + dice.randint(0, DAYS - length) * DAY
        found.append((dice.choice(requests), Span(start, start + length * DAY)))
    return found


def sell(
    host: BookableHost, wanted: Sequence[tuple[PlacementRequest, Span]], room: Room
) -> BookableHost:
    for number, (request, span) in enumerate(wanted):
        if room(host, request, span):
            host = host.holding([*host.holdings, Holding(str(number), span, request)])
    return host


def exists(host: BookableHost, kind: Kind) -> bool | None:
    """Whether a fixed assignment exists for all that was sold; None if the search gives up."""
    requests = [h.request for h in host.holdings if h.request]
    found: list[bool | None] = [True]
    for places in counting.places(host.tree, requests[0], requests) if requests else ():
        stays = places.stays((h.span, h.request) for h in host.holdings)
        found += [_exists(places, component, kind) for component in components(stays)]
    return False if False in found else None if None in found else True


def _exists(places: Places, component: tuple[Stay, ...], kind: Kind) -> bool | None:
    with provider_search.bounded() as allowance:
        allowance.states = before = 100 * MOST_STATES
        assigned = places.assignment(component)
        gave_up = before - allowance.states >= MOST_STATES
    if assigned is None:
        return None if gave_up else False
    used: collections.Counter[tuple[int, datetime.datetime]] = collections.Counter()
    for stay, (node,) in zip(component, assigned, strict=True):
        amount = places.kinds[stay.kind].amounts["UNITS"]
        used.update(
            {(node, stay.start + n * DAY): amount for n in range((stay.end - stay.start).days)}
        )
    # All devices of a host have the same amount.
    if max(used.values()) > kind.devices[0][0]:
        raise AssertionError("an assignment takes more than a device has")
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    print(f"{asked.hosts} hosts of each kind, {DAYS} days, seed {asked.seed}")
    print(f"{'':42}{'by moments':>22}{'by places':>22}   sold, of")
    print(f"{'':42}{'sold  exists':>22}{'sold  exists':>22}   before")
    table = [HEADER]
    for kind in KINDS:
        dice = random.Random(asked.seed)
        wanted = [wishes(kind, dice) for _ in range(asked.hosts)]
        cells: list[str] = []
        sold: list[int] = []
        for room in (by_moments, by_places):
            hosts = [sell(empty(kind), of_host, room) for of_host in wanted]
            provider_search.MOST_STATES = MOST_STATES
            found = collections.Counter(exists(host, kind) for host in hosts)
            provider_search.MOST_STATES = _USUAL
            sold.append(sum(len(host.holdings) for host in hosts))
            undecided = f" (+{found[None]}?)" if found[None] else ""
            cells += [f"{sold[-1]:,}", f"{found[True]} of {len(hosts)}{undecided}"]
        share = f"{sold[1] / sold[0]:.1%}"
        moments, places = ("  ".join(cells[:2]), "  ".join(cells[2:]))
        print(f"{kind.name:42}{moments:>22}{places:>22}   {share}", flush=True)
        table.append((kind.name, *cells, share))
    figures.record("devices_over_time", {"hosts": str(asked.hosts), "days": str(DAYS)}, table)


if __name__ == "__main__":
    main()
