"""The names of the API's resources in paths, and their controllers."""

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
