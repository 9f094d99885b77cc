"""Refusals of requests about bookings, flavors, series, waits, windows, leases and hosts.

Warre's clients show the sentences of some of these errors, so those are the same as Warre's.
"""

from warre_blazar.texts.entries import FIELD, Entry

# Times
PERIOD = Entry(
    "invalid_period",
    "Reservation start time of {start:time} after reservation end time of {end:time}",
    "order",
)
PAST = Entry(
    "invalid_period",
    "Reservation start time of {start:time} is in the past",
    "past",
    brief="that time has passed, or is too short",
)
TOO_SHORT = Entry(
    "invalid_period",
    "The time that was asked about is shorter than the requested hours; ask about a longer time",
    "too_short",
)
LEASE_PAST = Entry("invalid_period", "{said}", "said")
LEASE_PERIOD = Entry("invalid_period", "The end of a lease must be after its start", "lease_order")
WINDOW_PERIOD = Entry(
    "invalid_period", "Maintenance window end time must be after start time", "window_order"
)
WINDOW_PAST = Entry("invalid_period", "Maintenance window cannot start in the past", "window_past")

# Flavors and their terms
FLAVOR_NOT_FOUND = Entry(
    "flavor_not_found",
    "Flavor {flavor} does not exist",
    brief="your project has no flavor of that name or id",
)
#: The same on Warre's path.
WARRES_FLAVOR_NOT_FOUND = Entry(
    "flavor_not_found", "Flavor does not exist", "warres", also="flavor"
)
SOME_FLAVOR_NOT_FOUND = Entry(
    "flavor_not_found", "One or more flavors not found", "one_of_several", also="flavor"
)
FLAVOR_AMBIGUOUS = Entry(
    "flavor_ambiguous",
    "{count:number} flavors are named {flavor!r}; give the id of one: {flavors:ids}",
)
FLAVOR_HIDDEN = Entry("flavor_not_accessible", "Flavor {flavor} does not exist", "hidden")
FLAVOR_NOT_ACCESSIBLE = Entry(
    "flavor_not_accessible",
    "Flavor is not accessible",
    brief="your project has no access to the flavor",
)
FLAVOR_INACTIVE = Entry(
    "flavor_inactive", "Flavor is not available", brief="the flavor is inactive"
)
FLAVOR_IN_USE = Entry("flavor_in_use", "Flavor {flavor} is in use", also="count")
TOO_LONG = Entry(
    "too_long",
    "Reservation is too long, max allowed is {max_length_hours:number} hours",
    brief="the flavor can't be booked for so long",
)
BEFORE_FLAVOR_START = Entry(
    "before_flavor_start",
    "Reservation start time before flavor start time of {start:time}",
    brief="the flavor can't be booked so early",
)
AFTER_FLAVOR_END = Entry(
    "after_flavor_end",
    "Reservation end time after flavor end time of {end:time}",
    brief="the flavor can't be booked so late",
)
TOO_FAR_AHEAD = Entry(
    "too_far_ahead",
    "Reservation ends more than {max_days_ahead:number} days ahead; choose an end until "
    "{latest_end:time}, or book later",
    brief="the flavor can't be booked so far ahead",
)
TOO_SHORT_NOTICE = Entry(
    "too_short_notice",
    "Reservation starts too soon: the flavor must be booked {notice_hours:number} hours ahead; "
    "choose a start from {start_from:time} on",
    brief="the flavor must be booked earlier",
)
OUTSIDE_WEEKLY_HOURS = Entry(
    "outside_weekly_hours",
    "Reservations of more than {longest_hours:number} hours must lie within these times of the "
    "week: {weekly_hours}; choose another time, or fewer hours",
    brief="for so long, the flavor can be booked only at other times of the week",
)
TOO_EARLY_TO_EXTEND = Entry(
    "too_early_to_extend",
    "Reservation can be extended only in its last {extend_within_hours:number} hours; try again "
    "from {extend_from:time} on",
    brief="the flavor allows that only in the last hours",
)
_HELD = (
    "A project can hold at most {max_instances_per_project:instance|instances} of the flavor at a "
    "time. This reservation would have {asked:number}, and the project's other reservations hold "
    "{held:number} then; ask for fewer instances"
)
TOO_MANY_INSTANCES = Entry(
    "too_many_instances", _HELD, brief="the flavor's terms let a project hold fewer at a time"
)
TOO_MANY_INSTANCES_THEN = Entry("too_many_instances", f"{_HELD}, or for another time", "then")
GAP_TOO_SHORT = Entry(
    "gap_too_short",
    "{gap_hours:number} hours must pass between two reservations of the flavor by the same "
    "project; choose a start from {start_from:time} on, or another flavor",
    brief="your project's other reservations are too near",
)
OVERLAP = Entry(
    "gap_too_short",
    "Two reservations of the flavor by the same project can't overlap; choose a start from "
    "{start_from:time} on, or another flavor",
    "overlap",
    also="gap_hours",
)
HANDLE_TAKEN = Entry(
    "handle_taken",
    "The project has another reservation with the handle {handle} then, and the two would need the "
    "same Nova flavor; choose a start from {start_from:time} on, or another handle",
    brief="your project's other reservations have the same handle",
)
OFFERED = Entry(
    "slots_exhausted",
    "Until {until:time}, the room at this time is kept for a project that has waited for it",
    "offered",
)
NO_BEFORE_END_CHOICE = Entry(
    "no_before_end_choice",
    "Flavor doesn't let users choose what is done with servers before the end; leave the field out",
    frame=FIELD,
    brief="the flavor doesn't let users choose what is done with servers",
)

