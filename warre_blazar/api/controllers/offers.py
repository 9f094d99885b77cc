"""The controllers of /offers and /availability, which are about many flavors at once."""

import datetime
from typing import Any

import pecan

from warre_blazar import policy, texts, times
from warre_blazar.api import parsing, slot_views
from warre_blazar.api.controllers import base, searches
from warre_blazar.domain.hosts import host_properties
from warre_blazar.domain.slots import free_time
from warre_blazar.errors import exceptions
from warre_blazar.policies import offers as policies
from warre_blazar.services.slots import availability, offers
from warre_blazar.site_rules import conditions

#: The largest number of offers in an answer, unless the query says another.
_MOST_OFFERS = 100
#: The largest number of parts into which the time of an answer is divided.
_MOST_PARTS = 800

_CHOICE = {
    "flavor": parsing.word,
    "category": parsing.word,
    "availability_zone": parsing.word,
    "properties": parsing.properties,
}
_TIME = {"from": parsing.moment, "to": parsing.moment}
OFFERS_QUERY = {
    "hours": parsing.hours,
    "count": parsing.positive,
    "affinity": parsing.boolean,
    "limit": parsing.positive,
    "placing_again": parsing.boolean,
    **_TIME,
    **_CHOICE,
}
AVAILABILITY_QUERY = {
    "hours": parsing.hours,
    "count": parsing.positive,
    "by": parsing.part_of_time,
    "placing_again": parsing.boolean,
    **_TIME,
    **_CHOICE,
}


class OffersController(base.Controller):
    """Offers: over many flavors, when they can be booked."""

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        policy.authorize(base.context(), policies.LIST)
        query = parsing.query(pecan.request, OFFERS_QUERY)
        question = _question(query, times.OFFERS_LENGTH)
        limit = query.get("limit", _MOST_OFFERS)
        return slot_views.offers(
            offers.find(question, _choice(query), conditions.slot_rule(), limit)
        )


class AvailabilityController(base.Controller):
    """Availability: how many instances of many flavors are free, by day or hour."""

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        policy.authorize(base.context(), policies.AVAILABILITY)
        query = parsing.query(pecan.request, AVAILABILITY_QUERY)
        question = _question(query, times.AVAILABILITY_LENGTH)
        part = query.get("by", times.AVAILABILITY_PART)
        window = question.window
        if (window.end - window.start) / part > _MOST_PARTS:
            raise exceptions.InvalidField("to", texts.expected.FEWER_PARTS(most=_MOST_PARTS))
        starts = "hours" in query
        return slot_views.availability(
            *availability.find(question, _choice(query), part, starts=starts)
        )


def _question(query: dict[str, Any], length: datetime.timedelta) -> free_time.Question:
    """What a query asks about all flavors that the caller's project may book.

    :param length: the length of the time that the query is about if it has no end.
    :raises Forbidden: the caller has no project.
    """
    if not base.context().project_id:
        raise exceptions.Forbidden(policies.LIST)
    window = searches.window(query, length, "from", "to")
    return searches.question(query, window, times.SHORTEST_OFFER, flavor="", everything=False)


def _choice(query: dict[str, Any]) -> offers.FlavorChoice:
    named = {"category", "availability_zone"}
    columns = {name: value for name, value in query.items() if name in named}
    properties: list[host_properties.Comparison] = query.get("properties", [])
    return offers.FlavorChoice(query.get("flavor"), columns, properties)
