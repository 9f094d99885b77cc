#!/usr/bin/env python3
"""Seconds from the time that many reservations are due until each has started, beside stock leases.

Run on a quiet dev cloud (``eval "$(tools/devcloud env)"`` first) with hosts registered
(``tools/devcloud hosts``). Books far ahead, then brings the leases' starts forward in Blazar's
database, first those of ours, then those of stock ``virtual:instance`` leases, to a moment that is
half a minute ahead or more, and looks when each becomes ACTIVE, and open to its project. Ours are
brought forward so far that managers can make their backings before, as they do in the ten minutes
before any start. Then it measures how long it takes until a booking that starts at once is open.
Deletes what it booked. A host of the dev cloud has room for 40 of ours, so 200 need
``tools/devcloud up --computes 5``.
"""

import argparse
import concurrent.futures
import datetime
import functools
import sys
import time
from collections.abc import Callable

import due
import figures
import lease

_CLIENTS = 4
_AHEAD = 30
#: Of an instance of ours, in MiB.
_MEMORY = 32


def many(count: int, make: Callable[[int], str]) -> list[str]:
    """What ``make`` returns for 0 to ``count`` - 1, a few at a time."""
    with concurrent.futures.ThreadPoolExecutor(_CLIENTS) as pool:
        return list(pool.map(make, range(count)))


def lags(leases: list[str], ahead: int) -> list[float]:
    """Let these leases' starts be due in so many seconds; how late each is."""
    engine, then = due.database(), due.soon(ahead)
    due.set_time(engine, leases, "start_date", "start_lease", then)
    return list(due.lags(engine, leases, then).values())


def measure(cloud: lease.Cloud, count: int, stock_count: int) -> dict[str, list[float]]:
    """Lags of ours and of stock's."""
    # Ours are so small that all fit at once. If they didn't, managers would move them at the start.
    flavor, (mine_then, _) = cloud.flavor(count, _MEMORY, disk_gb=0), lease.times_ahead()
    # Of stock's, each is in an hour of its own, after ours: so many at once don't fit.
    times = [lease.times_ahead(2 + hours) for hours in range(stock_count)]
    made: list[str] = []
    try:
        made += (reservations := many(count, lambda _: cloud.book(flavor, *mine_then)))
        mine = many(count, lambda n: cloud.call("GET", reservations[n])["lease_id"])
        made += (others := many(stock_count, lambda n: cloud.lease(*times[n][1])))
        return {
            "ours": lags(mine, _AHEAD + count // 2),
            "stock": lags([url.rpartition("/")[2] for url in others], _AHEAD),
        }
    finally:
        many(len(made), functools.partial(_delete, cloud, made))
        cloud.call("DELETE", f"{cloud.v2}/flavors/{flavor}/")


def at_once(cloud: lease.Cloud, runs: int) -> list[float]:
    """The seconds from the answer to a booking that starts at once until it is open."""
    engine, flavor = due.database(), cloud.flavor()
    found = []
    for _ in range(runs):
        # Not in the last seconds of a minute, which might be over when the request arrives.
        if time.time() % 60 > 55:
            time.sleep(6)
        start = datetime.datetime.now(datetime.UTC)
        end = start + datetime.timedelta(hours=1)
        booked = cloud.book(flavor, *(t.strftime("%Y-%m-%dT%H:%M:00+00:00") for t in (start, end)))
        answered = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
        lease_id = cloud.call("GET", booked)["lease_id"]
        found += due.lags(engine, [lease_id], answered).values()
        cloud.call("DELETE", booked)
    cloud.call("DELETE", f"{cloud.v2}/flavors/{flavor}/")
    return found


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
    parser.add_argument("--runs", type=int, default=5, help="bookings that start at once")
    args = parser.parse_args()
    cloud = lease.Cloud()
    now = at_once(cloud, args.runs)
    print("open after booking, seconds:", " ".join(f"{seconds:.1f}" for seconds in sorted(now)))
    found = measure(cloud, args.count, args.stock_count)
    print(due.table(found))
    ratio = f"{max(found['stock']) / max(found['ours']):.1f}"
    print(f"stock / ours, until the last one runs: {ratio}")
    named = due.named(found)
    at_most = figures.seconds(max(now), 1)
    figures.record("start", {**named, "stock_ratio": ratio, "at_once": at_most}, due.rows(named))


if __name__ == "__main__":
    main()