# Room
SLOTS_EXHAUSTED = Entry(
    "slots_exhausted",
    "No capacity: {asked:number} asked, at most {free:number} of {slots:number} slots are free "
    "throughout",
    brief="too few slots are free",
)
HOSTS_EXHAUSTED = Entry(
    "hosts_exhausted",
    "No capacity: {asked:number} asked, the {matching:number} matching hosts have room for "
    "{free:number}",
    brief="the hosts have too little room",
)
ONE_HOST_EXHAUSTED = Entry(
    "hosts_exhausted",
    "No capacity: {asked:number} asked on one host, the {matching:number} matching hosts have room "
    "for {free:number}",
    "affinity",
)
OWN_HOSTS_EXHAUSTED = Entry(
    "hosts_exhausted",
    "No capacity: {asked:number} asked on hosts of their own, the {matching:number} matching hosts "
    "have room for {free:number}",
    "anti_affinity",
)
NO_HOST_MATCHES = Entry(
    "no_host_matches",
    "No host matches this flavor: none has the properties, the zone and the traits that the flavor "
    "asks for; book another flavor, or ask the operator",
    also="asked free matching",
    brief="no host that can be booked matches the flavor; ask the operator",
)
NO_HOSTS = Entry(
    "no_host_matches",
    "No host matches this flavor: Blazar has no host yet; ask the operator to register hosts "
    "(openstack reservation host create)",
    "no_hosts",
    also="asked free matching",
)
HOSTS_TOO_SMALL = Entry(
    "no_host_matches",
    "No host matches this flavor: {matching:host has|hosts have} the properties, the zone and the "
    "traits that the flavor asks for, but too little room for one instance; book another flavor, "
    "or ask the operator",
    "too_small",
    also="asked free",
)
HOST_CLOSED = Entry(
    "no_host_matches",
    "No host matches this flavor: the only host that does is closed for bookings now, because of a "
    "failure or the operator's work; book another flavor, or ask the operator when this ends",
    "host_closed",
    also="asked free matching closed",
)
HOSTS_CLOSED = Entry(
    "no_host_matches",
    "No host matches this flavor: the {closed:number} hosts that do are closed for bookings now, "
    "because of a failure or the operator's work; book another flavor, or ask the operator when "
    "this ends",
    "hosts_closed",
    also="asked free matching",
)
IN_MAINTENANCE = Entry(
    "maintenance",
    "Reservation conflicts with a maintenance window",
    brief="the flavor is closed for maintenance then",
)
TRY_AGAIN = Entry(
    "try_again",
    "Too many bookings at the same time; nothing was booked, try again",
    brief="too many bookings were made at the same time",
)
QUOTA_EXCEEDED = Entry(
    "quota_exceeded",
    "Quota exceeded for {exceeded:each}",
    each="{resource}: {asked:number} asked, {used:number} of {limit:number} used",
    brief="your project's quota doesn't allow it",
)
CREDITS = Entry(
    "credits_refused",
    "The credits service refuses the reservation: {said}. Ask for less or for a shorter time, or "
    "ask the operator for more credits",
    brief="the credits service refuses it",
)

