#!/usr/bin/env python3
"""How much of what is asked for the hosts can hold, by the rule that chooses the hosts.

Bookings of mixed sizes and lengths arrive over 60 days, up to two weeks before their start. A rule
accepts or refuses each at once. The share of the asked time (host-hours of instances, by their
size) that was accepted is printed for each rule and load, as the mean of several seeds.

Beside the rules there are two numbers that no rule for single hosts can reach: "one host" treats
all hosts as one large host that refuses nothing while it has room, and "bound" is the share that
fits at each hour if bookings could be cut into pieces. Needs no database::

    python benchmarks/pack.py --sites cpu gpu vgpu --results pack.json
"""

import argparse
import dataclasses
import datetime
import json
import pathlib
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import figures
import matplotlib
from matplotlib.figure import Figure

from warre_blazar.domain import timeline
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.hosts import host_devices, placing
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.moves.move_plans import MoveLimits
from warre_blazar.domain.moves.must_move import Movable
from warre_blazar.domain.moves.room_by_moves import RoomByMoves
from warre_blazar.domain.timeline import Claim, Span
from warre_blazar.services import searches

START = datetime.datetime(2100, 1, 1)
HOUR = datetime.timedelta(hours=1)
HOURS = 60 * 24
#: The longest time from a booking's arrival to its start, and the lengths, in hours.
LEAD = 14 * 24
LENGTHS = (6, 120)
LOADS = (0.8, 1.0, 1.3)
SEEDS = range(3)


@dataclasses.dataclass(frozen=True)
class Site:
    """Equal hosts, and the sizes of instances that are booked on them."""

    host: Callable[[int], BookableHost]
    hosts: int
    #: How many units of the size a host has.
    capacity: int
    #: By size, the shape of an instance.
    shapes: Mapping[int, Shape]


@dataclasses.dataclass(frozen=True)
class Booking:
    """An instance that somebody asks for."""

    id: str
    arrival: datetime.datetime
    span: Span
    size: int
    shape: Shape


def _host(
    number: int, vcpus: int, gpus: int, each: Mapping[str, int], trait: str = ""
) -> BookableHost:
    name = f"host-{number:03}"
    totals = {"VCPU": vcpus, "MEMORY_MB": vcpus * 2048, "DISK_GB": vcpus * 20}
    stocks = {cls: Inventory(total) for cls, total in totals.items()}
    traits = frozenset({trait} if trait else ())
    devices = {cls: Inventory(total) for cls, total in each.items()}
    root = Provider(name, name, None, stocks, frozenset())
    cards = (Provider(f"{name}/{n}", f"{name}/{n}", name, devices, traits) for n in range(gpus))
    return BookableHost(name, name, "nova", {}, stocks, frozenset(), (), providers=(root, *cards))


def _shape(vcpus: int, specs: Mapping[str, str]) -> Shape:
    return Shape(vcpus, vcpus * 2048, vcpus * 20, 0, specs, None, None)


SITES = {
    # Hosts with room for 16, and instances of 2, 4, 8 and 16.
    "cpu": Site(
        lambda n: _host(n, 16, 0, {}), 30, 16, {size: _shape(size, {}) for size in (2, 4, 8, 16)}
    ),
    # Hosts of 8 GPUs, and instances of 1, 2, 4 and 8 GPUs.
    "gpu": Site(
        lambda n: _host(n, 64, 8, {"CUSTOM_GPU": 1}),
        20,
        8,
        {
            size: _shape(8 * size, {f"resources{n}:CUSTOM_GPU": "1" for n in range(1, size + 1)})
            for size in (1, 2, 4, 8)
        },
    ),
    # Hosts of 2 GPUs with 8 units each, and instances of 1, 2, 4 and 8 units of one GPU.
    "vgpu": Site(
        lambda n: _host(n, 64, 2, {"VGPU": 8}),
        15,
        16,
        {size: _shape(2 * size, {"resources1:VGPU": str(size)}) for size in (1, 2, 4, 8)},
    ),
}


def bookings(site: Site, load: float, seed: int) -> list[Booking]:
    """Bookings in the order of their arrival, for a share ``load`` of all time of the hosts."""
    dice, asked, made = random.Random(seed), 0.0, []
    while asked < load * site.hosts * site.capacity * HOURS:
        arrival = dice.random() * HOURS
        start = int(arrival + dice.uniform(0, LEAD)) + 1
        length, size = dice.randint(*LENGTHS), dice.choice(sorted(site.shapes))
        span = Span(START + start * HOUR, START + (start + length) * HOUR)
        name = f"r{len(made)}"
        made.append(Booking(name, START + arrival * HOUR, span, size, site.shapes[size]))
        asked += length * size
    return sorted(made, key=lambda b: b.arrival)


