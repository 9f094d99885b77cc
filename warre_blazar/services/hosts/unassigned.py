"""Assigns booked instances that have no places to providers of their hosts.

Instances have no places after an upgrade, if another package has booked them, or if their host or
what they take has changed. Until they are assigned, they count on all providers that they may be
on. So hosts are looked at whenever they were read.
"""

import datetime
from collections.abc import Collection

from sqlalchemy.orm import Session

from warre_blazar.db import generations, session
from warre_blazar.db.hosts import allocations, reservable_hosts
from warre_blazar.db.running import backings
from warre_blazar.domain.flavors.devices import Rules


def assign(cleaning: datetime.timedelta, device_rules: Rules) -> None:
    """Assign all instances for which there are places.

    :param cleaning: Blazar's ``cleaning_time``.
    :param device_rules: how devices of Blazar's own reservations are counted.
    :raises oslo_db.exception.DBError: the database is unavailable.
    """
    with session.reader() as db:
        hosts = reservable_hosts.empty(db)
        found = allocations.settled(db, hosts, cleaning, device_rules)
    for host_id in found:
        session.change(_assign, host_id, found[host_id], cleaning, device_rules)


def _assign(
    db: Session,
    host_id: str,
    reservation_ids: Collection[str],
    cleaning: datetime.timedelta,
    device_rules: Rules,
) -> None:
    hosts = [host for host in reservable_hosts.empty(db) if host.id == host_id]
    # A booking that has read the host without these places decides again.
    generations.increase_hosts(db, hosts)
    allocations.settle(db, hosts, cleaning, device_rules)
    # The reconciler gives the traits of those that run to the providers that they have now.
    backings.open_again_told(db, reservation_ids)
