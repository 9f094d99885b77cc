"""A Python client of the v2 API, for scripts and notebooks.

For example::

    import openstack
    from warre_blazar import client

    conn = openstack.connect()
    client.add_to(conn)
    for flavor in conn.flavor_reservation.flavors():
        print(flavor.name, conn.flavor_reservation.flavors.free_slots(flavor.id, count=2))

The client needs keystoneauth1. It doesn't need the packages of Blazar's server.
"""

from collections.abc import Callable
from typing import Any

from keystoneauth1 import adapter

from warre_blazar import texts
from warre_blazar.client import errors, reservations, resources, series, transport, waits
from warre_blazar.client.types import (
    Access,
    Alternatives,
    AuditFinding,
    AuditReport,
    Availability,
    CalendarAddress,
    DryRun,
    Extension,
    Flavor,
    FlavorName,
    FreeParts,
    Host,
    Limits,
    Messages,
    Missing,
    Offer,
    Offers,
    Page,
    Reason,
    Refusal,
    Reservation,
    Series,
    SeriesForeseen,
    Share,
    Span,
    Usage,
    UsageReport,
    Wait,
    Window,
)

__all__ = [
    "Access",
    "Alternatives",
    "AuditFinding",
    "AuditReport",
    "Availability",
    "CalendarAddress",
    "Client",
    "DryRun",
    "Extension",
    "Flavor",
    "FlavorName",
    "FreeParts",
    "Host",
    "Limits",
    "Messages",
    "Missing",
    "Offer",
    "Offers",
    "Page",
    "Reason",
    "Refusal",
    "Reservation",
    "Series",
    "SeriesForeseen",
    "Share",
    "Span",
    "Usage",
    "UsageReport",
    "Wait",
    "Window",
    "add_to",
    "errors",
]


class Client:
    """A client of the v2 API at the Blazar endpoint in the session's service catalog.

    Methods raise ``errors.ClientError`` if a request is invalid or refused. They raise
    keystoneauth's exceptions if Keystone or Blazar doesn't answer.

    :param session: a keystoneauth1 session that is authenticated as a user. Or an adapter for
        Blazar's endpoint, which replaces all arguments that choose an endpoint.
    :param service_type: the type of Blazar's service in the catalog.
    :param interface: ``public``, ``internal`` or ``admin``.
    :param region_name: the region of the endpoint. If it is None, the client uses an endpoint in
        any region.
    :param endpoint_override: the URL of Blazar's endpoint. If it is given, the client doesn't use
        the endpoint in the catalog. The URL may end with an API version such as ``/v1``, with
        Warre's path ``/v2/warre``, or without a version.
    :param idempotency_key: for a program that creates one thing and may be run again for the same
        wish, such as a form that is sent twice. If an earlier client of the same user had the same
        key, the request creates nothing again, and returns what the earlier client has created. If
        the key is None, each request that creates something has a key of its own. The extension of
        a series creates reservations too.
    :param reader: for whom errors, warnings and reasons are worded, as ``texts.reader`` makes it.
        None: they stay as the API words them, in English and with times in UTC.
    :param tell: is called with a sentence before a request that changes something is sent again,
        because it wasn't answered.
    """

    def __init__(  # noqa: PLR0913 - all but the first are given by name.
        self,
        session: Any,
        *,
        service_type: str = "reservation",
        interface: str | None = None,
        region_name: str | None = None,
        endpoint_override: str | None = None,
        idempotency_key: str | None = None,
        reader: texts.Reader | None = None,
        tell: Callable[[str], object] = lambda _: None,
    ) -> None:
        if not isinstance(session, adapter.Adapter):
            session = transport.adapter_of(
                session,
                service_type,
                interface=interface,
                region_name=region_name,
                endpoint_override=endpoint_override,
            )
        self.transport = transport.Transport(session, idempotency_key, reader, tell)
        self.flavors = resources.Flavors(self.transport)
        self.access = resources.AccessRights(self.transport)
        self.reservations = reservations.Reservations(self.transport)
        self.series = series.AllSeries(self.transport)
        self.windows = resources.Windows(self.transport)
        self.limits = resources.ProjectLimits(self.transport)
        self.hosts = resources.Hosts(self.transport)
        self.usage = resources.ProjectUsage(self.transport)
        self.refusals = resources.Refusals(self.transport)
        self.messages = resources.MessageSettings(self.transport)
        self.offers = resources.Offerings(self.transport)
        self.shares = resources.Shares(self.transport)
        self.calendars = resources.Calendars(self.transport)
        self.waits = waits.Waits(self.transport)
        self.audit = resources.Audits(self.transport)


def add_to(connection: Any) -> None:
    """Give a connection of openstacksdk the attribute ``flavor_reservation``, a ``Client``.

    The client's requests go through the SDK. So ``clouds.yaml`` chooses region, interface,
    endpoint, time-out and retries, as for each service. A line in ``clouds.yaml`` calls this
    function for each connection: ``vendor_hook: warre_blazar.client:add_to``.

    :param connection: an ``openstack.connection.Connection``.
    """
    _ = connection.session  # Its requests refer to the connection only once it has a session.
    proxy = connection.config.get_session_client("reservation")
    connection.flavor_reservation = Client(proxy)
