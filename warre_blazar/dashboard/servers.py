"""The servers on the Nova flavor of a reservation."""

from typing import Any

from openstack_dashboard.api import nova

from warre_blazar.client import Reservation


def of(request: Any, reservation: Reservation) -> list[Any]:
    """Return the project's servers that run in a reservation, as Nova shows them.

    A project's user gets those of the user's own project. An operator gets those of the project
    that has booked.
    """
    if not reservation.compute_flavor or reservation.status != "ACTIVE":
        return []
    options: dict[str, Any] = {"flavor": reservation.compute_flavor}
    if reservation.project_id != request.user.project_id:
        options |= {"all_tenants": True}
    listed, _more = nova.server_list(request, search_opts=options)
    return list(listed)
