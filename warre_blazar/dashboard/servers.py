"""The servers on the Nova flavor of a reservation."""

from typing import Any

from openstack_dashboard.api import nova

from warre_blazar.client import Reservation

#: A reservation with one of these statuses may have servers.
_RUNNING = ("ACTIVE", "ERROR")


def of(request: Any, reservation: Reservation) -> list[Any]:
    """Return the project's servers in a reservation, as Nova shows them, whatever their status is.

    Servers in ERROR are deleted at the end too, so they count. A reservation in ERROR may have
    servers from the time before it failed.

    A project's user gets those of the user's own project. An operator gets those of the project
    that has booked.
    """
    if not reservation.compute_flavor or reservation.status not in _RUNNING:
        return []
    options: dict[str, Any] = {"flavor": reservation.compute_flavor}
    if reservation.project_id != request.user.project_id:
        options |= {"all_tenants": True}
    listed, _more = nova.server_list(request, search_opts=options)
    return list(listed)
