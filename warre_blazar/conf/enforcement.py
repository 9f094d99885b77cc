"""The options of this package's filters, in the group ``[enforcement]`` of blazar.conf.

The options of Blazar's own filters are in the same group.
"""

from oslo_config import cfg, types

from warre_blazar import times
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

CREDITS: list[cfg.Opt] = [
    cfg.StrOpt(
        "credits_api",
        default="coral-credits",
        choices=[
            ("coral-credits", "Coral Credits, with one account for each project"),
            ("chameleon-portal", "the balance service of Chameleon's portal"),
        ],
        help="Which service CreditsFilter speaks to. A service of another kind refuses or "
        "misunderstands the requests.",
    ),
    cfg.URIOpt(
        "credits_url",
        schemes=["https", "http"],
        help="The URL of the credits service, without the paths of its requests, such as "
        "https://credits.example.org. CreditsFilter needs it: without it, the manager doesn't "
        "start. With http, others on the network can read the token.",
    ),
    cfg.StrOpt(
        "credits_token",
        secret=True,
        help="The bearer token with which CreditsFilter asks Coral Credits, which needs one. "
        "Chameleon's portal gets a Keystone token of Blazar's service user instead. If the token "
        "is wrong, the service counts as away.",
    ),
    cfg.StrOpt(
        "credits_ca_file",
        help="File with the certificates of the authorities that may have signed the certificate "
        "of the credits service. If it isn't set, the usual ones are used.",
    ),
    cfg.IntOpt(
        "credits_timeout",
        default=times.CREDITS_TIMEOUT // times.SECOND,
        min=1,
        max=times.CREDITS_TIMEOUT_LIMIT // times.SECOND,
        help="Seconds for which a manager waits for the credits service to accept the connection, "
        "and again for its answer. If the service takes longer, it counts as away. A booking sends "
        "up to three requests. If these take longer than [DEFAULT] rpc_response_timeout, the user "
        "isn't told whether the booking has succeeded.",
    ),
    cfg.StrOpt(
        "credits_when_away",
        default="refuse",
        choices=[
            ("refuse", "leases can't be booked or changed meanwhile"),
            ("allow", "leases are booked and changed, and charged once the service is back"),
        ],
        help="What is done while the credits service can't be asked. With allow, a project can "
        "book more than it has credits for, and what the service refuses afterwards is never "
        "charged: an audit shows it.",
    ),
    cfg.ListOpt(
        "credits_resource_classes",
        default=["VCPU", "MEMORY_MB", "DISK_GB"],
        item_type=types.String(max_length=255),
        help="The resource classes of which accounts have credits in Coral Credits. Each account "
        "must have an allocation of each of these classes and of no other. Otherwise the service "
        "refuses or fails. Classes that aren't listed cost nothing.",
    ),
    cfg.URIOpt(
        "credits_auth_url",
        schemes=["https", "http"],
        help="The URL of Keystone as the credits service knows it. If it isn't set, the one in the "
        "catalog is used. Coral Credits takes only a host name with a dot, or an address. "
        "Chameleon's portal takes only the URLs of the sites in its own settings.",
    ),
]

OPTS = [*MAX_LENGTH, *QUOTA, *CREDITS]
