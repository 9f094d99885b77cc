"""Sentences of the commands alone, which name commands and options.

A place with a hyphen, such as ``{flavor-list}``, is the name of a command. The other places are
data of the API's answer, or what the user has typed.
"""

import shlex
from collections.abc import Mapping

from warre_blazar.texts.entries import Entry


def _by_code(*entries: Entry) -> Mapping[str, Entry]:
    return {entry.code: entry for entry in entries}


#: Why a flavor isn't free and what to do, by the code of the API's reason.
NOT_FREE = _by_code(
    Entry("flavor_inactive", "{flavor} is closed. Book another flavor; see {flavor-list}"),
    Entry("after_flavor_end", "{flavor} can't be booked after {end:time}. Ask for an earlier time"),
    Entry(
        "before_flavor_start", "{flavor} can't be booked before {start:time}. Ask for a later time"
    ),
    Entry(
        "too_long",
        "{flavor} can be booked for at most {max_length_hours:number} hours at a time. Give "
        "--hours {max_length_hours:number} or less",
    ),
    Entry(
        "no_host_matches",
        "No host matches {flavor}, so it can't be booked at any time. Book another flavor "
        "({flavor-list}), or ask the operator",
    ),
    Entry("maintenance", "{flavor} is closed for maintenance then: {windows}"),
    Entry(
        "too_far_ahead",
        "{flavor} can be booked only until {latest_end:time} now, {max_days_ahead:number} days "
        "ahead. Ask for an earlier time, or later",
    ),
    Entry(
        "too_many_instances",
        "A project can hold at most {max_instances_per_project:number} of {flavor} at a time, and "
        "your project's other reservations hold {held:number} then",
    ),
    Entry(
        "gap_too_short",
        "Other reservations of your project leave no time for more of {flavor} then",
    ),
    Entry("slots_exhausted", "Not enough slots of {flavor} are free then"),
    Entry(
        "hosts_exhausted",
        "The hosts of {flavor} have room for only {free:number} of {asked:number} instances then",
    ),
)
#: The same if the flavor is free then, but not for so long.
NOT_THAT_LONG = Entry("not_that_long", "{flavor} is free then, but for at most {longest} at a time")
#: What follows these sentences if another time may help.
NEXT_FREE = Entry(
    "next_free",
    ". It is free from {start:time} for {length}: --start {argument}. {flavor-calendar} {flavor} "
    "shows more",
)
NEVER_FREE = Entry(
    "never_free",
    ". Nothing that fits is free in the year after that either. Try fewer slots or hours"
    "{or_affinity}; {flavor-calendar} {flavor} shows what is free",
)
#: What is said if the project itself has some of a flavor that isn't free.
OWN = Entry(
    "own",
    "Your project has these reservations of {flavor} then: {own:each}",
    each="{named}, {instance_count:slot|slots}, {start:time} to {end:time}",
)
#: Why a booking is refused, by the code of an error after which another time may be possible. Each
#: is a clause.
TAKEN = _by_code(
    Entry("slots_exhausted", "No slot is free then"),
    Entry("hosts_exhausted", "No host has room then"),
    Entry("maintenance", "The flavor is closed for maintenance then"),
)
#: The same if some of the instances could be booked, but not all.
PARTLY_TAKEN = _by_code(
    Entry(
        "slots_exhausted",
        "Only {free:number} of the flavor's {slots:number} slots {are} free then, and "
        "{asked:number} were asked for",
    ),
    Entry(
        "hosts_exhausted",
        "The hosts have room for only {free:number} of {asked:number} instances then",
    ),
)
#: What is said in place of the error's own sentence, which names a field of the request.
INSTEAD = _by_code(
    Entry(
        "no_before_end_choice",
        "The flavor doesn't let you choose what is done with the servers before the end. Leave out "
        "--before-end",
    ),
)
#: The advice after the sentence of an error. ``of_project`` is the option that names the project
#: that was booked for, or empty if that is the user's own.
ADVICE = _by_code(
    Entry("invalid_period", "The earliest start is --start now"),
    Entry("flavor_inactive", "The operator has closed the flavor; see {flavor-list} for others"),
    Entry(
        "flavor_not_accessible",
        "Ask the operator for access (operators grant it with {flavor-access-grant})",
    ),
    Entry("too_early_to_extend", "See {reservation-show} for the end"),
    Entry(
        "too_many_instances",
        "See {reservation-list}{of_project} for the project's reservations",
    ),
    Entry(
        "gap_too_short",
        "See {reservation-list}{of_project}, and {reservation-offers} for other flavors",
    ),
    Entry("maintenance", "See {maintenance-window-list}, and {flavor-free-slots} for other times"),
    Entry("flavor_in_use", "See {reservation-list} --all-projects --flavor {flavor}"),
    Entry("try_again", "Try again"),
    Entry("window_conflict", "See {reservation-list} --all-projects for what is booked then"),
    Entry("lease_shared", "The commands for the whole lease are {lease-update} and {lease-delete}"),
    Entry("access_exists", "See {flavor-access-list}"),
    Entry("limits_not_registered", "The operator has to register them, see the installation guide"),
    Entry(
        "quota_exceeded",
        "See {limits-show}{of_project}; delete a reservation, or ask the operator for more "
        "(operators set it with {reservation-quota-set})",
    ),
    Entry("no_answer", "See {reservation-list}"),
    Entry("forbidden", "Your role doesn't allow this; ask the operator"),
    Entry("service_unavailable", "Try again later"),
)

#: Why no message about a wait will come, and what to do.
NO_MESSAGE = _by_code(
    Entry("not_sent", "This cloud sends no messages, so look with {reservation-wait-show} {id}"),
    Entry("off", "Your messages are off, so you get none; {message-set} --on turns them on"),
    Entry(
        "no_address",
        "Keystone has no email address for you, so you get no message; look with "
        "{reservation-wait-show} {id}, or make a wait with --contact ADDRESS",
    ),
)

_BOOT = Entry(
    "boot",
    "openstack server create --flavor {compute_flavor}{zone} --image IMAGE --network NETWORK NAME",
)


def boot(compute_flavor: str, availability_zone: str | None) -> str:
    """The command that boots a server on a reservation.

    :param compute_flavor: the field of the reservation.
    :param availability_zone: the field of the reservation. If it names several zones, Nova finds
        the place by itself.
    """
    is_one = availability_zone and "," not in availability_zone
    zone = f" --availability-zone {shlex.quote(availability_zone or '')}" if is_one else ""
    return _BOOT(compute_flavor=compute_flavor, zone=zone)


#: What follows the command if the reservation's hosts are in several zones.
SEVERAL_ZONES = Entry(
    "several_zones",
    "Its hosts are in several availability zones: {availability_zone}. Nova chooses one of them "
    "for each server, unless you give --availability-zone",
)
