"""Counts the room that hosts have now, by what Placement says is left of their providers.

What is booked says how much room hosts should have. They have less if servers without a reservation
are on them, or if they have become smaller.
"""

import dataclasses
import datetime
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from warre_blazar import times
from warre_blazar.domain.flavors import nova_requests
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.timeline import Span


@dataclasses.dataclass(frozen=True)
class Remains:
    """What Placement says of a host at one moment."""

    #: The host's providers, the root first. Their inventories have only what nobody has taken.
    #: Empty: nothing more fits on the host.
    providers: tuple[Provider, ...] = ()
    #: How many servers reservations have on the host, by resource class.
    servers: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def servers_of(self, reservation_id: str) -> int:
        """How many servers a reservation has on the host."""
        return self.servers.get(backing_names.resource_class(reservation_id), 0)

    def constrained(self, stored: Iterable[Provider]) -> "Remains":
        """The same with the constraints of units, which Placement doesn't tell with it.

        :param stored: the providers as they were last read.
        """
        known = {provider.id: provider.inventories for provider in stored}
        return dataclasses.replace(
            self,
            providers=tuple(
                dataclasses.replace(
                    provider,
                    inventories={
                        cls: _constrained(left, known.get(provider.id, {}).get(cls, left))
                        for cls, left in provider.inventories.items()
                    },
                )
                for provider in self.providers
            ),
        )


def _constrained(left: Inventory, stored: Inventory) -> Inventory:
    return dataclasses.replace(stored, total=left.total, reserved=0, allocation_ratio=1.0)


def usable(
    remains: Remains,
    mine: Holding,
    count: int,
    others: Iterable[Holding],
    moment: datetime.datetime,
) -> int:
    """How many of a reservation's places on a host its servers can use.

    Places of reservations that began earlier come first, even if they have no servers yet.

    :param mine: one of the places.
    :param count: how many places the reservation has on the host.
    :param others: what other reservations hold on the host.
    """
    ahead = [held for held in others if _order(held) < _order(mine)]
    more = room(remains, mine.request, ahead, moment)
    return min(count, remains.servers_of(mine.reservation_id) + more)


def _order(held: Holding) -> tuple[datetime.datetime, str]:
    return held.span.start, held.reservation_id


def room(
    remains: Remains,
    request: PlacementRequest | None,
    others: Iterable[Holding],
    moment: datetime.datetime,
) -> int:
    """How many more instances fit on a host, beside the places of other reservations.

    :param request: what one instance takes.
    :param others: what other reservations hold on the host.
    """
    if request is None or not remains.providers:
        return 0
    host = BookableHost(
        id="",
        name="",
        availability_zone=None,
        properties={},
        inventories={},
        traits=frozenset(),
        holdings=list(_without_servers(remains, others, moment)),
        providers=remains.providers,
    )
    window = Span(moment, moment + times.MINUTE)
    return host.settled().room(_anywhere(request), window)


def _anywhere(request: PlacementRequest) -> PlacementRequest:
    """What an instance takes of Placement, if it doesn't matter what was planned.

    What is left of the providers isn't the tree for which the plan was made.
    """
    known = nova_requests.known_to_placement(request)
    groups = (dataclasses.replace(group, by_specs=False) for group in known.suffixed)
    return dataclasses.replace(known, suffixed=tuple(groups)) if known.suffixed else known


def _without_servers(
    remains: Remains, others: Iterable[Holding], moment: datetime.datetime
) -> Iterator[Holding]:
    """The places of other reservations that are held at a moment, and that no server uses yet."""
    used: Counter[str] = Counter()
    for held in others:
        if held.request is None or not held.span.start <= moment < held.span.end:
            continue
        used[held.reservation_id] += 1
        if used[held.reservation_id] > remains.servers_of(held.reservation_id):
            yield held._replace(request=_anywhere(held.request), places=None)
