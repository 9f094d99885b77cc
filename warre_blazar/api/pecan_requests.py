"""Prepares requests so that Pecan can't fail on them, and finds the URL that their client has used.

Pecan looks up each segment of a path among the attributes of a controller, and fails on most of
what it finds. ``child`` takes the place of this lookup.

While Pecan looks for a controller, it reads the query and the body of a request. If Pecan can't
read them, Pecan answers in plain text. On some bodies Pecan crashes, for example on a multipart
form without a boundary. The controllers of this package read the body themselves, and answer every
error in JSON.
"""

import functools
from collections.abc import Callable
from typing import Any

import pecan
import webob
from oslo_middleware import http_proxy_to_wsgi
from pecan import core, rest, routing, util

from warre_blazar import texts
from warre_blazar.api import parsing
from warre_blazar.errors import exceptions


def as_sent(request: webob.Request) -> webob.Request:
    """A copy of a request with the scheme, the host and the path that its client has used.

    The headers with which a proxy says this are used even if Blazar isn't configured to trust them.
    They change nothing but links. Only the client that sent the headers gets the links.

    :returns: a request without a body.
    :raises InvalidField: the path in the headers isn't UTF-8.
    """
    seen = request.copy_get()
    # A server that serves at the root of its host needn't set this variable.
    seen.environ.setdefault("SCRIPT_NAME", "")
    proxy = http_proxy_to_wsgi.HTTPProxyToWSGI(None, {"enable_proxy_headers_parsing": True})
    proxy.process_request(seen)
    try:
        seen.script_name.encode()
    except UnicodeError:
        raise exceptions.InvalidField("X-Forwarded-Prefix", texts.expected.UTF8()) from None
    return seen


#: A key in a request's WSGI environment. Its value is an error that the controller must raise.
REFUSAL = "warre.refusal"

#: The methods by which Pecan serves requests to a resource.
_HANDLERS = ("get_all", "get_one", "get", "post", "put", "patch", "delete")


def child(self: rest.RestController, name: str) -> object | None:
    """What serves a name below a controller: a controller, or a method that serves requests.

    :param name: a segment of a path, or the name of such a method.
    :returns: None if there is no such thing, whatever other attributes the controller has.
    """
    found: object = getattr(self, name, None)
    actions = getattr(self, "_custom_actions", {})
    exists = name in _HANDLERS or name in actions or isinstance(found, rest.RestController)
    return found if exists else None


def prepare(request: pecan.Request) -> None:
    """Hide a request's body from Pecan, and remove a query that must not reach Pecan.

    A query must not reach Pecan if it isn't UTF-8, or if it has the parameter ``_method``. Pecan
    would take the request's method from this parameter. For such a query, an error is stored in the
    request, and the controller raises the error.
    """
    request.environ["CONTENT_TYPE"] = "application/octet-stream"
    try:
        parsing.check_encoding(request.environ.get("QUERY_STRING", ""))
        if "_method" in request.GET:
            raise exceptions.InvalidField("_method", texts.expected.UNKNOWN())
    except exceptions.InvalidField as error:
        request.environ[REFUSAL] = error
        request.environ["QUERY_STRING"] = ""


def remember_signatures() -> None:
    """Let Pecan look up the signature of each handler once, and not ten times for each request."""
    for module in (core, rest, routing):
        module.getargspec = _signature


def _signature(method: Callable[..., Any]) -> Any:
    # A method of an object that exists only for one request isn't kept.
    return _known(getattr(method, "__func__", method))


_known = functools.cache(util.getargspec)
