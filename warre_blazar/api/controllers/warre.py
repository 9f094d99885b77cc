"""The controller of /warre. It serves the same resources under /warre/v1 for Warre's clients.

An unmodified client of Warre finds /warre/v1 by itself if the endpoint in Keystone's catalog is the
URL .../v2/warre.
"""

from typing import Any

import pecan

from warre_blazar.api import error_hook
from warre_blazar.api.controllers import base
from warre_blazar.api.controllers.resources import ResourcesController


class WarreController(base.Controller):
    """The root of Warre's path. It marks each request, because some answers differ on this path."""

    def __init__(self) -> None:
        self.v1 = ResourcesController()

    @pecan.expose()
    def _route(self, args: list[str], request: Any = None) -> Any:
        error_hook.mark_as_warres(request or pecan.request)
        return super()._route(args, request)
