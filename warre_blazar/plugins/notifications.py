"""Calls Blazar's enforcement filters for our executor, and tells operators what hosts lack."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blazar import enforcement
from blazar.notification import notifier
from oslo_config import cfg
from oslo_log import log as logging

from warre_blazar.domain.audit.overselling import Overbooked
from warre_blazar.errors import exceptions
from warre_blazar.plugins import lease_contexts
from warre_blazar.services.hosts.host_refresh import Refreshed
from warre_blazar.services.moves.opening import RoomLacking

LOG = logging.getLogger(__name__)

_Host = Mapping[str, Any]


class BlazarsOutside:
    """Calls filters for the executor (``running.executor.Outside``).

    The filters get a context of the lease's project, with the service catalog of Blazar's service
    user. Failures are logged and not raised, because a lease must end even if a filter fails.
    """

    def __init__(self, hosts_of: Callable[[str], Sequence[_Host]]) -> None:
        """
        :param hosts_of: a function that returns a reservation's hosts, in the form in which filters
            get hosts.
        """
        self._hosts_of = hosts_of

    @functools.cached_property
    def _enforcement(self) -> enforcement.UsageEnforcement:
        return enforcement.UsageEnforcement()

    def ending(self, lease: Mapping[str, Any]) -> None:
        """Call ``on_end`` of every enabled filter, as Blazar's executor does."""
        try:
            if not self._enforcement.enabled_filters:
                return
            allocations: dict[str, Sequence[_Host]] = {}
            for reservation in lease["reservations"]:
                # If several reservations are of the same type, a filter gets only the hosts of the
                # last reservation. Blazar's executor has the same defect.
                hosts = self._hosts_of(reservation["id"])
                allocations[reservation["resource_type"]] = hosts
            with lease_contexts.of(lease) as ctx:
                self._enforcement.on_end(ctx, lease, allocations)
        except exceptions.WarreError as error:
            LOG.warning("No filter was told that lease %s ends: %s", lease["id"], error)
        except Exception:
            LOG.exception("Not all enforcement filters were told that lease %s ends", lease["id"])


def tell_overbooked(host: Refreshed) -> None:
    """Send the notification ``host.overbooked``, of the priority "warn".

    Its payload has ``host_id``, ``host`` (the hypervisor hostname) and ``overbooked``, a list of
    documents from ``overbooked_document``. Failures are logged and not raised.
    """
    try:
        payload = {
            "host_id": host.host_id,
            "host": host.name,
            "overbooked": [overbooked_document(each) for each in host.overbooked],
        }
        sender = notifier.get_notifier(cfg.CONF.notifications.publisher_id)
        sender.warn({}, "host.overbooked", payload)
    except Exception:
        LOG.exception("The notification that host %s is overbooked wasn't sent", host.name)


def tell_unusable(found: RoomLacking) -> None:
    """Send the notification ``host.lacks_room``, of the priority "warn".

    Its payload has ``reservation_id`` and ``hosts``, a list of objects with ``host_id``, ``host``
    (the hypervisor hostname), ``places`` (how many of the reservation's places there can't be used)
    and ``in_the_way`` (a sentence about each server that holds room there and has none booked).
    Failures are logged and not raised.
    """
    try:
        hosts = [
            {
                "host_id": each.host.host_id,
                "host": each.host.hypervisor,
                "places": each.places,
                "in_the_way": list(each.in_the_way),
            }
            for each in found.hosts
        ]
        payload = {"reservation_id": found.reservation_id, "hosts": hosts}
        sender = notifier.get_notifier(cfg.CONF.notifications.publisher_id)
        sender.warn({}, "host.lacks_room", payload)
    except Exception:
        LOG.exception("The notification about reservation %s wasn't sent", found.reservation_id)


def overbooked_document(each: Overbooked) -> dict[str, Any]:
    """A document about a resource class of which more is booked than the host has.

    ``at`` is the first moment at which the booked amount is largest.
    ``reservations`` has the reservations that take some of the class at that moment. Times are in
    UTC, in ISO format.
    """
    return {
        "resource_class": each.resource_class,
        "capacity": each.capacity,
        "booked": each.booked,
        "at": each.when.isoformat(),
        "reservations": [
            {
                "id": taking.reservation_id,
                "start": min(span.start for span in taking.spans).isoformat(),
                "end": max(span.end for span in taking.spans).isoformat(),
            }
            for taking in each.takings
        ],
    }
