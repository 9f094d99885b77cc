"""The note of what a reservation has in Nova and Placement, and the phases of that."""

import dataclasses
import datetime
import enum
from collections.abc import Mapping, Sequence

from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.handles import Handle


class Phase(enum.StrEnum):
    """How far a backing is. The reservation can be deleted in each phase."""

    #: No request to make the backing has been sent.
    PLANNED = "planned"
    #: Requests to make the backing may have been sent.
    MAKING = "making"
    #: The class, the aggregate and the Nova flavor exist. They aren't on any host.
    MADE = "made"
    #: Opening the reservation has begun. From then on, the project may have access and servers.
    OPENING = "opening"
    #: Every step of opening has succeeded.
    OPEN = "open"
    #: Removing the backing has begun, so it may be incomplete. It is never opened again.
    CLOSING = "closing"

    @property
    def is_opened(self) -> bool:
        """Whether the reservation's hosts may be in Nova's aggregate and offer instances."""
        return self in (Phase.OPENING, Phase.OPEN, Phase.CLOSING)

    @property
    def is_made(self) -> bool:
        """Whether the class, the aggregate and the Nova flavor should all exist."""
        return self in (Phase.MADE, Phase.OPENING, Phase.OPEN)


#: The phases in which the backing, or a part of it, hasn't been made yet.
UNMADE = (Phase.PLANNED, Phase.MAKING)


#: No group of a Nova flavor requires a trait of the reservation.
NOTHING_TOLD: Mapping[str, Sequence[str]] = {}


@dataclasses.dataclass(frozen=True)
class ReservationShare:
    """The right of another project to boot servers on the places of a reservation."""

    id: str
    #: The id of the reservation in the API.
    reservation_id: str
    #: The project that may boot.
    project_id: str
    #: The project of the reservation, which has given the right.
    owner_id: str
    created_at: datetime.datetime


@dataclasses.dataclass(frozen=True)
class Note:
    """The note of a reservation's backing. ``models.backings`` explains the columns."""

    reservation_id: str
    project_id: str
    aggregate_id: int | None
    phase: Phase
    #: The id of the reservation's Nova flavor.
    nova_flavor: str
    #: The shape that was booked. None: no table has a row of the reservation any more, or another
    #: plugin makes the backing.
    shape: Shape | None
    late_until: datetime.datetime | None = None
    #: Whether the metadata of the aggregate were written for a confined project, and whether the
    #: project is confined now (``backing_names.aggregate_metadata``).
    made_confined: bool = False
    confined: bool = False
    #: The groups of the Nova flavor that require the reservation's trait: their resource classes,
    #: by suffix (``device_traits.told_groups``).
    told: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict, hash=False)
    #: The other projects that the owner lets boot on the reservation's places, each with whether it
    #: is confined.
    shared_with: Mapping[str, bool] = dataclasses.field(default_factory=dict, hash=False)
    #: The other projects that may have access and servers, because it is or was shared with them.
    guests: Sequence[str] = ()
    #: The handle from which the Nova flavor has its id. None if ``shares_flavor`` is false, or no
    #: table has a row of the reservation any more.
    handle: Handle | None = None
    #: Whether the Nova flavor of a handle is made before the start.
    shown: bool = False

    @property
    def shares_flavor(self) -> bool:
        """Whether other reservations had the Nova flavor before, or will have it."""
        return not backing_names.is_own(self.nova_flavor, self.reservation_id)

    def awaits_late(self, now: datetime.datetime) -> bool:
        """Whether a service may still carry out a request to make the backing."""
        return self.late_until is not None and self.late_until > now
