#!/usr/bin/env python3
"""Seconds from the time that many reservations are due until each has started, beside stock leases.

Run on a quiet dev cloud (``eval "$(tools/devcloud env)"`` first) with hosts registered
(``tools/devcloud hosts``). Books far ahead, then brings the leases' starts forward in Blazar's
database, first those of ours, then those of stock ``virtual:instance`` leases, to a moment half a
minute ahead, and looks when each becomes ACTIVE. Deletes what it booked.
"""

import argparse
import concurrent.futures
import functools
import sys
from collections.abc import Callable

import due
import figures
import lease

_CLIENTS = 4
_AHEAD = 30


def many(count: int, make: Callable[[int], str]) -> list[str]:
    """What ``make`` returns for 0 to ``count`` - 1, a few at a time."""
    with concurrent.futures.ThreadPoolExecutor(_CLIENTS) as pool:
        return list(pool.map(make, range(count)))


def lags(leases: list[str]) -> list[float]:
    """Let these leases' starts be due soon; how late each is."""
    engine, then = due.database(), due.soon(_AHEAD)
    due.set_time(engine, leases, "start_date", "start_lease", then)
    return list(due.lags(engine, leases, then).values())


def measure(cloud: lease.Cloud, count: int, stock_count: int) -> dict[str, list[float]]:
    """Lags of ours and of stock's."""
    # Each in an hour of its own: so many at once don't fit.
    times = [lease.times_ahead(hours) for hours in range(max(count, stock_count))]
    flavor = cloud.flavor(slots=count)
    made: list[str] = []
    try:
        made += (reservations := many(count, lambda n: cloud.book(flavor, *times[n][0])))
        mine = many(count, lambda n: cloud.call("GET", reservations[n])["lease_id"])
        made += (others := many(stock_count, lambda n: cloud.lease(*times[n][1])))
        return {
            "ours": lags(mine),
            "stock": lags([url.rpartition("/")[2] for url in others]),
        }
    finally:
        many(len(made), functools.partial(_delete, cloud, made))
        cloud.call("DELETE", f"{cloud.v2}/flavors/{flavor}/")


def _delete(cloud: lease.Cloud, made: list[str], number: int) -> str:
    """Delete what was booked. What can't be deleted costs no figure, and is said."""
    try:
        cloud.call("DELETE", made[number])
    except SystemExit as refused:
        print(refused, file=sys.stderr)
    return made[number]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50, help="reservations due at once")
    parser.add_argument("--stock-count", type=int, default=50, help="stock leases due at once")
    args = parser.parse_args()
    found = measure(lease.Cloud(), args.count, args.stock_count)
    print(due.table(found))
    ratio = f"{max(found['stock']) / max(found['ours']):.1f}"
    print(f"stock / ours, until the last one runs: {ratio}")
    named = due.named(found)
    figures.record("start", {**named, "stock_ratio": ratio}, due.rows(named))


if __name__ == "__main__":
    main()
