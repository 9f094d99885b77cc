"""The controllers of /v2 and of Warre's path, and the names of the resources below them.

An unmodified client of Warre finds /warre/v1 by itself if the endpoint in Keystone's catalog is the
URL .../v2/warre.
"""

from typing import Any

import pecan

from warre_blazar.api import error_hook, pecan_requests
from warre_blazar.api.controllers import base
from warre_blazar.api.controllers.audit import AuditController
from warre_blazar.api.controllers.calendars import CalendarsController
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
from warre_blazar.api.controllers.shares import SharesController
from warre_blazar.api.controllers.usage import UsageController
from warre_blazar.api.controllers.waits import WaitsController


class ResourcesController(base.Controller):
    """The parent of all resources. Each attribute is a resource's name in paths."""

    def __init__(self) -> None:
        self.flavors = FlavorsController()
        self.flavorprojects = FlavorProjectsController()
        self.reservations = ReservationsController()
        self.maintenancewindows = WindowsController()
        self.limits = LimitsController()
        self.hosts = HostsController()
        self.usage = UsageController()
        self.refusals = RefusalsController()
        self.messages = MessagesController()
        self.offers = OffersController()
        self.availability = AvailabilityController()
        self.series = SeriesController()
        self.waits = WaitsController()
        self.audit = AuditController()
        self.shares = SharesController()
        self.calendars = CalendarsController()


class WarreController(base.Controller):
    """The root of Warre's path. It marks each request, because some answers differ on this path."""

    def __init__(self) -> None:
        self.v1 = ResourcesController()

    @pecan.expose()
    def _route(self, args: list[str], request: Any = None) -> Any:
        error_hook.mark_as_warres(request or pecan.request)
        return super()._route(args, request)


class V2Controller(ResourcesController):
    """The root of this package's API. It prepares each request before Pecan reads it."""

    def __init__(self) -> None:
        super().__init__()
        self.warre = WarreController()

    @pecan.expose()
    def _route(self, args: list[str], request: Any = None) -> Any:
        pecan_requests.prepare(request or pecan.request)
        return super()._route(args, request)
