#!/usr/bin/env python3
"""Seconds to book and to delete: a reservation of ours beside a stock virtual:instance lease.

Run on the dev cloud (``eval "$(tools/devcloud env)"`` first), with hosts registered in Blazar. One
request after the other; prints the median of each and the ratios. Warre's times are those recorded
of Warre 5.2.2 on Blazar on the reference machine.

Stock's times depend on what a login costs. The documentation has those of a new cloud that was
started without ``--password-rounds``.

Then the same once more while Nova and Placement are slow, and while they are away (see
``slow_services``).
"""

import argparse
import concurrent.futures
import datetime
import functools
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import costs
import figures
import openstack
import slow_services

WARRE_CREATE, WARRE_DELETE = 5.1, 5.6
#: How much slower each answer of Nova and Placement is in the second measurement, in seconds.
SLOW = 0.5
WHO = ("ours", "stock")
#: Bookings before the measurement. Each process of the API logs in when it serves its first one.
_WARM = 16

Times = dict[str, list[float | None]]


def seconds(action: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = action()
    return time.perf_counter() - began, result


class Cloud:
    """Blazar's API as the environment's user."""

    def __init__(self) -> None:
        cloud = openstack.connect()
        self.session = cloud.session
        self.v1 = cloud.endpoint_for("reservation")
        self.v2 = self.v1.replace("/v1", "/v2")

    def call(self, method: str, url: str, body: Any = None) -> Any:
        answer = self.session.request(url, method, json=body, raise_exc=False)
        if answer.status_code >= 400:
            raise SystemExit(f"{method} {url}: {answer.status_code} {answer.text}")
        return answer.json() if answer.content else None

    def flavor(self, slots: int = 10, memory_mb: int = 128, disk_gb: int = 1) -> str:
        body = {
            "name": f"bench-{time.time_ns()}",
            "vcpu": 1,
            "memory_mb": memory_mb,
            "disk_gb": disk_gb,
            "slots": slots,
            "max_length_hours": 100,
        }
        return self.call("POST", f"{self.v2}/flavors/", body)["id"]

    def book(self, flavor: str, start: str, end: str) -> str:
        made = self.call("POST", f"{self.v2}/reservations/", booking_body(flavor, start, end))
        if made["status"] != "ALLOCATED":
            raise SystemExit(f"booked, but {made['status']}")
        return f"{self.v2}/reservations/{made['id']}/"

    def lease(self, start: str, end: str) -> str:
        made = self.call("POST", f"{self.v1}/leases", lease_body(start, end))["lease"]
        return f"{self.v1}/leases/{made['id']}"


def booking_body(flavor: str, start: str, end: str) -> dict[str, Any]:
    """The body of a booking of ours."""
    return {"flavor_id": flavor, "start": start, "end": end, "instance_count": 1}


def lease_body(start: str, end: str) -> dict[str, Any]:
    """The body of a lease with one stock reservation."""
    reservation = {
        "resource_type": "virtual:instance",
        "vcpus": 1,
        "memory_mb": 128,
        "disk_gb": 1,
        "amount": 1,
        "affinity": None,
        "resource_properties": "",
    }
    return {
        "name": f"bench-{time.time_ns()}",
        "start_date": start,
        "end_date": end,
        "reservations": [reservation],
        "events": [],
    }


def times_ahead(hours: int = 0) -> tuple[list[str], list[str]]:
    """Start and end of an hour far ahead, as our API and as Blazar's takes them."""
    start = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=30, hours=hours)
    end = start + datetime.timedelta(hours=1)
    return (
        [t.strftime("%Y-%m-%dT%H:%M:00+00:00") for t in (start, end)],
        [t.strftime("%Y-%m-%d %H:%M") for t in (start, end)],
    )


def bookings(cloud: Cloud, flavor: str) -> dict[str, Callable[[], str]]:
    """Functions that make a booking of ours and a stock lease far ahead, and return its URL."""
    ours, stocks = times_ahead()
    return {
        "ours": functools.partial(cloud.book, flavor, *ours),
        "stock": functools.partial(cloud.lease, *stocks),
    }


def at_once(cloud: Cloud, count: int) -> dict[str, float]:
    """Bookings per second, where so many are asked for at the same time.

    Stock leases that collide in Placement are refused. They don't count as bookings.
    """
    flavor = cloud.flavor(slots=count)
    rates = {}
    for who, book in bookings(cloud, flavor).items():
        took, made = seconds(functools.partial(together, book, count))
        if who == "ours" and len(made) < count:
            raise SystemExit(f"only {len(made)} of {count} bookings at once were made")
        rates[who] = len(made) / took
        for url in made:
            cloud.call("DELETE", url)
    cloud.call("DELETE", f"{cloud.v2}/flavors/{flavor}/")
    return rates


def together(book: Callable[[], str], count: int) -> list[str]:
    """Call a function several times at once. Return the URLs of the bookings that were made."""
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return [url for _, url in pool.map(attempt, [book] * count) if url is not None]


