"""Receives reports of failed hosts from Blazar's monitor of compute hosts.

The handler returns no flags to Blazar. Blazar would write them later, and they might be wrong by
then. So the flags are written in the transaction that moves the reservation.
"""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from blazar.plugins.oshosts.host_plugin import PhysicalHostMonitorPlugin
from oslo_log import log as logging

from warre_blazar import times
from warre_blazar.db import clock
from warre_blazar.domain.timeline import Span
from warre_blazar.plugins import monitor
from warre_blazar.services.hosts import gone_hosts
from warre_blazar.services.moves import failed_hosts
from warre_blazar.site_rules import conditions

LOG = logging.getLogger(__name__)

_FAR = datetime.datetime(9999, 12, 31)


class HostFailures:
    """Moves reservations off failed hosts, for Blazar's host monitor and for our monitor plugin.

    Each process has one host monitor, which Blazar's plugins for compute hosts share. The monitor
    works if one of these plugins is enabled. Without such a plugin, no host can be registered.
    """

    def __init__(self) -> None:
        self._monitor = PhysicalHostMonitorPlugin()
        self._monitor.register_healing_handler(self.heal)

    def heal(
        self,
        failed_resources: Sequence[Mapping[str, Any]],
        interval_begin: datetime.date,
        interval_end: datetime.date,
    ) -> dict[str, dict[str, bool]]:
        """Move reservations off failed hosts, as far as there is room.

        Blazar calls this when a host fails and at each healing interval, in every manager.

        :param failed_resources: failed hosts in Blazar's form. The list may be empty.
        :param interval_begin: the start of the interval. Only reservations whose leases overlap the
            interval are moved.
        :param interval_end: the end of the interval. Without a healing interval, Blazar passes a
            date so late that all leases overlap the interval.
        :returns: an empty dictionary: Blazar has no flags of reservations to write. This package
            writes the flags in the transaction that moves a reservation. Blazar would write them
            later, when another manager may already have moved the reservation again.
        """
        # Blazar doesn't notice that hosts have left Nova.
        host_ids = [*(str(host["id"]) for host in failed_resources), *gone_hosts.ids()]
        window = Span(_moment(interval_begin), _moment(interval_end))
        self._heal(window, host_ids=host_ids)
        return {}

    def look_again(self) -> None:
        """Move reservations that are still on failed hosts after the host monitor called ``heal``.

        ``heal`` doesn't move reservations of a lease that is in the middle of a change. It also
        misses reservations if the manager dies after it has taken the failed host out of use. If
        there was no room on other hosts for a reservation, this function doesn't try again.

        When a host works again and has no servers of reservations that were moved away, this
        function allows bookings on the host again.

        If the host monitor is off, only hosts that have left Nova count as failed: this package
        finds them itself.
        """
        failed_hosts.take_back_hosts()
        now = clock.utcnow()
        if not (self._monitor.is_polling_enabled() or self._monitor.is_notification_enabled()):
            self._heal(Span(now, _FAR), unflagged=True, host_ids=gone_hosts.ids())
            return
        minutes = self._monitor.get_healing_interval()
        end = now + minutes * times.MINUTE if minutes else _FAR
        self._heal(Span(now, end), unflagged=True)

    def _heal(self, window: Span, **which: Any) -> None:
        try:
            open_one = monitor.opener().open
            now = clock.utcnow()
            failed_hosts.heal(window, conditions.of_service(), now, open_one=open_one, **which)
        except Exception:
            # If this raised an exception, Blazar wouldn't write the flags of other plugins'
            # reservations.
            LOG.exception("Reservations on failed hosts couldn't be healed; the next try will come")


def _moment(value: datetime.date) -> datetime.datetime:
    if isinstance(value, datetime.datetime):
        return value
    return datetime.datetime.combine(value, datetime.time.min)
