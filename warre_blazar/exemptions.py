"""Exemptions: which projects and callers may do what the rules refuse to all others.

This is the only module that decides about exemptions.

The configuration exempts projects from ``max_length_hours``. A policy allows some callers to book
inside a maintenance window. Services get these decisions in ``BookingConditions``.
"""

from typing import Any

from oslo_config import cfg

from warre_blazar import conf, policy
from warre_blazar.policies import reservations as policies

conf.register(cfg.CONF)


def projects_of_any_length() -> frozenset[str]:
    """The projects that may book any flavor for longer than its ``max_length_hours``."""
    return frozenset(cfg.CONF.enforcement.flavor_max_length_exempt_project_ids)


def may_book_in_windows(caller: Any) -> bool:
    """Whether a caller may book inside a maintenance window.

    :param caller: Blazar's context of the request, with the caller's own roles.
    """
    return policy.allows(caller, policies.IN_WINDOW)