class Simulation:
    """The hosts of a site while bookings arrive. A rule says where a booking goes, if anywhere."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.hosts = [site.host(number) for number in range(site.hosts)]
        #: The bookings that were accepted and aren't over, by id, and their hosts.
        self.placed: dict[str, tuple[Booking, str]] = {}
        self.accepted = self.asked = 0.0
        self.longest = 0.0
        #: How often a booking was placed again.
        self.moved = 0

    def run(self, arriving: Sequence[Booking], rule: "Rule") -> float:
        """The accepted share of what was asked for, in percent."""
        for booking in arriving:
            self._forget(booking.arrival)
            size = booking.size * ((booking.span.end - booking.span.start) / HOUR)
            self.asked += size
            began = time.process_time()
            with searches.uncollected():  # as the service has it
                host_id = rule(self, booking)
            self.longest = max(self.longest, time.process_time() - began)
            if host_id is not None:
                self.place({booking.id: host_id}, booking)
                self.accepted += size
        return 100 * self.accepted / self.asked

    def place(self, chosen: Mapping[str, str], new: Booking | None = None) -> None:
        """Put bookings on hosts, in place of the hosts where they are.

        :param chosen: the ids of the hosts, by those of the bookings.
        :param new: the one of them that isn't on a host yet.
        """
        booked = {name: new or self.placed[name][0] for name in chosen}
        self.placed |= {name: (booking, chosen[name]) for name, booking in booked.items()}
        for number, host in enumerate(self.hosts):
            others = [held for held in host.holdings if held.reservation_id not in chosen]
            coming = [
                Holding(booking.id, booking.span, booking.shape.request)
                for name, booking in booked.items()
                if chosen[name] == host.id
            ]
            if coming or len(others) != len(host.holdings):
                # The product assigns devices to what comes.
                held = host_devices.settled(host.tree, [*others, *coming])
                self.hosts[number] = host.holding(held)

    def _forget(self, now: datetime.datetime) -> None:
        over = {name for name, (booking, _) in self.placed.items() if booking.span.end <= now}
        if len(over) < len(self.hosts):
            return
        for name in over:
            del self.placed[name]
        self.hosts = [
            host.holding([held for held in host.holdings if held.reservation_id not in over])
            for host in self.hosts
        ]


#: Returns the id of the booking's host, or None to refuse it.
Rule = Callable[[Simulation, Booking], str | None]


def fullest_at_its_peak(simulation: Simulation, booking: Booking) -> str | None:
    """The host with the least room that is enough, as far as the booking's own time goes."""
    smallest = simulation.site.shapes[min(simulation.site.shapes)]
    request, window = booking.shape.request, booking.span
    fitting = [host for host in simulation.hosts if _fits(host, booking)]
    best = min(fitting, key=lambda h: (h.room(smallest.request, window), h.id), default=None)
    return None if best is None or not best.room(request, window) else best.id


def _fits(host: BookableHost, booking: Booking) -> bool:
    request = booking.shape.request
    room = host.room(request, booking.span)
    return bool(room and host.lasting_room(request, [booking.span], 1))


def chosen(simulation: Simulation, booking: Booking) -> str | None:
    """The host that the product chooses (``placing.choose``)."""
    wanted = placing.Wanted(booking.shape.request, 1, booking.span)
    hosts, _ = placing.choose(simulation.hosts, wanted)
    return next(iter(hosts), None)


def spread(simulation: Simulation, booking: Booking) -> str | None:
    """The host that the product chooses with ``host_choice = spread``."""
    packing = placing.Packing(spread=True)
    wanted = placing.Wanted(booking.shape.request, 1, booking.span, packing=packing)
    hosts, _ = placing.choose(simulation.hosts, wanted)
    return next(iter(hosts), None)


def placing_again(limits: MoveLimits) -> Rule:
    """The product's choice, which places other bookings again if there is no room."""

    def rule(simulation: Simulation, booking: Booking) -> str | None:
        host_id = chosen(simulation, booking)
        if host_id is not None:
            return host_id
        wanted = placing.Wanted(booking.shape.request, 1, booking.span)
        everywhere = [host.id for host in simulation.hosts]
        movables = [
            Movable(other.id, other.shape.request, other.span, {on: 1}, everywhere)
            for other, on in simulation.placed.values()
            if other.span.start > booking.arrival
        ]
        vacating = RoomByMoves(simulation.hosts, movables, limits)
        found = vacating.place(wanted, everywhere)
        if found is None:
            return None
        simulation.moved += len(found.moved)
        simulation.place({name: next(iter(hosts)) for name, hosts in found.moved.items()})
        return next(iter(found.chosen))

    return rule


