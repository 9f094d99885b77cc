"""The options of this package's filters, in the group ``[enforcement]`` of blazar.conf.

The options of Blazar's own filters are in the same group.
"""

from oslo_config import cfg, types

from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE

GROUP = "enforcement"

#: The resource types whose reservations can be counted against quotas.
COUNTABLE = ("flavor:slot", "virtual:instance", "flavor:instance", "physical:host")

MAX_LENGTH: list[cfg.Opt] = [
    cfg.ListOpt(
        "flavor_max_length_exempt_project_ids",
        default=[],
        help="Ids of the projects that may book a flavor for longer than its max_length_hours. The "
        "limit holds for all other projects, even if FlavorMaxLengthFilter isn't enabled.",
    ),
]

QUOTA: list[cfg.Opt] = [
    cfg.ListOpt(
        "project_quota_resource_types",
        default=[RESOURCE_TYPE],
        item_type=types.String(choices=COUNTABLE),
        help="Resource types whose reservations count against the quotas that ProjectQuotaFilter "
        "enforces. Each reservation adds 1 to the project's number of reservations. To the "
        "project's hours it adds its length in hours times its number of instances. A reservation "
        "of flavor:slot, virtual:instance or flavor:instance has its number of instances in the "
        "field amount. For physical:host, the number of hosts is used instead. With flavor:slot "
        "the quota is exact, even if several reservations are made at the same moment. With the "
        "other types, reservations that are made at the same moment can together exceed the quota.",
    ),
]

OPTS = [*MAX_LENGTH, *QUOTA]
