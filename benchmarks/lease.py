#!/usr/bin/env python3
"""Seconds to book and to delete: a reservation of ours beside a stock virtual:instance lease.

Run on the dev cloud (``eval "$(tools/devcloud env)"`` first), with hosts registered in Blazar. One
request after the other; prints the median of each and the ratios. Warre's times are those recorded
of Warre 5.2.2 on Blazar on the reference machine.
"""

import argparse
import concurrent.futures
import datetime
import statistics
import time
from collections.abc import Callable
from typing import Any

import figures
import openstack

WARRE_CREATE, WARRE_DELETE = 5.1, 5.6


def seconds(action: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = action()
    return time.perf_counter() - began, result


class Cloud:
    """Blazar's API as the environment's user."""

    def __init__(self) -> None:
        self.session = openstack.connect().session
        self.v1 = self.session.get_endpoint(service_type="reservation")
        self.v2 = self.v1.replace("/v1", "/v2")

    def call(self, method: str, url: str, body: Any = None) -> Any:
        answer = self.session.request(url, method, json=body, raise_exc=False)
        if answer.status_code >= 400:
            raise SystemExit(f"{method} {url}: {answer.status_code} {answer.text}")
        return answer.json() if answer.content else None

    def flavor(self, slots: int = 10) -> str:
        body = {
            "name": f"bench-{time.time_ns()}",
            "vcpu": 1,
            "memory_mb": 128,
            "disk_gb": 1,
            "slots": slots,
            "max_length_hours": 100,
        }
        return self.call("POST", f"{self.v2}/flavors/", body)["id"]

    def book(self, flavor: str, start: str, end: str) -> str:
        body = {"flavor_id": flavor, "start": start, "end": end, "instance_count": 1}
        made = self.call("POST", f"{self.v2}/reservations/", body)
        if made["status"] != "ALLOCATED":
            raise SystemExit(f"booked, but {made['status']}")
        return f"{self.v2}/reservations/{made['id']}/"

    def lease(self, start: str, end: str) -> str:
        reservation = {
            "resource_type": "virtual:instance",
            "vcpus": 1,
            "memory_mb": 128,
            "disk_gb": 1,
            "amount": 1,
            "affinity": None,
            "resource_properties": "",
        }
        body = {
            "name": f"bench-{time.time_ns()}",
            "start_date": start,
            "end_date": end,
            "reservations": [reservation],
            "events": [],
        }
        made = self.call("POST", f"{self.v1}/leases", body)["lease"]
        return f"{self.v1}/leases/{made['id']}"


def times_ahead(hours: int = 0) -> tuple[list[str], list[str]]:
    """Start and end of an hour far ahead, as our API and as Blazar's takes them."""
    start = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=30, hours=hours)
    end = start + datetime.timedelta(hours=1)
    return (
        [t.strftime("%Y-%m-%dT%H:%M:00+00:00") for t in (start, end)],
        [t.strftime("%Y-%m-%d %H:%M") for t in (start, end)],
    )


def at_once(cloud: Cloud, count: int) -> dict[str, float]:
    """Bookings per second, where so many are asked for at the same time."""
    ours, stocks = times_ahead()
    flavor = cloud.flavor(slots=count)
    rates = {}
    for who, make in (
        ("ours", lambda _: cloud.book(flavor, *ours)),
        ("stock", lambda _: cloud.lease(*stocks)),
    ):
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            took, urls = seconds(lambda make=make, pool=pool: list(pool.map(make, range(count))))
        rates[who] = count / took
        for url in urls:
            cloud.call("DELETE", url)
    cloud.call("DELETE", f"{cloud.v2}/flavors/{flavor}/")
    return rates


def measure(cloud: Cloud, runs: int) -> dict[str, list[float]]:
    ours, stocks = times_ahead()
    flavor = cloud.flavor()
    times: dict[str, list[float]] = {}
    for run in range(runs + 1):
        for who, make in (
            ("ours", lambda: cloud.book(flavor, *ours)),
            ("stock", lambda: cloud.lease(*stocks)),
        ):
            create, url = seconds(make)
            delete, _ = seconds(lambda url=url: cloud.call("DELETE", url))
            if run:  # the first warms the services up
                times.setdefault(f"{who} create", []).append(create)
                times.setdefault(f"{who} delete", []).append(delete)
    cloud.call("DELETE", f"{cloud.v2}/flavors/{flavor}/")
    return times


def named(
    medians: dict[str, float], rates: dict[str, float], runs: int, count: int
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
        ours, stock = medians[f"ours {what}"], medians[f"stock {what}"]
        named[f"{what}.ours"] = figures.seconds(ours)
        named[f"{what}.stock"] = figures.seconds(stock)
        named[f"{what}.stock_ratio"] = f"{stock / ours:.1f}"
        named[f"{what}.warre_ratio"] = f"{warre / ours:.1f}"
    return named


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--at-once", type=int, default=20, help="bookings at the same time")
    args = parser.parse_args()
    cloud = Cloud()
    times = measure(cloud, args.runs)
    medians = {what: statistics.median(values) for what, values in times.items()}
    for what, values in times.items():
        print(f"{what:13} {medians[what]:6.2f} s   of {' '.join(f'{v:.2f}' for v in values)}")
    for what, warre in (("create", WARRE_CREATE), ("delete", WARRE_DELETE)):
        mine, stock = medians[f"ours {what}"], medians[f"stock {what}"]
        print(
            f"{what}: stock / ours = {stock / mine:.1f}; "
            f"Warre's recorded {warre} s / ours = {warre / mine:.1f}"
        )
    rates = at_once(cloud, args.at_once)
    for who, rate in rates.items():
        print(f"{who:6} {args.at_once} at once: {rate:.2f} bookings per second")
    figures.record("lease", named(medians, rates, args.runs, args.at_once))


if __name__ == "__main__":
    main()
