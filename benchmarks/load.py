#!/usr/bin/env python3
"""Latencies of 50 clients that ask at the same time: of ours, and beside them of stock Blazar.

Run on a quiet dev cloud (``eval "$(tools/devcloud env)"`` first) with hosts registered
(``tools/devcloud hosts``). Half of the requests are lists, a quarter are searches for free slots,
and the rest are bookings and deletions. Each client sends its next request as soon as it has the
answer to the last one. Stock Blazar has no search, so its list of hosts is in that place. Prints
how long each kind of request took, how many failed, and the memory of Blazar's processes.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import figures
import lease
import requests

_KINDS = ("list", "search", "booking", "deletion")
#: Bookings are spread over so many hours, so that few of them meet.
_HOURS = 24 * 200
_HEAD = ("kind", "requests", "half within", "95 % within", "longest", "refused", "failed")


@dataclasses.dataclass
class Tally:
    """What the clients have measured."""

    seconds: dict[str, list[float]]
    #: How many requests of a kind had an answer with 4xx: for instance, no room was left.
    refused: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    #: How many requests of a kind had an answer with 5xx, or none.
    failed: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    @classmethod
    def empty(cls) -> "Tally":
        return cls({kind: [] for kind in _KINDS})

    def add(self, other: "Tally") -> None:
        for kind in _KINDS:
            self.seconds[kind] += other.seconds[kind]
        self.refused += other.refused
        self.failed += other.failed

    def rows(self) -> Iterator[list[str]]:
        """A row for each kind of request."""
        for kind, found in self.seconds.items():
            if len(found) < 2:
                continue
            half, most = statistics.median(found), statistics.quantiles(found, n=20)[-1]
            times = [figures.seconds(value) for value in (half, most, max(found))]
            yield [kind, str(len(found)), *times, str(self.refused[kind]), str(self.failed[kind])]


class Client:
    """A client who sends one request after the other."""

    def __init__(self, cloud: lease.Cloud, number: int, way: "Way") -> None:
        self._choice, self._way = random.Random(number), way
        self._http = requests.Session()
        self._http.headers["X-Auth-Token"] = cloud.session.get_token()
        self._booked: str | None = None
        self.tally = Tally.empty()

    def work(self, deadline: float) -> Tally:
        while time.monotonic() < deadline:
            self._step()
        if self._booked:
            self._ask("deletion", "DELETE", self._booked)
        return self.tally

    def _step(self) -> None:
        dice = self._choice.random()
        if dice < 0.5:
            self._ask("list", "GET", self._way.lists)
        elif dice < 0.75:
            self._ask("search", "GET", self._way.search)
        elif self._booked:
            self._ask("deletion", "DELETE", self._booked)
            self._booked = None
        else:
            url, body = self._way.booking(self._choice.randrange(_HOURS))
            made = self._ask("booking", "POST", url, body)
            self._booked = self._way.booked(made) if made else None

    def _ask(self, kind: str, method: str, url: str, body: Any = None) -> Any:
        """Send a request. Return the JSON of its answer, or None if it was refused or failed."""
        begun = time.monotonic()
        try:
            answer = self._http.request(method, url, json=body, timeout=120)
            status = answer.status_code
        except requests.RequestException:
            status = 599
        self.tally.seconds[kind].append(time.monotonic() - begun)
        if status >= 400:
            (self.tally.failed if status >= 500 else self.tally.refused)[kind] += 1
            return None
        return answer.json() if answer.content else None


@dataclasses.dataclass(frozen=True)
class Way:
    """The requests of ours, or of stock Blazar."""

    lists: str
    search: str
    #: The URL and the body of a booking, for a number of hours from a time far ahead.
    booking: Callable[[int], tuple[str, Any]]
    #: The URL of what was booked.
    booked: Callable[[Any], str]


def ours(cloud: lease.Cloud, flavor: str) -> Way:
    day = datetime.datetime.now(datetime.UTC).date()
    span = f"start={day}&end={day + datetime.timedelta(days=60)}"
    reservations = f"{cloud.v2}/reservations/"

    def booking(hours: int) -> tuple[str, Any]:
        (start, end), _ = lease.times_ahead(hours)
        return reservations, lease.booking_body(flavor, start, end)

    return Way(
        lists=reservations,
        search=f"{cloud.v2}/flavors/{flavor}/freeslots?{span}",
        booking=booking,
        booked=lambda made: f"{reservations}{made['id']}/",
    )


def stock(cloud: lease.Cloud) -> Way:
    leases = f"{cloud.v1}/leases"

    def booking(hours: int) -> tuple[str, Any]:
        _, (start, end) = lease.times_ahead(hours)
        return leases, lease.lease_body(start, end)

    return Way(
        lists=leases,
        search=f"{cloud.v1}/os-hosts",
        booking=booking,
        booked=lambda made: f"{leases}/{made['lease']['id']}",
    )


def memory() -> dict[str, int]:
    """The memory of Blazar's processes, in MiB, by the service's name."""
    found: dict[str, int] = {}
    for path in pathlib.Path(os.environ["WARRE_DEVCLOUD_HOME"], "run").glob("blazar-*.pid"):
        session = json.loads(path.read_text())["pid"]
        pids = [int(p.name) for p in pathlib.Path("/proc").iterdir() if p.name.isdigit()]
        found[path.stem] = sum(_own_memory(pid) for pid in pids if _session(pid) == session)
    return found


def _session(pid: int) -> int | None:
    with contextlib.suppress(ProcessLookupError):
        return os.getsid(pid)
    return None


def _own_memory(pid: int) -> int:
    """The memory that a process doesn't share with others, in MiB."""
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) // 1024