def solved(simulation: Simulation, booking: Booking) -> str | None:
    """The product's choice; if there is no room, OR-tools' CP-SAT looks for another placing.

    It may move as many as the product's search, and take a quarter of a second of the solver's
    own time, which is the same on a busy machine. Making the model isn't counted. This is the only
    rule that needs the package ``ortools``. It doesn't know single devices.
    """
    from ortools.sat.python import cp_model  # noqa: PLC0415 - only this rule needs it

    host_id = chosen(simulation, booking)
    if host_id is not None:
        return host_id
    capacity, hosts = simulation.site.capacity, [host.id for host in simulation.hosts]
    near = [each for each in simulation.placed.values() if each[0].span.overlaps(booking.span)]
    movable = [each for each in near if each[0].span.start > booking.arrival]
    fixed = [each for each in simulation.placed.values() if each not in movable]
    model = cp_model.CpModel()
    put = {
        each.id: {host: model.new_bool_var("") for host in hosts}
        for each in (booking, *(other for other, _ in movable))
    }
    for of_one in put.values():
        model.add_exactly_one(of_one.values())
    stay = [put[other.id][on] for other, on in movable]
    for literal in stay:
        model.add_hint(literal, True)
    model.add(sum(stay) >= len(stay) - PRODUCT.moves)
    floating = [booking, *(other for other, _ in movable)]
    for host in hosts:
        there = [other for other, on in fixed if on == host]
        for moment in sorted({each.span.start for each in (*floating, *there)}):
            asked = [each for each in floating if _is_at(each, moment)]
            if asked:
                held = sum(each.size for each in there if _is_at(each, moment))
                terms = [each.size * put[each.id][host] for each in asked]
                model.add(sum(terms) <= capacity - held)
    solver = cp_model.CpSolver()
    solver.parameters.max_deterministic_time = 0.25
    solver.parameters.num_workers = 1
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    for other, on in movable:
        to = next(host for host in hosts if solver.value(put[other.id][host]))
        if to != on:
            simulation.moved += 1
            simulation.place({other.id: to})
    return next(host for host in hosts if solver.value(put[booking.id][host]))


def _is_at(booking: Booking, moment: datetime.datetime) -> bool:
    return booking.span.start <= moment < booking.span.end


#: The product's limits, and its rule.
PRODUCT = MoveLimits(20)
AGAIN = "placing again"
CP_SAT = "CP-SAT"
RULES: dict[str, Rule] = {
    "spread": spread,
    "fullest at its peak": fullest_at_its_peak,
    "best fit in time": chosen,
    AGAIN: placing_again(PRODUCT),
    "without limits": placing_again(MoveLimits(10**6, 10**6, 10**6)),
    CP_SAT: solved,
}


def as_one_host(site: Site, arriving: Sequence[Booking]) -> float:
    """The share that one host with the capacity of all accepts, first come, first served."""
    held: list[Claim] = []
    asked = accepted = 0.0
    for booking in arriving:
        size = booking.size * ((booking.span.end - booking.span.start) / HOUR)
        asked += size
        held = [claim for claim in held if claim.span.end > booking.arrival]
        if timeline.peak(held, booking.span) + booking.size <= site.hosts * site.capacity:
            held.append(Claim(booking.span, booking.size))
            accepted += size
    return 100 * accepted / asked


