"""The policy rules of the v2 API, with one module for each resource.

Operators can override the defaults of these rules in Blazar's policy file.
"""

import itertools

from oslo_policy import policy

from warre_blazar.policies import (
    audit,
    flavor_access,
    flavors,
    hosts,
    limits,
    maintenance_windows,
    messages,
    offers,
    refusals,
    reservations,
    series,
    usage,
    waits,
)

_MODULES = (
    *(flavors, flavor_access, reservations, maintenance_windows, limits, hosts, usage),
    *(refusals, messages, offers, series, waits, audit),
)


def list_rules() -> list[policy.RuleDefault]:
    """All rules, for oslopolicy-sample-generator and for the enforcer in ``policy``."""
    return list(itertools.chain.from_iterable(module.RULES for module in _MODULES))