def run(cloud: lease.Cloud, way: Way, clients: int, seconds: float) -> Tally:
    """Let clients work for some seconds. Print what they measured."""
    total = Tally.empty()
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        deadline = time.monotonic() + seconds
        people = [Client(cloud, number, way) for number in range(clients)]
        for tally in pool.map(lambda person: person.work(deadline), people):
            total.add(tally)
    return total


def shown(name: str, total: Tally, seconds: float) -> float:
    """Print a table. Return how many requests were answered each second."""
    count = sum(map(len, total.seconds.values()))
    print(f"{name}: {count / seconds:.1f} requests per second")
    for row in ([*_HEAD], *total.rows()):
        print("  " + "".join(f"{cell:>13}" for cell in row))
    return count / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--stock-seconds", type=float, default=60, help="0: without stock Blazar")
    parser.add_argument(
        "--reservations", type=int, default=100, help="booked before, for the lists"
    )
    args = parser.parse_args()
    cloud = lease.Cloud()
    flavor = cloud.flavor(slots=10)
    made = [cloud.book(flavor, *lease.times_ahead(7 * n)[0]) for n in range(args.reservations)]
    named: dict[str, str] = {}
    try:
        run(cloud, ours(cloud, flavor), args.clients, min(10, args.seconds))  # warms up
        before = memory()
        total = run(cloud, ours(cloud, flavor), args.clients, args.seconds)
        after = memory()
        rate = shown("ours", total, args.seconds)
        for service, mebibytes in after.items():
            print(f"  {service}: {before[service]} MiB before, {mebibytes} MiB after")
        named = {"clients": str(args.clients), "rate": f"{rate:.1f}"}
        rows = list(total.rows())
        if args.stock_seconds:
            theirs = run(cloud, stock(cloud), args.clients, args.stock_seconds)
            stock_rate = shown("stock", theirs, args.stock_seconds)
            print(f"ours / stock, requests per second: {rate / stock_rate:.1f}")
            named |= {"stock_rate": f"{stock_rate:.1f}", "ratio": f"{rate / stock_rate:.1f}"}
        figures.record("load", named, [[*_HEAD], *rows])
    finally:
        for url in made:
            cloud.call("DELETE", url)
        cloud.call("DELETE", f"{cloud.v2}/flavors/{flavor}/")


if __name__ == "__main__":
    main()
