"""Books leases of all of Blazar's own types, in a process where this package is installed.

Usage: python -m tests.unit.plugins.stock_site KIND DIRECTORY

The kind of the site is a key of ``SITES``. The output is a JSON object: what became of each lease,
what is left of them in the cloud, what was logged at WARNING or above until then, and how requests
for flavors are answered.
"""

import contextlib
import datetime
import json
import logging
import pathlib
import sqlite3
import sys
from typing import Any

from blazar.db import api as db_api

from tests.fakes.neutron import NETWORK, Neutron
from tests.functional.db import world
from tests.unit.api.site import NOW
from tests.unit.wsgi import hostile, sending
from tests.unit.wsgi.whole import HOSTS, WholeSite
from warre_blazar.db import tables as models

TYPES = {
    **{kind: values for kind, values in hostile.KINDS.items() if kind != "flavor:slot"},
    "virtual:floatingip": {"network_id": NETWORK, "amount": 1, "required_floatingips": []},
}


class Stock(WholeSite):
    """A site that doesn't use this package, although it is installed."""

    plugins = (
        "physical.host.plugin,virtual.instance.plugin,flavor.instance.plugin,"
        "virtual.floatingip.plugin"
    )
    tables = [t for t in models.metadata.sorted_tables if not models.is_ours(t)]  # noqa: RUF012

    def furnish(self) -> None:
        """Add hosts in Blazar's freepool, a plain Nova flavor and a floating IP."""
        self.set_time(NOW)
        for name in HOSTS:
            world.add_host(self.cloud, name, vcpus=16, children=None)
        self.furnish_nova()
        self.neutron = Neutron(self.cloud.keystone)
        self.cloud.services = (*self.cloud.services, self.neutron)
        self.cloud.keystone.endpoints["network"] = self.neutron.url
        address = {"floating_network_id": NETWORK, "floating_ip_address": "192.0.2.9"}
        db_api.floatingip_create({**address, "subnet_id": "subnet", "reservable": True})


class BeforeTables(Stock):
    """A site whose operator has set all options of this package, but not created the tables.

    Since some of them aren't needed any more, the site was set up with a former release.
    """

    plugins = f"{Stock.plugins},flavor.slot.plugin"
    filters = "StrictLeaseFilter,FlavorMaxLengthFilter,ProjectQuotaFilter"
    controllers = "flavors,reservations,warre,oshosts,leases"


class ExactBeforeTables(BeforeTables):
    """The same, with the exact plugins."""

    plugins = (
        "exact.physical.host.plugin,exact.virtual.instance.plugin,exact.flavor.instance.plugin,"
        "virtual.floatingip.plugin,flavor.slot.plugin"
    )


class ExactAlone(Stock):
    """A site with the exact plugins, the tables, and nothing else of this package."""

    plugins = (
        "exact.physical.host.plugin,exact.virtual.instance.plugin,exact.flavor.instance.plugin,"
        "virtual.floatingip.plugin"
    )
    tables = models.metadata.sorted_tables


SITES = {cls.__name__: cls for cls in (Stock, BeforeTables, ExactBeforeTables, ExactAlone)}


class Log(logging.Handler):
    """Collects the messages of Blazar and of this package."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def life(site: Stock, resource_type: str) -> list[Any]:
    """Book a lease, and let it start and end.

    :returns: the status of the answer, and the lease's statuses after the start and after the end.
    """
    site.set_time(NOW)
    body = sending.lease({"resource_type": resource_type, **TYPES[resource_type]})
    made = sending.send(site.app, "POST", "/v1/leases", body)
    if made.status_int != 201:
        return [made.status_int, made.text]
    found: list[Any] = [made.status_int]
    for date in ("start_date", "end_date"):
        site.set_time(datetime.datetime.fromisoformat(body[date]))
        site.run_events()
        shown = sending.send(site.app, "GET", f"/v1/leases/{made.json['lease']['id']}")
        found.append(shown.json["lease"]["status"])
    return found


def ours(site: Stock) -> list[int]:
    """The statuses of answers to requests that are about this package."""
    slot = sending.lease({"resource_type": "flavor:slot", **hostile.KINDS["flavor:slot"]})
    requests = (("GET", "/v2/flavors", b""), ("POST", "/v1/leases", slot))
    return [sending.send(site.app, *request).status_int for request in requests]


def main(kind: str, directory: str) -> None:
    log = Log()
    for name in ("blazar", "warre_blazar"):
        logging.getLogger(name).addHandler(log)
    # Blazar reads floating IPs without ending the transaction. With the usual journal, SQLite then
    # lets nobody write.
    with contextlib.closing(sqlite3.connect(f"{directory}/blazar.sqlite")) as database:
        database.execute("PRAGMA journal_mode = WAL")
    with SITES[kind](pathlib.Path(directory)) as site:
        site.furnish()
        lives = {resource_type: life(site, resource_type) for resource_type in TYPES}
        left = [*site.cloud.nova.server_groups, *site.neutron.floating_ips]
        left += [c for c in site.cloud.placement.classes if "RESERVATION" in c]
        print(json.dumps({"lives": lives, "left": left, "log": log.lines, "ours": ours(site)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
