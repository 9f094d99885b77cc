"""How long one choice takes on hosts whose devices are hard to fill.

Each of the hosts has 8 GPUs with 7 units of VGPU and 40 units of CUSTOM_GMEM. The flavors take
(1, 5), (2, 10) and (3, 20) of them from one GPU. The worst case of a review took 31 seconds.

    python -m benchmarks.choice_of_devices --hosts 200 --bookings 100
"""

import argparse
import datetime
import random
import time
from collections.abc import Sequence

from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.hosts import placing
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.timeline import Claim, Span, peak

START = datetime.datetime(2100, 1, 1)
DAY = datetime.timedelta(days=1)
SIZES = ((1, 5), (2, 10), (3, 20))


def shape(vgpu: int, memory: int) -> Shape:
    specs = {"resources1:VGPU": str(vgpu), "resources1:CUSTOM_GMEM": str(memory)}
    return Shape(1, 1024, 1, 0, specs, None, None)


SHAPES = [shape(*size) for size in SIZES]


def host(number: int, bookings: int, dice: random.Random) -> BookableHost:
    """A host with bookings that are spread over a year, up to three quarters of its memory."""
    name = f"host-{number:04}"
    stocks = {"VCPU": Inventory(256), "MEMORY_MB": Inventory(2**20), "DISK_GB": Inventory(10**4)}
    devices = {"VGPU": Inventory(7), "CUSTOM_GMEM": Inventory(40)}
    root = Provider(name, name, None, stocks, frozenset())
    gpus = (Provider(f"{name}/{n}", f"{name}/{n}", name, devices, frozenset()) for n in range(8))
    holdings: list[Holding] = []
    for booking in range(bookings):
        first = dice.random() * 360
        span = Span(START + first * DAY, START + (first + 1 + dice.random() * 9) * DAY)
        more = [
            Holding(f"r{booking}", span, dice.choice(SHAPES).request)
            for _ in range(dice.randint(1, 6))
        ]
        if _memory([*holdings, *more], span) <= 8 * 40 * 3 // 4:
            holdings += more
    return BookableHost(
        name, name, "nova", {}, stocks, frozenset(), holdings, providers=(root, *gpus)
    )


def _memory(holdings: Sequence[Holding], span: Span) -> int:
    """The most of CUSTOM_GMEM that is held at a time within a span."""
    claims = [
        Claim(held.span, held.request.amounts["CUSTOM_GMEM"]) for held in holdings if held.request
    ]
    return peak(claims, span)


def site(hosts: int, bookings: int, seed: int = 1) -> Sequence[BookableHost]:
    dice = random.Random(seed)
    return [host(number, bookings, dice).settled() for number in range(hosts)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--bookings", type=int, default=100, help="on each host, in a year")
    parser.add_argument("--count", type=int, default=10)
    asked = parser.parse_args()
    every = site(asked.hosts, asked.bookings)
    for first in (0, 0, 3):
        span = Span(START + (100 + first) * DAY, START + (114 + first) * DAY)
        began = time.process_time()
        _, found = placing.choose(every, placing.Wanted(SHAPES[1].request, asked.count, span))
        took = time.process_time() - began
        print(f"day {100 + first}: {found} of {asked.count} instances, {took * 1000:.0f} ms")


if __name__ == "__main__":
    main()
