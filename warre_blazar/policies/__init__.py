"""Policies, one module a noun. They are read from Blazar's policy file."""

import itertools

from oslo_policy import policy

from warre_blazar.policies import access, flavors, limits, reservations, windows

_MODULES = (flavors, access, reservations, windows, limits)


def list_rules() -> list[policy.RuleDefault]:
    """For oslopolicy-sample-generator and our enforcer."""
    return list(itertools.chain.from_iterable(module.RULES for module in _MODULES))