# Reservations
RESERVATION_NOT_FOUND = Entry("reservation_not_found", "Reservation {reservation} doesn't exist")
RESERVATION_DELETED = Entry(
    "reservation_not_found", "Reservation {reservation} was deleted at {at:time}{by:by}", "deleted"
)
FIXED_VALUE = Entry("fixed_value", "{field} can't be changed; make another reservation")
_CHANGED = "Changed by somebody else since you have seen it: {fields:names}; "
_LOOK = ". Look again, and repeat what you still want"
CHANGED_SINCE_SHOWN = Entry("changed_since_shown", f"{_CHANGED}nothing was written{_LOOK}")
PARTLY_CHANGED = Entry(
    "changed_since_shown", f"{_CHANGED}the rest of the change is done{_LOOK}", "partly"
)
CHANGED_MEANWHILE = Entry(
    "conflict", "Another request changed the reservation at the same moment; try again"
)
_BEGUN = "Reservation {reservation} has begun, so its start can't change"
BLAZAR_BEGUN = Entry("refused", _BEGUN, "begun")
BLAZAR_OVER = Entry(
    "refused",
    "Reservation {reservation} is over, so only its name, note and contact can change",
    "over",
)
BLAZAR_END_PASSED = Entry(
    "refused",
    "The new end, {end:time}, has passed; to end the reservation now, give the next full minute, "
    "{next_minute:time}",
    "end_passed",
)
IDEMPOTENCY_KEY_REUSED = Entry(
    "idempotency_key_reused",
    "this key was sent with another request within the last day; send a new key with each new "
    "request",
    frame=FIELD,
)
#: Why a reservation that has begun isn't completely open.
PLACES_UNUSABLE = Entry(
    "places_unusable",
    "{unusable:number} of {places:place|places} can't be used yet: the operator was told",
)


#: Why servers may not boot on a reservation for a moment.
PUT_BACK = Entry("changed_in_nova", "Somebody has changed it in Nova: {said}. It is being put back")


def _state(reason: str, template: str) -> Entry:
    return Entry("invalid_state", template, reason)


IN_STATE = _state("in_state", "Reservation {reservation} is {status}")
RESERVATION_OVER = _state("over", "Reservation {reservation} ended at {at:time}")
BEGUN = _state("begun", _BEGUN)
BEGINNING = _state(
    "beginning", "Reservation {reservation} is being started, so its start can't change"
)
ONLY_FEWER = _state(
    "only_fewer",
    "Reservation {reservation} has begun, so it can have fewer instances but not more; book "
    "another reservation for more",
)
BEING_CREATED = _state(
    "being_created", "Reservation {reservation} is still being created; try again later"
)
BEING_STARTED = _state(
    "being_started", "Reservation {reservation} is being started; try again in a few seconds"
)
BEING_STARTED_OR_ENDED = _state(
    "being_started_or_ended",
    "Reservation {reservation} is being started or ended; try again in a few seconds",
)
BEING_STARTED_OR_CHANGED = _state(
    "being_started_or_changed",
    "Reservation {reservation} is being started or changed; try again in a few seconds",
)
BEING_CHANGED = _state(
    "being_changed",
    "Reservation {reservation} is being changed or deleted by another request; try again in a few "
    "seconds",
)
BEING_REMOVED = _state("being_removed", "Reservation {reservation} is being removed")
NOTHING_IN_NOVA = _state("nothing_in_nova", "Reservation {reservation} has nothing in Nova")
SERVERS_REMAIN = _state(
    "servers_remain",
    "{servers:number} servers of reservation {reservation} are still being deleted",
)
SERVER_CREATED = _state(
    "server_created",
    "A server was created on reservation {reservation} at the same moment; try again",
)
TOO_MANY_SERVERS = _state(
    "too_many_servers",
    "Reservation {reservation} has {servers:number} servers ({names:names}), so it can't have "
    "fewer instances than that; delete {excess:number} of them first. A shelved server counts too, "
    "and a server whose move isn't confirmed may count twice",
)
SERIES_BUSY = _state(
    "series_busy",
    "Another request books or deletes reservations of series {series}; try again in a minute",
)
SERIES_OVER = _state(
    "series_over", "Series {series} was ended at {at:time}{by:by}; make another series"
)
LEASE_CHANGED = _state(
    "lease_changed",
    "Lease {lease} was changed by another request at the same moment, and keeps the dates of that "
    "request; try again",
)
LEASE_BEING_CHANGED = _state("lease_being_changed", "{said} It is being changed; try again later")
LEASE_BEING_MADE = _state(
    "lease_being_made",
    "Lease {lease} is still being made, or no manager has finished it; try again in a minute. If "
    "that doesn't help, ask the operator, who finds the lease with warre-blazar-manage audit",
)
LEASE_ENDED = _state("lease_ended", "The lease has ended: it can only be renamed, or deleted")
RESERVATION_FAILED = _state(
    "reservation_failed", "{field}: the reservation has failed; delete the lease"
)

