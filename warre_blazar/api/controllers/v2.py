"""The controller of /v2, below which all others are."""

from typing import Any

import pecan

from warre_blazar.api import pecan_requests
from warre_blazar.api.controllers.resources import ResourcesController
from warre_blazar.api.controllers.warre import WarreController


class V2Controller(ResourcesController):
    """The root of this package's API. It prepares each request before Pecan reads it."""

    def __init__(self) -> None:
        super().__init__()
        self.warre = WarreController()

    @pecan.expose()
    def _route(self, args: list[str], request: Any = None) -> Any:
        pecan_requests.prepare(request or pecan.request)
        return super()._route(args, request)