def bound(site: Site, arriving: Sequence[Booking]) -> float:
    """The share that fits at each hour, if bookings could be cut into pieces."""
    wanted: dict[int, int] = {}
    for booking in arriving:
        first, last = ((m - START) // HOUR for m in (booking.span.start, booking.span.end))
        for hour in range(first, last):
            wanted[hour] = wanted.get(hour, 0) + booking.size
    most = site.hosts * site.capacity
    return 100 * sum(min(n, most) for n in wanted.values()) / sum(wanted.values())


@dataclasses.dataclass(frozen=True)
class Result:
    """What a rule has achieved with the bookings of a seed."""

    #: The accepted share in percent.
    share: float
    #: How often a booking was placed again, for each 100 bookings that were asked for.
    moved: float = 0.0
    #: The longest decision, in seconds of processor time.
    longest: float = 0.0


LIMITS: dict[str, Callable[[Site, Sequence[Booking]], float]] = {
    "one host": as_one_host,
    "bound": bound,
}


def result(name: str, load: float, seed: int, rule: str) -> Result:
    """The result of a rule, or of one of the limits that no rule can reach."""
    site = SITES[name]
    asked = bookings(site, load, seed)
    if rule in LIMITS:
        return Result(LIMITS[rule](site, asked))
    simulation = Simulation(site)
    share = simulation.run(asked, RULES[rule])
    return Result(share, 100 * simulation.moved / len(asked), simulation.longest)


class Results:
    """The results, which are also kept in a file, so that a long run can be continued."""

    def __init__(self, path: pathlib.Path | None) -> None:
        self._path = path
        known = json.loads(path.read_text()) if path and path.exists() else {}
        self._known: dict[str, dict[str, float]] = known

    def of(self, name: str, load: float, seed: int, rule: str) -> Result:
        """A result. If it isn't known yet, it is computed and printed."""
        key = f"{name} {load} {seed} {rule}"
        if key not in self._known:
            found = result(name, load, seed, rule)
            self._known[key] = dataclasses.asdict(found)
            if self._path:
                self._path.write_text(json.dumps(self._known, indent=1))
            print(
                f"{name:5} {load:3} {seed} {rule:20} {found.share:5.1f} %"
                f" {found.moved:6.1f} moved {found.longest:6.2f} s",
                flush=True,
            )
        return Result(**self._known[key])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", nargs="+", choices=SITES, default=list(SITES))
    parser.add_argument("--loads", nargs="+", type=float, default=list(LOADS))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    usual = [rule for rule in RULES if rule != CP_SAT]
    parser.add_argument(
        "--rules", nargs="+", choices=RULES, default=usual, help=f"default: all but {CP_SAT}"
    )
    parser.add_argument(
        "--results",
        type=pathlib.Path,
        help="a file that keeps each result; results that it has are not computed again, so parts "
        "of a run can be made one after the other (default: keep nothing)",
    )
    parser.add_argument("--picture", help="the SVG file that shows the shares")
    asked = parser.parse_args()
    rules, results = [*asked.rules, *LIMITS], Results(asked.results)
    table = [["Hosts", "Load", *(rule.capitalize() for rule in rules), "Moved", "Longest"]]
    shares: dict[str, list[list[float]]] = {name: [] for name in asked.sites}
    for name in asked.sites:
        for load in asked.loads:
            found = {r: [results.of(name, load, seed, r) for seed in asked.seeds] for r in rules}
            row = [statistics.mean(each.share for each in found[rule]) for rule in rules]
            again = found.get(AGAIN, [])
            moved = f"{statistics.mean(each.moved for each in again):.0f}" if again else ""
            longest = figures.milliseconds(1000 * max((each.longest for each in again), default=0))
            table.append([name, str(load), *(f"{share:.1f} %" for share in row), moved, longest])
            shares[name].append(row)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        print(*(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)), sep="  ")
    figures.record("pack", {"seeds": str(len(asked.seeds))}, table)
    if asked.picture:
        draw(shares, asked.loads, rules, asked.picture)


def draw(
    shares: Mapping[str, Sequence[Sequence[float]]],
    loads: Sequence[float],
    rules: Sequence[str],
    path: str,
) -> None:
    """Draw the shares as lines over the loads, a plot for each site, into an SVG file.

    :param shares: by site, a row for each load, with the share of each rule in percent.
    """
    matplotlib.rcParams["svg.hashsalt"] = "warre-blazar"  # Equal results give equal files.
    picture = Figure(figsize=(11, 4))
    plots = picture.subplots(1, len(shares), sharey=True, squeeze=False)[0]
    for plot, (name, rows) in zip(plots, shares.items(), strict=True):
        for number, rule in enumerate(rules):
            style = {"linestyle": ":", "color": "gray"} if rule in LIMITS else {}
            marker = "osv^D*xP"[number % 8]
            plot.plot(loads, [row[number] for row in rows], marker=marker, label=rule, **style)
        plot.set_title(f"{name}: accepted, %")
        plot.set_xlabel("load")
        plot.set_xticks(list(loads))
        plot.spines[["top", "right"]].set_visible(False)
    lines, labels = plots[0].get_legend_handles_labels()
    picture.legend(lines, labels, loc="lower center", ncols=4, frameon=False)
    picture.tight_layout(rect=(0, 0.12, 1, 1))
    picture.savefig(path, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