def measure(cloud: Cloud, flavor: str, runs: int) -> Times:
    """How long bookings and deletions of both kinds take.

    :returns: the seconds of each run by what was measured. None: it failed, so that there is no
        time.
    """
    book_by_who = bookings(cloud, flavor)
    times: Times = {}
    for _ in range(_WARM):
        _, url = attempt(book_by_who["ours"])
        attempt(lambda url=url: url and cloud.call("DELETE", url))
    for run in range(runs + 1):
        for who, book in book_by_who.items():
            create, url = attempt(book)
            delete = None
            if url is not None:
                delete, _ = attempt(lambda url=url: cloud.call("DELETE", url) or url)
            if run:  # the first warms the services up that only stock leases need
                times.setdefault(f"{who} create", []).append(create)
                times.setdefault(f"{who} delete", []).append(delete)
    return times


def attempt(action: Callable[[], Any]) -> tuple[float | None, Any]:
    """The seconds that an action takes and its result. (None, None): the action failed."""
    try:
        return seconds(action)
    except SystemExit as refused:
        print(str(refused)[:200], file=sys.stderr)
        return None, None


def medians(times: Times) -> dict[str, float | None]:
    """The median of each list of times. None: not every run was a success."""
    return {
        what: statistics.median(found) if None not in values else None
        for what, values in times.items()
        for found in [[value for value in values if value is not None]]
    }


def shown(value: float | None) -> str:
    return "fails" if value is None else figures.seconds(value)


def named(
    usual: dict[str, float | None],
    rates: dict[str, float],
    paid: dict[str, costs.Cost],
    runs: int,
    count: int,
) -> dict[str, str]:
    """What was measured, under the names that the documentation uses."""
    named = {
        "runs": str(runs),
        "at_once.count": str(count),
        "at_once.ours": figures.seconds(1 / rates["ours"]),
        "at_once.stock": figures.seconds(1 / rates["stock"]),
        "at_once.stock_ratio": f"{rates['ours'] / rates['stock']:.1f}",
    }
    for what, warre in (("create", WARRE_CREATE), ("delete", WARRE_DELETE)):
        ours, stock = usual[f"ours {what}"], usual[f"stock {what}"]
        assert ours is not None and stock is not None
        named[f"{what}.ours"] = figures.seconds(ours)
        named[f"{what}.stock"] = figures.seconds(stock)
        named[f"{what}.stock_ratio"] = f"{stock / ours:.1f}"
        named[f"{what}.warre_ratio"] = f"{warre / ours:.1f}"
    for action, cost in paid.items():
        named |= {f"cost.{action}.{kind}": f"{value:.0f}" for kind, value in cost.items()}
    return named


def costs_of(cloud: Cloud, flavor: str, count: int) -> dict[str, costs.Cost]:
    """What a booking and a deletion of each kind cost, by what they are."""
    meter = costs.Meter()
    found = {}
    for who, book in bookings(cloud, flavor).items():
        found[f"{who} create"], made = meter.of(book, count)
        remove = functools.partial(lambda urls: cloud.call("DELETE", urls.pop()), made)
        found[f"{who} delete"], _ = meter.of(remove, count)
    return found


def table(found: dict[str, Times]) -> list[list[str]]:
    """A row for each state of the services, with medians."""
    rows = [["Nova and Placement", "book", "book, stock", "delete", "delete, stock"]]
    for state, times in found.items():
        median = medians(times)
        rows.append(
            [
                state,
                *(shown(median[f"{who} {what}"]) for what in ("create", "delete") for who in WHO),
            ]
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--at-once", type=int, default=20, help="bookings at the same time")
    args = parser.parse_args()
    cloud = Cloud()
    flavor = cloud.flavor()
    found = {"as they are": measure(cloud, flavor, args.runs)}
    usual = medians(found["as they are"])
    for what, values in found["as they are"].items():
        print(f"{what:13} {shown(usual[what])}   of {' '.join(map(shown, values))}")
    for what, warre in (("create", WARRE_CREATE), ("delete", WARRE_DELETE)):
        mine, stock = usual[f"ours {what}"], usual[f"stock {what}"]
        if mine is None or stock is None:
            raise SystemExit(f"{what} failed")
        print(
            f"{what}: stock / ours = {stock / mine:.1f}; "
            f"Warre's recorded {warre} s / ours = {warre / mine:.1f}"
        )
    paid = costs_of(cloud, flavor, args.runs)
    for what, cost in paid.items():
        print(f"{what:13}", ", ".join(f"{value:.1f} {kind}" for kind, value in cost.items()))
    rates = at_once(cloud, args.at_once)
    for who, rate in rates.items():
        print(f"{who:6} {args.at_once} at once: {rate:.2f} bookings per second")
    with slow_services.slow(SLOW):
        found[f"{SLOW * 1000:.0f} ms slower"] = measure(cloud, flavor, args.runs)
    with slow_services.away():
        found["away"] = measure(cloud, flavor, 1)
    cloud.call("DELETE", f"{cloud.v2}/flavors/{flavor}/")
    rows = table(found)
    for row in rows:
        print("".join(f"{cell:20}" for cell in row))
    figures.record("lease", named(usual, rates, paid, args.runs, args.at_once), rows)


if __name__ == "__main__":
    main()
