"""This package's own application for its controllers, without authentication."""

from collections.abc import Callable, Iterable
from typing import Any

import pecan
import webob
from blazar.api import context

from warre_blazar.api import pecan_requests
from warre_blazar.api.controllers import base
from warre_blazar.api.controllers.v2 import V2Controller

#: A WSGI application.
Application = Callable[..., Iterable[bytes]]


class _Root:
    def __init__(self) -> None:
        self.v2 = V2Controller()


class V2Application:
    """The WSGI application. The caller is in the request's headers, as keystonemiddleware sets it.

    Requests whose paths ``serves`` doesn't know must not be passed to it.
    """

    def __init__(self) -> None:
        pecan_requests.remember_signatures()
        root = _Root()
        children = vars(root.v2).items()
        #: The names of the resources in paths.
        self.names = {name for name, child in children if isinstance(child, base.Controller)}
        self._pecan: Application = pecan.Pecan(root, guess_content_type_from_ext=False)

    def serves(self, path: str) -> bool:
        """Whether a path leads to a resource of this package."""
        match path.split("/"):
            case ["", "v2", name, *_]:
                return name in self.names
        return False

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Serve a request in Blazar's context of its caller."""
        with context.ctx_from_headers(webob.Request(environ).headers):
            return self._pecan(environ, start_response)
