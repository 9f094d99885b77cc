#!/usr/bin/env python3
"""How late reservations start whose slots and hosts are others' until that moment, beside stock.

Run on a quiet dev cloud (``eval "$(tools/devcloud env)"`` first) with hosts registered. Books
reservations, boots a server on each, books as many for the time after them on the same slots,
brings the moment between the two forward in Blazar's database, and looks when each of the second
becomes ACTIVE, and whether a server of the first is then still on one of its hosts. The same with
stock ``virtual:instance`` leases, of which fewer fit: Blazar's plugin takes a virtual CPU for a
whole one. Deletes what it booked.
"""

import argparse
import datetime
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator

import due
import figures
import lease
import openstack
import sqlalchemy as sa
from start import many

from warre_blazar.db import tables

_AHEAD = 30
_PATIENCE = 900


class Hosts:
    """Who is on which host: leases by Blazar's tables, servers by Nova's."""

    def __init__(self, prefix: str) -> None:
        self._blazar, self._nova = due.database(), due.database("nova")
        self._prefix = prefix
        #: Leases that were ACTIVE while a server of the first was on one of their hosts.
        self.too_early: set[str] = set()
        self._of: dict[str, set[str]] = defaultdict(set)

    def read(self, leases: list[str]) -> None:
        """Remember the hosts of leases."""
        query = (
            sa.select(tables.reservations.c.lease_id, tables.compute_hosts.c.service_name)
            .select_from(
                tables.reservations.join(
                    tables.allocations,
                    tables.allocations.c.reservation_id == tables.reservations.c.id,
                ).join(
                    tables.compute_hosts,
                    tables.compute_hosts.c.id == tables.allocations.c.compute_host_id,
                )
            )
            .where(tables.reservations.c.lease_id.in_(leases))
        )
        with self._blazar.begin() as db:
            for lease_id, host in db.execute(query):
                self._of[lease_id].add(host)

    def servers(self) -> set[str]:
        """The hosts that have servers of the first."""
        query = "SELECT host FROM instances WHERE deleted = 0 AND display_name LIKE :name"
        with self._nova.begin() as db:
            rows = db.execute(sa.text(query), {"name": f"{self._prefix}%"})
            return {host for (host,) in rows if host}

    def look(self, active: set[str]) -> None:
        """Note the active leases that share a host with a server of the first."""
        if active - self.too_early:
            busy = self.servers()
            self.too_early |= {lease_id for lease_id in active if self._of[lease_id] & busy}


def boot(connection: openstack.connection.Connection, name: str, flavor: str) -> None:
    """A server on a reservation's Nova flavor."""
    server = connection.compute.create_server(
        name=name,
        flavor_id=flavor,
        image_id=connection.image.find_image("tiny").id,
        networks=[{"uuid": connection.network.find_network("shared").id}],
    )
    connection.compute.wait_for_server(server, wait=_PATIENCE)


def wait_active(engine: sa.Engine, leases: list[str]) -> None:
    due.lags(engine, leases, due.soon(0))


def turn_over(
    count: int,
    who: str,
    book: Callable[[bool], tuple[str, str, str]],
    delete: Callable[[str], None],
) -> tuple[list[float], int]:
    """Lags of the second reservations, and how many of them were too early.

    :param book: books one, the first kind or the second: (url, lease id, Nova flavor).
    """
    connection, engine = openstack.connect(), due.database()
    connection.set_compute_quotas(connection.current_project_id, instances=-1, cores=-1, ram=-1)
    prefix = f"turnover-{who}-{time.time_ns()}-"
    made: list[str] = []
    try:
        first = [book(True) for _ in range(count)]
        made += [url for url, _, _ in first]
        leases = [lease_id for _, lease_id, _ in first]
        wait_active(engine, leases)
        many(count, lambda n: boot(connection, f"{prefix}{n}", first[n][2]) or "")
        second = [book(False) for _ in range(count)]
        made += [url for url, _, _ in second]
        after = [lease_id for _, lease_id, _ in second]
        hosts = Hosts(prefix)
        hosts.read(after)
        then = due.soon(_AHEAD)
        due.set_time(engine, leases, "end_date", "end_lease", then)
        due.set_time(engine, after, "start_date", "start_lease", then)
        found = due.lags(engine, after, then, hosts.look)
        return list(found.values()), len(hosts.too_early)
    finally:
        for url in made:
            delete(url)


def measure(count: int, stock_count: int) -> Iterator[tuple[str, list[float], int]]:
    """Who starts, the lags, and how many were too early; each as soon as it is known."""
    cloud = lease.Cloud()
    now = datetime.datetime.now(datetime.UTC).replace(second=0, microsecond=0)
    between, end = now + datetime.timedelta(hours=5), now + datetime.timedelta(hours=6)
    flavor = cloud.flavor(slots=count)

    def span(is_first: bool) -> tuple[datetime.datetime, datetime.datetime]:
        minute = datetime.datetime.now(datetime.UTC).replace(second=0, microsecond=0)
        soon = minute + datetime.timedelta(minutes=1)
        return (soon, between) if is_first else (between, end)

    def ours(is_first: bool) -> tuple[str, str, str]:
        times = [t.strftime("%Y-%m-%dT%H:%M:00+00:00") for t in span(is_first)]
        url = cloud.book(flavor, *times)
        shown = cloud.call("GET", url)
        return url, shown["lease_id"], shown["compute_flavor"]

    def stock(is_first: bool) -> tuple[str, str, str]:
        url = cloud.lease(*(t.strftime("%Y-%m-%d %H:%M") for t in span(is_first)))
        shown = cloud.call("GET", url)["lease"]
        return url, shown["id"], shown["reservations"][0]["id"]

    def delete(url: str) -> None:
        """What can't be deleted costs no figure, and is said."""
        try:
            cloud.call("DELETE", url)
        except SystemExit as refused:
            print(refused, file=sys.stderr)

    try:
        yield "ours", *turn_over(count, "ours", ours, delete)
        yield "stock", *turn_over(stock_count, "stock", stock, delete)
    finally:
        cloud.call("DELETE", f"{cloud.v2}/flavors/{flavor}/")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50, help="of each kind, of ours")
    parser.add_argument("--stock-count", type=int, default=25, help="stock leases of each kind")
    args = parser.parse_args()
    named: dict[str, str] = {}
    for who, lags, too_early in measure(args.count, args.stock_count):
        print(due.table({who: lags}))
        print(f"{who}: {too_early} started while a server of the ones before was on their hosts")
        named |= {**due.named({who: lags}), f"{who}.too_early": str(too_early)}
    figures.record("turnover", named, due.rows(named))


if __name__ == "__main__":
    main()
