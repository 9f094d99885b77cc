"""Policies on offers."""

from blazar.policies import base
from oslo_policy import policy

LIST = "warre:offer:list"
AVAILABILITY = "warre:offer:availability"

RULES = [
    policy.DocumentedRuleDefault(
        LIST,
        base.PROJECT_READER_OR_ADMIN,
        "List when the flavors that the caller's project may book can be booked.",
        [{"path": "/v2/offers", "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        AVAILABILITY,
        base.PROJECT_READER_OR_ADMIN,
        "List by day or hour how many instances are free of the flavors that the caller's project "
        "may book.",
        [{"path": "/v2/availability", "method": "GET"}],
    ),
]
