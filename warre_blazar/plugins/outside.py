"""What Blazar tells the world of a lease, told by our executor: filters and notifications.

Blazar's own executor does so in the context of the lease's trust. Ours needs no trust: it gives
the filters a context of the lease's project with the service catalog of Blazar's service user.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blazar import context, enforcement
from blazar.notification import api as notifications
from oslo_log import log as logging

from warre_blazar.clients import keystone

LOG = logging.getLogger(__name__)

_Host = Mapping[str, Any]


class BlazarsOutside:
    """See ``services.executor.Outside``. What fails here is logged: a lease ends all the same."""

    def __init__(self, hosts_of: Callable[[str], Sequence[_Host]]) -> None:
        """
        :param hosts_of: the hosts that a reservation is on, as the plugin shows them to filters.
        """
        self._hosts_of = hosts_of

    @functools.cached_property
    def _enforcement(self) -> enforcement.UsageEnforcement:
        return enforcement.UsageEnforcement()

    def ending(self, lease: Mapping[str, Any]) -> None:
        """Tell every enabled filter that a lease ends, as Blazar's executor does."""
        try:
            if not self._enforcement.enabled_filters:
                return
            allocations: dict[str, Sequence[_Host]] = {}
            for reservation in lease["reservations"]:
                # Of several of a type Blazar too gives a filter the last one's hosts.
                hosts = self._hosts_of(reservation["id"])
                allocations[reservation["resource_type"]] = hosts
            with _context(lease) as ctx:
                self._enforcement.on_end(ctx, lease, allocations)
        except Exception:
            LOG.exception("Filters weren't told, or not all, that lease %s ends", lease["id"])

    def tell(self, lease: Mapping[str, Any], event: str) -> None:
        """Send a notification of a lease."""
        try:
            with _context(lease) as ctx:
                payload = notifications.format_lease_payload(lease)
                notifications.send_lease_notification(ctx, payload, f"lease.{event}")
        except Exception:
            LOG.exception("No notification was sent: %s of lease %s", event, lease["id"])


def _context(lease: Mapping[str, Any]) -> context.BlazarContext:
    return context.BlazarContext(
        user_id=lease["user_id"],
        project_id=lease["project_id"],
        service_catalog=keystone.service_catalog(),
    )
