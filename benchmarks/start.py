#!/usr/bin/env python3
"""Seconds in which Blazar starts many reservations due at once, ours beside stock leases.

Run on a quiet dev cloud (``eval "$(tools/devcloud env)"`` first) with hosts registered
(``tools/devcloud hosts``). Books far ahead, then brings the leases' starts forward in Blazar's
database, first those of ours, then those of stock ``virtual:instance`` leases, and times each lot
from the first event that the manager takes until the last lease is active. Deletes what it booked.
"""

import argparse
import concurrent.futures
import configparser
import datetime
import functools
import os
import pathlib
import time
from collections.abc import Callable

import lease
import sqlalchemy as sa
from blazar.db.sqlalchemy import models as blazar

_EVENTS = blazar.Event.__table__
_LEASES = blazar.Lease.__table__
_CLIENTS = 4
_POLL = 0.1
_PATIENCE = 900


def database() -> sa.Engine:
    conf = configparser.ConfigParser(strict=False, interpolation=None)
    conf.read(pathlib.Path(os.environ["WARRE_DEVCLOUD_HOME"]) / "etc/blazar/blazar.conf")
    return sa.create_engine(conf["database"]["connection"])


def many(count: int, make: Callable[[int], str]) -> list[str]:
    """What ``make`` returns for 0 to ``count`` - 1, a few at a time."""
    with concurrent.futures.ThreadPoolExecutor(_CLIENTS) as pool:
        return list(pool.map(make, range(count)))


def start(engine: sa.Engine, leases: list[str]) -> float:
    """Let these leases' starts be due now; seconds until all are done."""
    mine = _EVENTS.c.lease_id.in_(leases) & (_EVENTS.c.event_type == "start_lease")
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None, microsecond=0)
    with engine.begin() as db:
        db.execute(_LEASES.update().where(_LEASES.c.id.in_(leases)).values(start_date=now))
        db.execute(_EVENTS.update().where(mine).values(time=now))
    deadline = time.monotonic() + _PATIENCE
    began = 0.0
    while time.monotonic() < deadline:
        with engine.begin() as db:
            events = list(db.scalars(sa.select(_EVENTS.c.status).where(mine)))
            states = list(db.scalars(sa.select(_LEASES.c.status).where(_LEASES.c.id.in_(leases))))
        if "ERROR" in events + states:
            raise SystemExit(f"{events.count('ERROR')} starts failed")
        if not began and set(events) != {"UNDONE"}:
            began = time.monotonic()
        # Blazar writes the lease's state last.
        if set(states) == {"ACTIVE"}:
            return time.monotonic() - began
        time.sleep(_POLL)
    raise SystemExit(f"after {_PATIENCE} s {states.count('ACTIVE')} of {len(leases)} are started")


def measure(cloud: lease.Cloud, count: int) -> tuple[float, float]:
    """Seconds of ours and of stock's."""
    engine = database()
    # Each in an hour of its own: so many at once don't fit.
    times = [lease.times_ahead(hours) for hours in range(count)]
    flavor = cloud.flavor(slots=count)
    made: list[str] = []
    try:
        made += (reservations := many(count, lambda n: cloud.book(flavor, *times[n][0])))
        mine = many(count, lambda n: cloud.call("GET", reservations[n])["lease_id"])
        made += (others := many(count, lambda n: cloud.lease(*times[n][1])))
        return (
            start(engine, mine),
            start(engine, [url.rpartition("/")[2] for url in others]),
        )
    finally:
        many(len(made), functools.partial(_delete, cloud, made))
        cloud.call("DELETE", f"{cloud.v2}/flavors/{flavor}/")


def _delete(cloud: lease.Cloud, made: list[str], number: int) -> str:
    cloud.call("DELETE", made[number])
    return made[number]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50, help="reservations due at once")
    count = parser.parse_args().count
    mine, stock = measure(lease.Cloud(), count)
    for who, seconds in (("ours", mine), ("stock", stock)):
        print(f"{who:6} {count} starts in {seconds:6.1f} s, {seconds / count:.2f} s each")
    print(f"stock / ours = {stock / mine:.1f}")


if __name__ == "__main__":
    main()
