"""The policy rules of the v2 API.

Those of some resources follow from the actions that ``warre_blazar.fields`` declares. The others
have a module for each resource.

Operators can override the defaults of these rules in Blazar's policy file.
"""

import itertools

from oslo_policy import policy

from warre_blazar.fields.calendars import CalendarFields
from warre_blazar.fields.others import AccessFields, WindowFields
from warre_blazar.fields.shares import ShareFields
from warre_blazar.fields.usage import RefusalFields
from warre_blazar.fields.waits import WaitFields
from warre_blazar.policies import (
    audit,
    declaration,
    flavors,
    hosts,
    limits,
    messages,
    offers,
    reservations,
    series,
    usage,
)

_RULES = (
    *(flavors.RULES, declaration.of(AccessFields), reservations.RULES),
    *(declaration.of(WindowFields), limits.RULES, hosts.RULES, usage.RULES),
    *(declaration.of(RefusalFields), messages.RULES, offers.RULES, series.RULES),
    *(declaration.of(WaitFields), audit.RULES, declaration.of(ShareFields)),
    declaration.of(CalendarFields),
)


def list_rules() -> list[policy.RuleDefault]:
    """All rules, for oslopolicy-sample-generator and for the enforcer in ``policy``."""
    return list(itertools.chain(*_RULES))
