"""Deletes servers that appear in Nova after their reservation has ended."""

import datetime

from oslo_log import log as logging

from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.running import backings
from warre_blazar.openstack import nova

LOG = logging.getLogger(__name__)


def delete(now: datetime.datetime) -> None:
    """Delete the servers of reservations that have ended.

    At the end of a reservation, the servers that Nova lists at that moment are deleted. If the
    request to boot a server had to wait for another service, Nova may list the server only after
    that moment.

    :raises ServiceUnavailable, ServiceRefused: the next call deletes the rest.
    """
    servers = nova.servers_of_reservations(changed_since=now - times.LATE_SERVERS_WITHIN)
    with session.reader() as db:
        over = backings.over(db, {server.reservation_id for server in servers})
    for server in servers:
        if server.reservation_id in over:
            LOG.warning("Deleting late server %s of %s", server.id, server.reservation_id)
            nova.delete_again(server.id)
