"""Reasons why a search finds nothing: for free slots, for offers, and for longer reservations.

The API answers with the code alone why there is no offer, and what stops an extension. Why there
are no free slots, it also says in a sentence. If a booking is refused for the same reason, the
error has the same code.
"""

from warre_blazar.texts import refusals
from warre_blazar.texts.entries import Entry

# Why there are no free slots
FLAVOR_INACTIVE = Entry("flavor_inactive", "The flavor is inactive; book another flavor")
PASSED = Entry("invalid_period", "That time has passed; ask about a later time", "passed")
TOO_SHORT = Entry(
    "invalid_period",
    "The time that was asked about is shorter than the requested hours; ask about a longer time",
    "too_short",
)
AFTER_FLAVOR_END = Entry(
    "after_flavor_end",
    "The flavor can't be booked that late; ask about a time before its end",
    also="end",
)
TOO_FAR_AHEAD = Entry(
    "too_far_ahead",
    "Reservations must end within {max_days_ahead:number} days from now; ask about an earlier time",
    also="latest_end",
)
BEFORE_FLAVOR_START = Entry(
    "before_flavor_start",
    "The flavor can't be booked that early; ask about a time after its start",
    also="start",
)
TOO_LONG = Entry(
    "too_long",
    "The flavor can be booked for at most {max_length_hours:number} hours at a time",
)
NO_HOST_MATCHES = Entry(
    "no_host_matches",
    "No host matches this flavor; book another flavor, or ask the operator",
    also="matching",
)
HOST_CLOSED = Entry(
    "no_host_matches", refusals.HOST_CLOSED.template, "host_closed", also="matching closed"
)
HOSTS_CLOSED = Entry(
    "no_host_matches", refusals.HOSTS_CLOSED.template, "hosts_closed", also="matching"
)
COUNT_OVER_TERMS = Entry(
    "count_over_terms",
    "{asked:number} instances were asked for, and a project can hold at most "
    "{max_instances_per_project:instance|instances} of the flavor at a time; ask for fewer "
    "instances",
)
COUNT_OVER_SLOTS = Entry(
    "count_over_slots",
    "{asked:number} instances were asked for, and the flavor has {slots:slot|slots}; ask for fewer "
    "instances",
)
COUNT_OVER_HOSTS = Entry(
    "count_over_hosts",
    "{asked:number} instances were asked for, and the hosts have room for {room:number} when they "
    "are empty; ask for fewer instances",
)
NOT_THAT_LONG = Entry(
    "not_that_long",
    "The flavor is free then, but not for that long at a time; ask for fewer hours or another time",
    also="longest next_free",
)
MAINTENANCE = Entry(
    "maintenance",
    "Maintenance windows close the flavor then; ask for another time",
    also="windows next_free",
)
PROJECT_TERMS = Entry(
    "project_terms",
    "Other reservations of your project leave no time for more then; ask for another time, or for "
    "fewer instances",
    also="max_instances_per_project gap_hours next_free",
)
ALL_BOOKED = Entry(
    "all_booked",
    "The flavor is fully booked then; ask for another time, or for fewer instances",
    also="next_free",
)


#: Why there is no offer of a flavor, by the API's word. Each is a clause about the flavor.
NO_OFFER = {
    entry.code: entry
    for entry in (
        Entry("slots", "its slots are taken"),
        Entry("count_over_slots", "it has {slots:slot|slots}"),
        Entry("count_over_terms", "its terms let a project hold fewer at a time"),
        Entry("hosts", "its hosts are full"),
        Entry(
            "count_over_hosts", "its hosts can't hold so many, even when nothing else is on them"
        ),
        Entry("no_host_matches", "no host that can be booked matches it; ask the operator"),
        Entry("closed", "it is closed for maintenance"),
        Entry("too_long", "it can't be booked for so long"),
        Entry("quota", "your project's quota doesn't allow it"),
        Entry(
            "project_terms",
            "because of its terms, your project's other reservations leave no room",
        ),
        Entry("not_bookable_then", "it can't be booked at that time"),
    )
}
#: What stops an extension, by the API's word.
STOPS = {
    entry.code: entry
    for entry in (
        Entry("terms", "the flavor's terms allow no more"),
        Entry("window", "the flavor is closed for maintenance then"),
        Entry("slots", "all slots are booked from then on"),
        Entry("next_reservation", "another reservation has the hosts from then on"),
        Entry("hosts", "the hosts can't be booked any more"),
        Entry("quota", "your project's quota allows no more"),
    )
}
