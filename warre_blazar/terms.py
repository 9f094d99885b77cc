"""What this site and the caller's roles decide about a request, for the edges to pass down."""

import dataclasses
import datetime
from typing import Any

from blazar import context
from oslo_config import cfg

from warre_blazar import conf, policy
from warre_blazar.policies import reservations as policies
from warre_blazar.services.quotas import Rule
from warre_blazar.services.reservations import RESOURCE_TYPE, Terms

conf.register(cfg.CONF)
cfg.CONF.import_opt("cleaning_time", "blazar.config")
cfg.CONF.import_opt("enabled_filters", "blazar.enforcement.enforcement", group="enforcement")

#: The filter that switches quotas on.
QUOTA_FILTER = "ProjectQuotaFilter"


def cleaning() -> datetime.timedelta:
    """Blazar's cleaning_time."""
    return datetime.timedelta(minutes=cfg.CONF.cleaning_time)


def quota_rule() -> Rule:
    """What counts against quotas, and whether that holds anybody back."""
    options = cfg.CONF.enforcement
    return Rule(
        types=frozenset(options.project_quota_resource_types),
        enforced=QUOTA_FILTER in options.enabled_filters,
        exempt=frozenset(options.project_quota_exempt_project_ids),
        cache_time=options.project_quota_cache_time,
    )


def _slot_rule() -> Rule:
    """The same for our own resource type, whether that counts or not."""
    rule = quota_rule()
    return dataclasses.replace(rule, enforced=rule.enforced and RESOURCE_TYPE in rule.types)


def caller() -> Any:
    """Blazar's context of the request that the manager works on, with the caller's own roles.

    Blazar works in the context of the lease's trust, whose roles are the owner's; below it lies
    the context of the request.
    """
    return context.BlazarContext._context_stack.stack[0]


def of(caller: Any) -> Terms:
    """The terms for a caller: Blazar's context of the request, with their own roles."""
    return Terms(
        cleaning=cleaning(),
        quotas=_slot_rule(),
        any_length=frozenset(cfg.CONF.enforcement.flavor_max_length_exempt_project_ids),
        in_windows=policy.allows(caller, policies.IN_WINDOW),
        spread=cfg.CONF.warre.host_choice == "spread",
    )
