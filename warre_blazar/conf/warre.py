"""The options in the group ``[warre]`` of blazar.conf."""

from oslo_config import cfg, types

from warre_blazar import times
from warre_blazar.domain.hosts.aggregates import AggregateRule

GROUP = "warre"

OPTS: list[cfg.Opt] = [
    cfg.IntOpt(
        "request_timeout",
        default=times.REQUEST_TIMEOUT // times.SECOND,
        min=1,
        help="Seconds that one request to Keystone, Nova or Placement may take. A service that "
        "takes longer counts as unavailable. Then the start or the end of a reservation is tried "
        "again later. A booking is refused if Keystone can't say what the project's quota is.",
    ),
    cfg.IntOpt(
        "service_connections",
        default=8,
        min=1,
        help="Number of requests that each manager sends to one service (Keystone, Nova or "
        "Placement) at the same time. Further requests wait. If all managers together send more "
        "requests than the service can serve at the same time, other users of the service wait "
        "longer when many reservations start or end at the same time. With a smaller number, "
        "these reservations start and end later. A manager starts or ends twice as many leases at "
        "the same time.",
    ),
    cfg.IntOpt(
        "server_deletion_timeout",
        default=times.SERVER_DELETION_TIMEOUT // times.SECOND,
        min=0,
        help="Maximum number of seconds for which the end or the deletion of a reservation waits "
        "until Nova has deleted the reservation's servers. After this time the reservation ends "
        "all the same, and the rest of the cleanup continues in the background. Keep this option "
        "below [DEFAULT] rpc_response_timeout. Otherwise a user who deletes a "
        "reservation may get the answer 202 (the deletion is still going on) instead of 204 (the "
        "reservation is deleted).",
    ),
    cfg.IntOpt(
        "history_days",
        default=times.HISTORY_KEPT // times.DAY,
        min=0,
        help="Number of days for which a reservation is listed after its end, and for which the "
        "record of a deleted reservation is kept. Once an hour each manager removes older "
        "reservations and records, including Blazar's own rows of these reservations. 0 keeps "
        "everything. With a smaller number, the tables stay smaller, but accounting finds fewer "
        "old reservations. Usage and the list of refused requests reach back as far.",
    ),
    cfg.IntOpt(
        "usage_interval",
        default=times.USAGE_SAMPLED_EVERY // times.SECOND,
        min=0,
        max=times.USAGE_INTERVAL_LIMIT // times.SECOND,
        help="One of the managers asks Nova for all servers each time this number of seconds has "
        "passed, and notes which running reservations have servers. Usage and the notifications "
        "reservation.in_use are made of these samples. With a smaller number they are more exact, "
        "but Nova has to list its servers more often: one request for each 1000 servers of the "
        "cloud. 0 turns this off: then usage shows no used hours, and no reservation is listed as "
        "idle.",
    ),
    cfg.IntOpt(
        "refusals_per_day",
        default=1000,
        min=0,
        help="The number of refused requests of one project that are kept of one day (UTC). More "
        "of them are only counted. With a larger number, a project whose script asks again and "
        "again fills the table warre_refusals with more rows. 0 keeps none, but counts all.",
    ),
    cfg.IntOpt(
        "max_series_occurrences",
        default=60,
        min=1,
        max=1000,
        help="The largest number of reservations of a series. They are booked one after the other, "
        "which takes about a tenth of a second each, so with a larger number a request may take "
        "longer than web servers and clients wait. A smaller number doesn't change series that are "
        "there.",
    ),
    cfg.IntOpt(
        "max_waits_per_project",
        default=10,
        min=0,
        help="The largest number of waits that a project has at the same time (POST /v2/waits). "
        "With a larger number, one project can make the managers look for more. 0 turns waiting "
        "off: no waits can be made, and those that are there are still served.",
    ),
    cfg.IntOpt(
        "provider_poll_interval",
        default=times.HOSTS_READ_EVERY // times.SECOND,
        min=0,
        help="Each manager regularly reads the resource providers (from Placement) and the "
        "availability zones (from Nova) of all hosts. This is the number of seconds between two "
        "readings. With a longer interval, it takes longer until bookings notice that a host has "
        "lost or gained resources, or has left Nova. Hosts that are new or have changed in the "
        f"last {times.HOST_SETTLES_FOR // times.MINUTE} minutes are read every "
        f"{times.SETTLING_HOSTS_READ_EVERY} seconds. 0 turns all these readings off. Then a host "
        "is read when it is first needed, and afterwards only when you run warre-blazar-manage "
        "host refresh. One reading takes two requests for each host, and more for hosts that have "
        "changed.",
    ),
    cfg.BoolOpt(
        "emit_notifications",
        default=True,
        help="Whether managers send the notifications reservation.* to the message bus, with the "
        "drivers and topics of [oslo_messaging_notifications]. If false, billing and other "
        "consumers hear of reservations only by Blazar's own lease.* notifications, which say "
        "neither the flavor nor the number of instances.",
    ),
    cfg.BoolOpt(
        "emit_warre_notifications",
        default=False,
        help="Whether managers also send the notifications warre.reservation.* with the payload "
        "that Warre sends, for consumers that were written for Warre. If a consumer reads both "
        "these and reservation.*, it counts each reservation twice.",
    ),
    cfg.ListOpt(
        "messengers",
        default=[],
        item_type=types.String(max_length=48),
        help="The messengers by which managers tell people what happens to their reservations: "
        "smtp, webhook, log, and those that the site has installed (entry points in "
        "warre_blazar.messengers). The options of these are in [warre_messages]. If a messenger "
        "isn't known or lacks an option that it needs, the manager doesn't start. If this option "
        "is empty, nobody gets messages.",
    ),
    cfg.ListOpt(
        "remind_hours",
        default=[ahead // times.HOUR for ahead in times.REMINDERS],
        item_type=types.Integer(min=1, max=times.REMINDER_LIMIT // times.HOUR),
        help="How many hours before its end a running reservation is reminded of, by a message and "
        "by the notification reservation.reminder. A reservation that isn't longer than that, or "
        "that is booked or changed when less is left, isn't reminded of at that time. If the list "
        "is empty, there are no reminders.",
    ),
    cfg.StrOpt(
        "before_end",
        default="nothing",
        choices=[
            ("nothing", "What is on the servers is lost at the end."),
            (
                "snapshot",
                "An image is made of each server, and given to the project. The images take room "
                "in Glance until somebody deletes them.",
            ),
        ],
        help="What is done with the servers of a reservation before they are deleted at its end, "
        "unless the flavor says something else.",
    ),
    cfg.IntOpt(
        "before_end_minutes",
        default=times.BEFORE_END // times.MINUTE,
        min=1,
        help="Number of minutes before the end of a reservation at which the snapshots of its "
        "servers begin. What is written on a server after that isn't in its snapshot. A snapshot "
        "that isn't finished at the end is usually lost, because the end waits for no snapshot. So "
        "with a smaller number, snapshots have newer data, but large or many servers may get "
        "none.",
    ),
    cfg.IntOpt(
        "preemption_warning_minutes",
        default=times.PREEMPTION_WARNED // times.MINUTE,
        min=0,
        max=times.PREEMPTION_WARNING_LIMIT // times.MINUTE,
        help="Number of minutes before the start of a reservation at which preemptible servers on "
        "its hosts are warned: they get the property blazar_preempted_at with the time of the "
        "start, which programs on them can read in Nova's metadata service. At the start they are "
        "deleted. Preemptible servers are those whose Nova flavor has the property "
        "blazar:preemptible. With 0 they are deleted without a warning.",
    ),
    cfg.StrOpt(
        "host_choice",
        default="pack",
        choices=[
            (
                "pack",
                "Instances go to the fullest hosts first. This leaves whole hosts empty for large "
                "flavors and for physical:host reservations.",
            ),
            (
                "spread",
                "Instances go to the emptiest hosts first, and the instances of one booking go to "
                "different hosts in turn. Fewer instances of a booking are lost when a host fails, "
                "but bookings of large flavors are refused sooner.",
            ),
        ],
        help="How the hosts of a booking are chosen among the hosts that have room. A change of "
        "this option doesn't move instances that are already booked.",
    ),
    cfg.IntOpt(
        "moves_per_booking",
        default=0,
        min=0,
        max=1000,
        help="How many reservations that haven't begun may get other hosts to make room for one "
        "booking or change that otherwise finds no room. Users don't notice such a move, and "
        "nothing is made on a host before a reservation begins. Free slots, offers and "
        "availability then show what can be booked with such moves, and read all that is booked "
        "for it. 20 is enough for most sites. With 0 no reservation is moved, and more bookings "
        "are refused because of small gaps on many hosts.",
    ),
    cfg.ListOpt(
        "nova_aggregate_rules",
        default=[rule.value for rule in AggregateRule],
        item_type=types.String(choices=[rule.value for rule in AggregateRule]),
        help="Which of Nova's rules about host aggregates are on. No API of Nova shows it, so look "
        "into the nova.conf of nova-scheduler. extra_specs: [filter_scheduler] enabled_filters has "
        "AggregateInstanceExtraSpecsFilter. Then a host matches a flavor only if the metadata of "
        "its aggregates satisfy the extra specs whose keys have no colon or begin with "
        "aggregate_instance_extra_specs:, and a flavor with a key that no aggregate has is "
        "refused. isolation: [scheduler] enable_isolated_aggregate_filtering is true. Then a host "
        "in an aggregate with trait:NAME=required matches only flavors that require the trait. "
        "tenant_isolation: [filter_scheduler] enabled_filters has AggregateMultiTenancyIsolation. "
        "Then a host whose aggregates name projects in keys that begin with filter_tenant_id can "
        "be booked only by these projects. tenant_limit: [scheduler] "
        "limit_tenants_to_placement_aggregate is true. Then a project that is the whole value of "
        "such a key can book only hosts in such aggregates. "
        "If this list has a rule that is off in Nova, hosts may be left out that servers could "
        "use. If it lacks a rule that is on, hosts may be booked on which no server boots. A "
        "change takes effect when hosts are read again (warre-blazar-manage host refresh).",
    ),
    cfg.MultiStrOpt(
        "pci_alias",
        default=[],
        sample_default=[
            '{"name": "a100", "vendor_id": "10de", "product_id": "20b0", "device_type": "type-PF"}'
        ],
        help="A PCI alias. Flavors refer to it in their extra spec pci_passthrough:alias. Copy all "
        "lines of Nova's own option [pci] alias; this option can be repeated too. It is used only "
        "if pci_in_placement is true. For each device, an instance then takes one unit of a "
        "resource class. The class is the alias's resource_class; if the alias has none, it is "
        "Nova's default class CUSTOM_PCI_vvvv_pppp. The unit comes from a provider that has the "
        "alias's traits. A flavor with an alias that isn't in this option is refused. After a "
        "change, run warre-blazar-manage flavor recount.",
    ),
    cfg.BoolOpt(
        "pci_in_placement",
        default=False,
        help="Whether Nova counts PCI devices in Placement. Set this to the value of "
        "[filter_scheduler] pci_in_placement in nova.conf. If false, the host capability "
        "pci_alias_NAME says how many devices of the alias NAME the host has. After a "
        "change, run warre-blazar-manage flavor recount.",
    ),
]
