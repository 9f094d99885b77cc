"""Requests made such that Pecan can read them, on their way to our controllers.

Blazar's controller of /v2 lets Pecan read query and body before ours have their turn. What Pecan
can't read it answers with a text, or not at all (a form without its boundary); our controllers read
the body themselves, and have an answer for everything.
"""

import inspect

import pecan
import webob.exc
from blazar.api.v2.controllers import V2Controller
from pecan import rest

from warre_blazar import exceptions

#: Where a refusal waits for the controller, in the request's environment.
REFUSAL = "warre.refusal"


def install(ours: type[rest.RestController]) -> None:
    """Prepare each request to a controller of that class; Blazar has no place for it of its own."""
    stock = V2Controller._route
    # Before Blazar 18 it takes the path alone, and Pecan finds the request by itself.
    takes_request = "request" in inspect.signature(stock).parameters

    @pecan.expose()
    def _route(self: V2Controller, args: list[str], request: pecan.Request) -> object:
        if args and isinstance(getattr(self, args[0], None), ours):
            prepare(request)
        return stock(self, args, request) if takes_request else stock(self, args)

    V2Controller._route = _route


def prepare(request: pecan.Request) -> None:
    """Hide the body from Pecan; take a query that it can't read, or obeys, out, and refuse it."""
    request.environ["CONTENT_TYPE"] = "application/octet-stream"
    try:
        # By this, Pecan lets the query choose the method.
        refused = "_method" in request.GET
    except webob.exc.HTTPBadRequest:
        request.environ[REFUSAL] = exceptions.InvalidField("query", "expected UTF-8")
        request.environ["QUERY_STRING"] = ""
        return
    if refused:
        request.environ[REFUSAL] = exceptions.InvalidField("_method", "Unknown field.")
        request.environ["QUERY_STRING"] = ""
