"""The options in the group ``[warre_messages]`` of blazar.conf: messages to people."""

from oslo_config import cfg, types

from warre_blazar import times

GROUP = "warre_messages"

#: What people can be told about, and what is told if ``events`` isn't set.
EVENTS = (
    *("created", "started", "refused", "reminded", "ended", "rescheduled", "resized", "deleted"),
    *(
        "moved",
        "host_lost",
        "snapshot",
        "idle",
        "idle_end",
        "nova_quota",
        "maintenance",
        "wait_told",
        "wait_ended",
    ),
)

_CONTENT: list[cfg.Opt] = [
    cfg.ListOpt(
        "events",
        default=list(EVENTS),
        item_type=types.String(choices=EVENTS),
        help="What people get messages about. refused: the reservation has begun, but can't be "
        "used yet. reminded: its end comes near ([warre] remind_hours). moved: some instances of a "
        "running reservation got other hosts. host_lost: some instances are on failed hosts. "
        "snapshot: of some servers, no image could be made before the end. idle: the reservation "
        "has had no server for idle_warn_hours of its flavor. idle_end: it was ended, because it "
        "had none for idle_end_hours. nova_quota: the reservation begins within a day, and Nova's "
        "quota doesn't allow all of its servers. maintenance: maintenance moved the reservation to "
        "a later time, or lets it end sooner. wait_told: there is room for a wait whose user asked "
        "to be told. wait_ended: a wait has ended, and nothing was booked. If an event isn't in "
        "this list, people don't hear of it, for example that their servers were deleted.",
    ),
    cfg.BoolOpt(
        "own_changes",
        default=False,
        help="Whether users also get messages about their own changes and deletions of a "
        "reservation (rescheduled, resized, deleted). If false, they only hear of those that "
        "somebody else has made.",
    ),
    cfg.StrOpt(
        "site_name",
        default="OpenStack",
        help="The name of the cloud in messages, and on the page of the API on which people stop "
        "them. With the default, people who use several clouds can't tell which one a message is "
        "about.",
    ),
    cfg.StrOpt(
        "support",
        default="",
        help="Where people can ask for help, as a line at the end of each message: an address, a "
        "URL or a sentence. If it is empty, messages don't say where to ask.",
    ),
    cfg.StrOpt(
        "template_dir",
        default="",
        help="Directory with templates of the site. A file in it replaces the built-in template of "
        "the same name. If such a template has an error, the built-in templates are used, and the "
        "log has the file and the line. If this option is empty, only built-in templates are used.",
    ),
    cfg.ListOpt(
        "contact_domains",
        default=[],
        help="The mail domains in which the contact of a reservation may be, such as example.org. "
        "Users can also name the address that Keystone has for them. All other contacts are "
        "refused; a contact that a reservation has already stays. If this option is empty, users "
        'can only name their own address. With "*", they can name any address, so each of them can '
        "have mail with the sender of your site sent to strangers. Set this option to the same "
        "value for the API and for managers.",
    ),
    cfg.IntOpt(
        "contact_messages_per_hour",
        default=60,
        min=1,
        help="How many messages one address gets in an hour, unless it is the user's own. The last "
        "of them says so. Further messages to this address are dropped until the hour is over, and "
        "an audit counts them. With a high number, users can flood the mailbox of somebody else.",
    ),
    cfg.IntOpt(
        "user_messages_per_hour",
        default=600,
        min=1,
        help="The same for the address that Keystone has for the user of a reservation. With a low "
        "number, users with many reservations don't hear of all of them.",
    ),
]