# Leases and hosts over v1
MIXED_LEASE = Entry(
    "mixed_lease",
    "A lease with flavor:slot reservations can't have reservations of other types "
    "({types:names}); make two leases",
)
LEASE_SHARED = Entry(
    "lease_shared",
    "Lease {lease} holds other reservations too; change or delete the lease instead",
)
SHARED_FIELD = Entry(
    "lease_shared",
    "Lease {lease} holds other reservations too; {field} can only be changed in a lease of one "
    "reservation",
    "field",
)
TOO_MANY_RESERVATIONS = Entry(
    "too_many_reservations",
    "reservations: expected at most {limit:number} in one lease, not {asked:number}",
)
LEASE_NOT_FOUND = Entry("not_found", "Lease {lease} doesn't exist", "lease")
LEASE_GONE = Entry(
    "not_found", "The lease doesn't exist any more: another request has deleted it", "lease_gone"
)
HOST_NOT_FOUND = Entry("not_found", "Host {host} doesn't exist", "host")
NO_PLUGINS = Entry("not_found", "Blazar has no list of plugins", "plugins")
NOT_FOUND = Entry("not_found", "Not Found")
ONLY_METHODS = Entry(
    "method_not_allowed",
    "/v2/{noun} allows only {methods:names}; use /v1/{noun} to create or change {noun}, and "
    "/v2/reservations to book flavors",
    "other_api",
)

INTERNAL = Entry("internal", "Internal Server Error")

# Series
SERIES_NOT_FOUND = Entry("series_not_found", "Series {series} doesn't exist")
SERIES_ENDED = Entry("series_ended", "Series {series} was ended while it was being booked")
SERIES_INTERRUPTED = Entry("series_interrupted", "The request that should book it has ended before")
SERIES_REFUSED = Entry(
    "series_refused",
    "Nothing was booked: {count:number} of {asked:number} occurrences can't be booked. The first "
    "starts at {refused[0][start]:time}: {refused[0]:said}",
)
SERIES_UNCHANGED = Entry(
    "series_refused",
    "Nothing was changed: {count:number} of {asked:number} reservations can't be changed. The "
    "first starts at {refused[0][start]:time}: {refused[0]:said}",
    "unchanged",
)

# Waits
WAIT_NOT_FOUND = Entry("wait_not_found", "Wait {wait} doesn't exist")
WAIT_OVER = Entry("wait_over", "Wait {wait} is {status} since {at:time}{by:by}")
WAIT_JUST_OVER = Entry("wait_over", "Wait {wait} is no longer waiting", "just_over", also="status")
TOO_MANY_WAITS = Entry(
    "too_many_waits",
    "Your project has {limit:number} waits already, which is the limit; delete one of them first",
)

# Maintenance windows and access
WINDOW_NOT_FOUND = Entry("window_not_found", "MaintenanceWindow {window} doesn't exist")
WINDOW_CONFLICT = Entry(
    "window_conflict",
    "Maintenance window conflicts with existing reservations",
    also="flavor reservations total",
)
ACCESS_EXISTS = Entry("access_exists", "Already exists", also="flavor project")
ACCESS_NOT_FOUND = Entry("access_not_found", "FlavorProject {flavorproject} doesn't exist")
CALENDAR_EXISTS = Entry(
    "calendar_exists",
    "You have an address for the calendar of the project {project} already; withdraw it first if "
    "you want another one",
)
CALENDAR_NOT_FOUND = Entry("calendar_not_found", "Calendar {calendar} doesn't exist")
CALENDAR_WITHDRAWN = Entry(
    "calendar_not_found",
    "No calendar has this address: it was withdrawn, its owner may no longer see the "
    "reservations, or it isn't complete",
    "withdrawn",
)
SHARE_EXISTS = Entry(
    "share_exists", "Reservation {reservation} is shared with the project {project} already"
)
SHARE_NOT_FOUND = Entry("share_not_found", "Share {share} doesn't exist")
