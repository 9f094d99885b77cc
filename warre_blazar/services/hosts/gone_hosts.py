"""Finds hosts that have left Nova, and takes them back when they have come back.

When a compute service is deleted in Nova, or its host gets another name, Placement loses the host's
resource provider. Blazar's host monitor doesn't notice this, because it compares its hosts with the
hosts that Nova lists. The host may come back, for instance after it was installed anew. But Nova
has taken it out of all aggregates, so it isn't kept for bookings until it is in the freepool again.
"""

import datetime
from collections.abc import Collection, Iterable

from oslo_log import log as logging
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.hosts import host_marks
from warre_blazar.db.running import backings
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.host_marks import Marks
from warre_blazar.errors import exceptions
from warre_blazar.openstack import freepool, nova

LOG = logging.getLogger(__name__)


def note(hosts: Iterable[BookableHost], missing: Collection[str]) -> None:
    """Note which hosts have left Nova, and which have come back.

    A host has left Nova if Placement has had no resource provider for it twice in a row. Errors are
    logged, and the next reading tries again.

    :param hosts: the hosts that were looked for in Placement, without those for which Placement has
        failed.
    :param missing: the ids of those for which Placement has no resource provider.
    """
    with session.reader() as db:
        marks = host_marks.every(db)
    known = [host for host in hosts if host.id in marks]
    lost = [host for host in known if host.id in missing]
    back = [h for h in known if h.id not in missing and marks[h.id].missing_since]
    try:
        kept = (freepool.hosts(nova.aggregates()) if back else None) or frozenset()
        for host in lost + [h for h in back if h.properties["service_name"] not in kept]:
            _miss(host, marks[host.id], timeutils.utcnow())
        for host in back:
            if host.properties["service_name"] in kept:
                session.change(_find_again, host.id)
                LOG.warning("Host %s is in Nova and in the freepool again", host.name)
    except exceptions.WarreError as error:
        LOG.warning("It isn't known yet which hosts have left Nova or come back: %s", error)


def _miss(host: BookableHost, marks: Marks, now: datetime.datetime) -> None:
    if marks.gone:
        return
    if marks.missing_since is None:
        session.change(host_marks.miss, host.id, now.replace(microsecond=0))
    elif now - marks.missing_since >= times.HOST_LEAVES_AFTER:
        session.change(host_marks.lose, host.id)
        LOG.warning("Host %s has left Nova, so its reservations get other hosts", host.name)


def _find_again(db: Session, host_id: str) -> None:
    """Take a host back, and let the reservations that run there be opened on it anew.

    Nova and Placement have forgotten what these reservations had on the host.
    """
    host_marks.find_again(db, host_id)
    for each in host_marks.on_host(db, host_id):
        if each.status == "active":
            backings.half_close(db, each.reservation_id)


def ids() -> list[str]:
    """The ids of the hosts that have left Nova."""
    with session.reader() as db:
        return host_marks.gone(db)
