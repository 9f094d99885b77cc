"""Policies on offers."""

from warre_blazar.policies.declaration import reader

LIST = "warre:offer:list"
AVAILABILITY = "warre:offer:availability"

RULES = [
    reader(
        LIST,
        "List when the flavors that the caller's project may book can be booked.",
        "GET /v2/offers",
    ),
    reader(
        AVAILABILITY,
        "List by day or hour how many instances are free of the flavors that the caller's project "
        "may book.",
        "GET /v2/availability",
    ),
]
