"""Finds who holds room on hosts without a reservation that is there now."""

import datetime
from collections import defaultdict
from collections.abc import Mapping

from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.hosts import host_marks, reservable_hosts
from warre_blazar.domain.audit import taken_room
from warre_blazar.domain.audit.differences import Difference
from warre_blazar.domain.audit.taken_room import Entitled
from warre_blazar.openstack import holders


def look(hosts: Mapping[str, str], now: datetime.datetime) -> dict[str, list[Difference]]:
    """Who has taken room of hosts, by host id. The details of each difference are the holder.

    A few requests are sent for each host, however many servers are there.

    :param hosts: the hypervisor hostnames of hosts that can be booked, by host id.
    :raises ServiceUnavailable, ServiceRefused:
    """
    with session.reader() as db:
        services = reservable_hosts.services(db)
    held = holders.of_hosts({name: services[name] for name in hosts.values() if name in services})
    with session.reader() as db:
        by_host = entitled(db, now, hosts)
    return {
        host_id: list(taken_room.compare(held.get(name, ()), by_host, ()))
        for host_id, name in hosts.items()
    }


def entitled(db: Session, now: datetime.datetime, hosts: Mapping[str, str]) -> dict[str, Entitled]:
    """Who may hold room of hosts now, by hypervisor hostname.

    :param hosts: the hypervisor hostnames by host id.
    """
    present = defaultdict(list)
    for host_id, each in host_marks.on_hosts(db):
        present[host_id].append(each)
    return {name: taken_room.entitled(present[host_id], now) for host_id, name in hosts.items()}
