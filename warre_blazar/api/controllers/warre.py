"""/warre/v1: the same again where an unmodified Warre client looks for it."""

from warre_blazar.api.controllers import base
from warre_blazar.api.controllers.flavorprojects import FlavorProjectsController
from warre_blazar.api.controllers.flavors import FlavorsController
from warre_blazar.api.controllers.limits import LimitsController
from warre_blazar.api.controllers.reservations import ReservationsController
from warre_blazar.api.controllers.windows import WindowsController


class _V1(base.Controller):
    flavors = FlavorsController()
    flavorprojects = FlavorProjectsController()
    reservations = ReservationsController()
    maintenancewindows = WindowsController()
    limits = LimitsController()


class WarreController(base.Controller):
    """With .../v2/warre as its endpoint in the catalogue, Warre's client finds v1 below it."""

    name = "warre"
    v1 = _V1()
