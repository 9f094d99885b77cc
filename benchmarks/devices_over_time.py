"""How many bookings of devices are sold if each server must be able to keep its devices.

Random hosts sell bookings for 30 days in two ways: by what fits at each moment, as if servers could
change their devices, and as the product does, beside what is assigned to earlier bookings. The
places of all that the product has sold are checked day by day.

    python benchmarks/devices_over_time.py --hosts 60 --seed 1
"""

import argparse
import collections
import datetime
import random
import time
from collections.abc import Sequence
from typing import NamedTuple

import figures

from warre_blazar.domain.flavors.request_groups import Group, PlacementRequest
from warre_blazar.domain.hosts import assigning, placing
from warre_blazar.domain.hosts.assigning import Ledger, Stay, Steps
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.timeline import Span

START, DAY = datetime.datetime(2030, 1, 1), datetime.timedelta(days=1)
DAYS, WISHES, LONGEST = 30, 40, 10
HEADER = (
    "Devices of a host, and amounts that flavors take",
    "Sold by what fits at each moment",
    "Sold beside what is assigned",
    "Sold, of what fits at each moment",
)


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

Wishes = Sequence[tuple[PlacementRequest, Span]]


def empty(kind: Kind) -> BookableHost:
    root = Provider("h", "h", None, {"VCPU": Inventory(10_000)}, frozenset())
    devices = [
        Provider(f"d{n}", f"d{n}", "h", {"UNITS": Inventory(amount)}, frozenset(traits))
        for n, (amount, traits) in enumerate(kind.devices)
    ]
    return BookableHost(
        "h", "h", None, {}, root.inventories, root.traits, (), providers=(root, *devices)
    )


def wishes(kind: Kind, dice: random.Random) -> Wishes:
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


def sold_by_moments(kind: Kind, wanted: Wishes) -> int:
    """How many bookings are sold if servers could change their devices."""
    if not empty(kind).has_choices:
        # Any of the devices will do, so what fits at each moment can stay.
        return Seller(kind).sell(wanted)
    tree, held = empty(kind).tree, list[tuple[PlacementRequest, Span]]()
    for request, span in wanted:
        more = [*held, (request, span)]
        starts = {span.start, *(each.start for _, each in held)}
        at_once = (
            [Stay(Span(moment, moment + DAY), r) for r, s in more if s.start <= moment < s.end]
            for moment in starts
            if span.start <= moment < span.end
        )
        if all(assigning.assign_all(Ledger(tree), stays, Steps()) is not None for stays in at_once):
            held = more
    return len(held)


class Seller:
    """A host that sells bookings as the product does."""

    def __init__(self, kind: Kind) -> None:
        self.host, self._kind = empty(kind), kind
        self.longest = 0.0

    def sell(self, wanted: Wishes) -> int:
        for number, (request, span) in enumerate(wanted):
            began = time.process_time()
            choice = placing.Choice([self.host], placing.Wanted(request, 1, span))
            self.longest = max(self.longest, time.process_time() - began)
            if choice.count:
                stored = choice.places.get("h", [()])[0]
                places = self.host.stored_places(request, stored)
                new = Holding(str(number), span, request, places)
                self.host = self.host.holding([*self.host.holdings, new])
        self._check()
        return len(self.host.holdings)

    def _check(self) -> None:
        used: collections.Counter[tuple[int, datetime.datetime]] = collections.Counter()
        for held in self.host.holdings:
            for node, _, amount in held.places or ():
                days = (held.span.end - held.span.start).days
                used.update({(node, held.span.start + n * DAY): amount for n in range(days)})
        # All devices of a host have the same amount.
        if max(used.values(), default=0) > self._kind.devices[0][0]:
            raise AssertionError("more of a device is sold than it has")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    print(f"{asked.hosts} hosts of each kind, {DAYS} days, seed {asked.seed}")
    print(f"{'':42}{'by moments':>12}{'assigned':>10}   of before   longest")
    table = [HEADER]
    for kind in KINDS:
        dice = random.Random(asked.seed)
        wanted = [wishes(kind, dice) for _ in range(asked.hosts)]
        by_moments = sum(sold_by_moments(kind, each) for each in wanted)
        sellers = [Seller(kind) for _ in wanted]
        sold = sum(one.sell(each) for one, each in zip(sellers, wanted, strict=True))
        share, longest = f"{sold / by_moments:.1%}", max(one.longest for one in sellers)
        print(
            f"{kind.name:42}{by_moments:>12,}{sold:>10,}   {share:>9}   {longest * 1000:.0f} ms",
            flush=True,
        )
        table.append((kind.name, f"{by_moments:,}", f"{sold:,}", share))
    figures.record("devices_over_time", {"hosts": str(asked.hosts), "days": str(DAYS)}, table)


if __name__ == "__main__":
    main()
