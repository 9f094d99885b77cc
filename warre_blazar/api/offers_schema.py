"""The JSON Schemas of answers about what could be booked: offers, availability, extensions."""

from warre_blazar.domain.slots.extensions import Stop
from warre_blazar.domain.slots.offers import NoOffer
from warre_blazar.fields.flavors import FlavorFields
from warre_blazar.fields.kinds import Schema, answer, reference

_COUNT: Schema = {"type": "integer", "minimum": 1}
_NATURAL: Schema = {"type": "integer", "minimum": 0}
_MOMENT: Schema = {"type": "string", "format": "date-time"}
_SHOWN = ("id", "name", "category", "vcpu", "memory_mb", "disk_gb", "availability_zone", "slots")
_FLAVOR: Schema = answer(**{name: getattr(FlavorFields, name).kind.answer for name in _SHOWN})

OFFER: Schema = answer(
    flavor=_FLAVOR,
    instance_count=_COUNT,
    start=_MOMENT,
    latest_end={
        **_MOMENT,
        "description": "A booking from `start` on can end until this time. Hosts, slots, windows, "
        "the flavor's terms and the project's quota allow no later end.",
    },
    longest_hours={"type": "number", "minimum": 0},
)
_OR_NULL: Schema = {"anyOf": [{"type": "null"}, reference("Offer")]}

OFFERS: Schema = answer(
    results={"type": "array", "items": reference("Offer")},
    total={**_NATURAL, "description": "The number of offers, even of those beyond `limit`."},
    missing={
        "type": "array",
        "items": answer(
            flavor=_FLAVOR,
            reason={
                "enum": [reason.value for reason in NoOffer],
                "description": "`slots`: the flavor has too few free slots. `count_over_slots`: it "
                "has fewer slots than `count`. `count_over_terms`: its terms let a project hold "
                "fewer instances than `count` at a time. `hosts`: its hosts have too little room. "
                "`count_over_hosts`: they have too little room even when nothing is on them. "
                "`no_host_matches`: no host that can be booked has its properties, zone and "
                "traits. `closed`: maintenance windows close it. `too_long`: it can't be booked "
                "for so many hours. `quota`: the project's limits don't allow it. "
                "`project_terms`: because of the flavor's terms, the project's other reservations "
                "leave no room for the booking. "
                "`not_bookable_then`: its terms allow no booking at that time.",
            },
            fewer_instances={
                **_OR_NULL,
                "description": "The first offer of the largest number of instances, below `count`, "
                "of which there are offers.",
            },
            fewer_hours={
                **_OR_NULL,
                "description": "The first offer for fewer hours, but for at least one.",
            },
        ),
        "description": "The flavors of which there are no offers, and why.",
    },
    longest={
        "type": "array",
        "items": reference("Offer"),
        "description": "For each flavor with offers the offer with the most hours, wherever in the "
        "time that was searched, even beyond `limit`. If there are several, the first of them.",
    },
)

EXTENSION: Schema = answer(
    latest_end={
        **_MOMENT,
        "description": "The latest end that the reservation could get at this moment. It is the "
        "present end if the reservation can't be extended.",
    },
    stopped_by={
        "enum": [*(stop.value for stop in Stop), None],
        "description": "What stops a later end. `slots`: all slots are booked from then on. "
        "`next_reservation`: another reservation has the hosts from then on. `hosts`: the hosts "
        "can't be booked any more. `window`: a maintenance window closes the flavor. `terms`: the "
        "flavor's terms, or the project's other reservations of the flavor. `quota`: the project's "
        "limits. Null: nothing within a year.",
    },
    extend_from={
        "type": ["string", "null"],
        "format": "date-time",
        "description": "From when on the flavor's `extend_within_hours` allows an extension. Null: "
        "it allows one now.",
    },
)

AVAILABILITY: Schema = answer(
    results={
        "type": "array",
        "items": answer(
            flavor=_FLAVOR,
            free={
                "type": "array",
                "items": answer(
                    start=_MOMENT,
                    end=_MOMENT,
                    instances={
                        **_NATURAL,
                        "description": "How many instances one booking can have throughout the "
                        "part.",
                    },
                ),
            },
        ),
    }
)
