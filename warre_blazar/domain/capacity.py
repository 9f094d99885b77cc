"""What hosts can hold in all, and how much of a flavor is booked: arithmetic for operators."""

import dataclasses
import datetime
from collections.abc import Iterable, Sequence

from warre_blazar.domain import timeline
from warre_blazar.domain.flavor import Flavor, Shape
from warre_blazar.domain.hosts import Host

_MINUTE = datetime.timedelta(minutes=1)
# A host with nothing on it is the same at any time.
_ANY_TIME = timeline.Span(datetime.datetime(2000, 1, 1), datetime.datetime(2000, 1, 1) + _MINUTE)


@dataclasses.dataclass(frozen=True)
class Room:
    """How many instances of a shape a host holds when nothing else is on it; at least one."""

    host: Host
    instances: int


def when_empty(hosts: Iterable[Host], shape: Shape) -> list[Room]:
    """The hosts that match a shape and have room for it when empty, by name."""
    found = [
        Room(host, dataclasses.replace(host, holdings=()).room(shape.resources, _ANY_TIME))
        for host in hosts
        if host.matches(shape)
    ]
    return sorted((r for r in found if r.instances), key=lambda r: (r.host.name, r.host.id))


@dataclasses.dataclass(frozen=True)
class Sharing:
    """Another flavor that takes of the same hosts, and the names of these."""

    flavor: Flavor
    hosts: list[str]


def sharing(rooms: Iterable[Room], others: Iterable[Flavor]) -> list[Sharing]:
    """Which of the other flavors can be on the same hosts, in their order."""
    hosts = [room.host for room in rooms]
    found = [
        Sharing(flavor, [r.host.name for r in when_empty(hosts, flavor.shape)]) for flavor in others
    ]
    return [s for s in found if s.hosts]


@dataclasses.dataclass(frozen=True)
class Use:
    """Instances booked at a moment, at most at any moment of a window, and in all of it.

    ``time``: instances times the time each is booked within the window.
    """

    now: int
    peak: int
    time: datetime.timedelta

    def utilisation(self, instances: int, window: timeline.Span) -> float | None:
        """The part of what could be booked that is, 0.0 to 1.0; above where slots were taken away.

        None where nothing can be booked.
        """
        return self.time / (instances * (window.end - window.start)) if instances else None


def use(claims: Sequence[timeline.Claim], window: timeline.Span, now: datetime.datetime) -> Use:
    """How much of a flavor the claims take."""
    time = sum(
        (
            claim.amount * (min(claim.span.end, window.end) - max(claim.span.start, window.start))
            for claim in claims
            if claim.span.overlaps(window)
        ),
        datetime.timedelta(0),
    )
    present = timeline.Span(now, now + _MINUTE)
    return Use(timeline.peak(claims, present), timeline.peak(claims, window), time)