_SMTP: list[cfg.Opt] = [
    cfg.StrOpt(
        "sender",
        help="The address from which the messenger smtp sends, for example "
        '"Reservations <reservations@example.org>". Replies and reports of undeliverable mail go '
        "there. The messenger smtp needs it.",
    ),
    cfg.HostAddressOpt(
        "smtp_host",
        help="The mail server of the messenger smtp, which needs it.",
    ),
    cfg.PortOpt(
        "smtp_port",
        help="The port of the mail server. Default: 587 for starttls, 465 for tls, 25 for none.",
    ),
    cfg.StrOpt(
        "smtp_security",
        default="starttls",
        choices=[
            ("starttls", "The connection is encrypted after its beginning, or not used."),
            ("tls", "The connection is encrypted from its beginning on."),
            ("none", "Messages are sent in clear text. A login is refused."),
        ],
        help="How the connection to the mail server is encrypted. With starttls and tls, the "
        "certificate of the server must be valid for smtp_host. Otherwise no messages are sent.",
    ),
    cfg.StrOpt(
        "smtp_ca_file",
        help="File with the certificates of the authorities that may have signed the certificate "
        "of the mail server. If it isn't set, those of the system are used.",
    ),
    cfg.StrOpt(
        "smtp_username",
        help="The user name for the login to the mail server. If it isn't set, managers don't log "
        "in, and the server must accept their mail without that.",
    ),
    cfg.StrOpt(
        "smtp_password",
        secret=True,
        help="The password for the login to the mail server. If it is wrong, no messages are sent "
        "until it is corrected, and those that wait for more than a day are given up.",
    ),
    cfg.IntOpt(
        "smtp_timeout",
        default=times.SMTP_TIMEOUT // times.SECOND,
        min=1,
        max=times.SMTP_TIMEOUT_LIMIT // times.SECOND,
        help="Seconds for which a manager waits for each answer of the mail server. If the server "
        "takes longer, the message is sent again later, and may arrive twice.",
    ),
]

_WEBHOOK: list[cfg.Opt] = [
    cfg.URIOpt(
        "webhook_url",
        schemes=["https", "http"],
        help="The URL to which the messenger webhook sends each message. The messenger needs it. "
        "With http, others on the network can read the messages.",
    ),
    cfg.StrOpt(
        "webhook_secret",
        secret=True,
        help="The key with which the messenger webhook signs each request, so that the receiver "
        "can refuse requests of others. The messenger needs it. Use at least 32 random characters.",
    ),
    cfg.StrOpt(
        "webhook_ca_file",
        help="File with the certificates of the authorities that may have signed the certificate "
        "of the receiver. If it isn't set, the usual ones are used.",
    ),
    cfg.IntOpt(
        "webhook_timeout",
        default=times.WEBHOOK_TIMEOUT // times.SECOND,
        min=1,
        max=times.WEBHOOK_TIMEOUT_LIMIT // times.SECOND,
        help="Seconds for which a manager waits for the receiver to accept the connection, and "
        "again for its answer. If the receiver takes longer, the message is sent again later.",
    ),
]

_PROJECT_WEBHOOKS: list[cfg.Opt] = [
    cfg.ListOpt(
        "project_webhook_hosts",
        default=[],
        item_type=types.String(regex=r"^(\*|[A-Za-z0-9.-]+)(:[0-9]+)?$", max_length=253),
        help="The hosts at which projects may have webhooks of their own, which managers call when "
        "a reservation starts and ends. hooks.example.org is one host, .example.org are all hosts "
        'whose names end so, and "*" are all hosts. Only the default ports of HTTP and '
        "HTTPS are meant, unless the host is followed by a port, such as hooks.example.org:8443. "
        "If a host is removed, its webhooks aren't called any more. If this option is empty, no "
        "webhooks are called, and users can't give any. Set it to the same value for the API and "
        "for managers.",
    ),
    cfg.ListOpt(
        "project_webhook_networks",
        default=[],
        help="Networks that aren't the Internet, and in which managers may call webhooks of "
        "projects, such as 10.20.0.0/16. A webhook isn't called if its host has any address "
        "outside of the Internet and of these networks. Managers never call this machine "
        "(127.0.0.0/8), link-local addresses or services of metadata, also if they are in one of "
        "these networks. Whoever may book can send requests to all machines in these networks on "
        "which a listed host is.",
    ),
]

OPTS = [*_CONTENT, *_SMTP, *_WEBHOOK, *_PROJECT_WEBHOOKS]
