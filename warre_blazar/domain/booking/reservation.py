"""A reservation of instances of a flavor."""

import dataclasses
import datetime

from warre_blazar.domain import timeline
from warre_blazar.domain.booking import quota
from warre_blazar.domain.booking.labels import NO_LABELS, Labels
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.running.handles import Handle


@dataclasses.dataclass(frozen=True)
class Reservation:
    """A reservation, read from this package's and Blazar's tables. Times are in naive UTC."""

    #: The id that the API shows.
    id: str
    #: The id of the reservation in Blazar's table.
    reservation_id: str
    #: Empty if the reservation never had a lease, or the lease isn't known.
    lease_id: str
    lease_name: str
    flavor_id: str
    instance_count: int
    shape: Shape
    span: timeline.Span
    project_id: str
    user_id: str | None
    state: str
    status_reason: str | None
    created_at: datetime.datetime
    #: The new time that was promised to an update of the lease. None: there is no promise.
    promised: timeline.Span | None = None
    #: True: all instances on one host; False: each instance on a host of its own; None: instances
    #: on any hosts.
    affinity: bool | None = None
    labels: Labels = NO_LABELS
    #: What was chosen to be done with its servers before the end. None: what its flavor says.
    before_end: str | None = None
    #: The series of which the reservation is an occurrence. None: it isn't of any.
    series_id: str | None = None
    #: By how many hours maintenance may move the start to a later time.
    movable_hours: int = 0
    handle: Handle | None = None
    #: The id of the Nova flavor. None: the reservation never had a Nova flavor.
    nova_flavor: str | None = None
    #: Blazar's flags: whether instances are on failed hosts, and whether instances were moved while
    #: the reservation was running.
    missing_resources: bool = False
    resources_changed: bool = False
    #: Whether the reservation is past: Blazar's tables don't have it, or are about to lose it.
    is_record: bool = False
    #: Since when the reservation has been running without a server. None: this isn't asked, or it
    #: isn't so.
    idle_since: datetime.datetime | None = None
    #: How often it has changed, and when last. None: this isn't asked.
    change_count: int | None = None
    changed_at: datetime.datetime | None = None
    deleted_at: datetime.datetime | None = None
    #: The user who deleted the reservation. None if it isn't deleted, or if no user deleted it.
    deleted_by: str | None = None

    @property
    def amount(self) -> Amount:
        """What the reservation takes of its project's quota."""
        return quota.of_booking(self.span, self.instance_count)
