"""Finds who holds room on a reservable host without a reservation that is there now."""

import dataclasses
import datetime
from collections.abc import Collection, Iterable, Iterator, Mapping

from warre_blazar.domain.audit.differences import Difference, DifferenceKind, Needs
from warre_blazar.domain.hosts.host_marks import OnHost
from warre_blazar.domain.running.holders import Holder, HolderKind

#: The resource type whose servers have no resource class of their reservation. Only its project
#: boots servers on the host.
_WHOLE_HOST = "physical:host"

_TAKEN = DifferenceKind.ROOM_TAKEN.value
_BY_A_PERSON = dataclasses.replace(
    _TAKEN,
    remedy="Move or delete the server, or delete what Placement holds for a server that is gone.",
)
_CONFIRMED = dataclasses.replace(
    _TAKEN,
    remedy="The finished resize or cold migration is confirmed. That frees what the server had "
    "before, and leaves the server where its owner has moved it.",
    needs=Needs.FIX,
)
_DELETED = dataclasses.replace(
    _TAKEN,
    remedy="The server is deleted, because its Nova flavor is preemptible.",
    needs=Needs.YES,
)


@dataclasses.dataclass(frozen=True)
class Entitled:
    """Who may hold room on a host now."""

    reservation_ids: frozenset[str]
    #: The projects that have reserved the whole host.
    projects: frozenset[str]

    def has(self, holder: Holder) -> bool:
        """Whether a holder is of a reservation that is on the host now.

        The owner of a server that was moved out of a running reservation can still take that back.
        Until then, the migration is of the reservation.
        """
        if holder.reservation_ids & self.reservation_ids:
            return True
        return holder.server is not None and holder.server.project_id in self.projects


def entitled(on_host: Iterable[OnHost], now: datetime.datetime) -> Entitled:
    """Who may hold room on a host now, from the reservations on it."""
    there = [each for each in on_host if each.status == "active" or each.start <= now < each.end]
    return Entitled(
        frozenset(each.reservation_id for each in there),
        frozenset(each.project_id for each in there if each.resource_type == _WHOLE_HOST),
    )


def compare(
    held: Iterable[Holder], by_host: Mapping[str, Entitled], left_alone: Collection[str]
) -> Iterator[Difference]:
    """Find the holders of room that no reservation entitles to it.

    :param by_host: who may hold room on each reservable host, by hypervisor hostname.
    :param left_alone: the ids of reservations on which a manager is working.
    """
    for holder in held:
        host = by_host.get(holder.host)
        if host and not host.has(holder) and holder.reservation_ids.isdisjoint(left_alone):
            yield difference(holder)


def difference(holder: Holder) -> Difference:
    """The difference that a holder of room is."""
    amounts = ", ".join(f"{n} {cls}" for cls, n in sorted(holder.resources.items()))
    text = f"{amounts} of host {holder.host} is taken by {holder}"
    rule = _BY_A_PERSON
    if holder.is_confirmable:
        rule = _CONFIRMED
    elif holder.kind is HolderKind.SERVER and holder.is_preemptible:
        rule = _DELETED
    subject = f"{holder.host} {holder.consumer}"
    return Difference(DifferenceKind.ROOM_TAKEN, subject, text, holder, rule)
