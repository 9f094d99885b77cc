"""Our options in the group ``[enforcement]`` of blazar.conf, beside those of Blazar's filters."""

from oslo_config import cfg, types

GROUP = "enforcement"

#: The resource types whose use can be counted.
COUNTABLE = ("flavor:slot", "virtual:instance", "flavor:instance", "physical:host")

MAX_LENGTH: list[cfg.Opt] = [
    cfg.ListOpt(
        "flavor_max_length_exempt_project_ids",
        default=[],
        help="Projects that may book a flavor for longer than its max_length_hours. The limit is "
        "kept for all others whether or not FlavorMaxLengthFilter is enabled.",
    ),
]

QUOTA: list[cfg.Opt] = [
    cfg.ListOpt(
        "project_quota_resource_types",
        default=["flavor:slot"],
        item_type=types.String(choices=COUNTABLE),
        help="Resource types whose reservations count against the quotas that ProjectQuotaFilter "
        "enforces, each as one reservation and as its hours times its instances: for flavor:slot, "
        "virtual:instance and flavor:instance the amount, for physical:host the hosts it is on. "
        "For flavor:slot the quota is exact; of the others, reservations that are made at the "
        "same moment may together exceed it.",
    ),
    cfg.ListOpt(
        "project_quota_exempt_project_ids",
        default=[],
        help="Projects whose reservations ProjectQuotaFilter never refuses.",
    ),
    cfg.IntOpt(
        "project_quota_cache_time",
        default=30,
        min=0,
        help="Seconds that a project's limits in Keystone are remembered. So long a lowered limit "
        "may not be noticed; a raised one is, since before a reservation is refused Keystone is "
        "asked again. With 0 it is asked every time.",
    ),
]

OPTS = [*MAX_LENGTH, *QUOTA]
