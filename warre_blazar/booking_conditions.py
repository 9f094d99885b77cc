"""Booking conditions: what the configuration and the caller's roles decide about a booking.

The API's controllers, the plugin and the filters build these conditions and pass them to the
services. The services themselves read neither the configuration nor the caller's roles.
"""

import dataclasses
import datetime
from typing import Any

from blazar import context
from oslo_config import cfg

from warre_blazar import conf, device_rules, exemptions
from warre_blazar.domain.devices import NO_DEVICES, Rules
from warre_blazar.domain.flavor import RESOURCE_TYPE
from warre_blazar.domain.quota import Rule

conf.register(cfg.CONF)
cfg.CONF.import_opt("cleaning_time", "blazar.config")
cfg.CONF.import_opt("enabled_filters", "blazar.enforcement.enforcement", group="enforcement")

#: The plugin needs this filter, which refuses leases that the plugin couldn't start and end.
STRICT_FILTER = "StrictLeaseFilter"
#: Quotas are enforced while this filter is in ``[enforcement] enabled_filters``.
QUOTA_FILTER = "ProjectQuotaFilter"


@dataclasses.dataclass(frozen=True)
class BookingConditions:
    """What the configuration and the caller's roles decide about a booking.

    The conditions don't depend on the flavor, time or number of instances that the request asks
    for.
    """

    #: Blazar's ``cleaning_time``: how long slots and hosts stay empty after a reservation.
    cleaning: datetime.timedelta
    #: Which reservations count against quotas, and whether quotas are enforced.
    quotas: Rule
    #: Projects that may book any flavor for longer than its max_length_hours.
    any_length: frozenset[str] = frozenset()
    #: Whether the caller's own roles allow booking inside a maintenance window.
    in_windows: bool = False
    #: Whether instances go to the emptiest hosts first (true) or to the fullest (false).
    spread: bool = False
    #: How devices in reservations of stock resource types are counted.
    device_rules: Rules = NO_DEVICES


def cleaning() -> datetime.timedelta:
    """Blazar's ``cleaning_time``: how long slots and hosts stay empty after a reservation."""
    return datetime.timedelta(minutes=cfg.CONF.cleaning_time)


def quota_rule() -> Rule:
    """Which reservations count against quotas, and whether quotas are enforced."""
    options = cfg.CONF.enforcement
    return Rule(
        types=frozenset(options.project_quota_resource_types),
        enforced=QUOTA_FILTER in options.enabled_filters,
        cache_time=options.project_quota_cache_time,
    )


def _slot_rule() -> Rule:
    """The quota rule for flavor:slot bookings.

    If flavor:slot reservations don't count against quotas, no quota is enforced for them.
    """
    rule = quota_rule()
    return dataclasses.replace(rule, enforced=rule.enforced and RESOURCE_TYPE in rule.types)


def caller() -> Any:
    """Blazar's context of the request that the manager is working on, with the caller's own roles.

    While the manager works on a lease, the current context is the context of the lease's trust. It
    has the roles of the lease's owner. The context of the request is at the bottom of
    Blazar's stack of contexts. The stack isn't a public interface of Blazar, but a plugin has no
    other access to the request.
    """
    return context.BlazarContext._context_stack.stack[0]


def of(caller: Any) -> BookingConditions:
    """The conditions of a caller's bookings.

    :param caller: Blazar's context of the request, with the caller's own roles.
    """
    return BookingConditions(
        cleaning=cleaning(),
        quotas=_slot_rule(),
        any_length=exemptions.projects_of_any_length(),
        in_windows=exemptions.may_book_in_windows(caller),
        spread=_spreads(),
        device_rules=device_rules.of_stock(),
    )


def of_service() -> BookingConditions:
    """The conditions under which this package itself moves reservations to other hosts.

    Such a move claims no additional quota, and doesn't change the time of a reservation.
    """
    return BookingConditions(
        cleaning=cleaning(),
        quotas=_slot_rule(),
        in_windows=True,
        spread=_spreads(),
        device_rules=device_rules.of_stock(),
    )


def _spreads() -> bool:
    return bool(cfg.CONF.warre.host_choice == "spread")
