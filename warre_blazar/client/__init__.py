"""The API from Python, for scripts and notebooks::

    import openstack
    from warre_blazar.client import Client

    client = Client(session=openstack.connect().session)
    for flavor in client.flavors.list():
        print(flavor.name, client.flavors.free_slots(flavor.id, count=2))

It needs keystoneauth1, and nothing of Blazar's server.
"""

from typing import Any

from warre_blazar.client import errors, resources, transport
from warre_blazar.client.types import (
    Access,
    Flavor,
    FlavorName,
    Limits,
    Reservation,
    Span,
    Window,
)

__all__ = [
    "Access",
    "Client",
    "Flavor",
    "FlavorName",
    "Limits",
    "Reservation",
    "Span",
    "Window",
    "errors",
]


class Client:
    """The v2 API of the Blazar that a session's catalogue names.

    Methods raise ``errors.ClientError`` when something is wrong with a request, and keystoneauth's
    errors when there is no answer.

    :param session: keystoneauth1's, with a user.
    :param interface: ``public``, ``internal`` or ``admin``.
    :param endpoint_override: Blazar's endpoint, of any version, in place of the catalogue's.
    """

    def __init__(
        self,
        session: Any,
        *,
        service_type: str = "reservation",
        interface: str | None = None,
        region_name: str | None = None,
        endpoint_override: str | None = None,
    ) -> None:
        self.transport = transport.Transport(
            session,
            service_type,
            interface=interface,
            region_name=region_name,
            endpoint_override=endpoint_override,
        )
        self.flavors = resources.Flavors(self.transport)
        self.access = resources.AccessRights(self.transport)
        self.reservations = resources.Reservations(self.transport)
        self.windows = resources.Windows(self.transport)
        self.limits = resources.ProjectLimits(self.transport)
