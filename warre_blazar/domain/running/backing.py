"""The note of what a reservation has in Nova and Placement."""

import dataclasses
import datetime

from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.backing_phases import Phase


@dataclasses.dataclass(frozen=True)
class Backing:
    """The note of a reservation's backing. ``models.backings`` explains the columns."""

    reservation_id: str
    project_id: str
    aggregate_id: int | None
    phase: Phase
    late_until: datetime.datetime | None
    #: The id of an imported reservation's Nova flavor. None: the Nova flavor's id is derived from
    #: the reservation's id.
    nova_flavor: str | None = None

    @property
    def flavor_id(self) -> str:
        """The id of the reservation's Nova flavor."""
        return self.nova_flavor or backing_names.nova_flavor_id(self.reservation_id)

    def awaits_late(self, now: datetime.datetime) -> bool:
        """Whether a service may still carry out a request to make the backing."""
        return self.late_until is not None and self.late_until > now
