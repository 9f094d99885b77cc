"""Makes the conditions of a booking from the configuration and the caller's roles.

The API's controllers, the plugin and the filters pass these conditions to the services, which read
neither the configuration nor the caller's roles. This is the only module that decides who is exempt
from a rule.
"""

import dataclasses
import datetime
import functools
from typing import Any

from blazar import context
from oslo_config import cfg
from oslo_log import log as logging

from warre_blazar import conf, policy, texts, times
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.quota import Rule
from warre_blazar.domain.flavors import devices
from warre_blazar.domain.flavors.devices import NO_DEVICES, Rules
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.domain.running.snapshots import BeforeEndRule
from warre_blazar.errors import exceptions
from warre_blazar.policies import reservations as policies

LOG = logging.getLogger(__name__)

conf.register(cfg.CONF)


def device_rules() -> Rules:
    """The rules by which devices are counted, as configured.

    :raises Misconfigured: an option is malformed.
    """
    options = cfg.CONF.warre
    return _rules(
        tuple(options.pci_alias),
        in_placement=options.pci_in_placement,
    )


def device_rules_of_stock() -> Rules:
    """The rules by which devices in reservations of stock resource types are counted.

    Bookings need these rules, and must not fail because of a malformed option. If an option is
    malformed, the devices in these reservations aren't counted, and the log says so. The API
    refuses to start until the option is corrected, and ``upgrade check`` reports the option.
    """
    try:
        return device_rules()
    except exceptions.Misconfigured as error:
        _log(error.message)
        return NO_DEVICES


@functools.lru_cache(maxsize=4)
def _log(message: str) -> None:
    """Log a message once, not each time that the rules are read."""
    LOG.error("%s; devices of Blazar's own resource types aren't counted", message)


@functools.lru_cache(maxsize=4)
def _rules(aliases: tuple[str, ...], *, in_placement: bool) -> Rules:
    try:
        parsed = devices.aliases(aliases, in_placement=in_placement)
    except texts.NotValid as error:
        raise exceptions.Misconfigured(
            "[warre] pci_alias", texts.services.ALIASES(alias=error.expected)
        ) from None
    return Rules(parsed, in_placement)


conf.register(cfg.CONF)
cfg.CONF.import_opt("cleaning_time", "blazar.config")
cfg.CONF.import_opt("enabled_filters", "blazar.enforcement.enforcement", group="enforcement")

#: The filter that refuses leases that the plugin couldn't start and end.
STRICT_FILTER = "StrictLeaseFilter"
#: Quotas are enforced while this filter is in ``[enforcement] enabled_filters``.
QUOTA_FILTER = "ProjectQuotaFilter"


def cleaning() -> datetime.timedelta:
    """Blazar's ``cleaning_time``: how long slots and hosts stay empty after a reservation."""
    return cfg.CONF.cleaning_time * times.MINUTE


def quota_rule() -> Rule:
    """Which reservations count against quotas, and whether quotas are enforced."""
    options = cfg.CONF.enforcement
    return Rule(
        types=frozenset(options.project_quota_resource_types),
        enforced=QUOTA_FILTER in options.enabled_filters,
        cache_time=times.LIMITS_CACHED_FOR,
    )


def refusals_kept() -> int:
    """How many refused requests of one project are kept of one day."""
    return int(cfg.CONF.warre.refusals_per_day)


def slot_rule() -> Rule:
    """The quota rule for flavor:slot bookings.

    If flavor:slot reservations don't count against quotas, no quota is enforced for them.
    """
    rule = quota_rule()
    return dataclasses.replace(rule, enforced=rule.enforced and RESOURCE_TYPE in rule.types)


def projects_of_any_length() -> frozenset[str]:
    """The projects that may book any flavor for longer than its ``max_length_hours``."""
    return frozenset(cfg.CONF.enforcement.flavor_max_length_exempt_project_ids)


def caller() -> Any:
    """Blazar's context of the request that the manager is working on, with the caller's own roles.

    While the manager works on a lease, the current context is the context of the lease's trust. It
    has the roles of the lease's owner. The context of the request is at the bottom of
    Blazar's stack of contexts. The stack isn't a public interface of Blazar, but a plugin has no
    other access to the request.
    """
    return context.BlazarContext._context_stack.stack[0]


def caller_id() -> str | None:
    """The id of the user who sent the request that the manager is working on, or None.

    There is none if the manager works by itself.
    """
    try:
        user_id = caller().user_id
    except (AttributeError, IndexError):
        return None
    return str(user_id) if user_id else None


def before_end() -> BeforeEndRule:
    """What the configuration says about the servers of reservations before the end."""
    options = cfg.CONF.warre
    ahead = options.before_end_minutes * times.MINUTE
    return BeforeEndRule(options.before_end, ahead)


def of(caller: Any) -> BookingConditions:
    """The conditions of a caller's bookings.

    :param caller: Blazar's context of the request, with the caller's own roles.
    """
    return BookingConditions(
        cleaning=cleaning(),
        quotas=slot_rule(),
        any_length=projects_of_any_length(),
        in_windows=policy.allows(caller, policies.IN_WINDOW),
        spread=_spreads(),
        moves=moves(),
        device_rules=device_rules_of_stock(),
        before_end=before_end().default,
        user_id=caller.user_id,
        refusals_kept=refusals_kept(),
    )


def of_users() -> BookingConditions:
    """The conditions of the bookings of a user whose roles aren't known.

    They allow nothing that depends on a role.
    """
    return BookingConditions(
        cleaning=cleaning(),
        quotas=slot_rule(),
        any_length=projects_of_any_length(),
        spread=_spreads(),
        moves=moves(),
        device_rules=device_rules_of_stock(),
    )


def of_service() -> BookingConditions:
    """The conditions under which this package itself moves reservations to other hosts.

    Such a move claims no additional quota, and doesn't change the time of a reservation.
    """
    return BookingConditions(
        cleaning=cleaning(),
        quotas=slot_rule(),
        in_windows=True,
        spread=_spreads(),
        moves=moves(),
        device_rules=device_rules_of_stock(),
    )


def moves() -> int:
    """How many reservations may be placed again to make room for a booking."""
    return int(cfg.CONF.warre.moves_per_booking)


def _spreads() -> bool:
    return bool(cfg.CONF.warre.host_choice == "spread")
