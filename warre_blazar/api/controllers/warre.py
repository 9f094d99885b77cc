"""The controller of /warre. It serves the same resources under /warre/v1 for Warre's clients.

An unmodified client of Warre finds /warre/v1 by itself if the endpoint in Keystone's catalog is the
URL .../v2/warre.
"""

from typing import Any

import pecan

from warre_blazar.api import error_hook
from warre_blazar.api.controllers import base
from warre_blazar.api.controllers.audit import AuditController
from warre_blazar.api.controllers.flavor_access import FlavorProjectsController
from warre_blazar.api.controllers.flavors import FlavorsController
from warre_blazar.api.controllers.hosts import HostsController
from warre_blazar.api.controllers.limits import LimitsController
from warre_blazar.api.controllers.maintenance_windows import WindowsController
from warre_blazar.api.controllers.messages import MessagesController
from warre_blazar.api.controllers.offers import AvailabilityController, OffersController
from warre_blazar.api.controllers.refusals import RefusalsController
from warre_blazar.api.controllers.reservations import ReservationsController
from warre_blazar.api.controllers.series import SeriesController
from warre_blazar.api.controllers.usage import UsageController
from warre_blazar.api.controllers.waits import WaitsController


class _V1(base.Controller):
    flavors = FlavorsController()
    flavorprojects = FlavorProjectsController()
    reservations = ReservationsController()
    maintenancewindows = WindowsController()
    limits = LimitsController()
    hosts = HostsController()
    usage = UsageController()
    refusals = RefusalsController()
    messages = MessagesController()
    offers = OffersController()
    availability = AvailabilityController()
    series = SeriesController()
    waits = WaitsController()
    audit = AuditController()


class WarreController(base.Controller):
    """The root of Warre's path. It marks each request, because some answers differ on this path."""

    name = "warre"

    @pecan.expose()
    def _route(self, args: list[str], request: Any = None) -> Any:
        error_hook.mark_as_warres(request or pecan.request)
        return super()._route(args, request)

    v1 = _V1()
