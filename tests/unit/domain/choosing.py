"""A choice of hosts in the terms of the tests."""

import dataclasses

from warre_blazar.domain.hosts import placing
from warre_blazar.domain.hosts.holdings import Holding

PACKED = placing.Packing()


def choose(hosts, shape, count, window, preferred=None, also=None, packing=PACKED):
    choice = choice_of(hosts, shape, count, window, preferred, also, packing)
    return choice.chosen, choice.count


def choice_of(hosts, shape, count, window, preferred=None, also=None, packing=PACKED):
    return placing.Choice(
        hosts, placing.Wanted(shape.request, count, window, also, preferred or {}, packing)
    )


def booked(one, reservation_id, shape, window, choice):
    """A host once a choice is written, as the tables would have it."""
    places = {reservation_id: choice.places}
    stored = {owner: iter(by_host.get(one.id, ())) for owner, by_host in places.items()}
    new = Holding(reservation_id, window, shape.request)
    holdings = []
    for held in (*one.holdings, *[new] * choice.chosen.get(one.id, 0)):
        place = next(stored.get(held.reservation_id, iter(())), None)
        changed = {} if place is None else {"places": one.stored_places(held.request, place)}
        holdings.append(held._replace(**changed))
    return dataclasses.replace(one, holdings=holdings)
