"""Warnings: what is in doubt about a flavor or a reservation although nothing is refused.

Operators see those about flavors when they make or change a flavor, and with
``warre-blazar-manage flavor check``. Users see those about reservations.
"""

from warre_blazar.texts.entries import Entry

NAME_TAKEN = Entry(
    "name_taken",
    "The flavor {flavors:names} has the name {name} too, so users must give the ID of the one that "
    "they mean; rename all but one if users shall give the name",
)
NAMES_TAKEN = Entry(
    "name_taken",
    "The flavors {flavors:names} have the name {name} too, so users must give the ID of the one "
    "that they mean; rename all but one if users shall give the name",
    "several",
)
VOLUMES_ONLY = Entry(
    "volumes_only",
    "The flavor has no disk, so its servers can boot only from volumes; Nova refuses to boot them "
    "from images",
)
NOT_CHECKED = Entry(
    "not_checked",
    "It isn't known whether servers of the flavor could boot: {error:said}; run "
    "warre-blazar-manage flavor check later",
)
NO_CANDIDATES = Entry(
    "no_candidates", "Placement finds no host on which a server of the flavor could boot now"
)
NO_HOSTS = Entry(
    "no_hosts",
    "Blazar has no host yet, so nobody can book the flavor; register each host with openstack "
    "reservation host create HOST",
)
_UNKNOWN = "No host in Blazar has a property {property}, so nobody can book the flavor"
UNKNOWN_PROPERTY = Entry("unknown_property", _UNKNOWN)
MISSPELLED_PROPERTY = Entry(
    "unknown_property", f"{_UNKNOWN}; the most similar property is {{similar}}", "misspelled"
)
UNKNOWN_ZONE = Entry(
    "unknown_zone",
    "No host in Blazar is in the availability zone {zone}, so nobody can book the flavor; its "
    "hosts are in {zones:names}",
)
DEVICES_SHARED = Entry(
    "devices_shared",
    "The flavor {flavor} takes {classes:names} of the same devices in other amounts or with other "
    "traits; a server takes its devices when it boots, so servers may be placed so that no device "
    "has enough left for the next one",
)
SLOTS_OVERBOOKED = Entry(
    "slots_overbooked",
    "Up to {booked:number} instances are booked, and the flavor has {slots:slot|slots} now; these "
    "reservations stay, the last of them until {until:time}",
)
SLOTS_EXCEED_HOSTS = Entry(
    "slots_exceed_hosts",
    "The flavor has {slots:number} slots, and its hosts hold only {instances:instance|instances} "
    "when they are empty, so no more can be booked at the same time",
)
PROJECTS_OVERBOOKED = Entry(
    "projects_overbooked",
    "{projects:project holds|projects hold} up to {booked:number} instances at a time, and a "
    "project may hold at most {max_instances_per_project:number} now; these reservations stay, the "
    "last of them until {until:time}",
)
WEBHOOK_FAILED = Entry(
    "webhook_failed",
    "The webhook couldn't be called with the event {event}: {said}; it is called again for a day",
)
WEBHOOK_GIVEN_UP = Entry(
    "webhook_failed",
    "The webhook couldn't be called with the event {event}: {said}; it isn't called again for this "
    "event",
    "given_up",
)
NOVA_QUOTA = Entry(
    "nova_quota",
    "Nova's quota of the project is too small for all servers of this reservation: "
    "{resources:each}; ask the operator for more before it starts",
    each="they need {asked:number} of {resource}, and the quota allows {limit:number}",
)
