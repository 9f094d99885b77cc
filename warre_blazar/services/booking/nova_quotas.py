"""Warns of reservations whose servers Nova's quota doesn't allow. Nothing is refused for it."""

from warre_blazar import times
from warre_blazar.domain.booking import nova_quota, reservation_states
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.openstack import nova_quotas
from warre_blazar.texts import Said

#: The states of reservations on which servers can be booted now or later.
_BOOTABLE = (
    reservation_states.PENDING_CREATE,
    reservation_states.ALLOCATED,
    reservation_states.ACTIVE,
)


class Asking:
    """A request for a project's quota, which is under way while something else is done."""

    def __init__(self, project_id: str) -> None:
        self._asked = nova_quotas.ask(project_id)

    def warnings(self, shape: Shape, count: int, patience: float = 0) -> list[Said]:
        """The warning about a reservation, if Nova has answered and its quota is too small.

        :param patience: as in ``nova_quotas.LimitsAsked.limits``.
        """
        return nova_quota.shortage(self._asked.limits(patience), shape, count)


def of_reservation(reservation: Reservation) -> list[Said]:
    """The warning about a reservation that has been booked. Nova gets a moment to answer."""
    if reservation.is_record or reservation.state not in _BOOTABLE:
        return []
    asking = Asking(reservation.project_id)
    return asking.warnings(reservation.shape, reservation.instance_count, times.NOVA_QUOTA_WAIT)
